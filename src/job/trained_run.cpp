#include "bora/job/trained_run.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include "base/api/file.h"
#include "bora/base/text.h"
#include "bora/io/tree.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/models/parameter.h"
#include "bora/models/peft.h"
#include "bora/models/model.h"
#include "bora/models/pretrained.h"
#include "bora/named/array.h"
#include "bora/named/mapping.h"
#include "bora/named/operations.h"
#include "bora/nn/adapters.h"
#include "bora/nn/axes.h"
#include "bora/nn/policy.h"
#include "bora/ops/creation.h"
#include "bora/ops/sharding.h"
#include "bora/text/tokenizer.h"
#include "bora/train/local_settings.h"
#include "bora/train/loop.h"
#include "bora/train/trainable.h"
#include "bora/transport/transport.h"
#include "bora/optim/kind.h"
#include "job/averages.h"
#include "job/config_file.h"
#include "job/initial.h"
#include "job/kept.h"
#include "job/placement.h"
#include "models/api/weights.h"
#include "shard/api/agree.h"
#include "train/api/not_finite.h"
#include "train/api/resume.h"
#include "train/api/stores.h"

namespace fs = std::filesystem;
namespace bora::job {
namespace {
std::string checkpoints_of(const std::string& run) { return kept_below(run) + "/checkpoints"; }
/// The number of tokens of a model.
std::int64_t tokens_of(tree::Node parameters) {
  for (auto& slot : tree::slots(parameters))
    if (auto x = slot.leaf.as<NamedArray>(); x && slot.leaf.defined() && x->has_axis(nn::kVocab))
      return x->axis(nn::kVocab).size;
  fail<ValueError>("the parameters have no axis ", nn::kVocab);
}
std::string checkpoints_of(const TrainedRun& words) {
  return words.resume == "best" ? kept_below(words.run) + "/best" : checkpoints_of(words.run);
}
/// Fills some of the checkpoint's parameters, or all of them.
void read_stored(tree::Node parameters, const std::string& folder, const Settings& s, const TrainedRun& words,
                 const Mesh& mesh, bool all) {
  (all ? io::restore_leaves : io::restore_some_leaves)(parameters, folder, place_of(mesh), "params");
  if (words.ema) take_averages(parameters, folder, s.optimizer->common.ema, place_of(mesh));
}
/// Adds the checkpoint's adapters to the weights of their base, which is made again as the run's was.
void read_adapters(tree::Node parameters, const std::string& folder, const Settings& s, const TrainedRun& words,
                   const Mesh& mesh) {
  if (!s.init_from.path.empty()) (void)read_init_from(parameters, s, tokens_of(parameters));
  training::check_base(mesh, folder, training::base_digest(parameters, mesh));
  // Of the settings and the base, not of the file: whatever else it has is refused.
  auto dtype = Policy::parse(s.precision.policy).parameter;
  std::map<std::string, NamedArray> adapters;
  for (auto& p : s.model->adapters(tokens_of(parameters), s.lora))
    adapters[p.path] = NamedArray(zeros(shape_of(p.axes), dtype), p.axes);
  read_stored(tree::node(adapters), folder, s, words, mesh, true);
  if (auto bad = bora::training::first_not_finite(tree::node(adapters)))  // in the sums it would be the base's
    fail<ValueError>(folder, ": ", bora::training::to_string(*bad));
  models::merge_adapters(parameters, tree::node(adapters), s.lora);
}
std::int64_t tokens_of(const Settings& s) {
  auto n = s.vocabulary.size, m = s.vocabulary.multiple;
  return n > 0 ? (n + m - 1) / m * m : vocabulary_of(s, *s.tokenizer->open());
}
/// The adapters beside a base of integers, which give up their leaves.
std::map<std::string, NamedArray> taken_adapters(tree::Node parameters) {
  std::map<std::string, NamedArray> all;
  for (auto& slot : tree::slots(parameters)) {
    auto x = slot.leaf.as<NamedArray>();
    if (!x || !slot.leaf.defined() || !nn::in_adapter(slot.path)) continue;
    all[slot.path] = *x;
    slot.leaf.set(Array());
  }
  return all;
}
/// Fills a base of integers, which is made again as the run's was, and the checkpoint's adapters beside it.
void read_beside(tree::Node parameters, const std::string& folder, const Settings& s, const TrainedRun& words,
                 const Mesh& mesh) {
  if (!s.init_from.path.empty()) (void)read_init_from(parameters, s, tokens_of(s));
  auto adapters = taken_adapters(parameters);
  training::check_base(mesh, folder, training::base_digest(parameters, mesh));
  read_stored(tree::node(adapters), folder, s, words, mesh, true);
  if (auto bad = bora::training::first_not_finite(tree::node(adapters)))
    fail<ValueError>(folder, ": ", bora::training::to_string(*bad));
  for (auto& slot : tree::slots(parameters))
    if (auto x = adapters.find(slot.path); x != adapters.end()) slot.leaf.set(x->second.array());
}
/// The numbers of such a base with the products of its adapters, which stand beside it.
struct MergedBase {
  std::vector<models::PackedLeaf> integers;
  std::map<std::string, NamedArray> adapters;
  models::LoraSettings lora;

