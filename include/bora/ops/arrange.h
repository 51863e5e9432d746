// arrange.h -- making arrays of other ones: joining, splitting, inserting, diagonals, choosing, positions. Composites,
// with NumPy's names and semantics.
#pragma once
#include <functional>
#include "bora/ops/axes.h"

namespace bora {
// ---- joining and splitting ------------------------------------------------------------------------------------------
/// x with dimensions of size 1 until there are at least 1, 2 (in front) or 3 ([n] becomes [1, n, 1], [m, n] [m, n, 1]).
Array atleast_1d(const Array& x);
Array atleast_2d(const Array& x);
Array atleast_3d(const Array& x);
/// Joined along the second dimension (vectors: the first), the first and the third.
Array hstack(const Arrays& xs);
Array vstack(const Arrays& xs);
Array dstack(const Arrays& xs);
/// Vectors as columns beside each other; matrices are joined along the second dimension.
Array column_stack(const Arrays& xs);
/// Blocks in rows: those of a row are joined along the last dimension, the rows along the one before it.
Array block(const std::vector<Arrays>& rows);
/// All broadcast against each other.
Arrays broadcast_arrays(const Arrays& xs);
/// x in parts along axis: n parts of which the first are one larger if the size is no multiple of n; or cut at
/// positions (NumPy's slices: negative from the end, cut off outside).
Arrays array_split(const Array& x, Dim parts, std::int64_t axis = 0);
Arrays array_split(const Array& x, const Dims& positions, std::int64_t axis = 0);
/// Equal parts along the second dimension (vectors: the first), the first and the third. Throws ShapeError if the size
/// is no multiple.
Arrays hsplit(const Array& x, Dim parts);
Arrays vsplit(const Array& x, Dim parts);
Arrays dsplit(const Array& x, Dim parts);
/// x's elements along axis, without the dimension.
Arrays unstack(const Array& x, std::int64_t axis = 0);
/// x and then values along axis; without an axis both raveled.
Array append(const Array& x, const Array& values, std::optional<std::int64_t> axis = none);
/// x with values before position i of axis: their first dimension (1 if they have fewer dimensions than x) counts the
/// new elements, the others are broadcast. delete_ is x without the elements at positions (delete is a keyword of C++).
/// Positions are fixed numbers; negative ones count from the end. Throws IndexError.
Array insert(const Array& x, std::int64_t i, const Array& values, std::int64_t axis = 0);
Array delete_(const Array& x, const Dims& positions, std::int64_t axis = 0);
/// The elements of ravel(x), repeated or cut, as another shape. Throws ShapeError for none that should be some.
Array resize(const Array& x, const Shape& shape);

// ---- turning --------------------------------------------------------------------------------------------------------
Array fliplr(const Array& x);  // the second dimension backwards
Array flipud(const Array& x);  // the first one
/// Turned by k quarters from axis `from` towards axis `to`.
Array rot90(const Array& x, std::int64_t k = 1, std::int64_t from = 0, std::int64_t to = 1);
/// Dimension axis moved before dimension `before`.
Array rollaxis(const Array& x, std::int64_t axis, std::int64_t before = 0);
/// The last two dimensions swapped.
Array matrix_transpose(const Array& x);

// ---- diagonals ------------------------------------------------------------------------------------------------------
/// The k-th diagonal of dimensions a and b, as the last dimension.
Array diagonal(const Array& x, std::int64_t k = 0, std::int64_t a = 0, std::int64_t b = 1);
/// Its sum.
Array trace(const Array& x, std::int64_t k = 0, std::int64_t a = 0, std::int64_t b = 1);
/// A vector [n] as the k-th diagonal of a matrix [n + |k|, n + |k|]; of a matrix the k-th diagonal.
Array diag(const Array& x, std::int64_t k = 0);
/// diag(ravel(x), k).
Array diagflat(const Array& x, std::int64_t k = 0);
/// x [.., m, n] with `value` (one number, or the min(m, n) of the diagonal) on the diagonals.
Array fill_diagonal(const Array& x, const Array& value);
/// i32 rows and columns of the elements of a matrix [n, columns] (default [n, n]) that are at and below (tril) or at
/// and above (triu) the k-th diagonal, row by row.
Arrays tril_indices(std::int64_t n, std::int64_t k = 0, std::optional<std::int64_t> columns = none);
Arrays triu_indices(std::int64_t n, std::int64_t k = 0, std::optional<std::int64_t> columns = none);
/// 0, 1, .. n - 1 for each of ndim dimensions.
Arrays diag_indices(std::int64_t n, std::int64_t ndim = 2);

// ---- positions and choices ------------------------------------------------------------------------------------------
/// i32 positions [ndim, shape..] along each dimension.
Array indices(const Shape& shape);
/// Row-major positions in `shape` of positions along each dimension, clamped to lie inside, and back (negative ones
/// count from the end).
Array ravel_multi_index(const Arrays& positions, const Shape& shape);
Arrays unravel_index(const Array& positions, const Shape& shape);
/// x with values (broadcast to the indices' shape) at indices [.., k, ..] of axis in each row: see take_along_axis. The
/// last of equal indices wins; those outside are dropped.
Array put_along_axis(const Array& x, const Array& indices, const Array& values, std::int64_t axis);
/// Of each element the first choice whose condition holds, else `otherwise`.
Array select(const Arrays& conditions, const Arrays& choices, Scalar otherwise = 0);
/// functions[i] of the elements whose condition i is the last to hold; one further function is for the others (default:
/// 0). Every function is computed for all of x.
Array piecewise(const Array& x, const Arrays& conditions,
                const std::vector<std::function<Array(const Array&)>>& functions);
/// choices[which], element by element, broadcast; positions outside give the nearest choice.
Array choose(const Array& which, const Arrays& choices);

// ---- numbers --------------------------------------------------------------------------------------------------------
/// n numbers from base^start to base^stop, and from start to stop, with equal ratios; both ends included.
Array logspace(double start, double stop, std::int64_t n, double base = 10, Dtype dtype = f32);
Array geomspace(double start, double stop, std::int64_t n, Dtype dtype = f32);
/// Bits (elements that are not 0) along axis in bytes u8, the first the highest, the last byte filled up with 0; and
/// back.
Array packbits(const Array& x, std::int64_t axis = -1);
Array unpackbits(const Array& x, std::int64_t axis = -1);
}  // namespace bora
