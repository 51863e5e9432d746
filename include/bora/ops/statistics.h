// statistics.h -- order statistics, averages, covariances, histograms. All are composites of other operations, with
// NumPy's names and semantics.
#pragma once
#include <utility>
#include "bora/ops/arguments.h"

namespace bora {
/// The value between two elements a <= b at the fraction t of their distance: a + (b - a) t, a, b, the nearer one (a
/// for t = 1/2), the mean of both.
enum class Between : std::uint8_t { linear, lower, higher, nearest, midpoint };
struct QuantileOptions {             // of quantiles, percentiles and medians
  bool keepdims = false;             // reduced dimensions stay, with size 1
  Between method = Between::linear;  // between two elements
};
/// The q-quantile over axes, q in [0, 1]: the element at position q (n - 1) of the sorted ones. A list q of shape [Q..]
/// gives [Q.., rest of x..]. NaN in x gives NaN; nanquantile skips it. Integers give f32. Throws ValueError for a
/// number q outside [0, 1] (in a list it gives NaN), ShapeError for no elements.
Array quantile(const Array& x, double q, const Dimensions& axes = none, const QuantileOptions& options = {});
Array quantile(const Array& x, const Array& q, const Dimensions& axes = none, const QuantileOptions& options = {});
/// The quantile of the elements that are not NaN.
Array nanquantile(const Array& x, double q, const Dimensions& axes = none, const QuantileOptions& options = {});
Array nanquantile(const Array& x, const Array& q, const Dimensions& axes = none, const QuantileOptions& options = {});
/// quantile(x, q / 100).
Array percentile(const Array& x, double q, const Dimensions& axes = none, const QuantileOptions& options = {});
Array percentile(const Array& x, const Array& q, const Dimensions& axes = none, const QuantileOptions& options = {});
/// nanquantile(x, q / 100).
Array nanpercentile(const Array& x, double q, const Dimensions& axes = none, const QuantileOptions& options = {});
Array nanpercentile(const Array& x, const Array& q, const Dimensions& axes = none, const QuantileOptions& options = {});
/// The 1/2-quantile.
Array median(const Array& x, const Dimensions& axes = none, const QuantileOptions& options = {});
/// The median of the elements that are not NaN.
Array nanmedian(const Array& x, const Dimensions& axes = none, const QuantileOptions& options = {});

/// sum(x weights) / sum(weights) over axes; weights have x's shape or are one number for each element of the one axis.
Array average(const Array& x, const Array& weights, const Dimensions& axes = none, const ReduceOptions& options = {});
struct CovarianceOptions {                  // of cov and corrcoef
  bool rowvar = true;                       // each row is a variable; false: each column
  bool bias = false;                        // divided by n, not by n - 1
  std::optional<std::int64_t> ddof = none;  // divided by n - ddof, whatever bias says
  Array fweights = {};                      // [n] integers: how often each observation occurs
  Array aweights = {};                      // [n]: how much each observation counts
};
/// The covariances [V, V] of V variables (rows of x [V, n], and of y after them); of one variable its variance, a
/// scalar. Weights count with their absolute values, as by jax.numpy. Throws ShapeError, DtypeError.
Array cov(const Array& x, const CovarianceOptions& options = {});
Array cov(const Array& x, const Array& y, const CovarianceOptions& options = {});
/// cov(x, y) over the standard deviations of both variables, in [-1, 1].
Array corrcoef(const Array& x, const CovarianceOptions& options = {});
Array corrcoef(const Array& x, const Array& y, const CovarianceOptions& options = {});

// ---- counts ---------------------------------------------------------------------------------------------------------
struct HistogramOptions {                                 // of histograms
  std::optional<std::pair<double, double>> range = none;  // default: from the smallest to the largest element
  Array weights = {};                                     // of x's shape: counts become sums of them
  bool density = false;                                   // divided by the total and by each width
};
struct Histogram {      // the bins' counts and edges
  Array counts, edges;  // [bins] (i32, or the dtype of the weights) and [bins + 1]
};
/// The edges [bins + 1] of bins of equal width. Throws ValueError for no bins or a range without width.
Array histogram_bin_edges(const Array& x, std::int64_t bins = 10, const HistogramOptions& options = {});
/// The numbers of elements in [edge i, edge i + 1), in the last bin with its end; elements outside count nowhere.
Histogram histogram(const Array& x, std::int64_t bins = 10, const HistogramOptions& options = {});
Histogram histogram(const Array& x, const Array& edges, const HistogramOptions& options = {});
struct BincountOptions {                      // of bincount
  Array weights = {};                         // of x's shape: counts become sums of them
  std::optional<std::int64_t> length = none;  // default: largest element + 1, which reads values
};
/// The number of times that each of 0, 1, .. length - 1 occurs among integers; larger ones are dropped, negative ones
/// count as 0 (JAX). Throws TraceError inside transforms without a length.
Array bincount(const Array& x, const BincountOptions& options = {});
/// i32 numbers of the bins of x: i with bins[i - 1] <= x < bins[i] (right: bins[i - 1] < x <= bins[i]); descending bins
/// mirrored.
Array digitize(const Array& x, const Array& bins, bool right = false);
struct HistogramDd {  // counts in boxes of D dimensions
  Array counts;       // [bins along each dimension..]
  Arrays edges;       // [bins + 1] each
};
/// The numbers of points (rows of x [n, D]) in each box; edges: vectors, one for each of the D dimensions. Weights [n].
HistogramDd histogramdd(const Array& x, const Arrays& edges, const HistogramOptions& options = {});
/// Equal bins from the smallest to the largest number of each column. options.range holds for all columns.
HistogramDd histogramdd(const Array& x, std::int64_t bins = 10, const HistogramOptions& options = {});
/// histogramdd of the points (x[i], y[i]).
HistogramDd histogram2d(const Array& x, const Array& y, std::int64_t bins = 10, const HistogramOptions& options = {});
HistogramDd histogram2d(const Array& x, const Array& y, const Arrays& edges, const HistogramOptions& options = {});
}  // namespace bora
