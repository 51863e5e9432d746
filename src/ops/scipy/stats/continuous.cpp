// Distributions of extremes, of positive numbers and of angles.
#include "bora/ops/nn.h"
#include "ops/primitives/formula.h"
#include "ops/scipy/stats/distribution.h"
#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/manipulation.h"

namespace bora::stats {
// Both Gumbel distributions are functions of z = (x - loc) / scale; the left one is the right one of -z.
namespace {
Array scaled(A x, A loc, A scale) { return (x - loc) / where(scale > 0, scale, kNan); }
/// Its slope vanishes at 0, where 1 - exp(-z) would have no digits.
struct GumbelExponent {
  static constexpr std::string_view name = "gumbel_exponent";
  static Array value(A z) { return -(z + exp(-z)); }
  static constexpr double range[][2] = {{-2, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * expm1(-v.in[0])}; }
};
Array gumbel_log_density(A z, A scale) { return by_formula<GumbelExponent>(z) - log(scale); }
Array gumbel_density(A z, A scale) { return exp(by_formula<GumbelExponent>(z)) / scale; }
/// The distribution function of the right one, and the rest.
template <bool upper> struct GumbelCdf {
  static constexpr std::string_view name = upper ? "gumbel_sf" : "gumbel_cdf";
  static Array value(A z) { return upper ? -expm1(-exp(-z)) : exp(-exp(-z)); }
  static constexpr double range[][2] = {{-2, 3}};
  static Arrays vjp(const Vjp& v) {
    auto slope = exp(by_formula<GumbelExponent>(v.in[0]));
    return {v.ct[0] * (upper ? -slope : slope)};
  }
};
Array gumbel_cdf(A z) { return by_formula<GumbelCdf<false>>(z); }
Array gumbel_sf(A z) { return by_formula<GumbelCdf<true>>(z); }
/// log(1 - exp(-exp(t))): far left, where exp(t) may vanish, the first terms of the series.
Array log_of_rest(A t) {
  auto far = t < -15;
  auto low = where(far, t, -15), e = exp(low);
  return where(far, low - e / 2 + e * e / 24, nn::log1mexp(exp(where(far, -15, t))));
}
Array gumbel_quantile(A p) { return -log(-log(p)); }         // of the right one
Array gumbel_upper_quantile(A p) { return -log(-log1p(-p)); }  // gumbel_quantile(1 - p)
}  // namespace
namespace gumbel_r {
Array logpdf(O x, O loc, O scale) {
  return of("gumbel_r.logpdf", [](A v, A l, A s) { return gumbel_log_density(scaled(v, l, s), s); }, x, loc, scale);
}
Array pdf(O x, O loc, O scale) {
  return of("gumbel_r.pdf", [](A v, A l, A s) { return gumbel_density(scaled(v, l, s), s); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of("gumbel_r.cdf", [](A v, A l, A s) { return gumbel_cdf(scaled(v, l, s)); }, x, loc, scale);
}
Array logcdf(O x, O loc, O scale) {
  return of("gumbel_r.logcdf", [](A v, A l, A s) { return -exp(-scaled(v, l, s)); }, x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return of("gumbel_r.sf", [](A v, A l, A s) { return gumbel_sf(scaled(v, l, s)); }, x, loc, scale);
}
Array logsf(O x, O loc, O scale) {
  return of("gumbel_r.logsf", [](A v, A l, A s) { return log_of_rest(-scaled(v, l, s)); }, x, loc, scale);
}
Array ppf(O q, O loc, O scale) {
  return of(
      "gumbel_r.ppf", [](A p, A l, A s) { return l + where(s > 0, s, kNan) * gumbel_quantile(p); }, q, loc, scale);
}
}  // namespace gumbel_r
namespace gumbel_l {
Array logpdf(O x, O loc, O scale) {
  return of("gumbel_l.logpdf", [](A v, A l, A s) { return gumbel_log_density(-scaled(v, l, s), s); }, x, loc, scale);
}
Array pdf(O x, O loc, O scale) {
  return of("gumbel_l.pdf", [](A v, A l, A s) { return gumbel_density(-scaled(v, l, s), s); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of("gumbel_l.cdf", [](A v, A l, A s) { return gumbel_sf(-scaled(v, l, s)); }, x, loc, scale);
}
Array logcdf(O x, O loc, O scale) {
  return of("gumbel_l.logcdf", [](A v, A l, A s) { return log_of_rest(scaled(v, l, s)); }, x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return of("gumbel_l.sf", [](A v, A l, A s) { return gumbel_cdf(-scaled(v, l, s)); }, x, loc, scale);
}
Array logsf(O x, O loc, O scale) {
  return of("gumbel_l.logsf", [](A v, A l, A s) { return -exp(scaled(v, l, s)); }, x, loc, scale);
}
Array ppf(O q, O loc, O scale) {
  return of(
      "gumbel_l.ppf", [](A p, A l, A s) { return l - where(s > 0, s, kNan) * gumbel_upper_quantile(p); }, q, loc,
      scale);
}
}  // namespace gumbel_l

namespace {
Array not_negative(A x) { return where(x < 0, 0, x); }
Array gamma_log_density(A x, A a, A loc, A scale) {
  auto outside = x < loc;
  auto y = where(outside, 1, (x - loc) / scale);
  return where(outside, -kInf, ops::log_gamma_density(a, y) - log(scale));
}
Array gamma_plain_density(A x, A a, A loc, A scale) {
  auto outside = x < loc;
  return where(outside, 0, ops::gamma_density(a, where(outside, 1, (x - loc) / scale)) / scale);
}
}  // namespace
namespace gamma {
Array logpdf(O x, O a, O loc, O scale) { return of("gamma.logpdf", gamma_log_density, x, a, loc, scale); }
Array pdf(O x, O a, O loc, O scale) {
  return of("gamma.pdf", gamma_plain_density, x, a, loc, scale);
}
Array cdf(O x, O a, O loc, O scale) {
  return of(
      "gamma.cdf", [](A v, A p, A l, A s) { return special::gammainc(p, not_negative((v - l) / s)); }, x, a, loc,
      scale);
}
Array logcdf(O x, O a, O loc, O scale) {
  return of(
      "gamma.logcdf", [](A v, A p, A l, A s) { return log_gammainc(p, not_negative((v - l) / s)); }, x, a,
      loc, scale);
}
Array sf(O x, O a, O loc, O scale) {
  return of(
      "gamma.sf", [](A v, A p, A l, A s) { return special::gammaincc(p, not_negative((v - l) / s)); }, x, a, loc,
      scale);
}
Array logsf(O x, O a, O loc, O scale) {
  return of(
      "gamma.logsf", [](A v, A p, A l, A s) { return log_gammaincc(p, not_negative((v - l) / s)); }, x, a,
      loc, scale);
}
}  // namespace gamma
// chi2 of df is gamma of df / 2 with twice the scale.
namespace chi2 {
Array logpdf(O x, O df, O loc, O scale) {
  return of(
      "chi2.logpdf", [](A v, A n, A l, A s) { return gamma_log_density(v, 0.5 * n, l, 2 * s); }, x, df, loc, scale);
}
Array pdf(O x, O df, O loc, O scale) {
  return of(
      "chi2.pdf", [](A v, A n, A l, A s) { return gamma_plain_density(v, 0.5 * n, l, 2 * s); }, x, df, loc, scale);
}
Array cdf(O x, O df, O loc, O scale) {
  return of("chi2.cdf", [](A v, A n, A l, A s) { return gamma::cdf(v, 0.5 * n, l, 2 * s); }, x, df, loc, scale);
}
Array logcdf(O x, O df, O loc, O scale) {
  return of("chi2.logcdf", [](A v, A n, A l, A s) { return gamma::logcdf(v, 0.5 * n, l, 2 * s); }, x, df, loc, scale);
}
Array sf(O x, O df, O loc, O scale) {
  return of("chi2.sf", [](A v, A n, A l, A s) { return gamma::sf(v, 0.5 * n, l, 2 * s); }, x, df, loc, scale);
}
Array logsf(O x, O df, O loc, O scale) {
  return of("chi2.logsf", [](A v, A n, A l, A s) { return gamma::logsf(v, 0.5 * n, l, 2 * s); }, x, df, loc, scale);
}
}  // namespace chi2

namespace beta {
namespace {
/// f(a, b, y, scale) inside of the support, else the number given.
template <class F> Array inside(A x, A a, A b, A loc, A scale, double without, const F& f) {
  auto outside = x < loc || x > loc + scale, wrong = a <= 0 || b <= 0 || scale <= 0;
  auto s = where(wrong, 1, scale), y = where(outside || wrong, 0.5, (x - loc) / s);
  return where(wrong, kNan, where(outside, without, f(where(wrong, 1, a), where(wrong, 1, b), y, s)));
}
Array log_density(A x, A a, A b, A loc, A scale) {
  return inside(x, a, b, loc, scale, -kInf, [](A p, A q, A y, A s) { return log_beta_density(p, q, y) - log(s); });
}
Array density(A x, A a, A b, A loc, A scale) {
  return inside(x, a, b, loc, scale, 0, [](A p, A q, A y, A s) { return beta_density(p, q, y) / s; });
}
Array unit(A x, A loc, A scale) {
  auto y = (x - loc) / scale;
  return where(y < 0, 0, where(y > 1, 1, y));
}
}  // namespace

Array logpdf(O x, O a, O b, O loc, O scale) { return of("beta.logpdf", log_density, x, a, b, loc, scale); }
Array pdf(O x, O a, O b, O loc, O scale) {
  return of("beta.pdf", density, x, a, b, loc, scale);
}
Array cdf(O x, O a, O b, O loc, O scale) {
  return of(
      "beta.cdf", [](A v, A p, A q, A l, A s) { return special::betainc(p, q, unit(v, l, s)); }, x, a, b, loc, scale);
}
Array logcdf(O x, O a, O b, O loc, O scale) {
  return of(
      "beta.logcdf", [](A v, A p, A q, A l, A s) { return log_betainc(p, q, unit(v, l, s)); }, x, a, b, loc, scale);
}
Array sf(O x, O a, O b, O loc, O scale) {
  return of(
      "beta.sf", [](A v, A p, A q, A l, A s) { return betaincc(p, q, unit(v, l, s)); }, x, a, b, loc, scale);
}
Array logsf(O x, O a, O b, O loc, O scale) {
  return of(
      "beta.logsf", [](A v, A p, A q, A l, A s) { return log_betaincc(p, q, unit(v, l, s)); }, x, a, b, loc, scale);
}
}  // namespace beta
namespace dirichlet {
Array logpdf(const Array& x, const Array& alpha) {
  check_vector("dirichlet.logpdf", "alpha", alpha);
  auto n = alpha.shape(0);
  check<ShapeError>(x.ndim() >= 1 && (x.shape(0) == n || x.shape(0) == n - 1), "dirichlet.logpdf: alpha has ", n,
                    " numbers, so the first dimension of x must have ", n, " or ", n - 1, ", got ", x.shape());
  auto result = promote(inexact(x).dtype(), inexact(alpha).dtype()), d = accumulator(result);
  auto v = x.astype(d), a = alpha.astype(d);
  if (v.shape(0) != n) v = concatenate({v, 1 - sum(v, 0, {.keepdims = true})}, 0);
  auto simplex = all(v > 0, 0) && abs(sum(v, 0) - 1) < 1e-6;
  auto spread = broadcast_in_dim(a, v.shape(), {0});
  auto r = sum(special::xlogy(spread - 1, v), 0) - (sum(special::gammaln(a)) - special::gammaln(sum(a)));
  return where(simplex || any(isnan(v), 0) || any(isnan(a)), r, -kInf).astype(result);
}
Array pdf(const Array& x, const Array& alpha) { return exp(logpdf(x, alpha)); }
}  // namespace dirichlet

namespace pareto {
namespace {
/// log((x - loc) / scale), 0 left of the support.
Array distance(A x, A loc, A scale) {
  auto outside = x < loc + scale;
  return log(where(outside, 1, (x - loc) / scale));
}
Array log_density(A x, A b, A loc, A scale) {
  return where(x < loc + scale, -kInf, log(b) - log(scale) - (b + 1) * distance(x, loc, scale));
}
Array density(A x, A b, A loc, A scale) {
  auto outside = x < loc + scale;
  return where(outside, 0, power(where(outside, 1, (x - loc) / scale), -(b + 1)) * b / scale);
}
Array log_survival(A x, A b, A loc, A scale) { return -(b * distance(x, loc, scale)); }
}  // namespace

Array logpdf(O x, O b, O loc, O scale) { return of("pareto.logpdf", log_density, x, b, loc, scale); }
Array pdf(O x, O b, O loc, O scale) {
  return of("pareto.pdf", density, x, b, loc, scale);
}
Array cdf(O x, O b, O loc, O scale) {
  return of("pareto.cdf", [](A v, A p, A l, A s) { return -expm1(log_survival(v, p, l, s)); }, x, b, loc, scale);
}
Array logcdf(O x, O b, O loc, O scale) {
  return of(
      "pareto.logcdf",
      [](A v, A p, A l, A s) {
        auto outside = v < l + s, end = v == l + s;
        auto far = distance(v, l, s), regular = where(outside || end, 1, far);
        auto r = where(end, log(p) + log(where(end, far, 1)), nn::log1mexp(p * regular));
        return where(outside, -kInf, r);
      },
      x, b, loc, scale);
}
Array sf(O x, O b, O loc, O scale) {
  return of("pareto.sf", [](A v, A p, A l, A s) { return exp(log_survival(v, p, l, s)); }, x, b, loc, scale);
}
Array logsf(O x, O b, O loc, O scale) { return of("pareto.logsf", log_survival, x, b, loc, scale); }
Array ppf(O q, O b, O loc, O scale) {
  return of(
      "pareto.ppf", [](A p, A e, A l, A s) { return where(no_probability(p), kNan, l + s * exp(-log1p(-p) / e)); }, q,
      b, loc, scale);
}
}  // namespace pareto

namespace vonmises {
namespace {
/// kappa (cos(x) - 1).
Array exponent(A x, A k) { return -2 * (k * square(sin(0.5 * x))); }
Array log_density(A x, A kappa) {
  auto k = where(kappa > 0, kappa, kNan);
  return exponent(x, k) - log(2 * kPi * special::i0e(k));
}
Array density(A x, A kappa) {
  auto k = where(kappa > 0, kappa, kNan);
  return exp(exponent(x, k)) / (2 * kPi * special::i0e(k));
}
}  // namespace

Array logpdf(O x, O kappa) { return of("vonmises.logpdf", log_density, x, kappa); }
Array pdf(O x, O kappa) {
  return of("vonmises.pdf", density, x, kappa);
}
}  // namespace vonmises
namespace wrapcauchy {
namespace {
/// f of concentration and of the square of 2 sin(x / 2); `without` off the circle.
template <class F> Array on_circle(A x, A concentration, double without, const F& f) {
  auto c = where(concentration > 0 && concentration < 1, concentration, kNan);
  auto r = f(c, 4 * square(sin(0.5 * x)));  // of 1 + c^2 - 2 c cos(x) = (1 - c)^2 + c s nothing cancels
  return where((x >= 0 && x <= 2 * kPi) || isnan(c), r, without);
}
Array log_density(A x, A concentration) {
  return on_circle(x, concentration, -kInf, [](A c, A s) {
    return 2 * arctanh(c) - kLogTwoPi - log1p(c * s / square(1 - c));
  });
}
Array density(A x, A concentration) {
  return on_circle(x, concentration, 0, [](A c, A s) {
    return (1 - c) * (1 + c) / (2 * kPi * (square(1 - c) + c * s));
  });
}
}  // namespace

Array logpdf(O x, O c) { return of("wrapcauchy.logpdf", log_density, x, c); }
Array pdf(O x, O c) {
  return of("wrapcauchy.pdf", density, x, c);
}
}  // namespace wrapcauchy
}  // namespace bora::stats
