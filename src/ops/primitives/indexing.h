// indexing.h -- shared by reads and writes at indices. Private.
#pragma once
#include <limits>
#include <optional>
#include "bora/base/parallel.h"
#include "ops/primitives/dims.h"

namespace bora::ops {
/// x as [batch, outer, n, inner], indices as [batch, m].
struct IndexDims {
  std::int64_t batch, outer, n, m, inner;
};
IndexDims index_dims(const Type& x, const Type& indices, std::int64_t axis, std::int64_t batch_dims);
void check_indexing(std::string_view what, const Type& x, const Type& indices, std::int64_t axis,
                    std::int64_t batch_dims);
Shape taken_shape(const Shape& x, const Shape& indices, std::int64_t axis, std::int64_t batch_dims);
struct IndexLabels {
  Dims x, indices, taken;
};
IndexLabels index_labels(const Types& in, std::int64_t axis, std::int64_t batch_dims);
/// What is taken at an index outside of the table, as `fill` wants it: NaN, 0 for integers.
Bytes16 missing_number(Dtype);
/// Indices counted from where this rank's block of the indexed dimension begins; none if that dimension is not split,
/// or if one of its mesh axes splits another operand too.
struct OwnIndices {
  Sharded indices;
  Array local;
  MeshAxes axes;
};
std::optional<OwnIndices> own_indices(const std::vector<Sharded>& in, ShardRules& s, std::int64_t axis);
/// Zeros of x's type, on a mesh split as x is: what a gradient by x is added to.
Array zeros_split_like(const Array& x);
/// i32 indices moved into [0, n).
Array clamped(const Array& indices, std::int64_t n);
/// Indices as i32, negative ones counted from the end.
Array from_front(std::string_view what, const Array& indices, std::int64_t n);
/// f(b) for every batch, in parallel: loops inside each call run on its own thread.
template <class F> void for_each_batch(const IndexDims& d, F&& f) {
  if (d.batch == 1) return f(0);
  parallel_for(d.batch, grain_for(0.5 * static_cast<double>(d.outer * d.m * d.inner)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (auto b = begin; b < end; ++b) f(b);
               });
}
}  // namespace bora::ops
