// tensors.h -- names of tensors in the table of a model.
#pragma once
#include "bora/models/hugging_face.h"

namespace bora::models {
/// How many of the leaf's first dimensions number its tensors: of layers, then of experts.
inline std::size_t stacked_dims(const HfWeight& w) {
  std::size_t n = 0;
  for (auto at = w.tensor.find("{}"); at != std::string::npos; at = w.tensor.find("{}", at + 2)) ++n;
  return n;
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
  for (auto i : place) name.replace(name.find("{}"), 2, std::to_string(i));
  return name;
}
/// The tensor of a leaf that is stacked by layers only, or not at all.
inline std::string tensor_of_layer(const HfWeight& w, std::int64_t layer) {
  return tensor_at(w, is_stacked(w) ? Dims{layer} : Dims{});
}
}  // namespace bora::models
