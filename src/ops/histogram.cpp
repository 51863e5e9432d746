// Counting by value: searches in sorted vectors, histograms.
#include "bora/ops/statistics.h"
#include "ops/composed.h"
#include "ops/takes.h"

namespace bora {
using namespace ops;
Array searchsorted(const Array& a, const Array& v, Side side) {
  check_vector("searchsorted", "the sorted array", a);
  auto d = promote(a.dtype(), v.dtype());
  takes_ordered("searchsorted", d);
  auto x = stop_gradient(a.astype(d)), y = stop_gradient(v.astype(d));
  auto n = a.size();
  auto position = full_of({v.shape(), i32}, 0);
  if (n == 0) return position;
  std::int64_t step = 1;
  while (step <= n / 2) step *= 2;
  auto right = side == Side::right;
  for (; step > 0; step /= 2) {  // position: the first elements that are before y, of which no more than it are known
    auto next = position + step;
    auto e = take(x, next - 1, 0, IndexMode::clamp);
    auto before = is_float(d)    ? (right ? e <= y || isnan(y) : e < y || (isnan(y) && !isnan(e)))
                  : d == boolean ? (right ? !e || y : !e && y)
                                 : (right ? e <= y : e < y);
    position = where(before && next <= n, next, position);
  }
  return position;
}
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
}  // namespace bora
