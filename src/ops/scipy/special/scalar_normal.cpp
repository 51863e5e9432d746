// Functions of the normal distribution and of its kin, for numbers.
#include <cmath>
#include <limits>
#include <numbers>
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/special/scalar_parts.h"

namespace bora::ops::scalar {
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
namespace {
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
#define BORA_SCALAR(T) \
  template T erfcx(T); template T ndtri(T); template T erfinv(T); template T owens_t(T, T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
