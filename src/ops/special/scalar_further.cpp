// Integrals of waves and bells, Bessel functions, spherical harmonics, for numbers.
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include "ops/special/scalar.h"
#include "ops/special/scalar_parts.h"

namespace bora::ops::scalar {
namespace {
constexpr int kMostTerms = 5000;

/// 1 / z, without the scaling of a complex quotient: here an infinite square stands for a quotient of 0.
template <class T> std::complex<T> reciprocal(std::complex<T> z) {
  T square = z.real() * z.real() + z.imag() * z.imag();
  return {z.real() / square, -z.imag() / square};
}
/// The continued fraction 1 / (b + a(1) / (b + step + a(2) / (b + 2 step + ..))) by Lentz' method.
template <class T, class F> std::complex<T> fraction(std::complex<T> b, T step, const F& a) {
  std::complex<T> c = T(1 / kTiny), d = reciprocal(b), h = d;
  for (int i = 1; i < kMostTerms; ++i) {
    b += step;
    d = reciprocal(a(i) * d + b);
    c = b + a(i) * reciprocal(c);
    auto change = c * d;
    h *= change;
    if (std::fabs(change.real() - 1) + std::fabs(change.imag()) < kEps<T>) break;
  }
  return h;
}
/// Sum of terms until they no longer count; next(k, term) is term k + 1.
template <class T, class F, class G> T sum_of_terms(T term, const F& next, const G& weight) {
  T sum = 0;
  for (int k = 0; k < kMostTerms; term = next(k, term), ++k) {
    T part = term * weight(k);
    sum += part;
    if (std::fabs(part) <= kEps<T> * std::fabs(sum) / 8) break;
  }
  return sum;
}
/// C + i S.
template <class T> std::complex<T> fresnel(T x) {
  using Complex = std::complex<T>;
  T z = std::fabs(x);
  if (std::isnan(x)) return {x, x};
  if (std::isinf(x)) return {std::copysign(T(0.5), x), std::copysign(T(0.5), x)};
  if (z < 1.5) {
    T u = kPi<T> / 2 * x * x, squared = -u * u;
    auto next = [&](int k, T t) { return t * squared / ((2 * k + 1) * (2 * k + 2)); };
    auto next_odd = [&](int k, T t) { return t * squared / ((2 * k + 2) * (2 * k + 3)); };
    return {sum_of_terms<T>(x, next, [](int k) { return T(1) / (4 * k + 1); }),
            sum_of_terms<T>(x * u, next_odd, [](int k) { return T(1) / (4 * k + 3); })};
  }
  auto h = fraction<T>({1, -kPi<T> * z * z}, 4, [](int i) { return -(T(2) * i - 1) * (T(2) * i); });
  h *= Complex(z, -z);
  T square = z * z, quarters = std::fmod(square, 4) + std::fmod(std::fma(z, z, -square), 4);
  T wave = kPi<T> / 2 * quarters;  // the same angle, of a square whose rounding is taken along
  auto r = Complex(0.5, 0.5) * (Complex(1) - Complex(std::cos(wave), std::sin(wave)) * h);
  return {std::copysign(r.real(), x), std::copysign(r.imag(), x)};
}
/// Ci + i Si of |x|.
template <class T> std::complex<T> sine_cosine(T x) {
  T z = std::fabs(x);
  if (std::isnan(x)) return {x, x};
  if (std::isinf(x)) return {0, kPi<T> / 2};
  if (z == 0) return {-HUGE_VAL, 0};
  if (z <= 2) {
    T squared = -z * z;
    T si = sum_of_terms<T>(
        z, [&](int k, T t) { return t * squared / ((2 * k + 2) * (2 * k + 3)); },
        [](int k) { return T(1) / (2 * k + 1); });
    T ci = sum_of_terms<T>(
        squared / 2, [&](int k, T t) { return t * squared / ((2 * k + 3) * (2 * k + 4)); },
        [](int k) { return T(1) / (2 * k + 2); });
    return {std::numbers::egamma_v<T> + std::log(z) + ci, si};
  }
  auto h = fraction<T>({1, z}, 2, [](int i) { return -static_cast<T>(i) * i; });
  h *= std::complex<T>(std::cos(z), -std::sin(z));
  return {-h.real(), kPi<T> / 2 + h.imag()};
}
/// For 0 <= a <= 1: ten points of Gauss and Legendre on each of eight parts.
template <class T> T owen_integral(T h, T a) {
  static constexpr T point[] = {0.148874338981631210884826L, 0.43339539412924719079927L, 0.679409568299024406234327L,
                                0.865063366688984510732097L, 0.973906528517171720077964L};
  static constexpr T weight[] = {0.295524224714752870173893L, 0.269266719309996355091227L, 0.219086362515982043995535L,
                                 0.149451349150580593145863L, 0.0666713443086881375935688L};
  constexpr int parts = 8;
  T end = h > 0 ? std::fmin(a, 10 / h) : a, half = end / parts / 2, sum = 0;
  auto value = [&](T t) { return std::exp(-h * h * t * t / 2) / (1 + t * t); };
  for (int p = 0; p < parts; ++p)
    for (int i = 0; i < 5; ++i) {
      T middle = (2 * p + 1) * half;
      sum += weight[i] * (value(middle - half * point[i]) + value(middle + half * point[i]));
    }
  return sum * half * std::exp(-h * h / 2) / (2 * kPi<T>);
}
}  // namespace

template <class T> T dawsn(T x) {
  T z = std::fabs(x);
  if (std::isnan(x)) return x;
  if (z < 0.3)
    return sum_of_terms<T>(
        x, [&](int k, T t) { return -t * 2 * x * x / (2 * k + 3); }, [](int) { return T(1); });
  if (z > 1e8) return T(0.5) / x;
  constexpr T h = 0.25;
  constexpr int terms = 14;
  T n = 2 * std::floor(z / h / 2 + T(0.5)), rest = z - n * h;
  T e1 = std::exp(2 * rest * h), e2 = e1 * e1, d1 = n + 1, d2 = n - 1, sum = 0;
  for (int i = 0; i < terms; ++i) {
    T u = (2 * i + 1) * h;
    sum += std::exp(-u * u) * (e1 / d1 + 1 / (d2 * e1));
    d1 += 2, d2 -= 2, e1 *= e2;
  }
  return std::copysign(std::numbers::inv_sqrtpi_v<T> * std::exp(-rest * rest) * sum, x);
}
template <class T> T fresnel_s(T x) { return fresnel(x).imag(); }
template <class T> T fresnel_c(T x) { return fresnel(x).real(); }
template <class T> T sine_integral(T x) { return std::copysign(sine_cosine(x).imag(), x); }
template <class T> T cosine_integral(T x) { return sine_cosine(x).real(); }
template <class T> T owens_t(T h, T a) {
  if (std::isnan(h) || std::isnan(a)) return h + a;
  T z = std::fabs(h), b = std::fabs(a), root = 1 / std::numbers::sqrt2_v<T>, r;
  if (b <= 1) r = owen_integral(z, b);
  else if (z == 0) r = std::atan(b) / (2 * kPi<T>);
  else {
    T far = z * b, rest = std::isinf(b) ? 0 : owen_integral<T>(far, 1 / b);
    if (far <= 0.67) r = T(0.25) - T(0.25) * std::erf(z * root) * std::erf(far * root) - rest;
    else {
      T p = std::erfc(z * root) / 2, q = std::erfc(far * root) / 2;
      r = (p + q) / 2 - p * q - rest;
    }
  }
  return std::copysign(r, a);
}
template <> double bessel_j(double n, double x) { return ::jn(static_cast<int>(n), x); }
template <> long double bessel_j(long double n, long double x) { return ::jnl(static_cast<int>(n), x); }
/// By the recurrence of normalised functions from (m, m) upwards (Press et al. 2007, 6.7): all its parts are smooth.
template <class T> T harmonic(T n, T m, T theta) {
  if (!(n >= 0) || n > 1e5 || n != std::floor(n) || m != std::floor(m)) return std::numeric_limits<T>::quiet_NaN();
  if (std::fabs(m) > n) return 0;
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

#define BORA_SCALAR(T)                                                                                              \
  template T dawsn(T); template T fresnel_s(T); template T fresnel_c(T); template T sine_integral(T);               \
  template T cosine_integral(T); template T owens_t(T, T); template T harmonic(T, T, T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
