// manipulation.h -- operations that move elements: other shapes, parts, joined and repeated arrays, diagonals.
#pragma once
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>
#include "bora/ops/arguments.h"

namespace bora {
// ---- shapes and axes ------------------------------------------------------------------------------------------------
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
Array ravel(const Array& x);  // the elements, row-major, as a vector
/// The elements of ravel(x), repeated or cut, as another shape. Throws ShapeError for none that should be some.
Array resize(const Array& x, const Shape& shape);
/// x with dimensions of size 1 until there are at least 1, 2 (in front) or 3 ([n] becomes [1, n, 1], [m, n] [m, n, 1]).
Array atleast_1d(const Array& x);
Array atleast_2d(const Array& x);  // [n] becomes [1, n]
Array atleast_3d(const Array& x);  // [n] becomes [1, n, 1], [m, n] becomes [m, n, 1]
/// All broadcast against each other.
Arrays broadcast_arrays(const Arrays& xs);
/// Dimensions in another order (output dimension d is input dimension perm[d]); without perm reversed. Negative axes
/// count from the end.
Array transpose(const Array& x);
Array transpose(const Array& x, const Dims& perm);
template <std::integral... N>
__attribute__((unavailable("axes stand in braces: transpose(x, {1, 0})"))) Array
transpose(const Array&, std::int64_t, std::int64_t, N...);
Array swapaxes(const Array& x, std::int64_t a, std::int64_t b);  // dimensions a and b in each other's place
Array moveaxis(const Array& x, std::int64_t from, std::int64_t to);
/// Axis from[i] becomes axis to[i]; the others keep their order. Throws ValueError for lists of different lengths or an
/// axis given twice, IndexError.
Array moveaxis(const Array& x, const Dims& from, const Dims& to);
/// Dimension axis moved before dimension `before`.
Array rollaxis(const Array& x, std::int64_t axis, std::int64_t before = 0);
/// The last two dimensions swapped.
Array matrix_transpose(const Array& x);
Array expand_dims(const Array& x, std::int64_t axis);
/// Dimensions of size 1 that are `axes` of the result.
Array expand_dims(const Array& x, const Dims& axes);
/// Without these dimensions of size 1 (without axes: without all of them). Throws ShapeError for another size.
Array squeeze(const Array& x);
Array squeeze(const Array& x, const Dimensions& axes);

// ---- parts ----------------------------------------------------------------------------------------------------------
/// x[start, limit) with steps, per dimension; bounds must hold 0 <= start <= limit <= size. Throws ShapeError.
Array slice(const Array& x, const Dims& start, const Dims& limit, const Dims& stride = {});
/// x[.., start:limit, ..] along one dimension.
Array slice_in_dim(const Array& x, std::int64_t axis, std::int64_t start, std::int64_t limit, std::int64_t stride = 1);
/// x[.., i, ..]: drops the dimension.
Array index_in_dim(const Array& x, std::int64_t axis, std::int64_t i);
/// The vector x without zeros at its ends: "fb" both, "f" the front, "b" the back. Reads values.
Array trim_zeros(const Array& x, std::string_view trim = "fb");

// ---- padding --------------------------------------------------------------------------------------------------------
/// lo and hi elements of `value` around each dimension (negative values cut), `interior` between neighbours.
Array pad(const Array& x, const Dims& lo, const Dims& hi, Scalar value = 0, const Dims& interior = {});
/// The elements that padding adds: a number; the nearest one; those before the first (behind the last) mirrored without
/// it, mirrored with it; those of the other end; numbers from `value`, outermost, towards the first (last) one; the
/// extreme, mean or median of the whole line.
enum class PadMode : std::uint8_t {
  constant,
  edge,
  reflect,
  symmetric,
  wrap,
  linear_ramp,
  maximum,
  minimum,
  mean,
  median
};
/// Elements before and behind along each dimension: 2, {1, 2} (of every dimension), or {{1, 2}, {0, 0}}.
struct PadWidths {
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  PadWidths(std::int64_t both) : each{{both, both}}, of_every(true) {}
  PadWidths(std::int64_t before, std::int64_t behind) : each{{before, behind}}, of_every(true) {}
  PadWidths(std::initializer_list<std::pair<std::int64_t, std::int64_t>> pairs) : each(pairs) {}
  PadWidths(Pairs pairs) : each(std::move(pairs)) {}
  Pairs each;
  bool of_every = false;
};
/// x with elements around it, axis by axis: jax.numpy.pad. value: of constant, and the end of linear_ramp. Throws
/// ShapeError for another number of pairs than dimensions, ValueError for a negative width, and for elements of an axis
/// that has none in modes other than constant.
Array pad(const Array& x, const PadWidths& widths, PadMode mode = PadMode::constant, Scalar value = 0);

// ---- joining and splitting ------------------------------------------------------------------------------------------
Array concatenate(const Arrays& xs, std::int64_t axis = 0);  // joined along axis; their dtypes are promoted
Array stack(const Arrays& xs, std::int64_t axis = 0);        // of equal shapes, along a new dimension axis
template <std::same_as<Array>... A>
__attribute__((unavailable("Arrays stand in braces: concatenate({a, b})"))) Array
concatenate(const Array&, const Array&, const A&...);
template <std::same_as<Array>... A>
__attribute__((unavailable("Arrays stand in braces: stack({a, b})"))) Array
stack(const Array&, const Array&, const A&...);
/// Joined along the second dimension (vectors: the first), the first and the third.
Array hstack(const Arrays& xs);
Array vstack(const Arrays& xs);  // joined along the first dimension; vectors are rows
Array dstack(const Arrays& xs);  // joined along the third dimension
/// Vectors as columns beside each other; matrices are joined along the second dimension.
Array column_stack(const Arrays& xs);
/// Blocks in rows: those of a row are joined along the last dimension, the rows along the one before it.
Array block(const std::vector<Arrays>& rows);
/// x in `parts` equal parts. (A DimSize, so that beside `using random::split` split(k, n) is the split of keys.)
Arrays split(const Array& x, DimSize parts, std::int64_t axis = 0);
/// x in parts along axis: n parts of which the first are one larger if the size is no multiple of n; or cut at
/// positions (NumPy's slices: negative from the end, cut off outside).
Arrays array_split(const Array& x, DimSize parts, std::int64_t axis = 0);
Arrays array_split(const Array& x, const Dims& positions, std::int64_t axis = 0);
/// Equal parts along the second dimension (vectors: the first), the first and the third. Throws ShapeError if the size
/// is no multiple.
Arrays hsplit(const Array& x, DimSize parts);
Arrays vsplit(const Array& x, DimSize parts);  // x in equal parts along the first dimension
Arrays dsplit(const Array& x, DimSize parts);  // x in equal parts along the third dimension
/// x's elements along axis, without the dimension.
Arrays unstack(const Array& x, std::int64_t axis = 0);
/// x and then values along axis; without an axis both raveled.
Array append(const Array& x, const Array& values, std::optional<std::int64_t> axis = none);
/// x with values before positions of axis, which count elements of x. One position: the first dimension of values (1
/// if they have fewer dimensions than x) counts the new elements, the others are broadcast. A list: values are
/// broadcast to x with as many elements along axis as there are positions (a list of one: any number), element i goes
/// before positions[i], and those of one position stay in order. delete_ is x without the elements at positions (delete
/// is a keyword of C++). Throws IndexError for a position that does not exist, ShapeError for values that do not fit.
Array insert(const Array& x, const PositionList& positions, const Array& values, std::int64_t axis = 0);
/// x without the elements at positions.
Array delete_(const Array& x, const PositionList& positions, std::int64_t axis = 0);

// ---- repeating and turning ------------------------------------------------------------------------------------------
Array tile(const Array& x, const Dims& repeats);  // x repeated repeats[i] times along each of its last dimensions
Array repeat(const Array& x, std::int64_t n, std::int64_t axis);
struct RepeatOptions {                       // of repeat
  std::optional<std::int64_t> total = none;  // elements of the result along the axis; default: the sum, which is read
};
/// Element i of axis counts[i] times, one after the other: counts an integer vector, or one number for all. With .total
/// the rest is cut, or filled with the last element, as by jax.numpy.repeat(total_repeat_length). Throws ShapeError,
/// DtypeError, ValueError for a negative number that can be read, TraceError inside transforms without .total.
Array repeat(const Array& x, const Array& counts, std::int64_t axis = 0, const RepeatOptions& options = {});
/// Every element of ravel(x) n times.
Array repeat(const Array& x, std::int64_t n);
Array roll(const Array& x, std::int64_t shift, std::int64_t axis);
/// x's elements moved by shifts[i] along axes[i], what leaves at one end enters at the other; an axis given twice moves
/// by the sum. Without axes ravel(x) is moved, in x's shape. Throws ValueError for lists of different lengths.
Array roll(const Array& x, const Dims& shifts, const Dims& axes);
Array roll(const Array& x, std::int64_t shift);
Array flip(const Array& x, const Dimensions& axes = none);  // x backwards along axes (default: all)
Array fliplr(const Array& x);                               // the second dimension backwards
Array flipud(const Array& x);                               // the first dimension backwards
/// Turned by k quarters from axis `from` towards axis `to`.
Array rot90(const Array& x, std::int64_t k = 1, std::int64_t from = 0, std::int64_t to = 1);

// ---- diagonals ------------------------------------------------------------------------------------------------------
/// The k-th diagonal of dimensions a and b, as the last dimension.
Array diagonal(const Array& x, std::int64_t k = 0, std::int64_t a = 0, std::int64_t b = 1);
/// The sum of the k-th diagonal of dimensions a and b.
Array trace(const Array& x, std::int64_t k = 0, std::int64_t a = 0, std::int64_t b = 1);
/// A vector [n] as the k-th diagonal of a matrix [n + |k|, n + |k|]; of a matrix the k-th diagonal.
Array diag(const Array& x, std::int64_t k = 0);
/// diag(ravel(x), k).
Array diagflat(const Array& x, std::int64_t k = 0);
/// x [.., m, n] with `value` (one number, or the min(m, n) of the diagonal) on the diagonals.
Array fill_diagonal(const Array& x, const Array& value);

// ---- bits -----------------------------------------------------------------------------------------------------------
/// Bits (elements that are not 0) along axis in bytes u8, the first the highest, the last byte filled up with 0; and
/// back.
Array packbits(const Array& x, std::int64_t axis = -1);
Array unpackbits(const Array& x, std::int64_t axis = -1);  // eight u8, 0 or 1, for each byte
}                                                          // namespace bora