  NamedArray numbers(const std::string& path, const NamedArray& x) const {
    auto leaf = std::find_if(integers.begin(), integers.end(), [&](auto& one) { return one.path == path; });
    std::map<std::string, NamedArray> one{{path, x}}, beside;
    if (leaf != integers.end()) one[path] = aligned(leaf->weight.unpack(x), leaf->axes);
    auto layer = path.substr(0, path.rfind('.')) + ".lora.";
    if (path.ends_with(".weight"))
      for (auto name : {"a", "b", "magnitude"})
        if (auto at = adapters.find(layer + name); at != adapters.end()) beside[at->first] = at->second;
    models::merge_adapters(tree::node(one), tree::node(beside), lora);
    return one[path];
  }
};
/// The numbers of each leaf of `from`, which are given up one by one, in the form of `to`.
void take_over(tree::Node to, tree::Node from, const std::vector<models::PackedLeaf>& packed,
               const MergedBase& base = {}) {
  for (auto& slot : tree::slots(from)) {
    auto x = slot.leaf.as<NamedArray>();
    if (!x || !slot.leaf.defined()) continue;
    auto numbers = base.numbers(slot.path, *x);
    slot.leaf.set(Array());
    auto here = std::find_if(packed.begin(), packed.end(), [&](auto& leaf) { return leaf.path == slot.path; });
    if (here != packed.end()) models::write_all_packed(to, *here, numbers);
    else set_leaf(to, slot.path, numbers);
  }
}
/// All ranks along data. Other axes that the run's mesh has, which its rules may name, have one.
MeshSizes all_along_data(const MeshSizes& of_run) {
  std::vector<MeshAxis> axes{{std::string(mesh_axes::kData), -1}};
  for (auto& axis : of_run)
    if (axis.name != mesh_axes::kData) axes.push_back({axis.name, 1});
  return axes;
}
/// The axes of the mesh for a command that reads a run: those that its layout chooses. Rules may name axes of their
/// own, and fsdp+tp chooses none: these take the run's, where they fit the number of ranks.
MeshSizes axes_for(const bora::training::MeshSettings& of_run, int ranks) {
  auto layout = of_run.layout.empty() ? Layout{} : parse_layout(of_run.layout);
  bool both = layout.fsdp && layout.tp;
  if (!both && of_run.rules.empty()) return {};
  try {
    auto shape = resolve_mesh(of_run, ranks);
    bool whole = true;  // stages and split sequences are for training
    for (auto name : {mesh_axes::kStage, mesh_axes::kContext})
      whole = whole && (!shape.has(AxisName(name)) || shape.axis_size(AxisName(name)) == 1);
    if (whole || !both) return of_run.axes;
  } catch (const ConfigError&) {}
  return both ? all_along_data({}) : all_along_data(of_run.axes);
}
/// Whether sums over the run's virtual ranks can be made on this mesh.
bool fits_virtual(const Settings& s, int ranks) {
  try {
    auto shape = resolve_mesh(s.mesh, ranks);
    bora::training::check_virtual(s.reproducible.virtual_, mappings_of(s, shape), shape, s.batch, s.accumulate);
    return true;
  } catch (const ConfigError&) { return false; }
}
/// Whether a key=value says how a model is spread over a mesh.
bool is_way(std::string_view key) {
  return key == "layout" || key == "mesh.layout" || key.starts_with("mesh.rules") || key.ends_with("_dims");
}
std::string_view key_of(std::string_view item) { return item.substr(0, item.find('=')); }
/// The precision of the run itself.
std::string own_policy(const TrainedRun& words) { return load_settings(words.run + "/config.yaml").precision.policy; }
/// Fills parameters with those of a run whose adapters stand beside a base of integers.
void read_merged(tree::Node parameters, const std::string& folder, const Settings& s, const TrainedRun& words,
                 const std::string& base, const std::vector<models::PackedLeaf>& packed, const Mesh& mesh) {
  auto beside = s;
  beside.precision.weights = {};
  beside.precision.policy = own_policy(words);
  beside.lora.base = base;
  auto whole = scorer_of(beside, *s.tokenizer->open(), mesh.shape());
  read_beside(whole->parameters(), folder, beside, words, mesh);
  auto integers = s.model->packed(tokens_of(s), nn::WeightFormat::parse(base));
  take_over(parameters, whole->parameters(), packed, {integers, taken_adapters(whole->parameters()), s.lora});
}
/// Sets the precision that --weights means.
void settle_weights(Settings& s, const TrainedRun& words, std::string_view command) {
  auto weights = words.weights;
  for (auto& item : words.settings) {
    auto key = std::string_view(item).substr(0, item.find('='));
    bool own = key == "precision.weights";
    if (!own && key != "policy" && key != "precision" && key != "precision.policy") continue;
    check<ConfigError>(weights == kWeightsOfFiles, command, ": --weights ", weights, " and ", item,
                       " both say how weights are kept; give one of them");
    if (!own) return;
  }
  if (!s.precision.weights.empty()) weights = s.precision.weights;
  if (weights == kWeightsOfFiles) {
    if (!is_pretrained(words)) return;
    weights = models::weights_of(words.run);
  }
  s.precision.weights = weights == "f32" || weights == "bf16" ? "" : weights;
  s.lora.base = {};  // merged into these numbers
  s.precision.policy = weights == "bf16" ? "p=bf16,c=bf16,o=f32" : "f32";
}
constexpr std::string_view kOffer = "--resume good reads that one";
}  // namespace

Resume resume_of(const std::string& word) {
  auto resume = Resume::latest;
  (void)config::parse_value(word, resume);  // another word, such as best, is latest
  return resume;
}
std::string companions_of(const std::string& run) { return run + "/hugging_face"; }
bool is_pretrained(const TrainedRun& words) {
  std::error_code error;
  return !fs::exists(words.run + "/config.yaml", error) && models::is_pretrained(words.run);
}
Settings settings_on_job(const TrainedRun& words, std::string_view command) {
  auto& items = words.settings;
  for (auto& item : items)
    check<ConfigError>(!item.starts_with("out="), command, ": '", item, "' cannot be set: RUN is the folder");
  auto file = words.run + "/config.yaml";
  bool pretrained = is_pretrained(words);
  check<ConfigError>(fs::exists(words.run), words.run, " is no folder of a run: there is no such folder");
  check<ConfigError>(pretrained || fs::exists(file), words.run, " is no folder of a run: it has no config.yaml; nor ",
                     "is it one of Hugging Face's, with config.json, nor a file NAME.gguf");
  if (!pretrained) check_run_config(read_file<ConfigError>(file), file);
  auto s = pretrained ? settings_of_pretrained(words.run, items) : load_settings(file, items);
  check<ConfigError>(!words.ema || (!pretrained && s.optimizer->common.ema > 0), "--ema: ", words.run,
                     pretrained ? " is no run, and has no mean of its parameters" : " keeps no mean of its parameters; "
                     "train with optimizer.ema=0.999");
  if (!words.weights.empty()) settle_weights(s, words, command);
  if (!s.precision.weights.empty()) s.lora.base = {};  // merged into these
  if (!words.cache.empty()) s.precision.cache = words.cache;
  s.out = words.run;
  s.local = {};  // the model of its replicas is one
  s.wire = {};   // no gradients are summed
  s = with_absolute_paths(s);
  bool axes = false, ways = false, shares = false;  // given here: a mesh, how the model is spread over it
  for (auto& item : items) {
    auto key = key_of(item);
    bool way = is_way(key);
    ways = ways || way;
    shares = shares || key == "mesh.shares";
    axes = axes || (!way && key.starts_with("mesh") && key != "mesh.threads" && key != "mesh.shares");
  }
  auto ranks = transport::config_from_environment().size;
  if (!shares) s.mesh.shares = {};  // those of the run's ranks
  if (!axes) s.mesh.axes = ways ? MeshSizes() : axes_for(s.mesh, ranks);
  if (ranks == 1 && !ways && !axes) s.mesh = {.layout = "dp", .threads = s.mesh.threads};
  bool asked = std::any_of(items.begin(), items.end(), [](auto& item) { return item.starts_with("reproducible"); });
  if (!asked && !fits_virtual(s, ranks)) s.reproducible = {};
  check_settings_without_data(s);
  return s;
}
Settings settings_to_generate(const TrainedRun& words, std::string_view command) {
  auto mine = words;
  bool says = std::any_of(words.settings.begin(), words.settings.end(), [](auto& i) { return is_way(key_of(i)); });
  if (!says) mine.settings.push_back("layout=tp");
  auto s = settings_on_job(mine, command);
  s.model->check_generates();
  check<ConfigError>(!s.mesh.has_layout() || !parse_layout(s.mesh.layout).fsdp, "layout: ", s.mesh.layout,
                     " would gather the parameters for each token; ", command,
                     " takes tp, or dp with a copy on each rank");
  return s;
}
void check_folder_of(const TrainedRun& words, const Settings& s, const text::Tokenizer& tokenizer) {
  if (is_pretrained(words)) check_init_from(s, tokenizer, Resume::none);
}
std::string checkpoint_of_run(const std::string& run) {
  auto found = io::newest_checkpoint(checkpoints_of(run));
  check<ConfigError>(found.has_value(), run, " has no checkpoint yet");
  return found->folder;
}
std::string find_checkpoint(const TrainedRun& words, const Mesh& mesh) {
  if (is_pretrained(words)) return words.run;
  auto root = checkpoints_of(words);
  if (words.resume == "best") {  // the run may go on: one rank looks
    auto best = on_first<CheckpointError>(mesh, "checkpoints: the best one", [&] {
      return io::list_checkpoints(root).empty() ? best_kept(words.run) : std::string();
    });
    if (!best.empty()) return best;
  }
  auto say = [&](const std::string& line) {
    if (mesh.rank() == 0) std::fprintf(stderr, "%s\n", one_line(line).c_str());
  };
  auto stores = training::stores_seen(mesh, root);
  auto found = training::find_checkpoint(mesh, stores, root, resume_of(words.resume), kOffer, say).checkpoint;
  check<ConfigError>(found.has_value(), words.run,
                     words.resume == "best" ? " has no best checkpoint" : " has no checkpoint yet");
  return found->folder;
}
void read_parameters(tree::Node parameters, const std::string& folder, const Settings& s, const TrainedRun& words,
                     const Mesh& mesh) {
  std::optional<nn::WeightFormat> weights;
  if (auto& w = s.precision.weights; !w.empty()) weights = nn::WeightFormat::parse(w);
  if (is_pretrained(words)) {
    auto theirs = settings_of_pretrained(words.run, words.settings);
    auto options = theirs.init_from.options();
    options.weights = weights;
    auto said = models::load_pretrained(parameters, folder, *theirs.model, tokens_of(theirs), options);
    for (auto& line : said)
      if (mesh.rank() == 0) std::fprintf(stderr, "%s\n", one_line(line).c_str());  // it has names of tensors
    return;
  }
  std::vector<models::PackedLeaf> packed;
  if (weights) packed = s.model->packed(tokens_of(s), *weights);
  auto stored = Policy::parse(s.precision.policy).parameter;
  if (!words.weights.empty()) stored = Policy::parse(own_policy(words)).parameter;
  training::offering_older(mesh, checkpoints_of(words), kOffer, [&] {
    if (!s.lora.base.empty()) return read_beside(parameters, folder, s, words, mesh);
    if (auto base = s.lora ? load_settings(words.run + "/config.yaml").lora.base : ""; !base.empty())
      return read_merged(parameters, folder, s, words, base, packed, mesh);
    if (s.lora && !packed.empty()) {
      auto numbers = s;
      numbers.precision.weights = {};
      numbers.precision.policy = own_policy(words);
      auto plain = scorer_of(numbers, *s.tokenizer->open(), mesh.shape());
      read_adapters(plain->parameters(), folder, numbers, words, mesh);
      return take_over(parameters, plain->parameters(), packed);
    }
    if (s.lora) return read_adapters(parameters, folder, s, words, mesh);
    training::check_base(mesh, folder, {});
    if (!packed.empty() || stored != Policy::parse(s.precision.policy).parameter)
      return fill_leaf_by_leaf(parameters, s, tokens_of(s), stored, packed, [&](tree::Node one) {
        read_stored(one, folder, s, words, mesh, false);
      });
    read_stored(parameters, folder, s, words, mesh, true);
  });
}
void read_parameters(models::Generator& model, const std::string& folder, const Settings& s, const TrainedRun& words,
                     const Mesh& mesh) {
  read_parameters(model.parameters(), folder, s, words, mesh);
}
void read_with_base(Trainable& model, const std::string& folder, const Settings& s, const TrainedRun& words,
                    const Mesh& mesh) {
  bool beside = tree::count_leaves(model.base()) > 0;
  if (is_pretrained(words)) {
    read_parameters(beside ? model.base() : model.parameters(), folder, s, words, mesh);
    return model.begin_around_parameters();
  }
  if (beside && !s.init_from.path.empty()) (void)read_init_from(model.base(), s, tokens_of(s));
  training::offering_older(mesh, checkpoints_of(words), kOffer, [&] {
    training::check_base(mesh, folder, training::base_digest(model.base(), mesh), model.holds_reference());
    read_stored(model.parameters(), folder, s, words, mesh, true);
  });
}
void fail_not_finite(const std::string& result, tree::Node parameters, const Settings& s) {
  auto bad = bora::training::first_not_finite(parameters);
  check<ValueError>(bad.has_value(), s.out, ": ", result, ", though all parameters are finite: the computation "
                    "overflows in precision ", s.precision.policy);
  auto tensor = models::hf_tensor_of(*s.model, bad->path, bad->place);
  fail<ValueError>(s.out, ": ", result, ": the parameter ", bora::training::to_string(*bad),
                   tensor.empty() ? "" : ", in Hugging Face's files " + tensor);
}
void fail_not_finite(const std::string& result, models::Generator& model, const Settings& s) {
  fail_not_finite(result, model.parameters(), s);
}
}  // namespace bora::job
