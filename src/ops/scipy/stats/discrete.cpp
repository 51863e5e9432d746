// Distributions of whole numbers.
#include "bora/ops/reductions.h"
#include "ops/scipy/stats/distribution.h"
#include "bora/ops/creation.h"
#include "bora/ops/accumulator.h"

namespace bora::stats {
namespace {
// A probability of 0 or 1, and a mean of 0, are ends of a parameter's range: there the probabilities are powers of 0,
// and their slopes those of a power: exp(log probability) would make them 0 times infinity.

/// The logarithm of the number of ways to choose y of n.
Array log_choices(A n, A y) { return -(log1p(n) + special::betaln(n - y + 1, y + 1)); }
}  // namespace
namespace bernoulli {
namespace {
Array log_probability(A k, A p, A loc) {
  auto x = k - loc;
  return where(x < 0 || x > 1, -kInf, special::xlogy(x, p) + special::xlog1py(1 - x, -p));
}
}  // namespace

Array logpmf(O k, O p, O loc) { return of("bernoulli.logpmf", log_probability, k, p, loc); }
Array pmf(O k, O p, O loc) {
  return of(
      "bernoulli.pmf",
      [](A x, A q, A l) {
        auto y = x - l, between = y != 0 && y != 1, safe = where(no_probability(q), kNan, q);
        return where(between, exp(log_probability(x, where(between, q, 0.5), l)), where(y == 1, safe, 1 - safe));
      },
      k, p, loc);
}
Array cdf(O k, O p) {
  return of(
      "bernoulli.cdf",
      [](A x, A q) {
        auto r = where(x < 0, 0, where(x < 1, 1 - q, full_like(q, 1)));
        return where(isnan(x) || no_probability(q), kNan, r);
      },
      k, p);
}
Array ppf(O q, O p) {
  return of(
      "bernoulli.ppf",
      [](A x, A r) {
        return where(no_probability(x) || no_probability(r), kNan, where(x <= 1 - r && x < 1, 0, full_like(r, 1)));
      },
      q, p);
}
}  // namespace bernoulli
namespace binom {
namespace {
Array log_probability(A k, A n, A p, A loc) {
  auto inside = k >= loc && k < loc + n + 1;
  auto m = where(inside, n, 1), y = where(inside, k - loc, 1);
  // Of no or all trials the logarithm may be small, where the constants of the density would cancel.
  auto q = where(y == 0 || y == m, 0.5, p);
  auto some = where(y == m, special::xlogy(m, where(y == m, p, 0.5)), log_beta_density(y + 1, m - y + 1, q) - log1p(m));
  return where(inside, where(y == 0, special::xlog1py(m, -where(y == 0, p, 0.5)), some), -kInf);
}
Array probability(A k, A n, A p, A loc) {
  auto inside = k >= loc && k < loc + n + 1;
  auto m = where(inside, n, 1), y = where(inside, k - loc, 1);
  return where(inside, beta_density(y + 1, m - y + 1, p) / (m + 1), 0);
}
}  // namespace

Array logpmf(O k, O n, O p, O loc) { return of("binom.logpmf", log_probability, k, n, p, loc); }
Array pmf(O k, O n, O p, O loc) {
  return of("binom.pmf", probability, k, n, p, loc);
}
}  // namespace binom
namespace betabinom {
namespace {
Array log_probability(A k, A n, A a, A b, A loc) {
  auto y = floor(k) - loc;
  auto wrong = n < 0 || a <= 0 || b <= 0, inside = y >= 0 && y <= n && !wrong;
  auto m = where(inside, n, 1), x = where(inside, y, 1), p = where(inside, a, 1), q = where(inside, b, 1);
  auto r = log_choices(m, x) + log_poch(p, x) + log_poch(q, m - x) - log_poch(p + q, m);
  return where(wrong, kNan, where(inside, r, -kInf));
}
}  // namespace

Array logpmf(O k, O n, O a, O b, O loc) { return of("betabinom.logpmf", log_probability, k, n, a, b, loc); }
Array pmf(O k, O n, O a, O b, O loc) {
  return of(
      "betabinom.pmf", [](A x, A m, A p, A q, A l) { return exp(log_probability(x, m, p, q, l)); }, k, n, a, b, loc);
}
}  // namespace betabinom
namespace nbinom {
namespace {
Array log_probability(A k, A n, A p, A loc) {
  auto outside = k < loc;
  auto y = where(outside, 0, k - loc);
  auto trials = n + y;  // of which the last is a success
  auto some = log_beta_density(n + 1, y + 1, where(y == 0, 0.5, p)) + (log(n) - log(trials)) - log1p(trials);
  return where(outside, -kInf, where(y == 0, special::xlogy(n, where(y == 0, p, 0.5)), some));
}
Array probability(A k, A n, A p, A loc) {
  auto outside = k < loc;
  auto y = where(outside, 0, k - loc), trials = n + y;
  return where(outside, 0, beta_density(n + 1, y + 1, p) * (n / trials) / (trials + 1));
}
}  // namespace

Array logpmf(O k, O n, O p, O loc) { return of("nbinom.logpmf", log_probability, k, n, p, loc); }
Array pmf(O k, O n, O p, O loc) {
  return of("nbinom.pmf", probability, k, n, p, loc);
}
}  // namespace nbinom
namespace geom {
namespace {
Array log_probability(A k, A p, A loc) {
  auto x = k - loc;
  return where(x <= 0, -kInf, special::xlog1py(x - 1, -p) + log(p));
}
}  // namespace

Array logpmf(O k, O p, O loc) { return of("geom.logpmf", log_probability, k, p, loc); }
Array pmf(O k, O p, O loc) {
  return of(
      "geom.pmf",
      [](A x, A q, A l) {
        auto y = x - l, before = where(y <= 0, 1, y) - 1, sure = q == 1;
        auto failures = where(sure, power(1 - where(sure, q, 0.5), before),
                              exp(special::xlog1py(before, -where(sure, 0.5, q))));
        return where(y <= 0, 0, failures * q);
      },
      k, p, loc);
}
}  // namespace geom
namespace poisson {
namespace {
Array log_probability(A k, A mu, A loc) {
  auto outside = k < loc || round(k) != k;
  auto x = where(outside, 0, k - loc);
  return where(outside && !isnan(k), -kInf, log_gamma_density(x + 1, mu));
}
Array probability(A k, A mu, A loc) {
  auto outside = k < loc || round(k) != k;
  return where(outside && !isnan(k), 0, gamma_density(where(outside, 0, k - loc) + 1, mu));
}
}  // namespace

Array logpmf(O k, O mu, O loc) { return of("poisson.logpmf", log_probability, k, mu, loc); }
Array pmf(O k, O mu, O loc) {
  return of("poisson.pmf", probability, k, mu, loc);
}
Array cdf(O k, O mu, O loc) {
  return of(
      "poisson.cdf",
      [](A v, A m, A l) {
        auto x = v - l;
        auto outside = x < 0;
        return where(outside, 0, special::gammaincc(floor(1 + where(outside, 0, x)), m));
      },
      k, mu, loc);
}
}  // namespace poisson
namespace multinomial {
Array logpmf(const Array& x, const Array& n, const Array& p) {
  check<DtypeError>(is_integer(x.dtype()) && is_integer(n.dtype()),
                    "multinomial.logpmf: counts and trials are integers, not ", x.dtype(), " and ", n.dtype());
  check<ShapeError>(x.ndim() >= 1 && p.ndim() >= 1 && x.shape(-1) == p.shape(-1), "multinomial.logpmf: counts ",
                    x.shape(), " and probabilities ", p.shape(), " must have one last dimension");
  auto t = one_type("multinomial.logpmf", {x.astype(real_accumulator(p.dtype())), p});
  auto k = t.x[0], trials = n.astype(k.dtype());
  auto r = special::gammaln(trials + 1) + sum(special::xlogy(k, t.x[1]) - special::gammaln(k + 1), -1);
  return where(sum(k, -1) == trials || any(isnan(t.x[1]), -1), r, -kInf).astype(inexact(p).dtype());
}
Array pmf(const Array& x, const Array& n, const Array& p) { return exp(logpmf(x, n, p)); }
}  // namespace multinomial
}  // namespace bora::stats
