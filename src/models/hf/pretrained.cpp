#include "bora/models/pretrained.h"
#include <algorithm>
#include <filesystem>
#include <set>
#include "base/api/file.h"
#include "bora/base/text.h"
#include "bora/io/safetensors.h"
#include "bora/io/tree.h"
#include "bora/models/parameter.h"
#include "bora/named/mapping.h"
#include "bora/nn/axes.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "gguf/api/companions.h"
#include "gguf/api/gguf.h"
#include "models/hf/gguf_tensors.h"
#include "models/api/weights.h"
#include "models/hf/quantised.h"
#include "models/hf/tensors.h"
#include "ops/api/same_everywhere.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora::models {
namespace {
/// The origin of a leaf's numbers.
struct Source {
  std::vector<TensorPart> parts = {};     // none: it keeps its numbers
  std::optional<std::size_t> grows = {};  // the dimension of the tokens, where the files have fewer
};
struct Plan {
  std::map<std::string, Source> leaves = {};
  std::vector<std::pair<std::string, TensorPart>> copies = {};  // other tensors that must hold the same as a leaf's
  std::vector<std::string> said = {};
};
class Planner {
 public:
  Planner(const std::string& folder, const FolderTensors& files, const Model& model, std::int64_t vocabulary,
          const LoadPretrained& options)
      : folder_(folder), files_(files), model_(model), options_(options), vocabulary_(vocabulary) {}
  Plan plan() {
    auto weights = model_.hf_weights();
    for (auto& p : model_.parameters(vocabulary_)) {
      std::vector<HfWeight> mine;
      std::copy_if(weights.begin(), weights.end(), std::back_inserter(mine), [&](auto& w) { return w.leaf == p.path; });
      check<ValueError>(!mine.empty(), "hf_weights() of ", model_.type(), " has no tensor for '", p.path, "'");
      add(p, mine);
    }
    look_at_others();
    if (!initialised_.empty()) plan_.said.push_back("not in " + folder_ + ", initialised: " + listed(initialised_));
    if (!grown_.empty())
      plan_.said.push_back(folder_ + " has " + std::to_string(had_) + " tokens, the model " +
                           std::to_string(vocabulary_) + ": new rows are the mean of the others in " + listed(grown_));
    return std::move(plan_);
  }

