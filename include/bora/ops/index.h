// index.h -- reading and writing at indices given as data. Indices are i32 (other integers are cast).
#pragma once
#include "bora/ops/axes.h"

namespace bora {
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
/// The window of `sizes` that begins at `starts` (one i32 scalar a dimension). A negative start counts from the end;
/// then it is clamped so that the window lies inside.
Array dynamic_slice(const Array& x, const Arrays& starts, const Shape& sizes);
Array dynamic_update_slice(const Array& x, const Array& update, const Arrays& starts);
Array dynamic_index_in_dim(const Array& x, const Array& i, std::int64_t axis = 0);  // drops the dimension
}  // namespace bora
