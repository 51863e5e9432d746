// Grids, positions, elements replaced by lists, counts in several dimensions.
#include "bora/ops/positions.h"
#include "bora/ops/arrange.h"
#include "bora/ops/complex.h"
#include "bora/ops/sets.h"
#include "bora/ops/special.h"
#include "ops/composed.h"

namespace bora {
using namespace ops;
namespace {
Array numbers_of(std::string_view what, const bora::Range& r) {
  auto step = r.step.value_or(1);
  check<ValueError>(r.stop.has_value() && step != 0, what, ": a range needs an end and a step that is not 0");
  return arange(r.start.value_or(0), *r.stop, step);
}
}  // namespace
Arrays ogrid(const std::vector<bora::Range>& ranges) {
  Arrays r;
  auto n = static_cast<std::int64_t>(ranges.size());
  for (std::int64_t d = 0; d < n; ++d) {
    auto v = numbers_of("ogrid", ranges[at(d)]);
    Shape s(Dims(at(n), 1));
    s[at(d)] = v.size();
    r.push_back(reshape(v, s));
  }
  return r;
}
Array mgrid(const std::vector<bora::Range>& ranges) {
  check<ValueError>(!ranges.empty(), "mgrid: there are no ranges");
  return stack(broadcast_arrays(ogrid(ranges)));
}
Arrays ix_(const Arrays& vectors) {
  Arrays r;
  auto n = static_cast<std::int64_t>(vectors.size());
  for (std::int64_t d = 0; d < n; ++d) {
    auto v = vectors[at(d)];
    check_vector("ix_", "each list of positions", v);
    if (v.dtype() == boolean) v = flatnonzero(v);
    check<DtypeError>(is_integer(v.dtype()), "ix_: positions are integers or booleans, got ", v.type());
    Shape s(Dims(at(n), 1));
    s[at(d)] = v.size();
    r.push_back(reshape(v, s));
  }
  return r;
}
namespace {
void check_matrix(std::string_view what, const Array& x) {
  check<ShapeError>(x.ndim() == 2, what, ": needs a matrix, got ", x.type());
}
}  // namespace
Arrays tril_indices_from(const Array& x, std::int64_t k) {
  check_matrix("tril_indices_from", x);
  return tril_indices(x.shape(0), k, x.shape(1));
}
Arrays triu_indices_from(const Array& x, std::int64_t k) {
  check_matrix("triu_indices_from", x);
  return triu_indices(x.shape(0), k, x.shape(1));
}
Arrays diag_indices_from(const Array& x) {
  check<ShapeError>(x.ndim() >= 2, "diag_indices_from: needs two dimensions or more, got ", x.type());
  for (auto n : x.shape())
    check<ShapeError>(n == x.shape(0), "diag_indices_from: the dimensions of ", x.shape(), " must be equal");
  return diag_indices(x.shape(0), x.ndim());
}
Arrays mask_indices(std::int64_t n, const std::function<Array(const Array&, std::int64_t)>& mask, std::int64_t k) {
  return nonzero(mask(ones({n, n}, i32), k));
}
Array fromfunction(const std::function<Array(const Arrays&)>& f, const Shape& shape) {
  Arrays positions;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) positions.push_back(iota(shape, d));
  return f(positions);
}
Array identity(std::int64_t n, Dtype dtype) { return eye(n, dtype); }
Array empty(const Shape& shape, Dtype dtype) { return zeros(shape, dtype); }
Array empty_like(const Array& x) { return zeros_like(x); }

Array place(const Array& x, const Array& mask, const Array& values) {
  check<ShapeError>(mask.size() == x.size(), "place: a mask of shape ", mask.shape(), " and x of shape ", x.shape(),
                    " must have equally many elements");
  check<ShapeError>(values.size() > 0, "place: there are no values");
  auto m = ravel(mask).astype(boolean);
  auto rank = cumsum(m.astype(i32)) - 1;
  auto chosen = take(ravel(values).astype(x.dtype()), maximum(rank, 0) % values.size(), 0, IndexMode::clamp);
  return reshape(select(m, chosen, ravel(x)), x.shape());
}
Array put(const Array& x, const Array& positions, const Array& values) {
  auto n = positions.size();
  if (n == 0) return x;
  check<ShapeError>(values.size() > 0, "put: there are no values");
  return reshape(scatter_set(ravel(x), ravel(positions), resize(ravel(values).astype(x.dtype()), {n})), x.shape());
}
Array trim_zeros(const Array& x, std::string_view trim) {
  check_vector("trim_zeros", "x", x);
  check<ValueError>(trim == "f" || trim == "b" || trim == "fb" || trim == "bf", "trim_zeros: trim = \"", trim,
                    "\" is none of f, b, fb");
  auto full = known<bool>(x.astype(boolean), "trim_zeros", "cut x at fixed positions there");
  auto first = std::find(full.begin(), full.end(), true) - full.begin();
  auto last = full.rend() - std::find(full.rbegin(), full.rend(), true);
  if (trim.find('f') == trim.npos) first = 0;
  if (trim.find('b') == trim.npos) last = x.size();
  return part(x, 0, std::min(first, last), last);
}
Array sort_complex(const Array& x) {
  check<ShapeError>(x.ndim() > 0, "sort_complex: a scalar has no order");
  auto z = is_complex(x.dtype()) ? x : complex(inexact(x), 0);
  auto order = lexsort({imag(z), real(z)}, -1);
  return take_along_axis(z, order, -1);
}
namespace {
Array with_initial(const Array& y, std::int64_t axis, bool include, Scalar initial) {
  if (!include) return y;
  auto s = y.shape();
  s[at(axis)] = 1;
  return concatenate({full_of({s, y.dtype()}, initial), y}, axis);
}
}  // namespace
Array cumulative_sum(const Array& x, std::int64_t axis, bool include_initial) {
  axis = normalize_axis("cumulative_sum", axis, x.ndim());
  return with_initial(cumsum(x, axis), axis, include_initial, 0);
}
Array cumulative_prod(const Array& x, std::int64_t axis, bool include_initial) {
  axis = normalize_axis("cumulative_prod", axis, x.ndim());
  return with_initial(cumprod(x, axis), axis, include_initial, 1);
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
Array kaiser(std::int64_t n, double beta, Dtype dtype) {
  check<ValueError>(n >= 0, "kaiser: n = ", n, " must not be negative");
  if (n == 1) return full_of({{1}, dtype}, 1);
  auto t = iota({n}, 0, f64) * (2 / static_cast<double>(n - 1)) - 1;
  auto inside = sqrt(maximum(1 - t * t, 0));
  return (special::i0(beta * inside) / special::i0(full_of({{}, f64}, beta))).astype(dtype);
}
}  // namespace bora
