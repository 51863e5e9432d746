// Functions through given points.
#include "bora/ops/interpolate.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/linalg.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/indexing.h"

namespace bora::interpolate {
using namespace ops;
namespace {
/// x's cell i of the ascending grid, i32 in [0, n - 2].
Array cell(const Array& grid, const Array& x) {
  return clip(searchsorted(grid, x) - 1, 0, std::max<Index>(grid.size() - 2, 0));
}
/// w [..] beside values [.., rest..].
Array beside(const Array& w, const Array& values) {
  auto s = w.shape().dims();
  s.resize(at(values.ndim()), 1);
  return reshape(w, Shape(s));
}
}  // namespace

Array RegularGridInterpolator::operator()(const Array& x) const {
  auto dims = static_cast<Index>(points.size());
  check<ShapeError>(dims > 0 && values.ndim() >= dims, "RegularGridInterpolator: values ", values.type(),
                    " on a grid of ", dims, " axes");
  check<ShapeError>(x.ndim() > 0 && x.shape(-1) == dims, "RegularGridInterpolator: x ", x.type(),
                    " does not hold positions on a grid of ", dims, " axes in its last dimension");
  auto least = method == Method::linear ? 2 : 1;
  auto d = accumulator(inexact_dtype(promote(values.dtype(), x.dtype()))), r = real_dtype(d);
  Index all = 1;
  std::vector<Array> cells, fractions;
  Array outside;
  for (Index k = 0; k < dims; ++k) {
    auto& p = points[at(k)];
    check_vector("RegularGridInterpolator", "the points of an axis", p);
    check<ShapeError>(p.size() == values.shape(k) && p.size() >= least, "RegularGridInterpolator: axis ", k, " has ",
                      p.size(), " points, values are ", values.type(), "; it takes one for each, at least ", least);
    all *= p.size();
    auto grid = p.astype(r), at_x = index_in_dim(x.astype(r), x.ndim() - 1, k);
    auto i = cell(stop_gradient(grid), stop_gradient(at_x));
    auto low = take(grid, i, 0, IndexMode::clamp);
    cells.push_back(i);
    if (p.size() == 1) fractions.push_back(where(isnan(at_x), kNan, zeros_like(at_x)));
    else fractions.push_back((at_x - low) / (take(grid, i + 1, 0, IndexMode::clamp) - low));
    auto out = at_x < index_in_dim(grid, 0, 0) || at_x > index_in_dim(grid, 0, p.size() - 1);
    outside = k == 0 ? out : outside || out;
  }
  auto rest = values.shape().dims();
  rest.erase(rest.begin(), rest.begin() + dims);
  auto flat = reshape(values.astype(d), Shape(joined({all}, rest)));
  Array total;
  for (Index corner = 0; corner < (method == Method::nearest ? 1 : Index{1} << dims); ++corner) {
    Array place, weight;
    for (Index k = 0; k < dims; ++k) {
      auto& f = fractions[at(k)];
      auto up = method == Method::nearest ? (f > 0.5).astype(i32)
                                          : full_of({f.shape(), i32}, static_cast<int>(corner >> k & 1));
      auto w = method == Method::nearest ? where(isnan(f), kNan, full_of({f.shape(), r}, 1))
                                         : (corner >> k & 1 ? f : 1 - f);
      auto i = cells[at(k)] + up;
      place = k == 0 ? i : place * static_cast<int>(points[at(k)].size()) + i;
      weight = k == 0 ? w : weight * w;
    }
    auto v = take(flat, place, 0, IndexMode::clamp);
    v = v * beside(weight, v);
    total = corner == 0 ? v : total + v;
  }
  if (fill_value) total = where(beside(outside, total), *fill_value, total);
  return total;
}

Array CubicSpline::operator()(const Array& points, int nu) const {
  check_vector("CubicSpline", "x", x);
  auto n = x.size();
  check<ShapeError>(n >= 2 && y.ndim() >= 1 && y.shape(0) == n, "CubicSpline: x ", x.type(), " and y ", y.type(),
                    " are not two points or more");
  check<ValueError>(nu >= 0 && nu <= 3, "CubicSpline: nu = ", nu, " does not lie in [0, 3]");
  auto d = accumulator(inexact_dtype(promote(promote(x.dtype(), y.dtype()), points.dtype()))), r = real_dtype(d);
  auto knots = x.astype(r), v = reshape(y.astype(d), {n, volume(y.shape()) / n});
  auto h = slice_in_dim(knots, 0, 1, n) - slice_in_dim(knots, 0, 0, n - 1);  // [n - 1]
  auto column = expand_dims(h, 1);
  auto secant = (slice_in_dim(v, 0, 1, n) - slice_in_dim(v, 0, 0, n - 1)) / column;
  auto h_at = [&](Index i) { return index_in_dim(h, 0, i); };
  auto secant_at = [&](Index i) { return slice_in_dim(secant, 0, i, i + 1); };
  // The slopes s at the knots: rows of a linear system, the inner ones h1 s0 + 2 (h0 + h1) s1 + h0 s2 = ..
  auto row = [&](std::initializer_list<std::pair<Index, Array>> entries) {
    Array w = full_of({{n}, r}, 0);
    for (auto& [i, e] : entries) w = w + where(iota({n}, 0) == i, e, 0.);
    return expand_dims(w, 0);
  };
  auto one = constant(1, r), two = constant(2, r);
  Arrays rows, right;
  auto how = ends == Ends::not_a_knot && n < 4 ? (n == 2 ? Ends::natural : ends) : ends;
  if (how == Ends::not_a_knot && n == 3) {  // one parabola
    rows = {row({{0, one}, {1, one}}), row({{0, h_at(1)}, {1, 2 * (h_at(0) + h_at(1))}, {2, h_at(0)}}),
            row({{1, one}, {2, one}})};
    right = {2 * secant_at(0), 3 * (h_at(0) * secant_at(1) + h_at(1) * secant_at(0)), 2 * secant_at(1)};
  } else {
    auto last = n - 1;
    if (how == Ends::not_a_knot) {
      auto a = h_at(0), b = h_at(1), c = a + b;
      rows.push_back(row({{0, b}, {1, c}}));
      right.push_back(((a + 2 * c) * b * secant_at(0) + square(a) * secant_at(1)) / c);
    } else if (how == Ends::natural) {
      rows.push_back(row({{0, two}, {1, one}}));
      right.push_back(3 * secant_at(0));
    } else {
      rows.push_back(row({{0, one}}));
      right.push_back(secant_at(0) * 0.);
    }
    if (n > 2) {
      auto i = iota({n - 2, n}, 0), j = iota({n - 2, n}, 1);
      auto h0 = expand_dims(slice_in_dim(h, 0, 0, n - 2), 1), h1 = expand_dims(slice_in_dim(h, 0, 1, n - 1), 1);
      rows.push_back(where(j == i, h1, where(j == i + 1, 2 * (h0 + h1), where(j == i + 2, h0, 0.))));
      right.push_back(3 * (h0 * slice_in_dim(secant, 0, 1, n - 1) + h1 * slice_in_dim(secant, 0, 0, n - 2)));
    }
    if (how == Ends::not_a_knot) {
      auto a = h_at(last - 1), b = h_at(last - 2), c = a + b;
      rows.push_back(row({{last, b}, {last - 1, c}}));
      right.push_back((square(a) * secant_at(last - 2) + (2 * c + a) * b * secant_at(last - 1)) / c);
    } else if (how == Ends::natural) {
      rows.push_back(row({{last, two}, {last - 1, one}}));
      right.push_back(3 * secant_at(last - 1));
    } else {
      rows.push_back(row({{last, one}}));
      right.push_back(secant_at(last - 1) * 0.);
    }
  }
  auto slopes = linalg::solve(concatenate(rows).astype(d), concatenate(right));
  auto s0 = slice_in_dim(slopes, 0, 0, n - 1), s1 = slice_in_dim(slopes, 0, 1, n);
  auto t = (s0 + s1 - 2 * secant) / column;
  auto c3 = t / column, c2 = (secant - s0) / column - t;
  auto at_x = ravel(points.astype(r));
  auto i = clip(searchsorted(stop_gradient(knots), stop_gradient(at_x), Side::right) - 1, 0, n - 2);
  auto of = [&](const Array& c) { return take(c, i, 0, IndexMode::clamp); };
  auto u = expand_dims(at_x - of(knots), 1);
  auto a3 = of(c3), a2 = of(c2), a1 = of(s0), a0 = of(v);
  Array result = nu == 0   ? ((a3 * u + a2) * u + a1) * u + a0
                 : nu == 1 ? (3 * a3 * u + 2 * a2) * u + a1
                 : nu == 2 ? 6 * a3 * u + 2 * a2
                           : 6 * a3 + u * 0.;
  auto rest = y.shape().dims();
  rest.erase(rest.begin());
  return reshape(result, Shape(joined(points.shape().dims(), rest)));
}
}  // namespace bora::interpolate
