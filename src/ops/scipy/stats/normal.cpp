// Distributions around the normal one, and those whose functions are elementary.
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "ops/primitives/formula.h"
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/stats/distribution.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"

namespace bora::stats {
namespace {
Array normal_log_density(A x, A loc, A scale) {
  return -0.5 * square((x - loc) / scale) - (log(abs(scale)) + 0.5 * kLogTwoPi);
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
/// The density of the distribution that is cut off at a and b, at y inside.
Array truncated_density(A y, A a, A b) {
  return exp(-0.5 * square(y) - 0.5 * kLogTwoPi - log_gauss_mass(a, b));
}
Array log_of_part(A y, A a, A b, bool upper);
/// The distribution function, and the rest: their derivatives are densities.
template <bool upper> struct TruncatedCdf {
  static constexpr std::string_view name = upper ? "truncnorm_sf" : "truncnorm_cdf";
  static Array value(A y, A a, A b) { return exp(log_of_part(y, a, b, upper)); }
  static constexpr double range[][2] = {{-0.5, 0.5}, {-2, -1}, {1, 2}};
  static Arrays vjp(const Vjp& v) {
    const auto &y = v.in[0], &a = v.in[1], &b = v.in[2];
    auto inside = y >= a && y <= b;
    auto x = where(inside, y, where(isinf(a), b, a)), ct = upper ? -v.ct[0] : v.ct[0];
    auto end = [&](A at) { return where(isinf(at), 0, truncated_density(where(isinf(at), x, at), a, b)); };
    auto rest = by_formula<TruncatedCdf<!upper>>(y, a, b);
    const auto &below = upper ? rest : v.out[0], &above = upper ? v.out[0] : rest;
    return {v.needs[0] ? ct * where(inside, truncated_density(x, a, b), where(isnan(y), y, zeros_like(y))) : Array{},
            v.needs[1] ? -(ct * (end(a) * above)) : Array{}, v.needs[2] ? -(ct * (end(b) * below)) : Array{}};
  }
};
Array truncated_logcdf(A value, A a, A b, A loc, A scale) {
  return log_of_part((value - loc) / scale, a, b, false);
}
Array log_of_part(A point, A from, A to, bool upper) {
  auto x = upper ? -point : point, a = upper ? -to : from, b = upper ? -from : to;
  auto inside = x > a && x < b;
  auto y = where(inside, x, where(isinf(a), b - 1, where(isinf(b), a + 1, 0.5 * (a + b))));
  auto all = log_gauss_mass(a, b), below = log_gauss_mass(a, y) - all, above = log_gauss_mass(y, b) - all;
  auto near = below > -0.1;  // there 1 - exp(above) has more digits
  auto r = where(near, log1p(-exp(where(near, above, -1))), below);
  r = where(inside, r, where(x <= a, full_like(r, -kInf), 0));
  // At an end the function is a step of the rectangle rule, the density in the middle of x and the end times their
  // distance, which has its slopes.
  auto at_a = x == a && isfinite(x), at_b = x == b && isfinite(x), ends = at_a || at_b;
  auto middle = 0.5 * (where(ends, x, 0) + where(at_a, a, where(at_b, b, 0)));
  auto step = where(ends, -0.5 * (square(middle) + kLogTwoPi) - all, 0);  // its log
  r = where(at_a, log(where(at_a, x - a, 1)) + step, r);
  r = where(at_b, log1p(where(at_b, x - b, 0) * exp(step)), r);
  return where(a >= b || isnan(x), kNan, r);
}
}  // namespace
namespace norm {
Array logpdf(O x, O loc, O scale) { return smooth("norm.logpdf", normal_log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return smooth(
      "norm.pdf", [](A v, A l, A s) { return by_element<NormalDensity>((v - l) / s) / abs(s); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return smooth("norm.cdf", [](A v, A l, A s) { return special::ndtr((v - l) / s); }, x, loc, scale);
}
Array logcdf(O x, O loc, O scale) {
  return smooth("norm.logcdf", [](A v, A l, A s) { return special::log_ndtr((v - l) / s); }, x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return smooth("norm.sf", [](A v, A l, A s) { return special::ndtr((l - v) / s); }, x, loc, scale);
}
Array logsf(O x, O loc, O scale) {
  return smooth("norm.logsf", [](A v, A l, A s) { return special::log_ndtr((l - v) / s); }, x, loc, scale);
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
      "truncnorm.cdf", [](A v, A p, A q, A l, A s) { return by_formula<TruncatedCdf<false>>((v - l) / s, p, q); }, x, a,
      b, loc, scale);
}
Array logsf(O x, O a, O b, O loc, O scale) { return of("truncnorm.logsf", log_survival, x, a, b, loc, scale); }
Array sf(O x, O a, O b, O loc, O scale) {
  return of(
      "truncnorm.sf", [](A v, A p, A q, A l, A s) { return by_formula<TruncatedCdf<true>>((v - l) / s, p, q); }, x, a,
      b, loc, scale);
}
}  // namespace truncnorm
namespace multivariate_normal {
Array logpdf(const Array& x, const Array& mean, const Array& cov) {
  auto result = promote(promote(inexact(x).dtype(), inexact(mean).dtype()), inexact(cov).dtype());
  auto d = accumulator(result);
  auto v = x.astype(d), m = mean.astype(d), c = cov.astype(d);
  if (m.ndim() == 0) return (-0.5 * square((v - m) / sqrt(c)) - 0.5 * (kLogTwoPi + log(c))).astype(result);
  auto n = m.shape(-1);
  auto y = v - m;
  auto size = static_cast<double>(n);
  if (c.ndim() == 0) return (-0.5 * sum(square(y / sqrt(c)), -1) - 0.5 * size * (kLogTwoPi + log(c))).astype(result);
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
Array log_density(A x, A shape) {
  auto zero = x == 0, b = where(shape > 0, shape, kNan);
  auto grown = where(zero, 0, power(abs(where(zero, 1, x)), b));
  return -std::numbers::ln2 - special::gammaln(1 + 1 / b) - grown;  // 1 / (2 gamma(1 + 1 / b)) = b / (2 gamma(1 / b))
}
Array density(A x, A shape) {
  auto zero = x == 0, b = where(shape > 0, shape, kNan);
  return exp(-where(zero, 0, power(abs(where(zero, 1, x)), b)) - special::gammaln(1 + 1 / b)) * 0.5;
}
/// Left of 0 the upper integral, which keeps its digits there.
template <class T> T generalised_cdf(T x, T b) {
  T u = std::pow(std::fabs(x), b);
  return x < 0 ? scalar::gammaincc(1 / b, u) / 2 : T(0.5) + scalar::gammainc(1 / b, u) / 2;
}
template <class T> T generalised_cdf_by_shape(T x, T b) {
  T z = std::fabs(x), u = std::pow(z, b);
  if (z == 0) return 0;
  T r = (scalar::gamma_density(1 / b, u) * std::log(z) - scalar::gammainc_by_a(1 / b, u) / (b * b)) / 2;
  return x < 0 ? -r : r;
}
struct GeneralisedCdfByShape {
  static constexpr std::string_view name = "gennorm_cdf_by_beta";
  static constexpr auto value = generalised_cdf_by_shape<double>;
  static constexpr auto wide = generalised_cdf_by_shape<long double>;
  static constexpr double nanoseconds = 600, range[][2] = {{0.3, 2}, {0.6, 3}};
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[1], "gennorm.cdf: its derivative by beta cannot be differentiated by beta again");
    auto &x = v.in[0], &b = v.in[1];
    auto y = where(x == 0, 1, abs(x)), slope = 1 / b + special::digamma(1 / b) / b / b - special::xlogy(power(y, b), y);
    return {v.ct[0] * (density(x, b) * slope), Array{}};
  }
};
struct GeneralisedCdf {
  static constexpr std::string_view name = "gennorm_cdf";
  static constexpr auto value = generalised_cdf<double>;
  static constexpr auto wide = generalised_cdf<long double>;
  static constexpr double nanoseconds = 300, range[][2] = {{0.3, 2}, {0.6, 3}};
  static Arrays vjp(const Vjp& v) {
    auto &x = v.in[0], &b = v.in[1];
    return {v.needs[0] ? v.ct[0] * density(x, b) : Array{},
            v.needs[1] ? v.ct[0] * by_element<GeneralisedCdfByShape>(x, b) : Array{}};
  }
};
}  // namespace

Array logpdf(O x, O beta) { return of("gennorm.logpdf", log_density, x, beta); }
Array pdf(O x, O beta) {
  return of("gennorm.pdf", density, x, beta);
}
Array cdf(O x, O beta) {
  return of("gennorm.cdf", [](A v, A b) { return by_element<GeneralisedCdf>(v, b); }, x, beta);
}
}  // namespace gennorm

namespace uniform {
namespace {
Array log_density(A x, A loc, A scale) { return where(x > loc + scale || x < loc, -kInf, -log(scale)); }
Array density(A x, A loc, A scale) {
  auto inside = 1 / where(scale >= 0, scale, kNan);
  return where(x > loc + scale || x < loc, 0, where(isnan(x), x, inside));
}
}  // namespace

Array logpdf(O x, O loc, O scale) { return of("uniform.logpdf", log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return of("uniform.pdf", density, x, loc, scale);
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
  return of(
      "expon.pdf", [](A v, A l, A s) { return where(v < l, 0, exp(log_survival(v, l, s)) / s); }, x, loc, scale);
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
Array log_density(A x, A loc, A scale) {
  return -(abs((x - loc) / scale) + (log(scale) + std::numbers::ln2));
}
}  // namespace

Array logpdf(O x, O loc, O scale) { return smooth("laplace.logpdf", log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return smooth("laplace.pdf", [](A v, A l, A s) { return exp(-abs((v - l) / s)) / (2 * s); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of(
      "laplace.cdf",
      [](A v, A l, A s) {
        auto y = (v - l) / s, left = y <= 0;  // at loc, where |y| has no slope, that of the left part
        auto half = 0.5 * exp(where(left, y, -y));
        return where(left, half, 1 - half);
      },
      x, loc, scale);
}
}  // namespace laplace
namespace logistic {
namespace {
/// Its slope is smooth at 0 and vanishes there: -tanh(y / 2).
struct LogisticExponent {
  static constexpr std::string_view name = "logistic_exponent";
  static Array value(A x) {
    auto y = abs(x);
    return -(y + 2 * log1p(exp(-y)));
  }
  static constexpr double range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {-(v.ct[0] * tanh(0.5 * v.in[0]))}; }
};
Array log_density(A x, A loc, A scale) { return by_formula<LogisticExponent>((x - loc) / scale) - log(scale); }
}  // namespace

Array logpdf(O x, O loc, O scale) { return smooth("logistic.logpdf", log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return smooth("logistic.pdf", [](A v, A l, A s) { return logistic_slope((v - l) / s) / s; }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return smooth("logistic.cdf", [](A v, A l, A s) { return sigmoid((v - l) / s); }, x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return smooth("logistic.sf", [](A v, A l, A s) { return sigmoid((l - v) / s); }, x, loc, scale);
}
Array ppf(O q, O loc, O scale) {
  return of("logistic.ppf", [](A p, A l, A s) { return special::logit(p) * s + l; }, q, loc, scale);
}
Array isf(O q, O loc, O scale) {
  return of("logistic.isf", [](A p, A l, A s) { return l - special::logit(p) * s; }, q, loc, scale);
}
}  // namespace logistic
}  // namespace bora::stats
