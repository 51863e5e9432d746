// indexing.h -- reading and writing parts of arrays: slices in xtensor's words, positions that are data, masks. Results
// are values, never aliases.
//   view(x, all(), range(1, 5, 2), newaxis(), -1)       at(x, all(), 3).add(y)
//   indexed::get(x, {all(), rows}, {.mode = indexed::Mode::wrap})      indexed::power(x, {mask}, 2)
#pragma once
#include <functional>
#include <initializer_list>
#include <type_traits>
#include <vector>
#include "bora/ops/arguments.h"
#include "bora/ops/slice.h"

namespace bora {
// ---- slices ---------------------------------------------------------------------------------------------------------
/// Part of x; dimensions without a slice are whole. One index Array replaces its dimension by its own dimensions;
/// several broadcast against each other, and their dimensions stand where the first one stood if they are neighbours,
/// else in front (NumPy's rules; plain integers count as index Arrays where there is one). An index Array that points
/// outside reads the nearest element, which gets the derivative too (JAX drops it). Throws IndexError for an integer
/// outside, for too many slices and for boolean masks.
Array view_of(const Array& x, const DimSlices& slices);
/// Same template head as xt::view, but constrained: it wins overload resolution where an argument brings in namespace
/// xt, and its error names the mistake.
template <class A, class... S>
requires std::same_as<std::remove_cvref_t<A>, Array> Array view(A&& x, S&&... slices) {
  constexpr bool ok = (std::convertible_to<S, DimSlice> && ...);
  static_assert(ok, "view: slices are bora::all(), range(), newaxis(), ellipsis(), an integer or an integer Array");
  if constexpr (ok) return view_of(x, DimSlices{DimSlice(std::forward<S>(slices))...});
}

/// x with a part changed, as a new value. The update is broadcast to the shape of view(x, slices...); its dtype must
/// fit into x's. Updates at positions of an index Array that lie outside are dropped; where positions repeat, set keeps
/// the last and the others combine all of them. Throws view's errors, ShapeError, DtypeError.
class [[nodiscard]] At {
 public:
  At(Array x, DimSlices slices) : x_(std::move(x)), slices_(std::move(slices)) {}
  Array set(const Array& v) const;
  Array add(const Array& v) const;
  Array multiply(const Array& v) const;
  Array min(const Array& v) const;
  Array max(const Array& v) const;
  Array set(Scalar v) const;
  Array add(Scalar v) const;
  Array multiply(Scalar v) const;
  Array min(Scalar v) const;
  Array max(Scalar v) const;
 protected:
  Array x_;     // by value: keeping an At is safe
  Array mask_;  // of x's shape, instead of slices: MaskedView's
 private:
  Array number(Scalar v) const;
  DimSlices slices_;
};
template <class A, class... S>
requires ArrayLike<A> At at(const A& x, const S&... slices) {
  constexpr bool ok = (std::convertible_to<const S&, DimSlice> && ...);
  static_assert(ok, "at: slices are bora::all(), range(), newaxis(), ellipsis(), an integer or an integer Array");
  if constexpr (ok) return At(x, DimSlices{DimSlice(slices)...});
}

// ---- positions that are data: i32 (other integers are cast) ---------------------------------------------------------
/// The result of a read outside of [0, size). Writes outside are dropped.
enum class IndexMode : std::uint8_t { clamp, fill };
/// x with `indices` in place of dimension `axis`: x[.., indices, ..]. Negative indices count from the end. Out of
/// range: NaN (0 for integers) with fill, the nearest element with clamp.
Array take(const Array& x, const Array& indices, std::int64_t axis = 0, IndexMode mode = IndexMode::fill);
/// One element (or several) per row: out[.., j, ..] = x[.., indices[.., j, ..], ..]. x and indices have equally many
/// dimensions, which broadcast except for `axis`.
Array take_along_axis(const Array& x, const Array& indices, std::int64_t axis, IndexMode mode = IndexMode::fill);
// x with updates written at x[.., indices, ..]; updates stretch to the shape of take(x, indices, axis). Duplicates:
// sums and products collect all of them, set keeps the last.
Array scatter_add(const Array& x, const Array& indices, const Array& updates, std::int64_t axis = 0);
Array scatter_set(const Array& x, const Array& indices, const Array& updates, std::int64_t axis = 0);
Array scatter_multiply(const Array& x, const Array& indices, const Array& updates, std::int64_t axis = 0);
Array scatter_min(const Array& x, const Array& indices, const Array& updates, std::int64_t axis = 0);
Array scatter_max(const Array& x, const Array& indices, const Array& updates, std::int64_t axis = 0);
/// x with values (broadcast to the indices' shape) at indices [.., k, ..] of axis in each row: see take_along_axis. The
/// last of equal indices wins; those outside are dropped.
Array put_along_axis(const Array& x, const Array& indices, const Array& values, std::int64_t axis);
/// x with the k-th element for which the mask holds replaced by values[k modulo their number], values a vector. Throws
/// ShapeError for no values.
Array place(const Array& x, const Array& mask, const Array& values);
/// x with its elements at positions in ravel(x) replaced by values, repeated or cut to as many; negative positions
/// count from the end, others outside are dropped.
Array put(const Array& x, const Array& positions, const Array& values);
/// The window of `sizes` that begins at `starts` (one i32 scalar a dimension). A negative start counts from the end;
/// then it is clamped so that the window lies inside.
Array dynamic_slice(const Array& x, const Arrays& starts, const Shape& sizes);
/// x with the window that begins at `starts` replaced.
Array dynamic_update_slice(const Array& x, const Array& update, const Arrays& starts);
Array dynamic_index_in_dim(const Array& x, const Array& i, std::int64_t axis = 0);  // drops the dimension

// ---- choices --------------------------------------------------------------------------------------------------------
/// on_true where condition holds, else on_false; equal shapes and dtypes, no broadcasting.
Array select(const Array& condition, const Array& on_true, const Array& on_false);
/// The first choice, element by element, whose condition holds, else `otherwise`.
Array select(const Arrays& conditions, const Arrays& choices, Scalar otherwise = 0);
/// functions[i] of the elements whose condition i is the last to hold; one further function is for the others (default:
/// 0). Every function is computed for all of x.
Array piecewise(const Array& x, const Arrays& conditions,
                const std::vector<std::function<Array(const Array&)>>& functions);
/// choices[which], element by element, broadcast; positions outside give the nearest choice.
Array choose(const Array& which, const Arrays& choices);

// ---- elements chosen by their values --------------------------------------------------------------------------------
/// The i32 positions in ravel(x) of the elements that are not 0.
Array flatnonzero(const Array& x, const SizeOptions& options = {});
/// The same as one vector of positions for each dimension, and as rows [n, ndim].
Arrays nonzero(const Array& x, const SizeOptions& options = {});
/// The positions of the elements that are not 0, as rows [n, ndim], i32.
Array argwhere(const Array& x, const SizeOptions& options = {});
/// The parts of x along axis (without one: the elements of ravel(x)) whose condition, a vector, holds; a shorter
/// condition is false from its end on.
Array compress(const Array& condition, const Array& x, std::optional<std::int64_t> axis = none,
               const SizeOptions& options = {});
/// The elements of x where the condition, of as many elements, holds.
Array extract(const Array& condition, const Array& x, const SizeOptions& options = {});

// ---- lists of positions ---------------------------------------------------------------------------------------------
/// i32 positions [ndim, shape..] along each dimension.
Array indices(const Shape& shape);
/// Row-major positions in `shape` of positions along each dimension, clamped to lie inside, and back (negative ones
/// count from the end).
Array ravel_multi_index(const Arrays& positions, const Shape& shape);
Arrays unravel_index(const Array& positions, const Shape& shape);  // the inverse of ravel_multi_index
/// i32 rows and columns of the elements of a matrix [n, columns] (default [n, n]) that are at and below (tril) or at
/// and above (triu) the k-th diagonal, row by row.
Arrays tril_indices(std::int64_t n, std::int64_t k = 0, std::optional<std::int64_t> columns = none);
/// Rows and columns of the elements at and above the k-th diagonal, i32.
Arrays triu_indices(std::int64_t n, std::int64_t k = 0, std::optional<std::int64_t> columns = none);
/// 0, 1, .. n - 1 for each of ndim dimensions.
Arrays diag_indices(std::int64_t n, std::int64_t ndim = 2);
/// tril_indices, triu_indices and diag_indices for the shape of x [n, columns] (diag: all dimensions equal).
Arrays tril_indices_from(const Array& x, std::int64_t k = 0);
Arrays triu_indices_from(const Array& x, std::int64_t k = 0);  // triu_indices for the shape of x
Arrays diag_indices_from(const Array& x);                      // diag_indices for the shape of x
/// The positions where mask(ones({n, n}), k) is not 0, for a mask such as tril.
Arrays mask_indices(std::int64_t n, const std::function<Array(const Array&, std::int64_t)>& mask, std::int64_t k = 0);
/// Vectors that, as indices of one view(), choose the rows, columns, .. where all of them meet. Booleans stand for the
/// positions where they hold; that reads them.
Arrays ix_(const Arrays& vectors);
/// Integer coordinates of the grid of the ranges, i32 [number of ranges, sizes..]; ogrid: for each range its own
/// numbers, with size 1 along the other dimensions. A range has an end. Fractions: meshgrid of linspace.
Array mgrid(const std::vector<Range>& ranges);
Arrays ogrid(const std::vector<Range>& ranges);  // [sizes.. or 1] of each range, i32
}                                                // namespace bora

