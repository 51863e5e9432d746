// A model as the tensors of Hugging Face's files: each is made of the leaves that the model's table names for it.
#include <algorithm>
#include "base/api/file.h"
#include "bora/fx/jit.h"
#include "bora/io/tree.h"
#include "bora/models/parameter.h"
#include "bora/models/pretrained.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "io/api/safetensors_save.h"
#include "models/api/weights.h"
#include "models/hf/quantised_save.h"
#include "models/hf/tensors.h"
#include "ops/api/same_everywhere.h"
#include "shard/api/agree.h"

namespace bora::models {
namespace {
struct Leaf {
  Array array;
  std::vector<Axis> axes;
};
/// A leaf's block of one layer (and expert), with the dimensions of the tensor's view, and the name of each.
struct Piece {
  const HfWeight* weight;
  Array block;
  std::vector<Axis> axes;
};
Piece piece_of(const HfWeight& w, const Leaf& leaf, std::int64_t number, std::optional<Dtype> dtype) {
  auto x = leaf.array;
  for (auto i : place_in_stack(w, leaf.array.shape(), number)) x = view(x, i);
  if (dtype) x = x.astype(*dtype);
  Dims from(w.order.size());
  for (std::size_t d = 0; d < from.size(); ++d)
    from[static_cast<std::size_t>(w.order[d])] = static_cast<std::int64_t>(d);
  auto axes = view_axes(w, leaf.axes);
  if (!from.empty()) x = transpose(x, from);
  return {&w, w.split ? reshape(x, shape_of(axes)) : x, axes};
}
/// The pieces beside each other along the dimension in which their places differ. Throws ValueError unless they are the
/// whole tensor: the table is wrong.
Array joined(std::vector<Piece> pieces) {
  auto& first = pieces[0];
  auto n = first.block.shape().size();
  auto begin = [](const Piece& p, std::size_t d) { return p.weight->begin.empty() ? 0 : p.weight->begin[d]; };
  std::size_t along = 0;
  for (std::size_t d = 0; d < n; ++d)
    if (std::any_of(pieces.begin(), pieces.end(), [&](auto& p) { return begin(p, d) != begin(first, d); })) along = d;
  std::sort(pieces.begin(), pieces.end(), [&](auto& a, auto& b) { return begin(a, along) < begin(b, along); });
  Arrays blocks;
  std::int64_t end = 0;
  for (auto& p : pieces) {
    auto& w = *p.weight;
    auto shape = p.block.shape();
    bool fits = begin(p, along) == end;
    end += shape[along];
    for (std::size_t d = 0; d < n; ++d)
      fits = fits && (d == along || begin(p, d) == 0) && (w.end.empty() || w.end[d] == begin(p, d) + shape[d]) &&
             (!w.view || d == along || (*w.view)[d] == shape[d]);
    check<ValueError>(fits, "hf_weights: ", w.tensor, ": the block of '", w.leaf, "', ", shape, ", does not fit");
    blocks.push_back(p.block);
  }
  check<ValueError>(!first.weight->view || (*first.weight->view)[along] == end, "hf_weights: ", first.weight->tensor,
                    ": its leaves are ", end, " of ", [&] { return (*first.weight->view)[along]; });
  return blocks.size() == 1 ? blocks[0] : concatenate(blocks, static_cast<std::int64_t>(along));
}
/// Split over all ranks, whatever the leaves were: a rank keeps its part only.
Array spread(const Array& x) {
  if (!here().mesh) return x;
  MeshAxes all;
  for (auto& axis : here().mesh->axes)
    if (axis.second > 1) all.push_back(axis.first);
  Spec spec({all});
  spec.resize(x.shape().size());
  return ops::constrained(x, spec);
}
/// compressed-tensors takes layers whose tensors are [outputs, inputs].
void check_outputs_first(const HfWeight& w, const PackedLeaf& leaf) {
  auto layer = leaf.of_layer();
  auto outputs = static_cast<std::int64_t>(leaf.weight.out.size());
  for (std::size_t d = 0; d < layer.size(); ++d) {
    auto place = w.order.empty() ? static_cast<std::int64_t>(d) : w.order[d];
    check<ConfigError>((find_axis(leaf.weight.out, layer[d].name) >= 0) == (place < outputs), "quantize: the tensors ",
                       w.tensor, " of this model are [inputs, outputs] (Conv1D), which compressed-tensors' layout has ",
                       "not; --weights packs them when the model is loaded");
  }
}
}  // namespace

void save_pretrained(const std::string& folder, tree::Node parameters, const Model& model, std::int64_t vocabulary,
                     HfConfig config, const SavePretrained& options) {
  model.to_hf(config);  // first: nothing is written of a model that other programs lack
  std::map<std::string, Leaf> leaves;
  for (auto& slot : tree::slots(parameters))
    if (slot.leaf.defined()) leaves[slot.path].array = slot.leaf.get();
  for (auto& p : model.parameters(vocabulary)) {
    check<ValueError>(leaves.contains(p.path), "save_pretrained: the parameters have no leaf '", p.path, "'");
    leaves[p.path].axes = p.axes;
  }
  auto weights = model.hf_weights();
  std::map<std::string, std::vector<const HfWeight*>> pieces;
  for (auto& w : weights)
    if (!w.copy) pieces[w.tensor].push_back(&w);
  std::map<std::string, std::function<Array()>> tensors;
  std::map<std::string, nn::WeightFormat> integers;
  std::map<std::string, PackedLeaf> packed;
  if (options.weights)
    for (auto& leaf : model.packed(vocabulary, *options.weights))
      if (find_axis(leaf.axes, nn::kVocab) < 0) packed.emplace(leaf.path, leaf);
  for (auto& [name, parts] : pieces) {
    auto as_integers = packed.find(parts[0]->leaf);
    if (as_integers != packed.end()) check_outputs_first(*parts[0], as_integers->second);
    auto shape = shape_of(leaves.at(parts[0]->leaf).axes);
    std::int64_t stacked = 1;
    for (std::size_t d = 0; d < stacked_dims(*parts[0]); ++d) stacked *= shape.at(d);
    for (std::int64_t i = 0; i < stacked; ++i) {
      if (as_integers != packed.end())
        integers.emplace(tensor_at(*parts[0], place_in_stack(*parts[0], shape, i)), as_integers->second.weight.format);
      tensors[tensor_at(*parts[0], place_in_stack(*parts[0], shape, i))] = [&, &parts = parts, i] {
        std::vector<Piece> blocks;
        for (auto* w : parts) blocks.push_back(piece_of(*w, leaves.at(w->leaf), i, options.dtype));
        auto axes = blocks[0].axes;
        auto whole = joined(std::move(blocks));
        auto shape = stored_shape(whole.shape(), axes);
        return spread(shape == whole.shape() ? whole : reshape(whole, shape));
      };
    }
  }
  std::vector<io::TensorSource> sources;
  std::vector<std::string> numbers;  // layers that keep them
  for (auto& [name, make] : tensors) {
    auto type = eval_shape(make).type();
    constexpr std::string_view end = ".weight";
    if (auto f = integers.find(name); f != integers.end())
      for (auto& s : packed_sources(name, type.shape, f->second, make)) sources.push_back(s);
    else sources.push_back({name, type, make});
    if (!integers.contains(name) && type.ndim() == 2 && name.ends_with(end))
      numbers.push_back(name.substr(0, name.size() - end.size()));
  }
  if (options.weights) write_quantization(config, *options.weights, numbers);
  io::save_tensors(folder, sources, {.shard_bytes = options.shard_bytes});
  auto dtype = f32;
  for (auto& s : sources)
    if (is_float(s.type.dtype)) dtype = s.type.dtype;
  config.set("vocab_size", vocabulary);
  config.set("torch_dtype", dtype == bf16 ? "bfloat16" : dtype == f64 ? "float64" : "float32");
  on_first(io::place_here(), "hugging face: write config.json",
           [&] { write_file(folder + "/config.json", config.text()); });
}
}  // namespace bora::models
