// Exponential integrals, the normal distribution's functions, the dilogarithm and modified Bessel functions, for
// doubles.
#include <cmath>
#include <numbers>
#include "ops/special/scalar.h"
#include "ops/special/scalar_parts.h"

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

template <class T> T erfcx(T x) {
  if (x > 1e8) return 1 / (x * std::sqrt(kPi<T>));
  if (x < 2) {  // the square's rounding is felt in the exponential, so it is taken along
    T square = x * x, rest = std::fma(x, x, -square), e = std::exp(square);
    return (e + (std::isinf(e) ? 0 : e * rest)) * std::erfc(x);
  }
  T c = 1e300, d = 1 / x, h = d;
  for (int k = 1; k < 1000; ++k) {  // Abramowitz & Stegun 7.1.14
    T a = 0.5 * k;
    d = 1 / (x + a * d);
    c = x + a / c;
    h *= c * d;
    if (std::fabs(c * d - 1) < kEps<T>) break;
  }
  return h / std::sqrt(kPi<T>);
}
/// Rational approximations of Cephes (ndtri.c; Moshier 1989).
template <class T> T ndtri(T p) {
  static constexpr double p0[] = {-5.99633501014107895267E1, 9.80010754185999661536E1, -5.66762857469070293439E1,
                                  1.39312609387279679503E1, -1.23916583867381258016E0};
  static constexpr double q0[] = {1.0,
                                  1.95448858338141759834E0,
                                  4.67627912898881538453E0,
                                  8.63602421390890590575E1,
                                  -2.25462687854119370527E2,
                                  2.00260212380060660359E2,
                                  -8.20372256168333339912E1,
                                  1.59056225126211695515E1,
                                  -1.18331621121330003142E0};
  static constexpr double p1[] = {4.05544892305962419923E0,   3.15251094599893866154E1,   5.71628192246421288162E1,
                                  4.40805073893200834700E1,   1.46849561928858024014E1,   2.18663306850790267539E0,
                                  -1.40256079171354495875E-1, -3.50424626827848203418E-2, -8.57456785154685413611E-4};
  static constexpr double q1[] = {1.0,
                                  1.57799883256466749731E1,
                                  4.53907635128879210584E1,
                                  4.13172038254672030440E1,
                                  1.50425385692907503408E1,
                                  2.50464946208309415979E0,
                                  -1.42182922854787788574E-1,
                                  -3.80806407691578277194E-2,
                                  -9.33259480895457427372E-4};
  static constexpr double p2[] = {3.23774891776946035970E0,  6.91522889068984211695E0,  3.93881025292474443415E0,
                                  1.33303460815807542389E0,  2.01485389549179081538E-1, 1.23716634817820021358E-2,
                                  3.01581553508235416007E-4, 2.65806974686737550832E-6, 6.23974539184983293730E-9};
  static constexpr double q2[] = {1.0,
                                  6.02427039364742014255E0,
                                  3.67983563856160859403E0,
                                  1.37702099489081330271E0,
                                  2.16236993594496635890E-1,
                                  1.34204006088543189037E-2,
                                  3.28014464682127739104E-4,
                                  2.89247864745380683936E-6,
                                  6.79019408009981274425E-9};
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  constexpr T edge = 0.13533528323661269189L;  // e^-2
  bool upper = p > 1 - edge;
  T y = upper ? 1 - p : p;
  if (y > edge) {
    T w = y - 0.5, ww = w * w;
    return std::sqrt(2 * kPi<T>) * (w + w * ww * (polynomial(ww, p0) / polynomial(ww, q0)));
  }
  T z = std::sqrt(-2 * std::log(y)), r = 1 / z, first = z - std::log(z) / z;
  T second = z < 8 ? r * polynomial(r, p1) / polynomial(r, q1) : r * polynomial(r, p2) / polynomial(r, q2);
  return upper ? first - second : second - first;
}
/// Newton's step with the second derivative (Halley) from the inverse of the normal distribution.
template <class T> T erfinv(T x) {
  if (!(std::fabs(x) <= 1)) return kNan;
  if (std::fabs(x) == 1) return std::copysign(T(kInf), x);
  T z = std::fabs(x), y = -ndtri((1 - z) / 2) / std::numbers::sqrt2_v<T>;
  for (int i = 0; i < 2; ++i) {
    T far = z < 0.5 ? std::erf(y) - z : (1 - z) - std::erfc(y);
    T step = far * std::exp(y * y) / (2 * std::numbers::inv_sqrtpi_v<T>);
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}
template <class T> T cauchy_cdf(T x) { return std::atan2(T(1), -x) / kPi<T>; }

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

template <class T> T xlogy(T x, T y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log(y); }
template <class T> T xlog1py(T x, T y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log1p(y); }
template <class T> T xlogx(T x) { return xlogy(x, x); }
template <class T> T rel_entr(T p, T q) {
  if (std::isnan(p) || std::isnan(q)) return kNan;
  if (!(p > 0 && q > 0)) return p == 0 && q >= 0 ? 0 : kInf;
  return p < 2 * q && q < 2 * p ? p * std::log1p((p - q) / q) : p * (std::log(p) - std::log(q));
}
template <class T> T kl_div(T p, T q) {
  if (std::isnan(p) || std::isnan(q)) return kNan;
  if (!(p > 0 && q > 0)) return p == 0 && q >= 0 ? q : kInf;
  return p * deviance((q - p) / p, q / p);
}
template <class T> T logit(T x) {
  if (x > 0.3 && x < 0.65) return std::log1p((2 * x - 1) / (1 - x));  // 2 x - 1 is exact
  return std::log(x) - std::log1p(-x);
}
template <class T> T boxcox(T x, T lambda) {
  T y = std::log(x);
  return lambda == 0 ? y : std::expm1(lambda * y) / lambda;
}
template <class T> T boxcox1p(T x, T lambda) {
  T y = std::log1p(x);
  return lambda == 0 ? y : std::expm1(lambda * y) / lambda;
}

#define BORA_SCALAR(T) \
  template T expi(T); template T spence(T); template T erfcx(T); template T ndtri(T); \
  template T erfinv(T); template T cauchy_cdf(T); \
  template T i0(T); template T i0e(T); template T i1(T); template T i1e(T); template T xlogx(T); \
  template T logit(T); template T expn(T, T); template T xlogy(T, T); template T xlog1py(T, T); \
  template T rel_entr(T, T); template T kl_div(T, T); template T boxcox(T, T); template T boxcox1p(T, T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