 private:
  static std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t shown = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) text += (i ? ", " : "") + one_line(names[i]);
    return names.size() > shown ? text + " and " + std::to_string(names.size() - shown) + " more" : text;
  }
  /// The name in the files, with or without the prefix of the base model; empty if it is not there.
  std::string stored(const std::string& name) const {
    auto prefix = model_.hf_names().prefix;
    if (files_.has(name)) return name;
    auto bare = !prefix.empty() && name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
    return !bare.empty() && files_.has(bare) ? bare : std::string();
  }
  void add(const Parameter& p, const std::vector<HfWeight>& weights) {
    Source source;
    std::string absent;
    for (auto& w : weights) {
      std::vector<TensorPart> parts;
      std::string missing;
      // A model with more layers than the files have tensors lacks one early: the search need not reach the last layer.
      auto most = static_cast<std::int64_t>(files_.names().size()) + 1;
      auto shape = shape_of(p.axes);
      std::int64_t tensors = 1;
      for (std::size_t d = 0; d < stacked_dims(w); ++d) tensors = std::min(tensors * std::min(shape.at(d), most), most);
      for (std::int64_t i = 0; i < tensors; ++i) {
        auto name = tensor_at(w, place_in_stack(w, shape, i)), here = stored(name);
        if (here.empty()) missing = missing.empty() ? name : missing;
        else parts.push_back({here, w.view, w.begin, w.end, w.order, w.split});
      }
      if (absent.empty()) absent = missing;
      for (auto& part : parts) taken_.insert(part.name);
      if (!missing.empty()) {
        check<CheckpointError>(parts.empty(), folder_, ": ", missing, ": there is no such tensor, but there is ",
                               [&] { return parts[0].name; });
        continue;
      }
      auto grows = fit(p, w, parts);
      if (source.parts.empty()) source = {std::move(parts), grows};
      else plan_.copies.emplace_back(p.path, parts.at(0));
    }
    if (source.parts.empty()) {
      check<CheckpointError>(options_.init_missing, folder_, ": ", absent, ": there is no such tensor, which '", p.path,
                             "' is read from; init_from.missing=init would initialise it");
      initialised_.push_back(p.path);
    }
    if (source.grows) grown_.push_back(p.path);
    plan_.leaves[p.path] = std::move(source);
  }
  /// Checks the tensors' shapes; returns the dimension of the tokens if they have fewer than the leaf.
  std::optional<std::size_t> fit(const Parameter& p, const HfWeight& w, const std::vector<TensorPart>& parts) {
    Shape want;
    std::optional<std::size_t> tokens;
    for (auto d = stacked_dims(w); d < p.axes.size(); ++d) {
      if (p.axes[d].name == nn::kVocab) tokens = want.size();
      want.push_back(p.axes[d].size);
    }
    auto axes = view_axes(w, p.axes);
    std::optional<std::size_t> grows;
    for (auto& part : parts) {
      auto type = files_.type(part);
      auto same = want;
      if (tokens && type.shape.size() == want.size()) same[*tokens] = type.shape[*tokens];
      auto wrong = [&](const Type& is, const Shape& wanted) {
        fail<CheckpointError>(files_.where(part.name), ": it is ", is, ", ",
                              Type{wanted, is_float(is.dtype) ? is.dtype : f32}, " is wanted for '", p.path, "'");
      };
      if (type.shape != same || !is_float(type.dtype)) wrong(type, want);
      // A view has the tensor's number of elements, whatever its shape is.
      auto stored = files_.type(part.name);
      if (auto own = w.view ? stored_shape(*w.view, axes) : stored.shape; stored.shape != own) wrong(stored, own);
      if (!tokens || same[*tokens] == want[*tokens]) continue;
      had_ = same[*tokens];
      check<CheckpointError>(had_ < want[*tokens], files_.where(part.name), ": it has ", had_, " tokens, the model ",
                             want[*tokens], "; give vocabulary=", had_, " or more");
      if (is_pretrained(folder_))
        if (auto given = Pretrained::open(folder_).vocabulary; given != had_)
          fail<CheckpointError>(files_.where(part.name), ": it has ", had_,
                                " tokens, but config.json says vocab_size: ", given);
      grows = tokens;
    }
    return grows;
  }
  void look_at_others() {
    auto names = model_.hf_names();
    std::vector<std::string> others;
    for (auto& name : files_.names()) {
      bool ignored = std::any_of(names.ignored.begin(), names.ignored.end(),
                                 [&](auto& end) { return name == end || name.ends_with("." + std::string(end)); });
      if (!ignored && !taken_.contains(name)) others.push_back(name);
    }
    if (others.empty()) return;
    check<CheckpointError>(options_.ignore_unexpected, files_.where(others[0]), ": no leaf of the ", model_.type(),
                           " takes this tensor",
                           others.size() > 1 ? " (nor " + std::to_string(others.size() - 1) + " others)" : "",
                           "; init_from.unexpected=ignore would leave it out");
    plan_.said.push_back("in " + folder_ + " and not used: " + listed(others));
  }

  const std::string& folder_;
  const FolderTensors& files_;
  const Model& model_;
  const LoadPretrained& options_;
  std::int64_t vocabulary_, had_ = 0;
  std::set<std::string> taken_ = {};
  std::vector<std::string> initialised_ = {}, grown_ = {};
  Plan plan_ = {};
};
/// The tensor with more tokens along dimension d, each the mean of the tensor's.
Array grown(const Array& x, std::size_t d, std::int64_t tokens) {
  auto axis = static_cast<std::int64_t>(d);
  auto wide = in_real_accumulator(x);
  auto more = x.shape();
  more[d] = tokens - x.shape()[d];
  return concatenate({wide, broadcast_to(mean(wide, axis, {.keepdims = true}), more)}, axis);
}
/// Large tables are read, rounded and written some rows at a time, where a file has them so.
bool write_in_pieces(const FolderTensors& files, const TensorPart& part, const PackedLeaf& leaf, bool grows,
                     std::int64_t most, tree::Node parameters) {
  auto axes = leaf.of_layer();
  bool as_stored = part.order.empty() || part.order == Dims{0, 1} || part.order == Dims{1, 0};
  bool alone = !here().mesh || here().mesh->size() == 1;
  bool fits = alone && !grows && as_stored && !part.view && part.begin.empty() && part.end.empty() &&
              leaf.axes.size() == 2 && leaf.weight.out.size() == 1 && !files.is_quantised(part.name);
  if (!fits) return false;
  auto outputs = axes[0].name == leaf.weight.out[0].name ? 0u : 1u;  // their dimension in the leaf
  auto place = part.order.empty() ? outputs : static_cast<std::size_t>(part.order[outputs]);
  auto n = axes[outputs].size, k = axes[1 - outputs].size, rows = std::max<std::int64_t>(1, most / k / 16) * 16;
  if (place != 0 || n <= rows) return false;
  for (std::int64_t first = 0; first < n; first += rows) {
    auto piece = part;
    piece.begin = {first, 0};
    piece.end = {std::min(n, first + rows), k};
    axes[outputs].size = piece.end[0] - first;
    write_packed_outputs(parameters, leaf, first, NamedArray(files.read(piece), axes));
  }
  return true;
}
/// The weight of one layer as the files keep it, if that is the leaf's format and its order of outputs and inputs.
std::optional<Array> packed_as_stored(const FolderTensors& files, const TensorPart& part, const PackedLeaf& leaf,
                                      bool grows) {
  if (!files.has_matrix(part.name) || grows || !part.begin.empty() || !part.end.empty()) return none;
  auto layer = leaf.of_layer();
  auto outputs_first = leaf.weight.out;
  outputs_first.insert(outputs_first.end(), leaf.weight.in.begin(), leaf.weight.in.end());
  for (std::size_t d = 0; d < layer.size(); ++d) {
    auto place = part.order.empty() ? static_cast<std::int64_t>(d) : part.order[d];
    if (find_axis(outputs_first, layer[d].name) != place) return none;
  }
  return files.matrix(part.name).packed(leaf.weight.format);
}
}  // namespace

