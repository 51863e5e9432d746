// positions.h -- grids and lists of positions, elements replaced by lists of values, counts in several dimensions: with
// NumPy's names.
#pragma once
#include <functional>
#include "bora/ops/statistics.h"
#include "bora/ops/view.h"

namespace bora {
// ---- grids ----------------------------------------------------------------------------------------------------------
/// Integer coordinates of the grid of the ranges, i32 [number of ranges, sizes..]; ogrid: for each range its own
/// numbers, with size 1 along the other dimensions. A range has an end. Fractions: meshgrid of linspace.
Array mgrid(const std::vector<Range>& ranges);
Arrays ogrid(const std::vector<Range>& ranges);
/// Vectors that, as indices of one view(), choose the rows, columns, .. where all of them meet. Booleans stand for the
/// positions where they hold; that reads them.
Arrays ix_(const Arrays& vectors);
/// tril_indices, triu_indices and diag_indices for the shape of x [n, columns] (diag: all dimensions equal).
Arrays tril_indices_from(const Array& x, std::int64_t k = 0);
Arrays triu_indices_from(const Array& x, std::int64_t k = 0);
Arrays diag_indices_from(const Array& x);
/// The positions where mask(ones({n, n}), k) is not 0, for a mask such as tril.
Arrays mask_indices(std::int64_t n, const std::function<Array(const Array&, std::int64_t)>& mask, std::int64_t k = 0);
/// f(positions along each dimension), i32 arrays of this shape.
Array fromfunction(const std::function<Array(const Arrays&)>& f, const Shape& shape);
Array identity(std::int64_t n, Dtype dtype = f32);
// Zeros: memory is never handed out uninitialized.
Array empty(const Shape& shape, Dtype dtype = f32);
Array empty_like(const Array& x);

// ---- elements replaced ----------------------------------------------------------------------------------------------
/// x with the k-th element for which the mask holds replaced by values[k modulo their number], values a vector. Throws
/// ShapeError for no values.
Array place(const Array& x, const Array& mask, const Array& values);
/// x with its elements at positions in ravel(x) replaced by values, repeated or cut to as many; negative positions
/// count from the end, others outside are dropped.
Array put(const Array& x, const Array& positions, const Array& values);
/// The vector x without zeros at its ends: "fb" both, "f" the front, "b" the back. Reads values.
Array trim_zeros(const Array& x, std::string_view trim = "fb");
/// x's elements along its last dimension by their real, then by their imaginary parts; complex.
Array sort_complex(const Array& x);
/// Running sums and products; include_initial: a 0 or a 1 in front, so that there is one more.
Array cumulative_sum(const Array& x, std::int64_t axis = 0, bool include_initial = false);
Array cumulative_prod(const Array& x, std::int64_t axis = 0, bool include_initial = false);

// ---- counts in several dimensions -----------------------------------------------------------------------------------
struct HistogramDd {
  Array counts;  // [bins along each dimension..]
  Arrays edges;  // [bins + 1] each
};
/// The numbers of points (rows of x [n, D]) in each box; edges: vectors, one for each of the D dimensions. Weights [n].
HistogramDd histogramdd(const Array& x, const Arrays& edges, const HistogramOptions& options = {});
/// Equal bins from the smallest to the largest number of each column. options.range holds for all columns.
HistogramDd histogramdd(const Array& x, std::int64_t bins = 10, const HistogramOptions& options = {});
HistogramDd histogram2d(const Array& x, const Array& y, std::int64_t bins = 10, const HistogramOptions& options = {});
HistogramDd histogram2d(const Array& x, const Array& y, const Arrays& edges, const HistogramOptions& options = {});
/// I0(beta sqrt(1 - t^2)) / I0(beta), t from -1 to 1 in n steps, computed in f64.
Array kaiser(std::int64_t n, double beta, Dtype dtype = f32);
}  // namespace bora
