// Bessel functions and spherical harmonics, for numbers.
#include <cmath>
#include <limits>
#include <numbers>
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/special/scalar_parts.h"

namespace bora::ops::scalar {
namespace {
/// e^-x I_order(x) for x >= 0 and order 0 or 1: the power series, all of whose terms are positive, and from 30 the
/// asymptotic one, whose smallest term is about e^-2x (Abramowitz & Stegun 9.6.10, 9.7.1).
template <class T> T scaled_bessel(int order, T x) {
  if (x == kInf) return 0;
  if (x < 30) {
    T q = x * x / 4, term = order ? x / 2 : 1, sum = term;
    for (int k = 1; k < 200 && term > kEps<T> * sum; ++k) sum += term *= q / (k * (k + order));
    return std::exp(-x) * sum;
  }
  T term = 1, sum = 1;
  for (int k = 1; k < 60 && std::fabs(term) > kEps<T>; ++k)
    sum += term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * x);
  return sum / std::sqrt(2 * kPi<T> * x);
}
template <class T> T grown(T scaled, T x) {
  if (x == kInf) return x;
  T e = std::exp(x / 2);  // e^x may overflow where the product does not
  return e * scaled * e;
}
}  // namespace

template <class T> T i0e(T x) { return scaled_bessel(0, std::fabs(x)); }
template <class T> T i1e(T x) { return std::copysign(1.0, x) * scaled_bessel(1, std::fabs(x)); }
template <class T> T i0(T x) { return grown(scaled_bessel(0, std::fabs(x)), std::fabs(x)); }
template <class T> T i1(T x) { return std::copysign(grown(scaled_bessel(1, std::fabs(x)), std::fabs(x)), x); }
template <> double bessel_j(double n, double x) { return ::jn(static_cast<int>(n), x); }
template <> long double bessel_j(long double n, long double x) { return ::jnl(static_cast<int>(n), x); }
/// By the recurrence of normalised functions from (m, m) upwards (Press et al. 2007, 6.7): all its parts are smooth.
template <class T> T harmonic(T n, T m, T theta) {
  if (!(n >= 0) || n > 1e5 || n != std::floor(n) || m != std::floor(m)) return std::numeric_limits<T>::quiet_NaN();
  if (std::isnan(theta) || std::fabs(m) > n) return std::isnan(theta) ? theta : 0;
  T k = std::fabs(m), x = std::cos(theta), s = std::sin(theta), last = 0, y = 1 / std::sqrt(4 * kPi<T>);
  for (T i = 1; i <= k; ++i) y *= -s * std::sqrt((2 * i + 1) / (2 * i));
  for (T l = k + 1; l <= n; ++l) {
    T square = l * l - k * k, before = (l - 1) * (l - 1) - k * k;
    T next = std::sqrt((4 * l * l - 1) / square) *
             (x * y - (l > k + 1 ? std::sqrt(before / (4 * (l - 1) * (l - 1) - 1)) * last : 0));
    last = y, y = next;
  }
  return m < 0 && std::fmod(k, 2) != 0 ? -y : y;
}
#define BORA_SCALAR(T) \
  template T i0(T); template T i0e(T); template T i1(T); template T i1e(T); template T harmonic(T, T, T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
