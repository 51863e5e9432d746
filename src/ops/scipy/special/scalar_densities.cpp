// Densities of the gamma and beta distributions and their derivatives, and other derivatives of functions of several
// numbers, each by a formula whose parts do not leave the range where the result is in it.
#include <cmath>
#include <limits>
#include <numbers>
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/special/scalar_parts.h"

namespace bora::ops::scalar {
namespace {
/// The k-th derivative at 0 of x^(a - 1) times a function with the value 1, whose n-th coefficient is c(n).
template <class T, class F> T slope_at_zero(int k, T a, const F& c) {
  if (a - 1 > k) return 0;
  if (a == std::floor(a) && a >= 1) return factorial_of<T>(k) * c(k + 1 - static_cast<int>(a));
  return std::copysign(T(kInf), falling(a - 1, k));
}
}  // namespace

template <class T> T gamma_slope(int k, T a, T x) {
  if (std::isnan(a) || std::isnan(x) || x < 0) return kNan;
  if (x == kInf || a == kInf) return 0;
  if (a == 0) return x == 0 ? kNan : 0;
  if (x == 0)
    return slope_at_zero(k, a, [&](int n) { return alternating(n, 1 / (tgamma<T>(n + 1) * tgamma(a))); });
  T sum = 0, power = 1;
  for (int i = k; i >= 0; --i, power *= x) sum += alternating(k - i, choose<T>(k, i) * falling(a - 1, i) * power);
  if (a >= 10) {
    T density = gamma_density(a, x);
    for (int i = 0; i <= k; ++i) density /= x;
    return density * sum;
  }
  T p = a - 1 - k;
  return (x > 700 ? std::exp(p * std::log(x) - x) : std::pow(x, p) * std::exp(-x)) / tgamma(a) * sum;
}
template <class T> T beta_slope(int k, T a, T b, T x) {
  if (std::isnan(a) || std::isnan(b) || a < 0 || b < 0 || !(x >= 0 && x <= 1)) return kNan;
  if (a == 0 || b == 0 || a == kInf || b == kInf) return a == 0 && b == 0 ? kNan : 0;
  if (x == 0 || x == 1) {
    T near = x == 0 ? a : b, other = x == 0 ? b : a;
    T r = slope_at_zero(k, near, [&](int n) {
      return alternating(n, falling(other - 1, n) / tgamma<T>(n + 1)) / beta(a, b);
    });
    return x == 0 ? r : alternating(k, r);
  }
  T left = 1 - x, sum = 0;
  for (int i = 0; i <= k; ++i) {
    T part = alternating(k - i, choose<T>(k, i) * falling(a - 1, i) * falling(b - 1, k - i));
    for (int j = 0; j < k; ++j) part *= j < i ? left : x;
    sum += part;
  }
  T density = beta_density(a, b, x);
  for (int i = 0; i <= k; ++i) density = density / x / left;
  return density * sum;
}

template <class T> T log_gamma_density(T a, T x) {
  if (x == 0) return a == 1 ? 0 : a < 1 ? kInf : a > 1 ? -kInf : kNan;
  if (a >= 10 && x > 0 && !std::isinf(a) && !std::isinf(x)) {
    constexpr T half_log_two_pi = 0.918938533204672741780329736405617640L;
    return std::log(a) / 2 - half_log_two_pi - a * deviance((x - a) / a, x / a) - stirling(a) - std::log(x);
  }
  return xlogy(a - 1, x) - x - lgamma(a);
}
template <class T> T log_beta_density(T a, T b, T x) {
  if (a >= 10 && b >= 10 && x > 0 && x < 1) {
    constexpr T half_log_two_pi = 0.918938533204672741780329736405617640L;
    T e = x * b - a * (1 - x), n = a + b, factor = std::log(a) - std::log1p(a / b);
    return factor / 2 - half_log_two_pi + stirling(n) - stirling(a) - stirling(b) -
           a * deviance(e / a, x * n / a) - b * deviance(-e / b, (1 - x) * n / b) - std::log(x) - std::log1p(-x);
  }
  return xlogy(a - 1, x) + xlog1py(b - 1, -x) - lbeta(a, b);
}

namespace {
template <class T> T psi(int k, T x) { return k == 0 ? digamma(x) : polygamma<T>(k, x); }
}  // namespace
/// The recurrence and the asymptotic series of both (Abramowitz & Stegun 6.4.6 and 6.4.11), subtracted term by term.
template <class T> T psi_difference(int k, T a, T b) {
  T end = a + b;
  if (std::isnan(end) || std::isinf(a) || std::isinf(end) || !(a > 0 && end > 0)) return psi(k, end) - psi(k, a);
  static constexpr T bernoulli[] = {T(1) / 6,  T(-1) / 30,     T(1) / 42, T(-1) / 30,
                                    T(5) / 66, T(-691) / 2730, T(7) / 6,  T(-3617) / 510};
  T factorial = tgamma<T>(k + 1), sum = 0;
  // w^-n - (w + b)^-n from the one of n - 1.
  struct Power {
    T u, v, gap, difference, last;
    Power(T w, T b) : u(1 / w), v(1 / (w + b)), gap(b * u * v), difference(gap), last(v) {}
    void next() { difference = u * difference + last * gap, last *= v; }
  };
  for (; std::fmin(a, a + b) < 18; a += 1) {
    Power p(a, b);
    for (int i = 0; i < k; ++i) p.next();
    sum += factorial * p.difference;
  }
  Power p(a, b);
  for (int i = 1; i < k; ++i) p.next();  // of the order max(k, 1)
  if (k == 0) sum += std::log1p(b * p.u);
  else {
    sum += factorial / k * p.difference;
    p.next();
  }
  sum += factorial / 2 * p.difference;
  T factor = 1;  // (2n + k - 1)! / (2n)!
  for (int i = 3; i <= k + 1; ++i) factor *= i;
  if (k == 0) factor = T(1) / 2;
  for (int n = 1; n <= 8; ++n) {
    p.next();
    T part = bernoulli[n - 1] * factor * p.difference;
    sum += part;
    if (std::fabs(part) < kEps<T> * std::fabs(sum) / 8) break;
    p.next();
    factor *= static_cast<T>(2 * n + k) * (2 * n + k + 1) / (static_cast<T>(2 * n + 1) * (2 * n + 2));
  }
  return alternating(k, sum);
}
namespace {
/// The k-th derivative of a function with this value, the n-th one of whose logarithm is g(n).
template <class T, class F> T from_logarithm(int k, T value, const F& g) {
  T r[8] = {value};
  if (k > 7) return kNan;
  for (int n = 1; n <= k; ++n)
    for (int j = 0; j < n; ++j) r[n] += choose<T>(n - 1, j) * r[j] * g(n - j);
  return r[k];
}
}  // namespace
template <class T> T beta_function_slope(int k, T a, T b) {
  return from_logarithm(k, beta(a, b), [&](int n) { return -psi_difference(n - 1, a, b); });
}
/// z times gamma(z + m) / gamma(z + 1), which is smooth at 0.
template <class T> T poch_slope(int k, T z, T m) {
  if (k == 0) return poch(z, m);
  auto own = [&](int n) { return psi_difference(n - 1, z, m); };
  if (!(z > 0 && z < 1 && m > z)) return from_logarithm(k, poch(z, m), own);
  auto rest = [&](int order) {
    return from_logarithm(order, poch(z + 1, m - 1), [&](int n) { return psi_difference(n - 1, z + 1, m - 1); });
  };
  return z * rest(k) + k * rest(k - 1);
}
template <class T> T log_poch(T z, T m) {
  if (m == 0) return 0;
  if (z >= 10 && m > 0 && !std::isinf(z)) return log_gamma_ratio(z, m);
  return std::fabs(z + m) < 80 ? std::log(poch(z, m)) : lgamma(z + m) - lgamma(z);
}
template <class T> T comb_slope(int k, T n, T choice) {
  if (std::isnan(n) || std::isnan(choice)) return kNan;
  if (!(choice >= 0 && choice <= n)) return 0;
  return from_logarithm(k, comb(n, choice), [&](int i) { return psi_difference(i - 1, n - choice + 1, choice); });
}
template <class T> T polygamma(T n, T x) {
  if (!(n >= 0) || n != std::floor(n) || std::isinf(n)) return kNan;
  if (n == 0) return digamma(x);
  T sum = zeta(n + 1, x), factor = tgamma(n + 1), r = factor * sum;
  if (std::isinf(factor) && !std::isinf(sum))
    r = sum == 0 ? 0 : std::copysign(std::exp(lgamma(n + 1) + std::log(std::fabs(sum))), sum);
  return std::fmod(n, 2) == 0 ? -r : r;
}

template <class T> T boxcox_slope(T x, T lambda) { return std::pow(x, lambda - 1); }
template <class T> T boxcox1p_slope(T x, T lambda) {
  return x == -1 ? std::pow(T(0), lambda - 1) : std::exp((lambda - 1) * std::log1p(x));
}
namespace {
/// The derivatives of (e^(lambda y) - 1) / lambda: y^(k + 1) times the integral of t^k e^(u t) from 0 to 1 for
/// u = lambda y.
template <class T> T power_slope(int k, T y, T lambda) {
  T u = lambda * y, g = 0;
  if (std::fabs(u) < 2) {
    T term = 1;
    for (int j = 0; j < 60; ++j) {
      T part = term / (j + k + 1);
      g += part;
      if (std::fabs(part) < kEps<T> * std::fabs(g) / 4) break;
      term *= u / (j + 1);
    }
  } else {
    T e = std::exp(u);
    g = std::expm1(u) / u;
    for (int j = 1; j <= k && !std::isinf(e); ++j) g = (e - j * g) / u;
  }
  return std::pow(y, T(k + 1)) * g;
}
}  // namespace
template <class T> T boxcox_by_lambda(int k, T x, T lambda) { return power_slope(k, std::log(x), lambda); }
template <class T> T boxcox1p_by_lambda(int k, T x, T lambda) { return power_slope(k, std::log1p(x), lambda); }
template <class T> T log_ratio(T p, T q) {
  return p < 2 * q && q < 2 * p ? std::log1p((p - q) / q) : std::log(p) - std::log(q);
}
#define BORA_SCALAR(T) \
  template T gamma_slope(int, T, T); template T beta_slope(int, T, T, T); template T psi_difference(int, T, T); \
  template T beta_function_slope(int, T, T); template T poch_slope(int, T, T); template T comb_slope(int, T, T); \
  template T log_poch(T, T); template T log_gamma_density(T, T); template T log_beta_density(T, T, T); \
  template T polygamma(T, T); template T boxcox_slope(T, T); template T boxcox1p_slope(T, T); \
  template T boxcox_by_lambda(int, T, T); template T boxcox1p_by_lambda(int, T, T); template T log_ratio(T, T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
