// Incomplete gamma and beta functions, and their derivatives by parameters, for doubles. Series and continued fractions
// are those of Gautschi 1979 and of Abramowitz & Stegun 6.5.29, 6.5.31 and 26.5.8, the latter by Lentz's method; the
// factors before them are Loader's (2000), which keep their digits where parameters are large.
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include "ops/special/dual.h"
#include "ops/special/scalar.h"

namespace bora::ops::scalar {
namespace {
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEps = std::numeric_limits<double>::epsilon() / 2, kTiny = 1e-300;
constexpr double kTwoPi = 2 * std::numbers::pi;
constexpr int kTerms = 400000;  // series need about 9 sqrt(a) terms, and a stays below kLarge
constexpr double kLarge = 1e8;

/// The sum of x^n / ((a + 1) .. (a + n)).
template <class T> T series(T a, double x) {
  T term = 1, sum = 1;
  for (int n = 1; n < kTerms; ++n) {
    term = term * x / (a + n);
    sum = sum + term;
    if (magnitude(term) < kEps * std::fabs(value(sum))) break;
  }
  return sum;
}
/// Lentz's method for b + a(1) / (b + 2 + ..); `start` is b, step(i, T& a, T& b) gives the i-th pair.
template <class T, class F> T continued_fraction(T start, F&& step) {
  T d = T(1) / start, c = T(1 / kTiny), h = d;
  for (int i = 1; i < kTerms; ++i) {
    T a = 0, b = 0;
    step(i, a, b);
    d = b + a * d;
    if (std::fabs(value(d)) < kTiny) d = kTiny;
    c = b + a / c;
    if (std::fabs(value(c)) < kTiny) c = kTiny;
    d = T(1) / d;
    T change = c * d;
    h = h * change;
    if (magnitude(change - T(1)) < kEps) break;
  }
  return h;
}
/// gammaincc / gamma_density for x >= a + 1.
template <class T> T upper_fraction(T a, double x) {
  T b = T(x + 1) - a;
  return continued_fraction(b, [&](int i, T& numerator, T& denominator) {
    numerator = T(-i) * (T(i) - a);
    b = b + T(2);
    denominator = b;
  });
}
/// The uniform expansion of Temme 1979 with two terms; the third is below 1e-15 for a > kLarge.
struct Temme {
  double mu, distance, eta, c0, bell;
  Temme(double a, double x)
      : mu((x - a) / a), distance(deviance(mu, x / a)), eta(std::copysign(std::sqrt(2 * distance), mu)) {
    c0 = std::fabs(eta) < 1e-2 ? -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta / 864)) : 1 / mu - 1 / eta;
    bell = std::exp(-a * distance) / std::sqrt(kTwoPi * a);
  }
};
double upper_of_large(double a, double x) {
  Temme t(a, x);
  return 0.5 * std::erfc(t.eta * std::sqrt(a / 2)) + t.bell * (t.c0 - 1.0 / (540 * a));
}
/// Its derivative by a, with a relative error of 1 / a.
double upper_of_large_by_a(double a, double x) {
  Temme t(a, x);
  double l = std::log1p(t.mu);
  return t.bell * ((t.mu == 0 ? 1 : l / t.eta) + t.c0 * l);
}
/// log gamma(1 + a), also where 1 + a is rounded.
double log_gamma_one_plus(double a) {
  double y = 1 + a;
  return lgamma(y) + (a - (y - 1)) * digamma(y);
}
/// gammaincc for small a and x, where 1 - gammainc has no digits (DiDonato & Morris 1986).
double upper_of_small(double a, double x) {
  double sum = 0, term = 1;
  for (int n = 1; n < 100; ++n) {
    term *= -x / n;
    sum += term / (a + n);
    if (std::fabs(term) < kEps * std::fabs(sum)) break;
  }
  double l = a * std::log(x) - log_gamma_one_plus(a);
  return -std::expm1(l) - std::exp(l) * a * sum;
}
bool outside(double a, double x) { return std::isnan(a) || std::isnan(x) || a < 0 || x < 0 || (a == 0 && x == 0); }
}  // namespace