std::string hf_tensor_of(const Model& model, const std::string& leaf, const Dims& element) {
  auto weights = model.hf_weights();
  auto w = std::find_if(weights.begin(), weights.end(), [&](auto& one) { return one.leaf == leaf && !one.copy; });
  if (w == weights.end()) return {};
  return tensor_at(*w, Dims(element.begin(), element.begin() + static_cast<std::ptrdiff_t>(stacked_dims(*w))));
}
bool is_pretrained(const std::string& folder) {
  std::error_code error;
  return gguf::is_file(folder) || fs::exists(folder + "/config.json", error);
}
Pretrained Pretrained::open(const std::string& folder) {
  std::error_code error;
  check<IoError>(gguf::is_folder(folder), folder,
                 fs::exists(folder, error) ? " is no folder" : ": there is no such folder",
                 "; a folder of Hugging Face's is expected, with config.json and model.safetensors, or FILE.gguf");
  auto file = folder + "/config.json";
  check<IoError>(
      is_pretrained(folder), folder, " is no folder of Hugging Face's: it has no config.json",
      fs::exists(folder + "/config.yaml", error) ? "; it is a run: bora export makes such a folder of it" : "");
  auto text = gguf::read_file(file);
  Pretrained p{.folder = folder, .config = HfConfig::parse(text, file)};
  auto type = p.config.word("model_type");
  std::string known;
  bool found = false;
  for (auto& row : config::rows<Model>()) {
    config::Choice<Model> model(row.type);
    for (auto name : model->hf_names().types) {
      known += (known.empty() ? "" : ", ") + std::string(name);
      if (name == type) p.model = model, found = true;
    }
  }
  check<IoError>(found, file, ": model_type: ", one_line(type), " is not supported; there are ", known);
  p.config.ignore({"quantization_config"});
  (void)QuantisedFiles::parse(text, file);
  p.config.set_has_tensor([folder](const std::string& name) { return FolderTensors::open(folder).has(name); });
  p.model.edit().from_hf(p.config);
  p.config.done();
  p.vocabulary = p.config.integer("vocab_size");
  check<IoError>(p.vocabulary >= 1 && p.vocabulary <= INT32_MAX, file, ": vocab_size: ", p.vocabulary,
                 " is no number of tokens");
  try {
    p.model.check("");
    (void)p.model->parameters(p.vocabulary);  // sizes whose product is too large
  } catch (const Error& e) { fail<IoError>(file, ": as a model of type ", p.model->type(), ": ", e.text()); }
  return p;
}
void check_pretrained(const std::string& folder, const Model& model, std::int64_t vocabulary,
                      const LoadPretrained& options) {
  auto files = FolderTensors::open(folder);
  (void)Planner(folder, files, model, vocabulary, options).plan();
}
std::vector<std::string> load_pretrained(tree::Node parameters, const std::string& folder, const Model& model,
                                         std::int64_t vocabulary, const LoadPretrained& options) {
  auto files = FolderTensors::open(folder);
  Plan plan;
  agree<CheckpointError>(io::place_here(), "hugging face: names and sizes",
                         [&] { plan = Planner(folder, files, model, vocabulary, options).plan(); });
  auto spec_of = [](const Array& x) { return here().mesh ? local_block(x).spec : Spec(); };
  auto slots = tree::slots(parameters);
  auto slot_of = [&](const std::string& path) {
    return std::find_if(slots.begin(), slots.end(), [&](auto& s) { return s.path == path && s.leaf.defined(); });
  };
  std::vector<PackedLeaf> integers;
  if (options.weights) integers = model.packed(vocabulary, *options.weights);
  auto packed = [&](const std::string& path) {
    return std::any_of(integers.begin(), integers.end(), [&](auto& p) { return p.path == path; });
  };
  for (auto& [path, part] : plan.copies) {
    auto slot = slot_of(path);
    if (slot == slots.end()) continue;
    auto spec = packed(path) ? Spec() : spec_of(slot->leaf.get());
    auto& main = plan.leaves[path].parts.at(0);
    check<CheckpointError>(array_equal(files.read(main, spec), files.read(part, spec)), files.where(part.name),
                           ": it differs from ", main.name, ", but config.json says that both are one");
  }
  auto as_it_is = [&](const std::string& path) {
    auto found = plan.leaves.find(path);
    return files.safetensors() && found != plan.leaves.end() && !found->second.grows && !packed(path) &&
           std::none_of(found->second.parts.begin(), found->second.parts.end(),
                        [&](auto& part) { return files.is_quantised(part.name); });
  };
  if (auto* stored = files.safetensors())
    io::load_tensors(parameters, *stored,
                     {.from =
                          [&](const std::string& path, const Type&) {
                            return as_it_is(path) ? plan.leaves[path].parts : std::vector<TensorPart>();
                          },
                      .others = true});
  /// The numbers of one part, with as many tokens as the model has.
  auto numbers = [&](const Source& source, const TensorPart& part, const Shape& shape, const Spec& spec) {
    auto x = files.read(part, spec);
    return source.grows ? grown(x, *source.grows, shape[*source.grows]) : x;
  };
  for (auto& leaf : integers) {
    auto& source = plan.leaves.at(leaf.path);
    auto axes = leaf.of_layer();
    auto spec = here().mesh ? spec_for(axes, current_mapping()) : Spec();
    for (std::size_t i = 0; i < source.parts.size(); ++i) {
      auto& part = source.parts[i];
      auto number = static_cast<std::int64_t>(i);
      if (write_in_pieces(files, part, leaf, source.grows.has_value(), options.piece, parameters)) continue;
      if (auto bytes = packed_as_stored(files, part, leaf, source.grows.has_value()))
        write_packed_bytes(parameters, leaf, number, NamedArray(*bytes, leaf.weight.axes()));
      else write_packed(parameters, leaf, number, NamedArray(numbers(source, part, shape_of(axes), spec), axes));
    }
  }
  for (auto& [path, source] : plan.leaves) {
    auto slot = slot_of(path);
    if (source.parts.empty() || slot == slots.end() || packed(path) || as_it_is(path)) continue;
    auto type = slot->leaf.get().type();
    auto spec = spec_of(slot->leaf.get());
    auto ndim = files.type(source.parts[0]).shape.size();
    auto layers = type.shape.size() - ndim;  // dimensions that number the parts
    Spec of_part;
    auto skip = static_cast<std::ptrdiff_t>(layers);
    if (here().mesh) of_part = Spec(std::vector<MeshAxes>(spec.begin() + skip, spec.end()));
    Shape shape(Dims(type.shape.begin() + skip, type.shape.end()));
    Arrays parts;
    for (auto& part : source.parts) parts.push_back(numbers(source, part, shape, of_part).astype(type.dtype));
    auto all = layers == 0 ? parts[0] : reshape(stack(parts, 0), type.shape);
    slot->leaf.set(here().mesh ? ops::constrained(all, spec) : all);
  }
  return plan.said;
}
std::vector<StoredTensor> stored_tensors(const std::string& folder) {
  std::vector<StoredTensor> all;
  if (gguf::is_file(folder)) {
    auto file = gguf::File::open(folder);
    for (auto& t : file->tensors())
      all.push_back({t.name, std::string(gguf::blocks_of(t.encoding).name) + " " +
                                 to_string(Shape(Dims(t.shape.begin(), t.shape.end()))),
                     t.numbers, t.bytes});
    return all;
  }
  auto files = Safetensors::open(folder);
  for (auto& name : files.names()) {
    auto type = files.type(name);
    all.push_back({name, to_string(type), type.size(), static_cast<std::int64_t>(type.nbytes())});
  }
  return all;
}
std::string weights_of(const std::string& folder) {
  if (gguf::is_file(folder)) return gguf_weights(*gguf::File::open(folder));
  auto file = folder + "/config.json";
  auto how = QuantisedFiles::parse(read_file(file), file);
  if (how.kind != QuantisedFiles::Kind::none) return how.nearest();
  auto files = Safetensors::open(folder);
  std::int64_t half = 0, all = 0;
  for (auto& name : files.names()) {
    try {
      auto type = files.type(name);
      all += type.size();
      if (type.dtype == bf16) half += type.size();
    } catch (const DtypeError&) {}  // a dtype that is none here, which an error names where it is read
  }
  return 2 * half > all ? "bf16" : "f32";
}
}  // namespace bora::models
