#include "bora/models/peft.h"
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include "base/api/file.h"
#include "bora/io/safetensors.h"
#include "bora/io/tree.h"
#include "bora/models/pretrained.h"
#include "bora/nn/adapters.h"
#include "bora/nn/axes.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sharding.h"
#include "models/api/weights.h"
#include "models/hf/tensors.h"
#include "shard/api/agree.h"
#include "bora/ops/contractions.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"

namespace bora::models {
namespace {
constexpr const char *kConfig = "/adapter_config.json", *kTensors = "/adapter_model.safetensors";
/// The tensor of an adapter's matrix for each stacked layer, [lora_rank, in] or [out, lora_rank], or [out] of its
/// magnitude.
struct Matrix {
  tree::Slot slot;
  std::vector<std::string> tensors;
  bool stacked;
  Shape shape;  // of a tensor
  Shape view;   // the leaf's dimensions in the tensor's order
  Dims order;   // dimension d of a layer's matrix is dimension order[d] of the view
};
struct Table {
  std::vector<Matrix> matrices = {};
  std::vector<std::string> modules = {};  // ends of the layers' names
  bool transposed = false;                // the base's tensors are [in, out]
};
/// "model.layers.{}.mlp.up_proj.weight" -> "model.layers.{}.mlp.up_proj".
std::string module_of(const std::string& tensor) {
  constexpr std::string_view end = ".weight";
  return tensor.ends_with(end) ? tensor.substr(0, tensor.size() - end.size()) : tensor;
}
/// A path of this computer is none of another's, and says more of its owner than is asked: the folder's own name stays,
/// or the name that its config.json has from a hub ("meta-llama/Llama-3.2-1B").
std::string name_of_base(const std::string& base) {
  namespace fs = std::filesystem;
  if (!fs::path(base).is_absolute()) return base;
  if (auto file = base + "/config.json"; is_pretrained(base)) {
    auto c = HfConfig::parse(read_file(file), file);
    std::string known;
    try {
      known = c.word("_name_or_path", "");
    } catch (const IoError&) {}  // no text
    constexpr std::string_view begins = "/.~";
    if (std::count(known.begin(), known.end(), '/') == 1 && begins.find(known.front()) == begins.npos &&
        known.back() != '/')
      return known;
  }
  auto path = fs::path(base).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}
Table table_of(tree::Node parameters, const Model& model) {
  Table table;
  std::set<std::string> modules;
  std::set<bool> transposed;
  auto weights = model.hf_weights();
  for (auto& slot : tree::slots(parameters)) {
    auto at = slot.path.rfind(".lora.");
    auto x = slot.leaf.as<NamedArray>();
    if (!slot.leaf.defined() || !x || at == slot.path.npos) continue;
    bool first = slot.path.ends_with(".a");
    auto layer = slot.path.substr(0, at);
    auto w = std::find_if(weights.begin(), weights.end(),
                          [&](auto& one) { return one.leaf == layer + ".weight" && !one.copy; });
    check<ConfigError>(w != weights.end(), "lora: Hugging Face's files have no tensor for ", layer);
    bool magnitude = slot.path.ends_with(".magnitude");
    auto rank = magnitude ? -1 : x->position(nn::kRank);
    std::int64_t begin = is_stacked(*w) ? 1 : 0, n = x->ndim() - begin;
    Matrix m{slot, {}, begin > 0, {}, {}, {}};
    // Its inputs and outputs are neighbours in the tensor, in the leaf's order.
    auto outputs = magnitude ? n : n - 1;
    auto inputs = first ? n - 1 : static_cast<std::int64_t>(w->order.size()) - outputs;
    bool whole = w->begin.empty() && w->end.empty() &&
                 std::is_sorted(w->order.begin(), w->order.begin() + (w->order.empty() ? 0 : inputs)) &&
                 std::is_sorted(w->order.begin() + (w->order.empty() ? 0 : inputs), w->order.end());
    check<ConfigError>(whole, "lora: ", layer, " is a part of the tensor ", w->tensor,
                       ", for which PEFT has one adapter; choose other lora.layers, or write the whole model");
    transposed.insert(w->order.empty() || w->order[0] == 0);
    auto module = module_of(w->tensor);
    constexpr std::string_view number = "{}.";  // PEFT compares ends of names
    auto in_layer = module.find(number);
    modules.insert(in_layer == module.npos ? module : module.substr(in_layer + number.size()));
    auto name = "base_model.model." + module +
                (first ? ".lora_A.weight" : magnitude ? ".lora_magnitude_vector" : ".lora_B.weight");
    auto layers = is_stacked(*w) ? x->axes()[0].size : 1;
    for (std::int64_t i = 0; i < layers; ++i) m.tensors.push_back(tensor_of_layer({.leaf = {}, .tensor = name}, i));
    if (magnitude) {
      for (std::int64_t d = begin; d < x->ndim(); ++d) {
        m.view.push_back(x->axes()[static_cast<std::size_t>(d)].size);
        m.order.push_back(d - begin);
      }
      m.shape = {volume(m.view)};
      table.matrices.push_back(std::move(m));
      continue;
    }
    auto r = x->axes()[static_cast<std::size_t>(rank)].size;
    for (std::int64_t d = begin; d < x->ndim(); ++d)
      if (d != rank) m.view.push_back(x->axes()[static_cast<std::size_t>(d)].size);
    auto others = volume(m.view);
    m.shape = first ? Shape{r, others} : Shape{others, r};
    m.view.insert(first ? 0 : m.view.size(), r);
    for (std::int64_t d = 0; d < n; ++d) m.order.push_back(first ? (d + 1) % n : (d + n - 1) % n);
    table.matrices.push_back(std::move(m));
  }
  check<ConfigError>(!table.matrices.empty(), "lora: there are no adapters");
  check<ConfigError>(transposed.size() == 1, "lora: some layers' tensors are [in, out], some [out, in]");
  table.modules.assign(modules.begin(), modules.end());
  table.transposed = *transposed.begin();
  return table;
}
}  // namespace

void save_adapters(const std::string& folder, tree::Node parameters, const Model& model, const LoraSettings& s,
                   const std::string& base) {
  auto table = table_of(parameters, model);
  on_first(io::place_here(), "adapters: make the folder", [&] { std::filesystem::create_directories(folder); });
  std::map<std::string, Array> tensors;
  for (auto& m : table.matrices) {
    Dims back(m.order.size());
    for (std::size_t d = 0; d < m.order.size(); ++d)
      back[static_cast<std::size_t>(m.order[d])] = static_cast<std::int64_t>(d);
    for (std::size_t i = 0; i < m.tensors.size(); ++i) {
      auto x = m.slot.leaf.get().astype(f32);
      if (m.stacked) x = view(x, static_cast<std::int64_t>(i));
      tensors[m.tensors[i]] = reshape(transpose(x, back), m.shape);
    }
  }
  save_safetensors(folder + kTensors, tensors);
  HfConfig c;
  c.set("peft_type", "LORA");
  if (model.generates()) c.set("task_type", model.decoder_start() ? "SEQ_2_SEQ_LM" : "CAUSAL_LM");
  if (auto name = name_of_base(base); !name.empty()) c.set("base_model_name_or_path", name);
  c.set("r", s.rank);
  c.set("lora_alpha", s.alpha);
  c.set("lora_dropout", s.dropout);
  c.set("use_rslora", s.rslora);
  c.set("use_dora", s.dora);
  if (s.init == nn::AdapterInit::gaussian) c.set("init_lora_weights", "gaussian");
  else c.set("init_lora_weights", true);
  c.set("target_modules", table.modules);
  c.set("fan_in_fan_out", table.transposed);
  c.set("bias", "none");
  c.set("inference_mode", true);
  on_first(io::place_here(), "adapters: write the configuration", [&] { write_file(folder + kConfig, c.text()); });
}
void load_adapters(tree::Node parameters, const std::string& folder, const Model& model, const LoraSettings& s) {
  auto table = table_of(parameters, model);
  auto file = folder + kConfig;
  on_first(io::place_here(), "adapters: read the configuration", [&] {
    auto c = HfConfig::parse(read_file(file), file);
    c.expect("peft_type", "LORA");
    c.expect("lora_bias", false);
    c.expect("bias", "none");
    c.expect("use_qalora", false);
    for (auto name : {"modules_to_save", "layer_replication", "layers_to_transform", "trainable_token_indices",
                      "alora_invocation_tokens"})
      if (c.has(name)) c.refuse(name);
    std::string how;
    try {
      how = c.word("init_lora_weights", "");
    } catch (const IoError&) {}  // true or false
    // Other ways (pissa, olora, corda, loftq ..) subtract the adapters' first product from the base: it is another one.
    if (!how.empty() && how != "gaussian" && how != "eva" && how != "orthogonal")
      c.refuse("init_lora_weights", "convert it with path_initial_model_for_weight_conversion in peft");
    for (auto name : {"rank_pattern", "alpha_pattern"})
      if (c.has(name)) c.group(name).done();
    auto same = [&](std::string_view field, double theirs, std::string_view key, double mine) {
      check<IoError>(theirs == mine, file, ": ", field, ": ", theirs, ", but ", key, " is ", mine,
                     "; they must be the same");
    };
    same("r", static_cast<double>(c.integer("r")), "lora.rank", static_cast<double>(s.rank));
    same("lora_alpha", c.number("lora_alpha"), "lora.alpha", s.alpha);
    same("use_rslora", c.flag("use_rslora", false), "lora.rslora", s.rslora);
    same("use_dora", c.flag("use_dora", false), "lora.dora", s.dora);
  });
  auto files = Safetensors::open(folder + kTensors);
  std::map<std::string, std::vector<TensorPart>> parts;
  for (auto& m : table.matrices)
    for (auto& name : m.tensors) parts[m.slot.path].push_back({.name = name, .view = m.view, .order = m.order});
  for (auto& m : table.matrices)
    for (auto& name : m.tensors) {
      auto type = files.type(name);
      check<CheckpointError>(type.shape == m.shape, files.where(name), ": it is ", type, ", ",
                             Type{m.shape, type.dtype}, " is wanted for '", m.slot.path, "'");
    }
  struct Adapters {
    std::map<std::string, Array> leaves;
  } mine;
  for (auto& m : table.matrices) mine.leaves[m.slot.path] = m.slot.leaf.get();
  mine = load_safetensors(files, mine, {.from = [&](const std::string& path, const Type&) {
                            return parts.at(path.substr(path.find('.') + 1));
                          }});
  for (auto& m : table.matrices) m.slot.leaf.set(mine.leaves.at(m.slot.path));
}
void merge_adapters(tree::Node base, tree::Node adapters, const LoraSettings& s) {
  std::map<std::string, NamedArray> factors;
  auto taken = [&](const std::string& name) {
    auto node = factors.extract(name);
    return node ? std::optional(std::move(node.mapped())) : none;
  };
  for (auto& slot : tree::slots(adapters))
    if (auto x = slot.leaf.as<NamedArray>(); x && slot.leaf.defined() && nn::in_adapter(slot.path))
      factors[slot.path] = *x;
  for (auto& slot : tree::slots(base)) {
    auto end = slot.path.rfind(".weight");
    auto layer = end == slot.path.npos ? std::string() : slot.path.substr(0, end) + ".lora.";
    auto weight = slot.leaf.as<NamedArray>();
    if (!weight || !slot.leaf.defined() || !factors.contains(layer + "a") || !factors.contains(layer + "b")) continue;
    nn::Adapter lora{*taken(layer + "a"), *taken(layer + "b"), static_cast<float>(s.options().scale())};
    lora.magnitude = taken(layer + "magnitude");
    auto sum = nn::with_adapter(*weight, lora);
    slot.leaf.set(reshard_like(sum.astype(weight->dtype()).array(), weight->array()));
  }
  check<ValueError>(factors.empty(), "merge_adapters: the base has no weight for '",
                    [&] { return factors.begin()->first; }, "'");
}
void begin_magnitudes(tree::Node base, tree::Node adapters, const std::vector<PackedLeaf>& integers) {
  std::map<std::string, tree::Slot> of;
  for (auto& slot : tree::slots(adapters))
    if (slot.leaf.defined() && nn::in_adapter(slot.path) && slot.path.ends_with(".magnitude"))
      of.emplace(slot.path, slot);
  for (auto& slot : tree::slots(base)) {
    auto weight = slot.leaf.as<NamedArray>();
    auto end = slot.path.rfind(".weight");
    if (!weight || !slot.leaf.defined() || end == slot.path.npos) continue;
    auto found = of.find(slot.path.substr(0, end) + ".lora.magnitude");
    if (found == of.end()) continue;
    auto& leaf = found->second.leaf;
    auto old = *leaf.as<NamedArray>();
    auto packed = std::find_if(integers.begin(), integers.end(), [&](auto& one) { return one.path == slot.path; });
    auto numbers = packed == integers.end() ? *weight : packed->weight.unpack(*weight);
    leaf.set(reshard_like(nn::magnitudes(numbers, none, old.axes()).astype(old.dtype()).array(), old.array()));
  }
}
}  // namespace bora::models
