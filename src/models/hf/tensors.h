// tensors.h -- names of tensors in the table of a model.
#pragma once
#include <algorithm>
#include <string>
#include "bora/models/hugging_face.h"
#include "bora/named/axis.h"
#include "bora/nn/axes.h"

namespace bora::models {
/// How many of the leaf's first dimensions number its tensors: of layers, then of experts.
inline std::size_t stacked_dims(const HfWeight& w) {
  return static_cast<std::size_t>(std::count(w.tensor.begin(), w.tensor.end(), '{'));
}
inline bool is_stacked(const HfWeight& w) { return stacked_dims(w) > 0; }
/// Element i of these dimensions, row-major, for a leaf of this shape: its place in each of them.
inline Dims place_in_stack(const HfWeight& w, const Shape& leaf, std::int64_t i) {
  Dims place(stacked_dims(w));
  for (auto d = place.size(); d-- > 0; i /= leaf[d]) place[d] = d > 0 ? i % leaf[d] : i;
  return place;
}
inline std::string tensor_at(const HfWeight& w, const Dims& place) {
  auto name = w.tensor;
  for (auto i : place) {
    auto at = name.find('{'), end = name.find('}', at);
    auto first = end - at > 1 ? 1 : 0;  // {+1}
    name.replace(at, end + 1 - at, std::to_string(i + first));
  }
  return name;
}
/// The axis of the last dimension of a view in which leaves take turns.
inline constexpr const char* kTurns = "turns";
/// The axis of each dimension of the tensor's view, of a leaf with these axes. Sizes are the leaf's; a dimension that
/// is split has the name of its first part and the size of all.
inline std::vector<Axis> view_axes(const HfWeight& w, const std::vector<Axis>& leaf) {
  std::vector<Axis> one(leaf.begin() + static_cast<std::ptrdiff_t>(stacked_dims(w)), leaf.end()), r = one;
  for (std::size_t d = 0; d < w.order.size(); ++d) r[static_cast<std::size_t>(w.order[d])] = one[d];
  if (!w.split) return r;
  std::vector<Axis> joined;
  std::size_t part = 0;
  for (std::size_t d = 0; d < w.view->size(); ++d) {
    auto end = w.end.empty() ? (*w.view)[d] : w.end[d], size = end - (w.begin.empty() ? 0 : w.begin[d]);
    if (part == r.size() && size == 1) {
      joined.emplace_back(kTurns, 1);
      continue;
    }
    joined.push_back(r.at(part));
    for (auto n = r[part++].size; n < size; ++part) n *= r.at(part).size;
    joined.back().size = size;
  }
  return joined;
}
/// The tensor's own shape: in the files, neighbouring dimensions of its view that are parts of heads are one,
/// and so are a dimension and the turns behind it.
inline Shape stored_shape(const Shape& view, const std::vector<Axis>& axes) {
  auto of_heads = [](const Axis& a) {
    return a.name == nn::kHeads || a.name == nn::kHeadGroup || a.name == nn::kHeadSize;
  };
  Shape shape;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    bool turns = axes[d].name == kTurns;
    if (d > 0 && (turns || (of_heads(axes[d]) && of_heads(axes[d - 1])))) shape[shape.size() - 1] *= view[d];
    else shape.push_back(view[d]);
  }
  return shape;
}
/// The tensor of a leaf that is stacked by layers only, or not at all.
inline std::string tensor_of_layer(const HfWeight& w, std::int64_t layer) {
  return tensor_at(w, is_stacked(w) ? Dims{layer} : Dims{});
}
}  // namespace bora::models
