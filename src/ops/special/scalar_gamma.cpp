// The gamma function's family, for doubles.
#include <cmath>
#include <limits>
#include <numbers>
#include "ops/special/dual.h"
#include "ops/special/scalar.h"

namespace bora::ops::scalar {
namespace {
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;
bool pole(double x) { return x <= 0 && x == std::floor(x); }
/// gamma(x) is neither 0 nor infinite, and a product of two of them neither.
bool moderate(double x) { return std::fabs(x) < 80; }
/// The coefficients p[0] x^(n-1) + .. + p[n-1] at x.
template <int n> double polynomial(double x, const double (&p)[n]) {
  double r = p[0];
  for (int i = 1; i < n; ++i) r = r * x + p[i];
  return r;
}
}  // namespace

double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
double tgamma(double x) { return std::tgamma(x); }

/// Between 1 and 2 the rational approximation of Boost (Maddock 2006), which is exact at the root 1.46..; elsewhere
/// recurrence, reflection and the asymptotic series (Abramowitz & Stegun 6.3.18).
double digamma(double x) {
  if (pole(x) || x == -kInf) return kNan;
  if (x <= 0) {
    double r = x - std::nearbyint(x);
    return digamma(1 - x) - (std::fabs(r) == 0.5 ? 0 : kPi / std::tan(kPi * r));
  }
  double below = 0;
  if (x < 1) {
    below = -1 / x;
    x += 1;
  }
  if (x <= 2) {
    static constexpr double root[] = {1569415565.0 / 1073741824, 381566830.0 / 1073741824 / 1073741824,
                                      0.9016312093258695918615325266959189453125e-19};
    static constexpr double p[] = {-0.0020713321167745952, -0.045251321448739056, -0.28919126444774784,
                                   -0.65031853770896507,   -0.32555031186804491,  0.25479851061131551};
    static constexpr double q[] = {-0.55789841321675513e-6,
                                   0.0021284987017821144,
                                   0.054151797245674225,
                                   0.43593529692665969,
                                   1.4606242909763515,
                                   2.0767117023730469,
                                   1.0};
    double g = ((x - root[0]) - root[1]) - root[2];
    return below + (g * static_cast<double>(0.99558162689208984f) + g * (polynomial(x - 1, p) / polynomial(x - 1, q)));
  }
  for (; x < 10; x += 1) below -= 1 / x;
  if (x == kInf) return x;
  static constexpr double b[] = {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12};
  double w = 1 / (x * x);
  return below + (std::log(x) - 0.5 / x - w * polynomial(w, b));
}

namespace {
/// Euler and Maclaurin's formula, for q > 0 and s > -1 (Cephes, zeta.c; Moshier 1989).
template <class S> S zeta_sum(S s, double q) {
  static constexpr double a[] = {12,
                                 -720,
                                 30240,
                                 -1209600,
                                 47900160,
                                 -1307674368000.0 / 691,
                                 74724249600,
                                 -10670622842880000.0 / 3617,
                                 5109094217170944000.0 / 43867,
                                 -802857662698291200000.0 / 174611,
                                 14101100039391805440000.0 / 77683,
                                 -1693824136731743669452800000.0 / 236364091};
  constexpr double eps = std::numeric_limits<double>::epsilon() / 2;
  S sum = inverse_power(q, s), last = sum;
  double w = q;
  for (int i = 0; i < 9 || w <= 9; ++i) {
    w += 1;
    last = inverse_power(w, s);
    sum = sum + last;
    if (magnitude(last) < eps * magnitude(sum) * 1e-3) return sum;
  }
  sum = sum + last * w / (s - 1) - last * 0.5;
  S factor = 1;
  for (int i = 0; i < 12; ++i) {
    factor = factor * (s + 2.0 * i);
    last = last / w;
    S term = factor * last / a[i];
    sum = sum + term;
    if (magnitude(term) < eps * magnitude(sum)) break;
    factor = factor * (s + (2.0 * i + 1));
    last = last / w;
  }
  return sum;
}
}  // namespace
double zeta(double s, double q) {
  if (std::isnan(s) || std::isnan(q) || s < 1) return kNan;
  if (s == 1 || pole(q)) return kInf;
  if (q == kInf) return 0;
  if (s == kInf) return q < 1 ? kInf : q == 1 ? 1 : 0;
  if (q > 0) return zeta_sum(s, q);
  if (s != std::floor(s)) return kNan;
  // The terms below 0 are those of 1 - f, .. with the sign (-1)^s, f being q's fraction.
  double f = q - std::floor(q), below = zeta_sum(s, 1 - f) - zeta_sum(s, 1 - q);
  return zeta_sum(s, f) + (std::fmod(s, 2) == 0 ? below : -below);
}
double zeta_by_s(double s, double q) {
  if (!(s > 1) || !(q > 0)) return kNan;
  return q == kInf || s == kInf ? 0 : zeta_sum(Dual(s, 1), q).d;
}
double riemann_zeta(double s) { return s == 1 ? kInf : s == kInf ? 1 : zeta_sum(s, 1); }
double riemann_zeta_by_s(double s) { return s == 1 ? kNan : s == kInf ? 0 : zeta_sum(Dual(s, 1), 1).d; }

double stirling(double z) {
  static constexpr double c[] = {1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12};
  return polynomial(1 / (z * z), c) / z;
}
double log_gamma_ratio(double z, double m) {
  return (z - 0.5) * std::log1p(m / z) + m * (std::log(z + m) - 1) + (stirling(z + m) - stirling(z));
}
double beta(double a, double b) {
  if (moderate(a) && moderate(b) && std::fmin(a, b) < 10) return tgamma(a) / tgamma(a + b) * tgamma(b);
  if (a > 0 && b > 0) return std::exp(lbeta(a, b));
  int sa, sb, sc;
  double l = ::lgamma_r(a, &sa) + ::lgamma_r(b, &sb) - ::lgamma_r(a + b, &sc);
  return sa * sb * sc * std::exp(l);
}
/// Cases of DiDonato & Morris 1992 (TOMS 708, betaln).
double lbeta(double a, double b) {
  if (a > b) return lbeta(b, a);
  if (!(a > 0)) return lgamma(a) + lgamma(b) - lgamma(a + b);
  if (b < 10) return a < 1e-300 ? -std::log(a) : std::log(beta(a, b));
  if (b == kInf) return -kInf;
  if (a < 10) return lgamma(a) - log_gamma_ratio(b, a);
  constexpr double half_log_two_pi = 0.91893853320467274178;
  return half_log_two_pi - 0.5 * std::log(b) + (stirling(a) + stirling(b) - stirling(a + b)) +
         (a - 0.5) * std::log(a / (a + b)) - b * std::log1p(a / b);
}
double poch(double z, double m) {
  if (m == 0) return 1;
  double end = z + m;
  if (pole(z) && pole(end)) {  // both infinite: the limit, a product of whole numbers
    double n = std::fabs(m), r = 1, from = std::fmin(z, end);
    if (n > 200) return kNan;
    for (double k = 0; k < n; ++k) r *= from + k;
    return m > 0 ? r : 1 / r;
  }
  if (pole(z)) return 0;
  if (pole(end)) return kInf;
  if (std::fmin(z, end) < 10 && moderate(z) && moderate(end)) return tgamma(end) / tgamma(z);
  if (z >= 10 && m > 0) return std::exp(log_gamma_ratio(z, m));
  if (end >= 10 && m < 0) return std::exp(-log_gamma_ratio(end, -m));
  int sz, se;
  double low = ::lgamma_r(z, &sz), high = ::lgamma_r(end, &se);
  return sz * se * std::exp(high - low);
}
}  // namespace bora::ops::scalar
