#include "models/lm/initial.h"
#include <cstring>
#include "bora/fx/jit.h"
#include "models/api/weights.h"
#include "bora/named/sharded.h"
#include "bora/nn/embedding.h"
#include "bora/ops/indexing.h"
#include "bora/shard/shard.h"
#include "ops/api/same_everywhere.h"

namespace bora::models {
namespace {
using tree::Any;
/// Tables of tokens, and the layer that gives their scores.
constexpr nn::WeightFormat kOfTokens{8, 32};
bool of_tokens(const std::vector<Axis>& axes) { return find_axis(axes, nn::kVocab) >= 0; }
std::optional<nn::WeightFormat> format_of(const std::string& path, const nn::Linear& l, const nn::WeightFormat& f) {
  if (path.ends_with("router")) return none;
  return of_tokens(l.out) ? kOfTokens : f;
}
/// Calls f(path, layer, format) for each layer that is packed.
template <class F> void each_packed(const AnyModel& model, Any& m, const nn::WeightFormat& format, const F& f) {
  model.each_linear(m, [&](const std::string& path, nn::Linear& l) {
    if (auto own = format_of(path, l, format)) f(path, l, *own);
  });
  model.each_embedding(m, [&](const std::string& path, nn::Embedding& e) {
    if (of_tokens({e.weight.axes().at(0)})) f(path, e, kOfTokens);
  });
}
nn::PackedWeight packed_weight(const nn::Linear& l, const nn::WeightFormat& f) { return {f, l.out, l.in}; }
nn::PackedWeight packed_weight(const nn::Embedding& e, const nn::WeightFormat& f) {
  return {f, {e.weight.axes().at(0)}, {e.weight.axes().at(1)}};
}
std::vector<Axis> stacked_axes(const std::vector<Axis>& all, const nn::PackedWeight& w) {
  std::vector<Axis> r;
  for (auto& a : all)
    if (find_axis(w.out, a.name) < 0 && find_axis(w.in, a.name) < 0) r.push_back(a);
  return r;
}
NamedArray& leaf_at(tree::Node parameters, const PackedLeaf& p) {
  for (auto& slot : tree::slots(parameters))
    if (slot.path == p.path)
      if (auto* x = slot.leaf.as<NamedArray>(); x && slot.leaf.defined() && x->dtype() == Dtype::u8) return *x;
  fail<ValueError>("the parameters have no packed weight '", p.path, "'");
}
}  // namespace

Any initial(const AnyModel& model, const Initial& how, const Array& key) {
  if (how.drawn) {
    auto m = how.policy.cast_to_parameter(model.init(key));
    if (how.weights)
      each_packed(model, m, *how.weights, [](auto&, auto& layer, auto& format) { nn::pack(layer, format); });
    return m;
  }
  auto m = eval_shape(model.init, key);
  std::int64_t number = 0;
  if (how.weights)
    each_packed(model, m, *how.weights, [&](auto&, auto& layer, auto& format) {
      auto w = packed_weight(layer, format);
      auto axes = w.axes(stacked_axes(layer.weight.axes(), w));
      // Equal ones would be one array, whose memory stays until the last of them has numbers.
      layer.weight = NamedArray(full(shape_of(axes), Scalar(number++ % 256), Dtype::u8), axes);
      layer.packed = w;
    });
  for (auto& slot : tree::slots(tree::node(m))) {
    if (!slot.leaf.defined()) continue;
    auto type = slot.leaf.get().type();
    if (how.weights && type.dtype == Dtype::u8) continue;
    slot.leaf.set(zeros(type.shape, is_float(type.dtype) ? how.policy.parameter : type.dtype));
  }
  return m;
}
std::vector<PackedLeaf> Model::packed(std::int64_t vocabulary, const nn::WeightFormat& format) const {
  auto any = model(vocabulary);
  auto m = eval_shape(any->init, random::key(0));
  std::vector<PackedLeaf> all;
  each_packed(*any, m, format, [&](const std::string& path, auto& layer, auto& own) {
    auto w = packed_weight(layer, own);
    check<ValueError>(stacked_axes(layer.weight.axes(), w).size() <= 1, "weights: '", path, "' is stacked twice");
    all.push_back({path + ".weight", layer.weight.axes(), w});
  });
  return all;
}
std::vector<Axis> PackedLeaf::of_layer() const {
  auto stacked = stacked_axes(axes, weight);
  return {axes.begin() + static_cast<std::ptrdiff_t>(stacked.size()), axes.end()};
}
namespace {
/// Copies bytes to a place in the leaf's block on this rank.
void write_at(NamedArray& leaf, std::int64_t place, const Array& part) {
  auto to = local_block(leaf.array());
  auto axes = leaf.axes();
  auto type = to.block.type();
  auto bytes = part.nbytes();
  if (place == 0) {  // memory of its own: leaves that are born equal may share it
    to.block = Array(), leaf = NamedArray();
    auto fresh = new_buffer(type);
    if (bytes > 0) std::memcpy(fresh.data, part.bytes(), bytes);
    auto block = fresh.done();
    leaf = NamedArray(here().mesh ? from_local_block(block, to.global_shape, to.spec) : block, axes);
  } else if (bytes > 0) {
    std::memcpy(static_cast<char*>(const_cast<void*>(to.block.bytes())) + place, part.bytes(), bytes);
  }
}
}  // namespace
void write_packed_bytes(tree::Node parameters, const PackedLeaf& p, std::int64_t i, const NamedArray& packed) {
  auto& leaf = leaf_at(parameters, p);
  Array part;
  std::int64_t bytes = 0;
  {
    auto to = local_block(leaf.array());
    auto stacked = to.global_shape.size() - packed.axes().size();
    Spec spec(std::vector<MeshAxes>(to.spec.begin() + static_cast<std::ptrdiff_t>(stacked), to.spec.end()));
    check<ValueError>(stacked == 0 || to.spec[0].empty(), "weights: '", p.path, "' is split by layers");
    part = local_block(here().mesh ? ops::constrained(packed.array(), spec) : packed.array()).block;
    bytes = static_cast<std::int64_t>(part.nbytes());
    check<ShapeError>((i + 1) * bytes <= static_cast<std::int64_t>(to.block.nbytes()), "weights: '", p.path,
                      "' has no layer ", i, " of ", packed.axes());
  }
  write_at(leaf, i * bytes, part);
}
void write_packed_outputs(tree::Node parameters, const PackedLeaf& p, std::int64_t first, const NamedArray& numbers) {
  auto some = p.weight;
  some.out = {numbers.axis(p.weight.out.at(0).name)};
  auto& leaf = leaf_at(parameters, p);
  auto each = static_cast<std::int64_t>(leaf.array().nbytes()) / leaf.array().shape(0);  // bytes of a tile
  constexpr std::int64_t tile = 16;
  bool alone = !here().mesh || here().mesh->size() == 1;
  check<ValueError>(alone && p.weight.out.size() == 1 && leaf.ndim() == 3 && first % tile == 0,
                    "weights: '", p.path, "' cannot be written from output ", first, " on");
  write_at(leaf, first / tile * each, local_block(some.pack(numbers).array()).block);
}
void write_packed(tree::Node parameters, const PackedLeaf& p, std::int64_t i, const NamedArray& numbers) {
  write_packed_bytes(parameters, p, i, p.weight.pack(numbers));
}
void write_all_packed(tree::Node parameters, const PackedLeaf& p, const NamedArray& numbers) {
  auto stacked = stacked_axes(p.axes, p.weight);
  if (stacked.empty()) return write_packed(parameters, p, 0, numbers);
  for (std::int64_t i = 0; i < stacked[0].size; ++i)
    write_packed(parameters, p, i, NamedArray(view(numbers.array(), i), p.of_layer()));
}
}  // namespace bora::models
