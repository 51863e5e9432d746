// reductions.h -- sums, products, extremes, means and moments over axes; running ones; those of chosen elements and of
// segments.
#pragma once
#include "bora/ops/arguments.h"

namespace bora {
// Reductions over axes (default: all), which disappear unless keepdims. Sums and means of bf16 accumulate in f32 and
// round once; sums and products (running ones and those over ranks too) of bool, i8 and i16 are i32, of u8 and u16 u32.
// max and min give NaN for NaN. Ties share the gradients of amax and amin equally.
Array sum(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array mean(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array prod(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array amax(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array amin(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
__attribute__((unavailable("write amax(x, axes); of two Arrays maximum(a, b)"))) Array
max(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
__attribute__((unavailable("write amin(x, axes); of two Arrays minimum(a, b)"))) Array
min(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
__attribute__((unavailable("write maximum(a, b)"))) Array max(const Array& a, const Array& b);
__attribute__((unavailable("write minimum(a, b)"))) Array min(const Array& a, const Array& b);
/// Boolean: is no element 0?
Array all(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array any(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});  // boolean: is one not 0?
/// The variance, divided by n.
Array var(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array stddev(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});  // sqrt(var)
/// i32 position of the first maximum (minimum); NaN counts as the extreme.
Array argmax(const Array& x, std::int64_t axis = -1);
Array argmin(const Array& x, std::int64_t axis = -1);  // i32 position of the first minimum
/// The number of elements that are not 0, i32.
Array count_nonzero(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
/// The largest minus the smallest element.
Array ptp(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});

// ---- running sums and products --------------------------------------------------------------------------------------
Array cumsum(const Array& x, std::int64_t axis = 0);          // element i is the sum of the elements 0 .. i
Array reverse_cumsum(const Array& x, std::int64_t axis = 0);  // element i is the sum of the elements i .. n - 1
/// Running products, by doubling: log2(n) passes (Hillis & Steele 1986).
Array cumprod(const Array& x, std::int64_t axis = 0);
/// Running sums and products; include_initial: a 0 or a 1 in front, so that there is one more.
Array cumulative_sum(const Array& x, std::int64_t axis = 0, bool include_initial = false);
Array cumulative_prod(const Array& x, std::int64_t axis = 0, bool include_initial = false);  // the same of products

// ---- without NaN ----------------------------------------------------------------------------------------------------
// Reductions that skip NaN; where only NaN is left, sums give 0, products 1 and the others NaN. Integers are reduced as
// they are.
Array nansum(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array nanprod(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array nanmean(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array nanvar(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});  // divided by n
Array nanstd(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array nanmax(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array nanmin(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
/// i32 position of the first maximum (minimum) that is not NaN; -1 where there is none.
Array nanargmax(const Array& x, std::int64_t axis = -1);
Array nanargmin(const Array& x, std::int64_t axis = -1);  // of the first minimum
/// Running sums and products in which NaN counts as 0 and as 1.
Array nancumsum(const Array& x, std::int64_t axis = 0);
Array nancumprod(const Array& x, std::int64_t axis = 0);  // NaN counts as 1

// ---- of segments, with the names of jax.ops: means of clusters, messages of graphs, bags of tokens ------------------
// The sum (product, maximum, minimum) of the rows of data [N, ..] that have each segment's number: [num_segments, ..],
// of data's dtype. segment_ids [N]: integers, in any order; rows whose number lies outside of [0, num_segments) belong
// nowhere. A segment without rows gives 0 (1, the least and the greatest number of the dtype, -inf and inf).
// num_segments: default: the largest number plus 1, which reads values. Throws ShapeError, DtypeError, ValueError for
// a negative num_segments, TraceError inside transforms without it. Source: jax.ops.segment_sum.
Array segment_sum(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments = none);
Array segment_prod(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments = none);
Array segment_max(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments = none);
Array segment_min(const Array& data, const Array& segment_ids, std::optional<std::int64_t> num_segments = none);
}  // namespace bora

// Reductions of the elements for which a condition holds: NumPy's where=, initial=, ddof=. Others count nowhere. where:
// boolean (or numbers, of which 0 is false), broadcastable to x; an empty Array stands for all elements.
namespace bora::masked {
struct Options {                         // of reductions with a condition
  bool keepdims = false;                 // reduced dimensions stay, with size 1
  std::optional<Scalar> initial = none;  // one more element of every sum, product or extreme
  double ddof = 0;                       // var and stddev divide by n - ddof
};
Array sum(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array prod(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
// The largest (smallest) element where the condition holds. Throws ValueError for one without .initial, as the extreme
// of nothing does not exist.
Array amax(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array amin(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
// boolean: are all, or is any, of these elements other than 0?
Array all(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array any(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
// NaN where the condition holds nowhere.
Array mean(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array var(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array stddev(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
}  // namespace bora::masked
