// attention_dims.h -- named arrays for positional attention, which has one dimension for its queries, its keys and so
// on, however many axes they are. Private.
#pragma once
#include "nn/core/support.h"

namespace bora::nn {
/// x's array with a dimension for each axis of the batch, then one for each list of axes: their product, or 1 if x has
/// none of them. x is repeated along the axes of a list that it lacks.
inline Array with_dims(const NamedArray& x, const AxisList& batch, const std::vector<AxisList>& lists) {
  AxisList order;
  Shape shape;
  auto put = [&](const AxisList& list) {
    bool present = std::any_of(list.begin(), list.end(), [&](auto& a) { return x.has_axis(a.name); });
    if (present) order.insert(order.end(), list.begin(), list.end());
    shape.push_back(present ? volume(shape_of(list)) : 1);
  };
  for (auto& a : batch) put({a});
  for (auto& l : lists) put(l);
  return reshape(array_over(x, order), shape);
}
/// with_dims, repeated along the whole batch.
inline Array with_whole_dims(const NamedArray& x, const AxisList& batch, const std::vector<AxisList>& lists) {
  auto y = with_dims(x, batch, lists);
  auto shape = shape_of(batch);
  for (auto d = batch.size(); d < y.shape().size(); ++d) shape.push_back(y.shape()[d]);
  return broadcast_to(y, shape);
}
}  // namespace bora::nn
