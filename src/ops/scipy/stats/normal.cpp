// Distributions around the normal one, and those whose functions are elementary.
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "ops/scipy/stats/distribution.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"

namespace bora::stats {
namespace {
Array normal_log_density(A x, A loc, A scale) {
  auto variance = scale * scale, distance = x - loc;
  return (log(2 * kPi * variance) + distance * distance / variance) * -0.5;
}
/// exp(-x^2 / 2) / sqrt(2 pi), without the rounding of the square.
template <class T> T standard_density(T x) {
  return std::exp(-x * x / 2) * (std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>);
}
struct NormalDensity {
  static constexpr std::string_view name = "normal_density";
  static constexpr auto value = standard_density<double>;
  static constexpr auto wide = standard_density<long double>;
  static constexpr double nanoseconds = 20, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {-(v.ct[0] * (v.in[0] * v.out[0]))}; }
};
/// log(exp(x) - exp(y)) for x >= y.
Array log_difference(A x, A y) {
  auto none = y == -kInf, equal = x <= y;
  auto gap = where(none || equal, 1, x - y);
  return where(equal, -kInf, where(none, x, x + nn::log1mexp(gap)));
}
/// log(ndtr(b) - ndtr(a)): both tails on the left one, where numbers keep their digits.
Array log_gauss_mass(A a, A b) {
  auto right = a > 0, central = a <= 0 && b > 0;
  auto low = where(right, -b, a), high = where(right, -a, b);
  auto tail = log_difference(special::log_ndtr(where(central, -1, high)), special::log_ndtr(where(central, -2, low)));
  return where(central, log1p(-special::ndtr(where(central, a, -1)) - special::ndtr(where(central, -b, -1))), tail);
}
/// A number x, and whether it lies between the ends a and b or at one of them. There the distribution function is a
/// step of the rectangle rule, the density in the middle of x and the end times their distance, which has its slopes.
struct Truncated {
  Array x, inside, at_a, at_b, middle, all, step;
  Truncated(A value, A a, A b, A loc, A scale) : x((value - loc) / scale), inside(x > a && x < b) {
    at_a = x == a && isfinite(x), at_b = x == b && isfinite(x);
    middle = where(isinf(a), b - 1, where(isinf(b), a + 1, 0.5 * (a + b)));
    all = log_gauss_mass(a, b);
    auto ends = at_a || at_b;
    auto y = 0.5 * (where(ends, x, 0) + where(at_a, a, where(at_b, b, 0)));
    step = where(ends, -0.5 * (y * y + kLogTwoPi) - all, 0);  // its log
  }
};
Array truncated_logcdf(A value, A a, A b, A loc, A scale) {
  Truncated t(value, a, b, loc, scale);
  auto y = where(t.inside, t.x, t.middle);
  auto below = log_gauss_mass(a, y) - t.all, above = log_gauss_mass(y, b) - t.all;
  auto near = below > -0.1;  // there 1 - exp(above) has more digits
  auto r = where(near, log1p(-exp(where(near, above, -1))), below);
  r = where(t.inside, r, where(t.x <= a, full_like(r, -kInf), 0));
  r = where(t.at_a, log(where(t.at_a, t.x - a, 1)) + t.step, r);
  r = where(t.at_b, log1p(where(t.at_b, t.x - b, 0) * exp(t.step)), r);
  return where(a >= b || isnan(t.x), kNan, r);
}
Array truncated_cdf(A value, A a, A b, A loc, A scale) {
  Truncated t(value, a, b, loc, scale);
  auto ends = t.at_a || t.at_b;
  auto r = exp(truncated_logcdf(where(ends, where(ends, t.middle, 0) * scale + loc, value), a, b, loc, scale));
  auto distance = where(t.at_a, t.x - a, where(t.at_b, t.x - b, 0));
  return where(ends && a < b, where(t.at_b, full_like(r, 1), 0) + distance * exp(t.step), r);
}
}  // namespace
namespace norm {
Array logpdf(O x, O loc, O scale) { return of("norm.logpdf", normal_log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return of("norm.pdf", [](A v, A l, A s) { return by_element<NormalDensity>((v - l) / s) / abs(s); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of("norm.cdf", [](A v, A l, A s) { return special::ndtr((v - l) / s); }, x, loc, scale);
}
Array logcdf(O x, O loc, O scale) {
  return of("norm.logcdf", [](A v, A l, A s) { return special::log_ndtr((v - l) / s); }, x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return of("norm.sf", [](A v, A l, A s) { return special::ndtr((l - v) / s); }, x, loc, scale);
}
Array logsf(O x, O loc, O scale) {
  return of("norm.logsf", [](A v, A l, A s) { return special::log_ndtr((l - v) / s); }, x, loc, scale);
}
Array ppf(O q, O loc, O scale) {
  return of("norm.ppf", [](A p, A l, A s) { return special::ndtri(p) * s + l; }, q, loc, scale);
}
Array isf(O q, O loc, O scale) {
  return of("norm.isf", [](A p, A l, A s) { return l - special::ndtri(p) * s; }, q, loc, scale);
}
}  // namespace norm
namespace truncnorm {
namespace {
Array log_density(A x, A a, A b, A loc, A scale) {
  auto y = (x - loc) / scale;
  auto r = normal_log_density(x, loc, scale) - log_gauss_mass(a, b);
  return where(a >= b, kNan, where(y < a || y > b, -kInf, r));
}
Array log_survival(A x, A a, A b, A loc, A scale) { return truncated_logcdf(-x, -b, -a, -loc, scale); }
}  // namespace

Array logpdf(O x, O a, O b, O loc, O scale) { return of("truncnorm.logpdf", log_density, x, a, b, loc, scale); }
Array pdf(O x, O a, O b, O loc, O scale) {
  return of(
      "truncnorm.pdf", [](A v, A p, A q, A l, A s) { return exp(log_density(v, p, q, l, s)); }, x, a, b, loc, scale);
}
Array logcdf(O x, O a, O b, O loc, O scale) { return of("truncnorm.logcdf", truncated_logcdf, x, a, b, loc, scale); }
Array cdf(O x, O a, O b, O loc, O scale) {
  return of(
      "truncnorm.cdf", [](A v, A p, A q, A l, A s) { return truncated_cdf(v, p, q, l, s); }, x, a, b, loc,
      scale);
}
Array logsf(O x, O a, O b, O loc, O scale) { return of("truncnorm.logsf", log_survival, x, a, b, loc, scale); }
Array sf(O x, O a, O b, O loc, O scale) {
  return of(
      "truncnorm.sf", [](A v, A p, A q, A l, A s) { return truncated_cdf(-v, -q, -p, -l, s); }, x, a, b, loc, scale);
}
}  // namespace truncnorm
namespace multivariate_normal {
Array logpdf(const Array& x, const Array& mean, const Array& cov) {
  auto result = promote(promote(inexact(x).dtype(), inexact(mean).dtype()), inexact(cov).dtype());
  auto d = accumulator(result);
  auto v = x.astype(d), m = mean.astype(d), c = cov.astype(d);
  if (m.ndim() == 0) return (-0.5 * square(v - m) / c - 0.5 * (kLogTwoPi + log(c))).astype(result);
  auto n = m.shape(-1);
  auto y = v - m;
  auto size = static_cast<double>(n);
  if (c.ndim() == 0) return (-0.5 * sum(y * y, -1) / c - 0.5 * size * (kLogTwoPi + log(c))).astype(result);
  check<ShapeError>(c.ndim() >= 2 && c.shape(-1) == n && c.shape(-2) == n, "multivariate_normal.logpdf: a mean of ", n,
                    " numbers wants covariances [.., ", n, ", ", n, "], got ", c.shape());
  auto factor = linalg::cholesky(c);
  auto rows = factor.shape().dims();
  rows.pop_back();
  auto shape = broadcast_shapes("multivariate_normal.logpdf", y.shape(), Shape(rows));
  auto full = shape.dims();
  full.push_back(n);
  auto white = linalg::triangular_solve(broadcast_to(factor, Shape(full)), expand_dims(broadcast_to(y, shape), -1));
  auto quadratic = sum(square(squeeze(white, Dims{-1})), -1);
  return (-0.5 * quadratic - 0.5 * size * kLogTwoPi - sum(log(diagonal(factor, 0, -2, -1)), -1)).astype(result);
}
Array pdf(const Array& x, const Array& mean, const Array& cov) { return exp(logpdf(x, mean, cov)); }
}  // namespace multivariate_normal
namespace gennorm {
namespace {
Array log_density(A x, A b) {
  auto zero = x == 0;
  auto grown = where(zero, 0, power(abs(where(zero, 1, x)), b));
  return log(0.5 * b) - special::gammaln(1 / b) - grown;
}
}  // namespace

Array logpdf(O x, O beta) { return of("gennorm.logpdf", log_density, x, beta); }
Array pdf(O x, O beta) {
  return of("gennorm.pdf", [](A v, A b) { return exp(log_density(v, b)); }, x, beta);
}
Array cdf(O x, O beta) {
  return of(
      "gennorm.cdf",
      [](A v, A b) {
        auto zero = v == 0;
        auto y = where(zero, 1, v);
        auto at_zero = 0.5 + where(zero, v, 0) * exp(log(0.5 * b) - special::gammaln(1 / b));  // the slope is a density
        return where(zero, at_zero, 0.5 * (1 + sign(y) * special::gammainc(1 / b, power(abs(y), b))));
      },
      x, beta);
}
}  // namespace gennorm

namespace uniform {
namespace {
Array log_density(A x, A loc, A scale) { return where(x > loc + scale || x < loc, -kInf, -log(scale)); }
}  // namespace

Array logpdf(O x, O loc, O scale) { return of("uniform.logpdf", log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return of("uniform.pdf", [](A v, A l, A s) { return exp(log_density(v, l, s)); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of(
      "uniform.cdf", [](A v, A l, A s) { return where(v < l, 0, where(v > l + s, 1, (v - l) / s)); }, x, loc, scale);
}
Array ppf(O q, O loc, O scale) {
  return of("uniform.ppf", [](A p, A l, A s) { return where(no_probability(p), kNan, l + s * p); }, q, loc, scale);
}
}  // namespace uniform
namespace expon {
namespace {
Array log_density(A x, A loc, A scale) { return where(x < loc, -kInf, -((x - loc) / scale + log(scale))); }
Array log_survival(A x, A loc, A scale) { return where(x < loc, 0, (loc - x) / scale); }
}  // namespace

Array logpdf(O x, O loc, O scale) { return of("expon.logpdf", log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return of("expon.pdf", [](A v, A l, A s) { return exp(log_density(v, l, s)); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of("expon.cdf", [](A v, A l, A s) { return -expm1(log_survival(v, l, s)); }, x, loc, scale);
}
Array logcdf(O x, O loc, O scale) {
  return of(
      "expon.logcdf",
      [](A v, A l, A s) {
        auto inside = v > l, end = v == l;
        auto at_end = log(where(end, v - l, 1)) - log(s);
        return where(inside, nn::log1mexp(where(inside, (v - l) / s, 1)), where(end, at_end, -kInf));
      },
      x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return of("expon.sf", [](A v, A l, A s) { return exp(log_survival(v, l, s)); }, x, loc, scale);
}
Array logsf(O x, O loc, O scale) { return of("expon.logsf", log_survival, x, loc, scale); }
Array ppf(O q, O loc, O scale) {
  return of(
      "expon.ppf", [](A p, A l, A s) { return where(no_probability(p), kNan, l - s * log1p(-p)); }, q, loc, scale);
}
}  // namespace expon
namespace laplace {
namespace {
Array log_density(A x, A loc, A scale) { return -(abs(x - loc) / scale + log(2 * scale)); }
}  // namespace

Array logpdf(O x, O loc, O scale) { return of("laplace.logpdf", log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return of("laplace.pdf", [](A v, A l, A s) { return exp(log_density(v, l, s)); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of(
      "laplace.cdf",
      [](A v, A l, A s) {
        auto y = (v - l) / s, half = 0.5 * exp(-abs(y));
        return where(y <= 0, half, 1 - half);
      },
      x, loc, scale);
}
}  // namespace laplace
namespace logistic {
namespace {
Array log_density(A x, A loc, A scale) {
  auto y = abs((x - loc) / scale);
  return -(y + 2 * log1p(exp(-y)) + log(scale));
}
}  // namespace

Array logpdf(O x, O loc, O scale) { return of("logistic.logpdf", log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return of("logistic.pdf", [](A v, A l, A s) { return exp(log_density(v, l, s)); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of("logistic.cdf", [](A v, A l, A s) { return sigmoid((v - l) / s); }, x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return of("logistic.sf", [](A v, A l, A s) { return sigmoid((l - v) / s); }, x, loc, scale);
}
Array ppf(O q, O loc, O scale) {
  return of("logistic.ppf", [](A p, A l, A s) { return special::logit(p) * s + l; }, q, loc, scale);
}
Array isf(O q, O loc, O scale) {
  return of("logistic.isf", [](A p, A l, A s) { return l - special::logit(p) * s; }, q, loc, scale);
}
}  // namespace logistic
}  // namespace bora::stats
