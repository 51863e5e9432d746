// segment.h -- sums, products and extremes of rows by the segment that each belongs to, with the names of jax.ops:
// means of clusters, messages of graphs, bags of tokens.
#pragma once
#include "bora/array/array.h"

namespace bora {
/// The sum (product, maximum, minimum) of the rows of data [N, ..] that have each segment's number: [num_segments, ..],
/// of data's dtype. segment_ids [N]: integers, in any order; rows whose number lies outside of [0, num_segments) belong
/// nowhere. A segment without rows gives 0 (1, the least and the greatest number of the dtype, -inf and inf).
/// num_segments: default: the largest number plus 1, which reads values. Throws ShapeError, DtypeError, ValueError for
/// a negative num_segments, TraceError inside transforms without it. Source: jax.ops.segment_sum.
Array segment_sum(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments = none);
Array segment_prod(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments = none);
Array segment_max(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments = none);
Array segment_min(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments = none);
}  // namespace bora
