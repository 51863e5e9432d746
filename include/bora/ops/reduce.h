// reduce.h -- reductions, running sums, order, products.
#pragma once
#include <string_view>
#include "bora/ops/axes.h"

namespace bora {
// Reductions over axes (default: all), which disappear unless keepdims. Sums and means of bf16 accumulate in f32 and
// round once; sums and products (running ones too) of bool, i8 and i16 are i32, of u8 and u16 u32. max and min give
// NaN for NaN. Ties share the gradients of amax and amin equally.
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
Array all(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array any(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
Array var(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});  // biased: divided by n
Array stddev(const Array& x, const Dimensions& axes = none, const ReduceOptions& options = {});
/// i32 position of the first maximum (minimum); NaN counts as the extreme.
Array argmax(const Array& x, std::int64_t axis = -1);
Array argmin(const Array& x, std::int64_t axis = -1);
Array cumsum(const Array& x, std::int64_t axis = 0);
Array reverse_cumsum(const Array& x, std::int64_t axis = 0);
/// Ascending, stable, NaN last. argsort gives i32 positions.
Array sort(const Array& x, std::int64_t axis = -1);
Array argsort(const Array& x, std::int64_t axis = -1);
/// The k largest of the last dimension, descending, and their i32 positions.
struct TopK {
  Array values, indices;
};
TopK top_k(const Array& x, std::int64_t k);

struct DotDims {
  Dims batch_a = {}, batch_b = {}, contract_a = {}, contract_b = {};
};
/// Output: batch dimensions, free dimensions of a, free dimensions of b. Operands are promoted. Throws ShapeError.
Array dot_general(const Array& a, const Array& b, const DotDims& dims);
/// NumPy's matmul: vectors, matrices, broadcast batches.
Array matmul(const Array& a, const Array& b);
Array dot(const Array& a, const Array& b);
Array outer(const Array& a, const Array& b);
Array tensordot(const Array& a, const Array& b, std::int64_t axes = 2);
/// "b i d, b j d -> b i j" (words, blanks between axes) or "bid,bjd->bij" (the operands' ranks decide which it is).
Array einsum_flat(std::string_view equation, const Arrays& operands);
template <std::same_as<Array>... A> Array einsum(std::string_view equation, const Array& first, const A&... more) {
  return einsum_flat(equation, {first, more...});
}
}  // namespace bora
