// Counting by value.
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/indexing.h"

namespace bora {
using namespace ops;
Array digitize(const Array& x, const Array& bins, bool right) {
  check_vector("digitize", "bins", bins);
  auto side = right ? Side::left : Side::right;
  auto n = bins.size();
  auto up = searchsorted(bins, x, side);
  if (n < 2) return up;
  auto down = n - searchsorted(flip(bins), x, side);
  return where(index_in_dim(bins, 0, n - 1) >= index_in_dim(bins, 0, 0), up, down);
}
namespace {
void check_weights(std::string_view what, const Array& x, const Array& weights) {
  check<ShapeError>(!weights.defined() || weights.shape() == x.shape(), what, ": weights must have the shape of x, ",
                    x.shape(), ", got ", weights.defined() ? weights.shape() : Shape{});
}
/// The sums of weights (default: ones, i32) at positions in [0, n); others are dropped.
Array counted(const Array& positions, const Array& weights, std::int64_t n) {
  auto w = weights.defined() ? ravel(weights) : full_of({{positions.size()}, i32}, 1);
  if (w.dtype() == boolean) w = w.astype(i32);
  return scatter_add(full_of({{n}, w.dtype()}, 0), ravel(positions), w);
}
}  // namespace

Array histogram_bin_edges(const Array& x, std::int64_t bins, const HistogramOptions& o) {
  check<ValueError>(bins > 0, "histogram_bin_edges: bins = ", bins, " must be positive");
  auto d = is_float(x.dtype()) ? x.dtype() : f32;
  auto in = f64;  // NumPy's formula in f64: edges that are exact numbers are hit, and elements on them counted right
  Array lo, hi;
  if (o.range) {
    auto [first, last] = *o.range;
    check<ValueError>(first <= last && std::isfinite(first) && std::isfinite(last), "histogram_bin_edges: range from ",
                      first, " to ", last, " is no finite interval");
    lo = constant(first, in), hi = constant(last, in);
  } else if (x.size() == 0) {
    lo = constant(0., in), hi = constant(1., in);
  } else {
    lo = amin(x).astype(in), hi = amax(x).astype(in);
  }
  auto point = lo == hi;
  auto start = where(point, lo - 0.5, lo), stop = where(point, hi + 0.5, hi);
  auto i = iota({bins + 1}, 0, in);
  auto width = (stop - start) / static_cast<double>(bins);
  return where(i == static_cast<double>(bins), stop, i * width + start).astype(d);
}
Histogram histogram(const Array& x, std::int64_t bins, const HistogramOptions& o) {
  check<ValueError>(bins > 0, "histogram: bins = ", bins, " must be positive");
  return histogram(x, histogram_bin_edges(x, bins, o), o);
}
Histogram histogram(const Array& x, const Array& edges, const HistogramOptions& o) {
  check_vector("histogram", "edges", edges);
  check<ShapeError>(edges.size() >= 2, "histogram: a bin needs two edges, got ", edges.type());
  check_weights("histogram", x, o.weights);
  auto n = edges.size() - 1;
  auto end = index_in_dim(edges, 0, n);
  auto bin = where(x == end, n - 1, searchsorted(edges, x, Side::right) - 1);
  auto counts = counted(where(bin < 0, n, bin), o.weights, n);
  if (!o.density) return {counts, edges};
  auto width = part(edges, 0, 1, n + 1) - part(edges, 0, 0, n);
  return {counts / width / sum(counts), edges};
}
Array bincount(const Array& x, const BincountOptions& o) {
  check_vector("bincount", "x", x);
  check<DtypeError>(is_integer(x.dtype()) || x.dtype() == boolean, "bincount: counts integers, not ", x.dtype());
  check_weights("bincount", x, o.weights);
  check<ValueError>(o.length.value_or(0) >= 0, "bincount: length = ", o.length.value_or(0), " must not be negative");
  auto n = o.length.value_or(0);
  if (!o.length)
    for (auto v : known<std::int64_t>(x, "bincount", "give {.length = n}"))
      n = std::max(n, std::max<std::int64_t>(v, 0) + 1);
  return counted(maximum(x.dtype() == boolean ? x.astype(i32) : x, 0), o.weights, n);
}

HistogramDd histogramdd(const Array& x, const Arrays& edges, const HistogramOptions& o) {
  auto what = "histogramdd";
  check<ShapeError>(x.ndim() == 2 && x.shape(1) == static_cast<std::int64_t>(edges.size()), what, ": points ",
                    x.type(), " for the edges of ", edges.size(), " dimensions; they are [n, dimensions]");
  check<ShapeError>(!o.weights.defined() || o.weights.shape() == Shape{x.shape(0)}, what, ": weights must be [",
                    x.shape(0), "]");
  Shape bins;
  Array position, inside;
  for (std::size_t d = 0; d < edges.size(); ++d) {
    auto& e = edges[d];
    check_vector(what, "the edges of a dimension", e);
    check<ShapeError>(e.size() >= 2, what, ": ", e.size(), " edges make no bin");
    auto n = e.size() - 1;
    auto column = index_in_dim(x, 1, static_cast<std::int64_t>(d));
    auto bin = searchsorted(e, column, Side::right) - 1;
    bin = where(column == index_in_dim(e, 0, n), n - 1, bin);  // the last bin has its end
    auto ok = bin >= 0 && bin < n;
    position = position.defined() ? position * n + bin : bin;
    inside = inside.defined() ? inside && ok : ok;
    bins.push_back(n);
  }
  auto total = volume(bins);
  check<ShapeError>(total < std::numeric_limits<std::int32_t>::max(), what, ": ", bins, " are too many bins");
  auto w = o.weights.defined() ? o.weights : full_of({{x.shape(0)}, i32}, 1);
  auto counts = scatter_add(full_of({{total}, w.dtype()}, 0), where(inside, position, total), w);
  HistogramDd r{reshape(counts, bins), edges};
  if (!o.density) return r;
  auto c = inexact(r.counts);
  c = c / sum(c);
  for (std::size_t d = 0; d < edges.size(); ++d) {
    auto n = bins[d];
    c = c / broadcast_in_dim((part(edges[d], 0, 1, n + 1) - part(edges[d], 0, 0, n)).astype(c.dtype()), bins,
                             {static_cast<std::int64_t>(d)});
  }
  r.counts = c;
  return r;
}
HistogramDd histogramdd(const Array& x, std::int64_t bins, const HistogramOptions& o) {
  check<ShapeError>(x.ndim() == 2, "histogramdd: points are [n, dimensions], got ", x.type());
  Arrays edges;
  for (std::int64_t d = 0; d < x.shape(1); ++d)
    edges.push_back(histogram_bin_edges(index_in_dim(x, 1, d), bins, {.range = o.range}));
  return histogramdd(x, edges, o);
}
namespace {
Array points(const Array& x, const Array& y) {
  check_vector("histogram2d", "x", x);
  check_vector("histogram2d", "y", y);
  check<ShapeError>(x.size() == y.size(), "histogram2d: x of ", x.size(), " and y of ", y.size(), " numbers differ");
  auto [a, b] = promoted_pair("histogram2d", x, y);
  return stack({a, b}, 1);
}
}  // namespace

HistogramDd histogram2d(const Array& x, const Array& y, std::int64_t bins, const HistogramOptions& o) {
  return histogramdd(points(x, y), bins, o);
}
HistogramDd histogram2d(const Array& x, const Array& y, const Arrays& edges, const HistogramOptions& o) {
  check<ValueError>(edges.size() == 2, "histogram2d: edges of ", edges.size(), " dimensions instead of 2");
  return histogramdd(points(x, y), edges, o);
}
}  // namespace bora
