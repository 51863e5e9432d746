// Distributions of real numbers with heavy tails, of positive numbers and of angles.
#include "bora/ops/nn.h"
#include "ops/scipy/stats/distribution.h"
#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/manipulation.h"

namespace bora::stats {
namespace cauchy {
namespace {
Array log_density(A x, A loc, A scale) {
  auto y = (x - loc) / scale;
  return -(log(kPi * scale) + log1p(y * y));
}
/// tan(pi (p - 1/2)); near 0 and 1 from the distance to them, which has all its digits.
Array unscaled(A p) {
  auto low = p > 0 && p < 0.25, tail = low || (p > 0.75 && p < 1);
  auto distance = where(tail, where(low, p, 1 - p), 0.125), middle = where(tail, 0.5, p);
  auto far = 1 / tan(kPi * distance);
  return where(tail, where(low, -far, far), tan(kPi * (middle - 0.5)));
}
}  // namespace

Array logpdf(O x, O loc, O scale) { return of("cauchy.logpdf", log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return of("cauchy.pdf", [](A v, A l, A s) { return exp(log_density(v, l, s)); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of("cauchy.cdf", [](A v, A l, A s) { return cauchy_cdf((v - l) / s); }, x, loc, scale);
}
Array logcdf(O x, O loc, O scale) {
  return of("cauchy.logcdf", [](A v, A l, A s) { return log(cauchy_cdf((v - l) / s)); }, x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return of("cauchy.sf", [](A v, A l, A s) { return cauchy_cdf((l - v) / s); }, x, loc, scale);
}
Array logsf(O x, O loc, O scale) {
  return of("cauchy.logsf", [](A v, A l, A s) { return log(cauchy_cdf((l - v) / s)); }, x, loc, scale);
}
Array ppf(O q, O loc, O scale) {
  return of("cauchy.ppf", [](A p, A l, A s) { return unscaled(p) * s + l; }, q, loc, scale);
}
Array isf(O q, O loc, O scale) {
  return of("cauchy.isf", [](A p, A l, A s) { return l - unscaled(p) * s; }, q, loc, scale);
}
}  // namespace cauchy

// Both Gumbel distributions are functions of z = (x - loc) / scale; the left one is the right one of -z.
namespace {
Array scaled(A x, A loc, A scale) { return (x - loc) / where(scale > 0, scale, kNan); }
Array gumbel_log_density(A z, A scale) { return -(z + exp(-z)) - log(scale); }
Array gumbel_quantile(A p) {  // of the right one
  auto inside = p > 0 && p < 1;
  return where(inside, -log(-log(where(inside, p, 0.5))), kNan);
}
Array gumbel_upper_quantile(A p) {  // gumbel_quantile(1 - p)
  auto inside = p > 0 && p < 1;
  return where(inside, -log(-log1p(-where(inside, p, 0.5))), kNan);
}
}  // namespace
namespace gumbel_r {
Array logpdf(O x, O loc, O scale) {
  return of("gumbel_r.logpdf", [](A v, A l, A s) { return gumbel_log_density(scaled(v, l, s), s); }, x, loc, scale);
}
Array pdf(O x, O loc, O scale) {
  return of("gumbel_r.pdf", [](A v, A l, A s) { return exp(gumbel_log_density(scaled(v, l, s), s)); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of("gumbel_r.cdf", [](A v, A l, A s) { return exp(-exp(-scaled(v, l, s))); }, x, loc, scale);
}
Array logcdf(O x, O loc, O scale) {
  return of("gumbel_r.logcdf", [](A v, A l, A s) { return -exp(-scaled(v, l, s)); }, x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return of("gumbel_r.sf", [](A v, A l, A s) { return -expm1(-exp(-scaled(v, l, s))); }, x, loc, scale);
}
Array logsf(O x, O loc, O scale) {
  return of("gumbel_r.logsf", [](A v, A l, A s) { return nn::log1mexp(exp(-scaled(v, l, s))); }, x, loc, scale);
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
  return of("gumbel_l.pdf", [](A v, A l, A s) { return exp(gumbel_log_density(-scaled(v, l, s), s)); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of("gumbel_l.cdf", [](A v, A l, A s) { return -expm1(-exp(scaled(v, l, s))); }, x, loc, scale);
}
Array logcdf(O x, O loc, O scale) {
  return of("gumbel_l.logcdf", [](A v, A l, A s) { return nn::log1mexp(exp(scaled(v, l, s))); }, x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return of("gumbel_l.sf", [](A v, A l, A s) { return exp(-exp(scaled(v, l, s))); }, x, loc, scale);
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

namespace t {
namespace {
Array log_density(A x, A df, A loc, A scale) {
  auto y = (x - loc) / scale;
  auto norm = 0.5 * log(scale * scale * df) + special::betaln(0.5 * df, 0.5);
  return -(norm + (0.5 * df + 0.5) * log1p(y * y / df));
}
}  // namespace

Array logpdf(O x, O df, O loc, O scale) { return of("t.logpdf", log_density, x, df, loc, scale); }
Array pdf(O x, O df, O loc, O scale) {
  return of("t.pdf", [](A v, A n, A l, A s) { return exp(log_density(v, n, l, s)); }, x, df, loc, scale);
}
}  // namespace t

// At the left end of their support the densities of gamma and beta are powers of 0, and the slopes there those of a
// power: exp(log density) would make them 0 times infinity.
namespace {
Array not_negative(A x) { return where(x < 0, 0, x); }
/// (x - loc) / scale, 1 left of the support.
Array gamma_place(A x, A loc, A scale) { return where(x < loc, 1, (x - loc) / scale); }
Array gamma_log_density(A x, A a, A loc, A scale) {
  auto y = gamma_place(x, loc, scale);
  return where(x < loc, -kInf, special::xlogy(a - 1, y) - y - special::gammaln(a) - log(scale));
}
Array gamma_density(A x, A a, A loc, A scale) {
  auto y = gamma_place(x, loc, scale);
  auto end = y == 0;
  auto at_end = where(end, y, 1), inside = where(end, 1, y), ways = special::gammaln(a), size = log(scale);
  auto power_of_end = power(at_end, a - 1) * exp(-at_end - where(end, ways + size, 0));
  return where(x < loc, 0, where(end, power_of_end, exp(special::xlogy(a - 1, inside) - inside - ways - size)));
}
/// log(gammainc(a, y)), near 0 log(y^a / gamma(a + 1)).
Array gamma_log_mass(A y, A a) {
  auto end = y == 0;
  auto at_end = where(end, y, 1);
  return where(end, special::xlogy(a, at_end) - special::gammaln(a + 1),
               log(special::gammainc(a, where(end, 1, y))));
}
}  // namespace
namespace gamma {
Array logpdf(O x, O a, O loc, O scale) { return of("gamma.logpdf", gamma_log_density, x, a, loc, scale); }
Array pdf(O x, O a, O loc, O scale) { return of("gamma.pdf", gamma_density, x, a, loc, scale); }
Array cdf(O x, O a, O loc, O scale) {
  return of(
      "gamma.cdf", [](A v, A p, A l, A s) { return special::gammainc(p, not_negative((v - l) / s)); }, x, a, loc,
      scale);
}
Array logcdf(O x, O a, O loc, O scale) {
  return of(
      "gamma.logcdf",
      [](A v, A p, A l, A s) {
        return where(v < l, where(p > 0, -kInf, full_like(p, kNan)), gamma_log_mass(gamma_place(v, l, s), p));
      },
      x, a, loc, scale);
}
Array sf(O x, O a, O loc, O scale) {
  return of(
      "gamma.sf", [](A v, A p, A l, A s) { return special::gammaincc(p, not_negative((v - l) / s)); }, x, a, loc,
      scale);
}
Array logsf(O x, O a, O loc, O scale) {
  return of(
      "gamma.logsf", [](A v, A p, A l, A s) { return log(special::gammaincc(p, not_negative((v - l) / s))); }, x, a,
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
      "chi2.pdf", [](A v, A n, A l, A s) { return gamma_density(v, 0.5 * n, l, 2 * s); }, x, df, loc, scale);
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
/// A place in the support, where the parameters are some, and which of both holds.
struct Place {
  Array y, a, b, scale, outside, wrong;
  Place(A x, A p, A q, A loc, A s) : outside(x < loc || x > loc + s), wrong(p <= 0 || q <= 0 || s <= 0) {
    a = where(wrong, 1, p), b = where(wrong, 1, q), scale = where(wrong, 1, s);
    y = where(outside || wrong, 0.5, (x - loc) / scale);
  }
  Array result(A inside, double beyond) const { return where(wrong, kNan, where(outside, beyond, inside)); }
};
Array log_density(A x, A a, A b, A loc, A scale) {
  Place p(x, a, b, loc, scale);
  auto r = special::xlogy(p.a - 1, p.y) + special::xlog1py(p.b - 1, -p.y) - special::betaln(p.a, p.b) - log(p.scale);
  return p.result(r, -kInf);
}
Array density(A x, A a, A b, A loc, A scale) {
  Place p(x, a, b, loc, scale);
  auto end = p.y == 0 || p.y == 1, first = p.y == 0;
  auto y = where(end, 0.5, p.y), both = special::betaln(p.a, p.b), size = log(p.scale);
  // The powers of the distances from the end and from the other one, which does not count beside infinity.
  auto distance = where(first, p.y, 1 - p.y), e = where(first, p.a, p.b) - 1, other = where(first, p.b, p.a) - 1;
  auto grows = end && e < 0, bounded = end && e >= 0;
  auto near = where(bounded, distance, 0.5);
  auto powers = where(grows, power(where(grows, distance, 0.5), e), power(near, e) * power(1 - near, other)) *
                exp(-where(end, both + size, 0));
  auto regular = exp(special::xlogy(p.a - 1, y) + special::xlog1py(p.b - 1, -y) - both - size);
  return p.result(where(end, powers, regular), 0);
}
/// log(betainc(a, b, y)), near 0 log(y^a / (a beta(a, b))), before the support -inf.
Array log_mass(A a, A b, A y, A before) {
  auto end = y == 0 && !before;
  auto at_end = where(end, y, 1);
  auto r = where(end, special::xlogy(a, at_end) - log(a) - special::betaln(a, b),
                 log(special::betainc(a, b, where(end || before, 0.5, y))));
  return where(before && !isnan(r), -kInf, r);
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
      "beta.logcdf",
      [](A v, A p, A q, A l, A s) { return log_mass(p, q, unit(v, l, s), (v - l) / s < 0); }, x, a, b, loc, scale);
}
Array sf(O x, O a, O b, O loc, O scale) {
  return of(
      "beta.sf", [](A v, A p, A q, A l, A s) { return special::betainc(q, p, 1 - unit(v, l, s)); }, x, a, b, loc,
      scale);
}
Array logsf(O x, O a, O b, O loc, O scale) {
  return of(
      "beta.logsf",
      [](A v, A p, A q, A l, A s) { return log_mass(q, p, 1 - unit(v, l, s), (v - l) / s > 1); }, x, a, b, loc, scale);
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
  return where(x < loc + scale, -kInf, -(log(scale / b) + (b + 1) * distance(x, loc, scale)));
}
Array log_survival(A x, A b, A loc, A scale) { return -(b * distance(x, loc, scale)); }
}  // namespace

Array logpdf(O x, O b, O loc, O scale) { return of("pareto.logpdf", log_density, x, b, loc, scale); }
Array pdf(O x, O b, O loc, O scale) {
  return of("pareto.pdf", [](A v, A p, A l, A s) { return exp(log_density(v, p, l, s)); }, x, b, loc, scale);
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
Array log_density(A x, A kappa) {
  auto k = where(kappa > 0, kappa, kNan);
  return k * (cos(x) - 1) - log(2 * kPi * special::i0e(k));
}
}  // namespace

Array logpdf(O x, O kappa) { return of("vonmises.logpdf", log_density, x, kappa); }
Array pdf(O x, O kappa) {
  return of("vonmises.pdf", [](A v, A k) { return exp(log_density(v, k)); }, x, kappa);
}
}  // namespace vonmises
namespace wrapcauchy {
namespace {
Array log_density(A x, A concentration) {
  auto c = where(concentration > 0 && concentration < 1, concentration, kNan);
  auto r = log(1 - c * c) - kLogTwoPi - log(1 + c * c - 2 * c * cos(x));
  return where((x >= 0 && x <= 2 * kPi) || isnan(c), r, -kInf);
}
}  // namespace

Array logpdf(O x, O c) { return of("wrapcauchy.logpdf", log_density, x, c); }
Array pdf(O x, O c) {
  return of("wrapcauchy.pdf", [](A v, A p) { return exp(log_density(v, p)); }, x, c);
}
}  // namespace wrapcauchy
}  // namespace bora::stats