double deviance(double u, double y) {
  if (std::fabs(u) > 0.4) return u - std::log(y);
  double r = u / (2 + u), w = r * r, sum = 0, power = w * r;
  for (int k = 3; k < 31; k += 2, power *= w) sum += power / k;
  return u * r - 2 * sum;
}
double gamma_density(double a, double x) {
  if (x == 0) return a == 0 ? kNan : 0;
  if (x == kInf) return 0;
  if (a >= 10) return std::sqrt(a / kTwoPi) * std::exp(-a * deviance((x - a) / a, x / a) - stirling(a));
  return (x > 700 ? std::exp(a * std::log(x) - x) : std::pow(x, a) * std::exp(-x)) / tgamma(a);
}
double gammainc(double a, double x) {
  if (outside(a, x)) return kNan;
  if (x == 0) return 0;
  if (a == 0 || x == kInf) return 1;
  if (a == kInf) return 0;
  if (a > kLarge) return x < a ? 1 - upper_of_large(a, x) : 1 - gammaincc(a, x);
  if (x < a + 1) return gamma_density(a, x) / a * series(a, x);
  return 1 - gamma_density(a, x) * upper_fraction(a, x);
}
double gammaincc(double a, double x) {
  if (outside(a, x)) return kNan;
  if (x == 0) return 1;
  if (a == 0 || x == kInf) return 0;
  if (a == kInf) return 1;
  if (a > kLarge) return upper_of_large(a, x);
  if (x < a + 1) return a < 1 && x < 1.1 ? upper_of_small(a, x) : 1 - gamma_density(a, x) / a * series(a, x);
  return gamma_density(a, x) * upper_fraction(a, x);
}
double gammainc_by_a(double a, double x) {
  if (outside(a, x) || a == 0) return kNan;
  if (x == 0 || x == kInf || a == kInf) return 0;
  if (a > kLarge) return -upper_of_large_by_a(a, x);
  if (x < a + 1) {
    Dual sum = series(Dual(a, 1), x);
    return gamma_density(a, x) / a * (sum.v * (std::log(x) - digamma(a + 1)) + sum.d);
  }
  Dual h = upper_fraction(Dual(a, 1), x);
  return -gamma_density(a, x) * (h.v * (std::log(x) - digamma(a)) + h.d);
}

namespace {
/// a betainc / beta_density for x < (a + 1) / (a + b + 2).
template <class T> T beta_fraction(T a, T b, double x) {
  T c = 1, d = T(1) - (a + b) * x / (a + T(1));
  if (std::fabs(value(d)) < kTiny) d = kTiny;
  d = T(1) / d;
  T h = d;
  for (int m = 1; m < kTerms; ++m) {
    T end = a + T(2 * m), n = m;
    T even = n * (b - n) * x / ((end - T(1)) * end), odd = -((a + n) * (a + b + n) * x / (end * (end + T(1))));
    T change = 1;
    for (T k : {even, odd}) {
      d = T(1) + k * d;
      if (std::fabs(value(d)) < kTiny) d = kTiny;
      c = T(1) + k / c;
      if (std::fabs(value(c)) < kTiny) c = kTiny;
      d = T(1) / d;
      change = c * d;
      h = h * change;
    }
    if (magnitude(change - T(1)) < kEps) break;
  }
  return h;
}
bool outside(double a, double b, double x) {
  return std::isnan(a) || std::isnan(b) || a < 0 || b < 0 || !(x >= 0 && x <= 1) || (a == 0 && b == 0);
}
bool lower_side(double a, double b, double x) { return x < (a + 1) / (a + b + 2); }
/// The derivative of betainc by its first (or second) parameter.
double betainc_by(double a, double b, double x, bool first) {
  if (outside(a, b, x) || a == 0 || b == 0) return kNan;
  if (x == 0 || x == 1) return 0;
  double own = first ? std::log(x) - digamma(a) : std::log1p(-x) - digamma(b), log_factor = own + digamma(a + b);
  Dual p(a, first), q(b, !first);
  if (lower_side(a, b, x)) {
    Dual h = beta_fraction(p, q, x) / p;
    return beta_density(a, b, x) * (h.v * log_factor + h.d);
  }
  Dual h = beta_fraction(q, p, 1 - x) / q;
  return -beta_density(a, b, x) * (h.v * log_factor + h.d);
}
}  // namespace
double beta_density(double a, double b, double x) {
  if (x == 0 || x == 1) return 0;
  if (a >= 10 && b >= 10) {
    double e = x * b - a * (1 - x), n = a + b;
    return std::sqrt(a / kTwoPi * (b / n)) *
           std::exp(stirling(n) - stirling(a) - stirling(b) - a * deviance(e / a, x * n / a) -
                    b * deviance(-e / b, (1 - x) * n / b));
  }
  double both = a * std::log(x) + b * std::log1p(-x);
  if (a < 10 && b < 10) return std::exp(both) / tgamma(a) * (tgamma(a + b) / tgamma(b));
  return std::exp(both + log_gamma_ratio(std::fmax(a, b), std::fmin(a, b))) / tgamma(std::fmin(a, b));
}
double betainc(double a, double b, double x) {
  if (outside(a, b, x)) return kNan;
  if (a == 0 || x == 1 || (b == kInf && a != kInf && x > 0)) return 1;
  if (b == 0 || x == 0 || (a == kInf && b != kInf)) return 0;
  if (a == kInf) return kNan;
  if (lower_side(a, b, x)) return beta_density(a, b, x) / a * beta_fraction(a, b, x);
  return 1 - beta_density(a, b, x) / b * beta_fraction(b, a, 1 - x);
}
double betainc_by_a(double a, double b, double x) { return betainc_by(a, b, x, true); }
double betainc_by_b(double a, double b, double x) { return betainc_by(a, b, x, false); }
}  // namespace bora::ops::scalar
