// The gamma function's family, for doubles.
#include <cmath>
#include <limits>
#include "ops/scipy/special/dual.h"
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/special/scalar_parts.h"

namespace bora::ops::scalar {
namespace {
double log_gamma(double x, int& sign) { return ::lgamma_r(x, &sign); }
long double log_gamma(long double x, int& sign) { return ::lgammal_r(x, &sign); }
/// gamma(x) is neither 0 nor infinite, and a product of two of them neither.
template <class T> bool moderate(T x) { return std::fabs(x) < 80; }
}  // namespace

template <class T> T lgamma(T x) {
  int sign;
  return log_gamma(x, sign);
}
template <class T> T tgamma(T x) { return std::tgamma(x); }

/// Between 1 and 2 the rational approximation of Boost (Maddock 2006), which is exact at the root 1.46..; elsewhere
/// recurrence, reflection and the asymptotic series (Abramowitz & Stegun 6.3.18).
template <class T> T digamma(T x) {
  if (pole(x) || x == -kInf) return kNan;
  if (x <= 0) {
    T r = x - std::nearbyint(x);
    return digamma(1 - x) - (std::fabs(r) == 0.5 ? 0 : kPi<T> / std::tan(kPi<T> * r));
  }
  T below = 0;
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
    T g = ((x - root[0]) - root[1]) - root[2];
    return below + (g * static_cast<double>(0.99558162689208984f) + g * (polynomial(x - 1, p) / polynomial(x - 1, q)));
  }
  for (; x < 14; x += 1) below -= 1 / x;
  if (x == kInf) return x;
  static constexpr T b[] = {T(1) / 12,  T(-691) / 32760, T(1) / 132, T(-1) / 240,
                           T(1) / 252, T(-1) / 120,     T(1) / 12};
  T w = 1 / (x * x);
  return below + (std::log(x) - 0.5 / x - w * polynomial(w, b));
}

namespace {
/// Euler and Maclaurin's formula, for q > 0 and s > -1 (Cephes, zeta.c; Moshier 1989).
/// s1 is s - 1 to all its digits.
template <class T, class S> S zeta_sum(S s, S s1, T q) {
  static constexpr T a[] = {12,
                                 -720,
                                 30240,
                                 -1209600,
                                 47900160,
                                 T(-1307674368000) / 691,
                                 74724249600,
                                 T(-10670622842880000) / 3617,
                                 T(5109094217170944000) / 43867,
                                 T(-802857662698291200000.0L) / 174611,
                                 T(14101100039391805440000.0L) / 77683,
                                 T(-1693824136731743669452800000.0L) / 236364091};
  constexpr T eps = std::numeric_limits<T>::epsilon() / 2;
  S sum = inverse_power(q, s), last = sum;
  T w = q;
  for (int i = 0; i < 9 || w <= 9; ++i) {
    w += 1;
    last = inverse_power(w, s);
    sum = sum + last;
    if (magnitude(last) < eps * magnitude(sum) * T(1e-3)) return sum;
  }
  sum = sum + last * S(w) / s1 - last * S(0.5);
  S factor = 1;
  for (int i = 0; i < 12; ++i) {
    factor = factor * (s + S(2 * i));
    last = last / S(w);
    S term = factor * last / S(a[i]);
    sum = sum + term;
    if (magnitude(term) < eps * magnitude(sum)) break;
    factor = factor * (s + S(2 * i + 1));
    last = last / S(w);
  }
  return sum;
}
}  // namespace
template <class T> T zeta(T s, T q) {
  if (std::isnan(s) || std::isnan(q) || s < 1) return kNan;
  if (s == 1 || pole(q)) return kInf;
  if (q == kInf) return 0;
  if (s == kInf) return q < 1 ? kInf : q == 1 ? 1 : 0;
  if (q > 0) return zeta_sum<T, T>(s, s - 1, q);
  if (s != std::floor(s)) return kNan;
  // The terms below 0 are those of 1 - f, .. with the sign (-1)^s, f being q's fraction.
  T f = q - std::floor(q), g = std::ceil(q) - q;  // 1 - f, which rounding spoils near 0
  T below = zeta_sum<T, T>(s, s - 1, g) - zeta_sum<T, T>(s, s - 1, 1 - q);
  return zeta_sum<T, T>(s, s - 1, f) + (std::fmod(s, 2) == 0 ? below : -below);
}
template <class T> T zeta_by_s(T s, T q) {
  if (!(s > 1) || !(q > 0)) return kNan;
  return q == kInf || s == kInf ? 0 : zeta_sum<T, Dual<T>>({s, 1}, {s - 1, 1}, q).d;
}
/// Left of 0 by the reflection formula (Abramowitz & Stegun 23.2.6).
template <class T> T riemann_zeta(T s) {
  if (s == 1) return kInf;
  if (s == kInf) return 1;
  if (!(s < 0)) return zeta_sum<T, T>(s, s - 1, 1);
  T turns = s / 2, whole = std::nearbyint(turns), wave = std::sin(kPi<T> * (turns - whole));
  if (std::fmod(whole, 2) != 0) wave = -wave;
  if (wave == 0) return 0;
  T p = std::pow(2 * kPi<T>, (s - 1) / 2);  // its square may underflow where the product does not
  return 2 * p * (tgamma(1 - s) * p) * wave * zeta_sum<T, T>(1 - s, -s, 1);
}
template <class T> T riemann_zeta_by_s(T s) {
  if (s < -0.5) {  // the derivative of the reflection formula
    T turns = s / 2, whole = std::nearbyint(turns), angle = kPi<T> * (turns - whole), y = 1 - s;
    T p = std::pow(2 * kPi<T>, -y / 2);
    auto z = zeta_sum<T, Dual<T>>({y, 1}, {-s, 1}, 1);
    T slope = z.v * (std::log(2 * kPi<T>) - digamma(y)) - z.d;
    T r = 2 * p * (tgamma(y) * p) * (slope * std::sin(angle) + z.v * kPi<T> / 2 * std::cos(angle));
    return std::fmod(whole, 2) != 0 ? -r : r;
  }
  return s == 1 ? kNan : s == kInf ? 0 : zeta_sum<T, Dual<T>>({s, 1}, {s - 1, 1}, 1).d;
}

