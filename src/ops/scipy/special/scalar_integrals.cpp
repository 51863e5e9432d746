// Integrals of exponentials, bells and waves, for numbers.
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/special/scalar_parts.h"

namespace bora::ops::scalar {
namespace {
template <class T> constexpr T kEuler = std::numbers::egamma_v<T>;
/// The continued fraction of Abramowitz & Stegun 5.1.22 for e^x expn(n, x), x >= 1, by Lentz's method.
template <class T> T expn_fraction(T n, T x) {
  T b = x + n, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < 10000; ++i) {
    T a = -i * (n - 1 + i);
    b += 2;
    d = 1 / (a * d + b);
    c = b + a / c;
    h *= c * d;
    if (std::fabs(c * d - 1) < kEps<T>) break;
  }
  return h;
}
/// The sum of x^k / (k k!).
template <class T> T expi_series(T x) {
  T term = 1, sum = 0;
  for (int k = 1; k < 200; ++k) {
    term *= x / k;
    sum += term / k;
    if (std::fabs(term) < kEps<T> * std::fabs(sum) * k) break;
  }
  return sum;
}
/// expi near its root, from differences of the series' terms: the sum itself cancels there.
template <class T> T expi_near_root(T x) {
  constexpr double root = 0.37250741078136663446, rest = 1.3140183414386028e-17;
  T far = (x - root) - rest, difference = 0, power = 1, factorial = 1, sum = std::log1p(far / root);
  for (int k = 1; k < 30; ++k) {  // x^k - root^k = x (x^(k-1) - root^(k-1)) + root^(k-1) (x - root)
    difference = x * difference + power * far;
    power *= root;
    factorial *= k;
    sum += difference / (k * factorial);
  }
  return sum;
}
}  // namespace

template <class T> T expi(T x) {
  if (x == 0) return -kInf;
  if (x < 0) return -expn<T>(1, -x);
  if (std::fabs(x - 0.3725) < 0.15) return expi_near_root(x);
  if (x < 50) return kEuler<T> + std::log(x) + expi_series(x);
  if (x == kInf) return x;
  T term = 1, sum = 1;  // the asymptotic series, whose smallest term is e^-x
  for (int k = 1; k < 50 && term > kEps<T> && k < x; ++k) sum += term *= k / x;
  return std::exp(x / 2) * (sum / x) * std::exp(x / 2);
}
template <class T> T expn(T n, T x) {
  if (std::isnan(x) || n != std::floor(n) || x < 0) return kNan;
  if (x == kInf) return 0;
  if (x == 0) return n > 1 ? 1 / (n - 1) : kInf;
  if (n <= 0) {  // E_(k-1) = (e^-x + (1 - k) E_k) / x ends at E_0 = e^-x / x
    T e = std::exp(-x), y = e / x;
    for (T k = 0; k > n && y != 0 && !std::isinf(y); --k) y = (e + (1 - k) * y) / x;
    return y;
  }
  if (x >= 1) return expn_fraction(n, x) * std::exp(-x);
  // The series of Abramowitz & Stegun 5.1.12.
  T less = n - 1, term = 1, sum = less > 0 ? 1 / less : -std::log(x) - kEuler<T>;
  for (int k = 1; k < 100; ++k) {
    term *= -x / k;
    T part = 0;
    if (k != less) part = -term / (k - less);
    else {
      T psi = -kEuler<T>;
      for (int j = 1; j <= k; ++j) psi += T(1) / j;
      part = term * (psi - std::log(x));
    }
    sum += part;
    if (std::fabs(part) < kEps<T> * std::fabs(sum) && k > less) break;
    if (term == 0 || (std::fabs(part) < kEps<T> * std::fabs(sum) && less > 60)) break;
  }
  return sum;
}

/// Between 1/2 and 2 the series of the dilogarithm in log(x), whose numbers are those of Bernoulli (Zagier 2007);
/// elsewhere by reflection and inversion.
template <class T> T spence(T x) {
  static constexpr T c[] = {T(-174611) / 330 / 51090942171709440000.0L,
                            T(43867) / 798 / 121645100408832000.0L,
                            T(-3617) / 510 / 355687428096000.0L,
                            T(7) / 6 / 1307674368000.0L,
                            T(-691) / 2730 / 6227020800.0L,
                            T(5) / 66 / 39916800.0L,
                            T(-1) / 30 / 362880.0L,
                            T(1) / 42 / 5040.0L,
                            T(-1) / 30 / 120.0L,
                            T(1) / 36};
  if (std::isnan(x) || x < 0) return kNan;
  constexpr T at_zero = kPi<T> * kPi<T> / 6;
  if (x == 0) return at_zero;
  if (x == kInf) return -kInf;
  T l = std::log(x);
  if (x < 0.5) return at_zero - l * std::log1p(-x) - spence<T>(1 - x);
  if (x > 2) return -l * l / 2 - spence<T>(1 / x);
  T ll = l * l, sum = c[0];
  for (int i = 1; i < 10; ++i) sum = sum * ll + c[i];
  return -l * (1 + l / 4 + ll * sum);
}
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
}  // namespace

template <class T> T dawsn(T x) {
  T z = std::fabs(x);
  if (std::isnan(x)) return x;
  if (z < 0.3)
    return sum_of_terms<T>(
        x, [&](int k, T t) { return -t * 2 * x * x / (2 * k + 3); }, [](int) { return T(1); });
  if (z >= 7) return dawsn_slope(0, x);
  constexpr T h = 0.1875;  // the error is e^-(pi / 2 h)^2
  constexpr int terms = 19;
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
#define BORA_SCALAR(T) \
  template T expi(T); template T expn(T, T); template T spence(T); template T dawsn(T); template T fresnel_s(T); \
  template T fresnel_c(T); template T sine_integral(T); template T cosine_integral(T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
