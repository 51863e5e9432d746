// halves.h -- rows that hold two texts, each in half of the positions. Private.
#pragma once
#include <utility>
#include "bora/named/operations.h"
#include "bora/nn/axes.h"

namespace bora::models {
inline constexpr const char* kHalf = "half";
/// [batch, position] as [2 batch, position / 2]: the two texts of a row as rows of their own, one behind the other.
inline NamedArray halves_as_rows(const NamedArray& x) {
  auto batch = x.axis(nn::kBatch), positions = x.axis(nn::kPosition);
  auto halves = unflatten_axis(x, nn::kPosition, {Axis{kHalf, 2}, Axis{nn::kPosition, positions.size / 2}});
  return flatten_axes(halves, {nn::kBatch, kHalf}, Axis{nn::kBatch, 2 * batch.size});
}
/// Of such rows [2 batch, ..] those of the first texts and those of the second ones, [batch, ..].
inline std::pair<NamedArray, NamedArray> apart(const NamedArray& rows) {
  auto n = rows.axis(nn::kBatch).size;
  auto pairs = unflatten_axis(rows, nn::kBatch, {Axis{nn::kBatch, n / 2}, Axis{kHalf, 2}});
  return {take(pairs, kHalf, 0), take(pairs, kHalf, 1)};
}
}  // namespace bora::models
