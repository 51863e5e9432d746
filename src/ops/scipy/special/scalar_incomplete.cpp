// Incomplete gamma and beta functions, and their derivatives by parameters, for doubles. Series and continued fractions
// are those of Gautschi 1979 and of Abramowitz & Stegun 6.5.29, 6.5.31 and 26.5.8, the latter by Lentz's method; the
// factors before them are Loader's (2000), which keep their digits where parameters are large.
#include <cmath>
#include <initializer_list>
#include "ops/scipy/special/dual.h"
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/special/scalar_parts.h"

namespace bora::ops::scalar {
namespace {
template <class T> constexpr T kTwoPi = 2 * kPi<T>;
constexpr int kTerms = 400000;  // series need about 9 sqrt(a) terms, and a stays below kLarge
constexpr double kLarge = 1e8;

/// The sum of x^n / ((a + 1) .. (a + n)).
template <class T, class S> S series(S a, T x) {
  S term = 1, sum = 1;
  for (int n = 1; n < kTerms; ++n) {
    term = term * S(x) / (a + S(n));
    sum = sum + term;
    if (magnitude(term) < kEps<T> * std::fabs(value(sum))) break;
  }
  return sum;
}
/// Lentz's method for b + a(1) / (b + 2 + ..); `start` is b, step(i, T& a, T& b) gives the i-th pair.
template <class T, class S, class F> S continued_fraction(S start, F&& step) {
  S d = S(1) / start, c = S(1 / kTiny), h = d;
  for (int i = 1; i < kTerms; ++i) {
    S a = 0, b = 0;
    step(i, a, b);
    d = b + a * d;
    if (std::fabs(value(d)) < kTiny) d = kTiny;
    c = b + a / c;
    if (std::fabs(value(c)) < kTiny) c = kTiny;
    d = S(1) / d;
    S change = c * d;
    h = h * change;
    if (magnitude(change - S(1)) < kEps<T>) break;
  }
  return h;
}
/// gammaincc / gamma_density for x >= a + 1.
template <class T, class S> S upper_fraction(S a, T x) {
  S b = S(x + 1) - a;
  return continued_fraction<T>(b, [&](int i, S& numerator, S& denominator) {
    numerator = S(-i) * (S(i) - a);
    b = b + S(2);
    denominator = b;
  });
}
/// The derivative by x of upper_fraction.
template <class T> T continued_fraction_slope(T a, T x) {
  Dual<T> b(x + 1 - a, 1);
  return continued_fraction<T>(b, [&](int i, Dual<T>& numerator, Dual<T>& denominator) {
    numerator = T(-i) * (i - a);
    b = b + Dual<T>(2);
    denominator = b;
  }).d;
}
/// The uniform expansion of Temme 1979 with two terms; the third is below 1e-15 for a > kLarge.
template <class T> struct Temme {
  T mu, distance, eta, c0, bell;
  Temme(T a, T x)
      : mu((x - a) / a), distance(deviance(mu, x / a)), eta(std::copysign(std::sqrt(2 * distance), mu)) {
    c0 = std::fabs(eta) < 1e-2 ? T(-1) / 3 + eta * (T(1) / 12 + eta * (T(-2) / 135 + eta / 864)) : 1 / mu - 1 / eta;
    bell = std::exp(-a * distance) / std::sqrt(kTwoPi<T> * a);
  }
};
template <class T> T upper_of_large(T a, T x) {
  Temme<T> t(a, x);
  return 0.5 * std::erfc(t.eta * std::sqrt(a / 2)) + t.bell * (t.c0 - 1.0 / (540 * a));
}
/// Its derivative by a, with a relative error of 1 / a.
template <class T> T upper_of_large_by_a(T a, T x) {
  Temme<T> t(a, x);
  T l = std::log1p(t.mu);
  return t.bell * ((t.mu == 0 ? 1 : l / t.eta) + t.c0 * l);
}
/// log gamma(1 + a), also where 1 + a is rounded.
template <class T> T log_gamma_one_plus(T a) {
  T y = 1 + a;
  return lgamma(y) + (a - (y - 1)) * digamma(y);
}
/// gammaincc for small a and x, where 1 - gammainc has no digits (DiDonato & Morris 1986).
template <class T> T upper_of_small(T a, T x) {
  T sum = 0, term = 1;
  for (int n = 1; n < 100; ++n) {
    term *= -x / n;
    sum += term / (a + n);
    if (std::fabs(term) < kEps<T> * std::fabs(sum)) break;
  }
  T l = a * std::log(x) - log_gamma_one_plus(a);
  return -std::expm1(l) - std::exp(l) * a * sum;
}
template <class T> bool outside(T a, T x) {
  return std::isnan(a) || std::isnan(x) || a < 0 || x < 0 || (a == 0 && x == 0);
}
}  // namespace

template <class T> T deviance(T u, T y) {
  if (std::fabs(u) > 0.4) return u - std::log(y);
  T r = u / (2 + u), w = r * r, sum = 0, power = w * r;
  for (int k = 3; k < (sizeof(T) > 8 ? 39 : 31); k += 2, power *= w) sum += power / k;
  return u * r - 2 * sum;
}
template <class T> T gamma_density(T a, T x) {
  if (x == 0) return a == 0 ? kNan : 0;
  if (x == kInf) return 0;
  if (a >= 10) return std::sqrt(a / kTwoPi<T>) * std::exp(-a * deviance((x - a) / a, x / a) - stirling(a));
  return (x > 700 ? std::exp(a * std::log(x) - x) : std::pow(x, a) * std::exp(-x)) / tgamma(a);
}
template <class T> T gammainc(T a, T x) {
  if (outside(a, x)) return kNan;
  if (x == 0) return 0;
  if (a == 0 || x == kInf) return 1;
  if (a == kInf) return 0;
  if (a > kLarge) return x < a ? 1 - upper_of_large(a, x) : 1 - gammaincc(a, x);
  if (x < a + 1) return gamma_density(a, x) / a * series(a, x);
  return 1 - gamma_density(a, x) * upper_fraction(a, x);
}
template <class T> T gammaincc(T a, T x) {
  if (outside(a, x)) return kNan;
  if (x == 0) return 1;
  if (a == 0 || x == kInf) return 0;
  if (a == kInf) return 1;
  if (a > kLarge) return upper_of_large(a, x);
  if (x < a + 1) return a < 1 && x < 1.1 ? upper_of_small(a, x) : 1 - gamma_density(a, x) / a * series(a, x);
  return gamma_density(a, x) * upper_fraction(a, x);
}
template <class T> T gammainc_by_a(T a, T x) {
  if (outside(a, x) || a == 0) return kNan;
  if (x == 0 || x == kInf || a == kInf) return 0;
  if (a > kLarge) return -upper_of_large_by_a(a, x);
  if (x < a + 1) {
    Dual<T> sum = series(Dual<T>(a, 1), x);
    return gamma_density(a, x) / a * (sum.v * (std::log(x) - digamma(a + 1)) + sum.d);
  }
  Dual<T> h = upper_fraction(Dual<T>(a, 1), x);
  return -gamma_density(a, x) * (h.v * (std::log(x) - digamma(a)) + h.d);
}

namespace {
template <class T> constexpr T kHalfRange = sizeof(T) > 8 ? T(1e-2400L) : T(1e-150);
template <class T> bool ordinary(T a, T x) { return !outside(a, x) && a > 0 && a < kLarge && x > 0 && x < kInf; }
/// gammainc_by_a over gammainc, and gammaincc_by_a over gammaincc, where their series converge.
template <class T> T lower_by_a(T a, T x) {
  Dual<T> sum = series(Dual<T>(a, 1), x);
  return std::log(x) - digamma(a + 1) + sum.d / sum.v;
}
template <class T> T upper_by_a(T a, T x) {
  Dual<T> h = upper_fraction(Dual<T>(a, 1), x);
  return std::log(x) - digamma(a) + h.d / h.v;
}
}  // namespace
template <class T> T log_gammainc(T a, T x, bool upper) {
  T own = upper ? gammaincc(a, x) : gammainc(a, x);
  if (own >= T(0.5)) return std::log1p(-(upper ? gammainc(a, x) : gammaincc(a, x)));
  if (std::isnan(own) || own > kHalfRange<T> || !ordinary(a, x)) return std::log(own);
  T l = log_gamma_density(a, x) + std::log(x);
  if (upper) return x < a + 1 ? std::log(own) : l + std::log(upper_fraction<T, T>(a, x));
  return x < a + 1 ? l - std::log(a) + std::log(series<T, T>(a, x)) : std::log(own);
}
template <class T> T log_gammainc_by_a(T a, T x, bool upper) {
  if (ordinary(a, x)) {
    if (!upper && x < a + 1) return lower_by_a(a, x);
    if (upper && x >= a + 1) return upper_by_a(a, x);
  }
  return upper ? -gammainc_by_a(a, x) / gammaincc(a, x) : gammainc_by_a(a, x) / gammainc(a, x);
}
template <class T> T gamma_hazard(int k, T a, T x, bool upper) {
  if (x == 0 && !upper && a > 0) return (k == 0 ? 1 : -1) * std::numeric_limits<T>::infinity();  // as a / x
  if (ordinary(a, x) && upper && x >= a + 1) {
    T h = 1 / (x * upper_fraction<T, T>(a, x));
    if (k == 0) return h;
    // x upper_fraction(a) = 1 + (a - 1) upper_fraction(a - 1), whose derivative keeps its digits.
    T below = continued_fraction_slope(a - 1, x);
    return -h * h * (a - 1) * below;
  }
  T r = ordinary(a, x) && !upper && x < a + 1 ? a / (x * series<T, T>(a, x))
                                              : gamma_slope(0, a, x) / (upper ? gammaincc(a, x) : gammainc(a, x));
  return k == 0 ? r : r * ((a - 1) / x - 1 + (upper ? r : -r));
}

namespace {
/// a betainc / beta_density for x < (a + 1) / (a + b + 2).
template <class T, class S> S beta_fraction(S a, S b, T x) {
  const S one = 1, y = x;
  S c = 1, d = one - (a + b) * y / (a + one);
  if (std::fabs(value(d)) < kTiny) d = kTiny;
  d = one / d;
  S h = d;
  for (int m = 1; m < kTerms; ++m) {
    S end = a + S(2 * m), n = m;
    S even = n * (b - n) * y / ((end - one) * end), odd = -((a + n) * (a + b + n) * y / (end * (end + one)));
    S change = 1;
    for (S k : {even, odd}) {
      d = one + k * d;
      if (std::fabs(value(d)) < kTiny) d = kTiny;
      c = one + k / c;
      if (std::fabs(value(c)) < kTiny) c = kTiny;
      d = one / d;
      change = c * d;
      h = h * change;
    }
    if (magnitude(change - one) < kEps<T>) break;
  }
  return h;
}
template <class T> bool outside(T a, T b, T x) {
  return std::isnan(a) || std::isnan(b) || a < 0 || b < 0 || !(x >= 0 && x <= 1) || (a == 0 && b == 0);
}
template <class T> bool lower_side(T a, T b, T x) { return x < (a + 1) / (a + b + 2); }
/// The derivative of betainc by its first (or second) parameter.
template <class T> T betainc_by(T a, T b, T x, bool first) {
  if (outside(a, b, x) || a == 0 || b == 0) return kNan;
  if (x == 0 || x == 1) return 0;
  T own = first ? std::log(x) - digamma(a) : std::log1p(-x) - digamma(b), log_factor = own + digamma(a + b);
  Dual<T> p(a, first), q(b, !first);
  if (lower_side(a, b, x)) {
    Dual<T> h = beta_fraction(p, q, x) / p;
    return beta_density(a, b, x) * (h.v * log_factor + h.d);
  }
  Dual<T> h = beta_fraction(q, p, 1 - x) / q;
  return -beta_density(a, b, x) * (h.v * log_factor + h.d);
}
}  // namespace
template <class T> T beta_density(T a, T b, T x) {
  if (x == 0 || x == 1) return 0;
  if (a >= 10 && b >= 10) {
    T e = x * b - a * (1 - x), n = a + b;
    return std::sqrt(a / kTwoPi<T> * (b / n)) *
           std::exp(stirling(n) - stirling(a) - stirling(b) - a * deviance(e / a, x * n / a) -
                    b * deviance(-e / b, (1 - x) * n / b));
  }
  T both = a * std::log(x) + b * std::log1p(-x);
  if (a < 10 && b < 10) return std::exp(both) / tgamma(a) * (tgamma(a + b) / tgamma(b));
  return std::exp(both + log_gamma_ratio(std::fmax(a, b), std::fmin(a, b))) / tgamma(std::fmin(a, b));
}
template <class T> T betainc(T a, T b, T x) {
  if (outside(a, b, x)) return kNan;
  if (a == 0 || x == 1 || (b == kInf && a != kInf && x > 0)) return 1;
  if (b == 0 || x == 0 || (a == kInf && b != kInf)) return 0;
  if (a == kInf) return kNan;
  if (lower_side(a, b, x)) return beta_density(a, b, x) / a * beta_fraction(a, b, x);
  return 1 - beta_density(a, b, x) / b * beta_fraction(b, a, 1 - x);
}
template <class T> T betaincc(T a, T b, T x) {
  bool inside = a > 0 && b > 0 && x > 0 && x < 1 && a < T(kInf) && b < T(kInf);
  return inside && !lower_side(a, b, x) ? beta_density(a, b, x) / b * beta_fraction(b, a, 1 - x) : 1 - betainc(a, b, x);
}
namespace {
/// Whether betainc (or with `upper` the rest) is a density times a fraction, which may underflow.
template <class T> bool small_side(T a, T b, T x, bool upper) {
  return a > 0 && b > 0 && x > 0 && x < 1 && a < T(kInf) && b < T(kInf) && lower_side(a, b, x) != upper;
}
template <class T> T side(T a, T b, T x, bool upper) { return upper ? betaincc(a, b, x) : betainc(a, b, x); }
template <class T> T side_fraction(T a, T b, T x, bool upper) {
  return upper ? beta_fraction(b, a, 1 - x) / b : beta_fraction(a, b, x) / a;
}
}  // namespace
template <class T> T log_betainc(T a, T b, T x, bool upper) {
  if (!small_side(a, b, x, upper)) return std::log1p(-side(a, b, x, !upper));
  return log_beta_density(a, b, x) + std::log(x) + std::log1p(-x) + std::log(side_fraction(a, b, x, upper));
}
template <class T> T log_betainc_by(T a, T b, T x, bool upper, bool first) {
  if (!small_side(a, b, x, upper)) {
    T r = betainc_by(a, b, x, first);
    return (upper ? -r : r) / side(a, b, x, upper);
  }
  T own = first ? std::log(x) + psi_difference(0, a, b) : std::log1p(-x) + psi_difference(0, b, a);
  Dual<T> p(a, first), q(b, !first), h = upper ? beta_fraction(q, p, 1 - x) / q : beta_fraction(p, q, x) / p;
  return own + h.d / h.v;
}
template <class T> T beta_hazard(T a, T b, T x, bool upper) {
  if (x == (upper ? 1 : 0) && a > 0 && b > 0) return std::numeric_limits<T>::infinity();  // as a / x
  if (!small_side(a, b, x, upper)) return beta_slope(0, a, b, x) / side(a, b, x, upper);
  return 1 / (x * (1 - x) * side_fraction(a, b, x, upper));
}
template <class T> T betainc_by_a(T a, T b, T x) { return betainc_by(a, b, x, true); }
template <class T> T betainc_by_b(T a, T b, T x) { return betainc_by(a, b, x, false); }

#define BORA_SCALAR(T) \
  template T gammainc(T, T); template T gammaincc(T, T); template T gammainc_by_a(T, T); \
  template T gamma_density(T, T); template T deviance(T, T); template T betainc(T, T, T); \
  template T log_gammainc(T, T, bool); template T log_gammainc_by_a(T, T, bool); \
  template T gamma_hazard(int, T, T, bool); template T betaincc(T, T, T); template T log_betainc(T, T, T, bool); \
  template T log_betainc_by(T, T, T, bool, bool); template T beta_hazard(T, T, T, bool); \
  template T betainc_by_a(T, T, T); template T betainc_by_b(T, T, T); template T beta_density(T, T, T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