// The mode= of JAX's x.at[...]: a choice of what happens outside, and boolean masks. view() and at() are the short
// forms.
namespace bora::indexed {
using special::Operand;
/// An index Array's position outside of [-n, n), after negative ones are counted from the end: the nearest one; reads
/// give `fill`, writes are dropped; counted modulo n.
enum class Mode : std::uint8_t { clip, fill, wrap };
struct Options {                      // of get
  Mode mode = Mode::fill;             // of an index Array that points outside
  std::optional<Scalar> fill = none;  // default: NaN, 0 for integers
};
// A boolean Array among the slices, a mask of the dimensions it stands for, becomes the positions where it holds: it is
// read, which throws TraceError inside transforms. There use where(mask, x, other). Everything else is as in view().
/// The part of x.
Array get(const Array& x, const DimSlices& slices, const Options& options = {});
// x with the part changed; v is broadcast to it and must fit into x's dtype. Where positions repeat, set keeps the last
// and apply calls f once; the others combine all updates.
Array set(const Array& x, const DimSlices& slices, const Operand& v, Mode mode = Mode::fill);
Array add(const Array& x, const DimSlices& slices, const Operand& v, Mode mode = Mode::fill);
Array subtract(const Array& x, const DimSlices& slices, const Operand& v, Mode mode = Mode::fill);
Array multiply(const Array& x, const DimSlices& slices, const Operand& v, Mode mode = Mode::fill);
Array divide(const Array& x, const DimSlices& slices, const Operand& v, Mode mode = Mode::fill);
Array power(const Array& x, const DimSlices& slices, const Operand& v, Mode mode = Mode::fill);
Array min(const Array& x, const DimSlices& slices, const Operand& v, Mode mode = Mode::fill);
Array max(const Array& x, const DimSlices& slices, const Operand& v, Mode mode = Mode::fill);
Array apply(const Array& x, const DimSlices& slices, const std::function<Array(const Array&)>& f,
            Mode mode = Mode::fill);
}  // namespace bora::indexed
