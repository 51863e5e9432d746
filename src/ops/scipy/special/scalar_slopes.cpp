// Derivatives of special functions of one number, of every order, by formulas none of whose parts cancel where the
// functions' own recurrences do: far out, where a function and what it is compared with become equal, and near 0.
#include <cmath>
#include <limits>
#include <numbers>
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/special/scalar_parts.h"

namespace bora::ops::scalar {
namespace {
/// The power series of I_n(x), x >= 0, all of whose terms are positive (Abramowitz & Stegun 9.6.10).
template <class T> T bessel_series(int n, T x) {
  T q = x * x / 4, term = 1;
  for (int i = 1; i <= n; ++i) term *= x / (2 * i);
  T sum = term;
  for (int k = 1; k < 400 && term > kEps<T> * sum / 4; ++k) sum += term *= q / (static_cast<T>(k) * (k + n));
  return sum;
}
/// The k-th derivative of e^-x I_n(x) for x >= 30, by terms of the asymptotic series (9.7.1).
template <class T> T scaled_far(int n, int k, T x) {
  if (x == kInf) return 0;
  T a = 1, sum = 0;
  for (int j = 0; j < 60; ++j) {
    if (j > 0) a *= ((2 * j - 1) * (2 * j - 1) - 4 * n * n) / (8 * j * x);
    T term = a * rising(j + T(0.5), k);
    sum += term;
    if (std::fabs(term) < kEps<T> * std::fabs(sum) / 4) break;
  }
  return alternating(k, sum) * std::pow(x, T(-k)) / std::sqrt(2 * kPi<T> * x);
}
/// The k-th derivative of I_n: of the functions of the orders n - k .. n + k, with positive factors.
template <class T> T bessel_slope(int n, int k, T x) {
  T sum = 0;
  for (int j = 0; j <= k; ++j) sum += choose<T>(k, j) * bessel_series(std::abs(n + k - 2 * j), x);
  return std::ldexp(sum, -k);
}
/// The k-th derivative of e^-x I_n(x) for x >= 0.
template <class T> T scaled_slope(int n, int k, T x) {
  if (x >= 30) return scaled_far(n, k, x);
  T sum = 0;
  for (int j = 0; j <= k; ++j) sum += alternating(k - j, choose<T>(k, j) * bessel_slope(n, j, x));
  return std::exp(-x) * sum;
}
}  // namespace

/// |x| has no derivative at 0: there the mean of both sides.
template <class T> T i0e_slope(int k, T x) {
  if (x == 0 && k % 2 != 0) return 0;
  T r = scaled_slope(0, k, std::fabs(x));
  return x < 0 ? alternating(k, r) : r;
}
template <class T> T i1e_slope(int k, T x) {
  if (x == 0 && k % 2 == 0) return 0;
  T r = scaled_slope(1, k, std::fabs(x));
  return x < 0 ? alternating(k + 1, r) : r;
}
template <class T> T i1_slope(int k, T x) {
  T z = std::fabs(x), r = 0;
  if (z < 30) r = bessel_slope(1, k, z);
  else if (z == kInf) r = z;
  else {  // e^x may overflow where the product does not
    for (int j = 0; j <= k; ++j) r += choose<T>(k, j) * scaled_far(std::abs(1 + k - 2 * j), 0, z);
    T e = std::exp(z / 2);
    r = e * std::ldexp(r, -k) * e;
  }
  return x < 0 ? alternating(k + 1, r) : r;
}

/// From 7 on by terms of the asymptotic series, whose smallest one is about e^-x^2; before by the recurrence of the
/// differential equation y' = 1 - 2 x y.
template <class T> T dawsn_slope(int k, T x) {
  if (std::isnan(x)) return x;
  T z = std::fabs(x);
  if (z < 7) {
    T before = dawsn(x), at = 1 - 2 * x * before;
    for (int i = 1; i < k; ++i) {
      T next = -2 * (x * at + i * before);
      before = at, at = next;
    }
    return at;
  }
  if (z == kInf) return 0;
  T term = T(0.5) / z, w = 1 / (z * z), sum = 0;
  for (int j = 0; j < 45; ++j) {
    T part = term * rising(static_cast<T>(2 * j + 1), k);
    sum += part;
    if (std::fabs(part) < kEps<T> * std::fabs(sum) / 4) break;
    term *= (2 * j + 1) * w / 2;
  }
  sum = alternating(k, sum) * std::pow(z, T(-k));
  return x < 0 ? alternating(k + 1, sum) : sum;
}
namespace {
/// The product of the first k ratios of neighbouring repeated integrals of erfc, by their recurrence (Abramowitz &
/// Stegun 7.2.5) from far on: i^n erfc / i^(n-1) erfc = 1 / (2 x + 2 (n + 1) of the next), for x > 1.
template <class T> T integral_ratios(int k, T x) {
  T ratio = 0, product = 1;
  for (int n = k + 20 + static_cast<int>(std::fmin(T(500), 450 / (x * x))); n >= 1; --n) {
    ratio = 1 / (2 * x + 2 * (n + 1) * ratio);
    if (n <= k) product *= ratio;
  }
  return product;
}
}  // namespace
/// (-2)^k k! e^(x^2) times the k-th integral of erfc; left of 2 by the recurrence of y' = 2 x y - 2 / sqrt(pi).
template <class T> T erfcx_slope(int k, T x) {
  if (std::isnan(x)) return x;
  T y = erfcx(x);
  if (x >= 2) return alternating(k, std::ldexp(factorial_of<T>(k), k)) * (x == kInf ? 0 : y * integral_ratios(k, x));
  T before = y, at = 2 * x * y - 2 * std::numbers::inv_sqrtpi_v<T>;
  for (int i = 1; i < k; ++i) {
    T next = 2 * (x * at + i * before);
    before = at, at = next;
  }
  return at;
}

/// log(x) / (1 - x) and its derivatives: near 1 the series in 1 - x.
template <class T> T spence_slope(int k, T x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == kInf) return 0;
  int m = k - 1;
  if (x == 0) return m % 2 == 0 ? -kInf : kInf;
  T t = 1 - x;
  if (std::fabs(t) < T(0.3)) {
    T sum = 0, power = 1;
    for (int n = m + 1; n < 90; ++n, power *= t) {
      T falling = 1;
      for (int i = 1; i <= m; ++i) falling *= n - i;
      T part = falling * power / n;
      sum += part;
      if (std::fabs(part) < kEps<T> * std::fabs(sum) / 4) break;
    }
    return -alternating(m, sum);
  }
  T h = std::log(x) / t, sign = 1, power = 1;  // (j - 1)! x^-j, with a sign
  for (int j = 1; j <= m; ++j) {
    power *= (j > 1 ? j - 1 : 1) / x;
    h = (j * h + sign * power) / t;
    sign = -sign;
  }
  return h;
}
/// e^x / x and its derivatives.
template <class T> T expi_slope(int k, T x) {
  if (x == -kInf) return 0;
  T e = std::exp(x), r = e / x;
  for (int j = 1; j < k && !std::isinf(e); ++j) r = (e - j * r) / x;
  return r;
}
/// sin(x) / x and its derivatives.
template <class T> T sine_integral_slope(int k, T x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return 0;
  int m = k - 1;
  if (std::fabs(x) < 2) {
    T sum = 0, squared = -x * x, term = m % 2 == 0 ? 1 : x;  // x^(2n - m) / (2n - m)!, with a sign
    int n = (m + 1) / 2, done = 2 * n - m;
    if (n % 2 != 0) term = -term;
    for (; n < 60; ++n, done += 2) {
      T part = term / (2 * n + 1);
      sum += part;
      if (std::fabs(part) < kEps<T> * std::fabs(sum) / 4) break;
      term *= squared / ((done + 1) * (done + 2));
    }
    return sum;
  }
  T s = std::sin(x), c = std::cos(x), r = s / x;
  for (int j = 1; j <= m; ++j) {
    T wave = j % 2 != 0 ? c : s;
    r = ((j % 4 == 2 || j % 4 == 3 ? -wave : wave) - j * r) / x;
  }
  return r;
}
template <class T> T logit_slope(int k, T x) {
  if (k == 1) return 1 / (x * (1 - x));
  T left = 1, right = 1;
  for (int i = 0; i < k; ++i) left /= x, right /= 1 - x;
  return factorial_of<T>(k - 1) * (right - alternating(k, left));
}
/// 1 over the density, of a quantile that a step of Halley's has given its last digits: the square would show them.
template <class T> T ndtri_slope(T p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0 || p == 1) return kInf;
  T q = p > T(0.5) ? 1 - p : p, y = ndtri(q), root = std::sqrt(2 * kPi<T>);
  T step = (std::erfc(-y / std::numbers::sqrt2_v<T>) / 2 - q) * root * std::exp(y * y / 2);
  y -= step / (1 + y * step / 2);
  return root * std::exp(y * y / 2);
}
/// Of a square whose rounding is taken along.
template <class T> T fresnel_wave(T x, bool sine) {
  if (std::isinf(x)) return kNan;
  T square = x * x, rest = std::fma(x, x, -square), quarters = std::fmod(square, 4) + std::fmod(rest, 4);
  if (std::isinf(square)) quarters = 0;  // the square of a whole number, and an even one
  T angle = kPi<T> / 2 * quarters;
  return sine ? std::sin(angle) : std::cos(angle);
}
/// Left of -1 from erfcx, whose logarithm grows slowly; right of it from the smaller of both probabilities.
template <class T> T log_ndtr(T x) {
  const T root = std::numbers::sqrt2_v<T>;
  if (x == -kInf) return x;
  if (x < -1) return std::log(erfcx(-x / root) / 2) - x * x / 2;
  return x > 0 ? std::log1p(-std::erfc(x / root) / 2) : std::log(std::erfc(-x / root) / 2);
}
template <class T> T mills(T x) {
  if (x == -kInf) return kInf;
  return std::sqrt(2 / kPi<T>) / erfcx(-x / std::numbers::sqrt2_v<T>);
}
template <class T> T mills_gap(T x) {
  if (x == -kInf) return 0;
  const T root = std::numbers::sqrt2_v<T>;
  return x < -2 ? root * integral_ratios(1, -x / root) : x + mills(x);
}
#define BORA_SCALAR(T) \
  template T i0e_slope(int, T); template T i1_slope(int, T); template T i1e_slope(int, T); \
  template T dawsn_slope(int, T); template T erfcx_slope(int, T); template T spence_slope(int, T); \
  template T expi_slope(int, T); template T sine_integral_slope(int, T); \
  template T logit_slope(int, T); \
  template T ndtri_slope(T); template T fresnel_wave(T, bool); template T log_ndtr(T); template T mills(T); \
  template T mills_gap(T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