template <class T> T stirling(T z) {
  static constexpr T c[] = {T(-3617) / 122400, T(1) / 156,  T(-691) / 360360, T(1) / 1188,
                           T(-1) / 1680,      T(1) / 1260, T(-1) / 360,      T(1) / 12};
  return polynomial(1 / (z * z), c) / z;
}
template <class T> T log_gamma_ratio(T z, T m) {
  return (z - 0.5) * std::log1p(m / z) + m * (std::log(z + m) - 1) + (stirling(z + m) - stirling(z));
}
template <class T> T beta(T a, T b) {
  if (moderate(a) && moderate(b) && std::fmin(a, b) < 10) return tgamma(a) / tgamma(a + b) * tgamma(b);
  if (a > 0 && b > 0) return std::exp(lbeta(a, b));
  int sa, sb, sc;
  T l = log_gamma(a, sa) + log_gamma(b, sb) - log_gamma(a + b, sc);
  return sa * sb * sc * std::exp(l);
}
/// Cases of DiDonato & Morris 1992 (TOMS 708, betaln).
template <class T> T lbeta(T a, T b) {
  if (a > b) return lbeta(b, a);
  if (!(a > 0)) return lgamma(a) + lgamma(b) - lgamma(a + b);
  if (b < 10) return a < 1e-300 ? -std::log(a) : std::log(beta(a, b));
  if (b == kInf) return -kInf;
  if (a < 10) return lgamma(a) - log_gamma_ratio(b, a);
  constexpr T half_log_two_pi = 0.918938533204672741780329736405617640L;
  return half_log_two_pi - 0.5 * std::log(b) + (stirling(a) + stirling(b) - stirling(a + b)) +
         (a - 0.5) * std::log(a / (a + b)) - b * std::log1p(a / b);
}
template <class T> T poch(T z, T m) {
  if (std::isnan(z) || std::isnan(m)) return kNan;
  if (m == 0) return 1;
  T end = z + m;
  if (pole(z) && pole(end)) {  // both infinite: the limit, a product of whole numbers
    T n = std::fabs(m), r = 1, from = std::fmin(z, end);
    if (n > 200) return kNan;
    for (T k = 0; k < n; ++k) r *= from + k;
    return m > 0 ? r : 1 / r;
  }
  if (pole(z)) return 0;
  if (pole(end)) return kInf;
  if (std::fmin(z, end) < 10 && moderate(z) && moderate(end)) return tgamma(end) / tgamma(z);
  if (z >= 10 && m > 0) return std::exp(log_gamma_ratio(z, m));
  if (end >= 10 && m < 0) return std::exp(-log_gamma_ratio(end, -m));
  int sz, se;
  T low = log_gamma(z, sz), high = log_gamma(end, se);
  return sz * se * std::exp(high - low);
}
template <class T> T factorial(T n) { return n < 0 ? 0 : tgamma(n + 1); }
/// For a whole and small k the product, which is exact as long as T holds it.
template <class T> T comb(T n, T k) {
  if (std::isnan(n) || std::isnan(k)) return kNan;
  if (!(k >= 0 && k <= n)) return 0;
  T least = std::fmin(k, n - k);
  if (least == std::floor(least) && least <= 30) {
    T r = 1;
    for (T i = 1; i <= least; ++i) r = r * (n - least + i) / i;
    return r;
  }
  return 1 / ((n + 1) * beta(n - k + 1, k + 1));
}

#define BORA_SCALAR(T) \
  template T lgamma(T); template T tgamma(T); template T digamma(T); template T riemann_zeta(T); \
  template T riemann_zeta_by_s(T); template T stirling(T); template T factorial(T); template T zeta(T, T); \
  template T zeta_by_s(T, T); template T log_gamma_ratio(T, T); template T beta(T, T); template T lbeta(T, T); \
  template T poch(T, T); template T comb(T, T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
