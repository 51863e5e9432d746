// shape.h -- operations that move elements.
#pragma once
#include "bora/ops/axes.h"

namespace bora {
/// x with input dimension i as output dimension dims[i] (increasing); dimensions of size 1 are stretched. Throws
/// ShapeError.
Array broadcast_in_dim(const Array& x, const Shape& shape, const Dims& dims);
/// x stretched to `shape` by NumPy's rules.
Array broadcast_to(const Array& x, const Shape& shape);
/// The same elements, row-major, as another shape; one size may be -1. Throws ShapeError.
Array reshape(const Array& x, const Shape& shape);
template <std::integral... N>
__attribute__((unavailable("sizes stand in braces: reshape(x, {2, 3})"))) Array
reshape(const Array&, std::int64_t, std::int64_t, N...);
/// Dimensions in another order (output dimension d is input dimension perm[d]); without perm reversed. Negative axes
/// count from the end.
Array transpose(const Array& x);
Array transpose(const Array& x, const Dims& perm);
template <std::integral... N>
__attribute__((unavailable("axes stand in braces: transpose(x, {1, 0})"))) Array
transpose(const Array&, std::int64_t, std::int64_t, N...);
Array swapaxes(const Array& x, std::int64_t a, std::int64_t b);
Array moveaxis(const Array& x, std::int64_t from, std::int64_t to);
Array expand_dims(const Array& x, std::int64_t axis);
/// Without these dimensions of size 1 (without axes: without all of them). Throws ShapeError for another size.
Array squeeze(const Array& x);
Array squeeze(const Array& x, const Dimensions& axes);
Array ravel(const Array& x);
Array flip(const Array& x, const Dimensions& axes = none);
Array tile(const Array& x, const Dims& repeats);
Array repeat(const Array& x, std::int64_t n, std::int64_t axis);
Array roll(const Array& x, std::int64_t shift, std::int64_t axis);
/// x[start, limit) with steps, per dimension; bounds must hold 0 <= start <= limit <= size. Throws ShapeError.
Array slice(const Array& x, const Dims& start, const Dims& limit, const Dims& stride = {});
/// x[.., start:limit, ..] along one dimension.
Array slice_in_dim(const Array& x, std::int64_t axis, std::int64_t start, std::int64_t limit, std::int64_t stride = 1);
/// x[.., i, ..]: drops the dimension.
Array index_in_dim(const Array& x, std::int64_t axis, std::int64_t i);
/// lo and hi elements of `value` around each dimension (negative values cut), `interior` between neighbours.
Array pad(const Array& x, const Dims& lo, const Dims& hi, Scalar value = 0, const Dims& interior = {});
Array concatenate(const Arrays& xs, std::int64_t axis = 0);
Array stack(const Arrays& xs, std::int64_t axis = 0);
template <std::same_as<Array>... A>
__attribute__((unavailable("Arrays stand in braces: concatenate({a, b})"))) Array
concatenate(const Array&, const Array&, const A&...);
template <std::same_as<Array>... A>
__attribute__((unavailable("Arrays stand in braces: stack({a, b})"))) Array
stack(const Array&, const Array&, const A&...);
/// x in `parts` equal parts. (A Dim, so that beside `using random::split` split(k, n) is the split of keys.)
Arrays split(const Array& x, Dim parts, std::int64_t axis = 0);
/// i32 0, 1, .. along dim, in the given shape (or another dtype).
Array iota(const Shape& shape, std::int64_t dim, Dtype dtype = i32);
}  // namespace bora
