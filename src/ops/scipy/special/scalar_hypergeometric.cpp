// Hypergeometric functions of real numbers with their derivatives by parameters, which are those of every step, and
// Faddeeva's function.
#include <cmath>
#include <complex>
#include <numbers>
#include "ops/scipy/special/dual.h"
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/special/scalar_parts.h"

namespace bora::ops::scalar {
namespace {
constexpr int kSeriesTerms = 100000;
/// The sum of a series with the upper parameter a ends, at a term before the one where c makes it infinite.
template <class T> bool ends(T a, T c) { return pole(a) && (!pole(c) || a >= c); }

template <class T> Dual<T> exp_of(Dual<T> x) {
  T e = std::exp(x.v);
  return {e, e * x.d};
}
/// 1 / gamma(x), also at its zeros. Its derivative there is (-1)^n n! at x = -n.
template <class T> Dual<T> inverse_gamma(Dual<T> x) {
  if (pole(x.v)) return {0, x.d * (std::fmod(x.v, 2) == 0 ? 1 : -1) * tgamma(1 - x.v)};
  T g = 1 / tgamma(x.v);
  return {g, -g * digamma(x.v) * x.d};
}
template <class T> Dual<T> gamma_of(Dual<T> x) {
  T g = tgamma(x.v);
  return {g, g * digamma(x.v) * x.d};
}
/// gamma(b) / gamma(a).
template <class T> Dual<T> gamma_ratio(Dual<T> b, Dual<T> a) {
  if (pole(a.v) || std::fmax(std::fabs(a.v), std::fabs(b.v)) < 100) return gamma_of(b) * inverse_gamma(a);
  T r = poch<T>(a.v, b.v - a.v);
  return {r, r * (digamma(b.v) * b.d - digamma(a.v) * a.d)};
}

/// The sum of (a)_k x^k / ((b)_k k!).
template <class T> Dual<T> kummer_series(Dual<T> a, Dual<T> b, T x) {
  Dual<T> term = T(1), sum = T(1);
  for (int k = 0; k < kSeriesTerms; ++k) {
    if (term.v == 0 && (a + Dual<T>(k)).d == 0 && term.d == 0) break;
    term = term * (a + Dual<T>(k)) / (b + Dual<T>(k)) * Dual<T>(x / (k + 1));
    sum = sum + term;
    bool falls = std::fabs(x) * std::fabs(a.v + k) < T(0.9) * std::fabs(b.v + k) * (k + 1) && k > -a.v && k > -b.v;
    if (falls && magnitude(term) < kEps<T> * std::fabs(sum.v) / 8) break;
  }
  return sum;
}
/// The sum of (p)_k (q)_k / (k! y^k); complete: whether its smallest term does not count.
template <class T> Dual<T> asymptotic(Dual<T> p, Dual<T> q, T y, bool& complete) {
  Dual<T> term = T(1), sum = T(1);
  complete = false;
  for (int k = 0; k < 200; ++k) {
    auto next = term * (p + Dual<T>(k)) * (q + Dual<T>(k)) / Dual<T>((k + 1) * y);
    if (k > 1 && magnitude(next) > magnitude(term)) break;
    term = next;
    sum = sum + term;
    if (magnitude(term) < kEps<T> * std::fabs(sum.v)) {
      complete = true;
      break;
    }
  }
  return sum;
}
/// Abramowitz & Stegun 13.1.2, 13.1.27 and 13.5.1.
template <class T> Dual<T> kummer(Dual<T> a, Dual<T> b, T x) {
  if (std::isnan(a.v) || std::isnan(b.v) || std::isnan(x)) return {T(kNan), T(kNan)};
  if (x == 0 || (a.v == 0 && a.d == 0)) return T(1);
  if (pole(b.v) && !ends(a.v, b.v)) return T(kInf);
  bool whole = ends(a.v, b.v);
  if (whole && a.d == 0 && b.d == 0 && !std::isinf(x)) {
    Dual<T> term = T(1), sum = T(1);
    for (T k = 0; k < -a.v && term.v != 0 && std::isfinite(sum.v); ++k)
      sum = sum + (term = term * Dual<T>((a.v + k) / (b.v + k) * (x / (k + 1))));
    return sum;
  }
  if (std::isinf(x)) {
    if (x < 0 && a.v > 0) return T(0);
    T sign = x > 0 ? poch<T>(a.v, b.v - a.v) : poch<T>(b.v - a.v, a.v);
    return std::copysign(T(kInf), sign);
  }
  auto rest = b - a;
  bool complete = false;
  if (std::fabs(x) > 30) {
    if (x > 0) {
      auto sum = asymptotic(rest, Dual<T>(1) - a, x, complete);
      if (complete) {
        auto power = exp_of(-rest * Dual<T>(std::log(x)) + Dual<T>(x));
        return gamma_ratio(b, a) * power * sum;
      }
    } else {
      auto sum = asymptotic(a, a - b + Dual<T>(1), -x, complete);
      if (complete) return gamma_ratio(b, rest) * exp_of(-a * Dual<T>(std::log(-x))) * sum;
    }
  }
  if (x > 0) return kummer_series(a, b, x);
  return kummer_series(rest, b, -x) * Dual<T>(std::exp(x));
}

/// The sum of (a)_k (b)_k x^k / ((c)_k k!) and its derivative by x, for |x| <= 1/2.
template <class N> struct Pair {
  N y, slope;
};
template <class T> Pair<Dual<T>> gauss_series(Dual<T> a, Dual<T> b, Dual<T> c, T x) {
  Dual<T> term = T(1), sum = T(1), slope = T(0);
  for (int k = 0; k < kSeriesTerms; ++k) {
    auto n = Dual<T>(k);
    auto factor = term * (a + n) * (b + n) / (c + n);  // of x^k, times k + 1
    slope = slope + factor;
    term = factor * Dual<T>(x / (k + 1));
    sum = sum + term;
    if (factor.v == 0 && factor.d == 0) break;
    bool falls = std::fabs(x) * std::fabs((a.v + k) * (b.v + k)) < T(0.9) * std::fabs((c.v + k) * (k + 1));
    bool beyond = k > -a.v && k > -b.v && k > -c.v;
    if (falls && beyond && magnitude(term) < kEps<T> * std::fabs(sum.v) / 8 &&
        magnitude(factor) < kEps<T> * std::fabs(slope.v) / 8)
      break;
  }
  return {sum, slope};
}
/// From 1/2 towards 1 by the Taylor series of the differential equation, each step half of the way that is left: it
/// knows no case where c - a - b is a whole number, where formulas of reflection have limits. `left` is 1 - x.
template <class T> Dual<T> gauss_near_one(Dual<T> a, Dual<T> b, Dual<T> c, T left) {
  auto at = gauss_series<T>(a, b, c, T(0.5));
  for (T d = 0.5; d > left;) {
    T next = std::fmax(d / 2, left), h = d - next, x = 1 - d;
    auto middle = c - (a + b + Dual<T>(1)) * Dual<T>(x);
    Dual<T> u = at.y, v = at.slope, sum = u + v * Dual<T>(h), slope = v;
    T power = h;  // h^(n + 1)
    for (int n = 0; n < 400; ++n) {
      auto k = Dual<T>(n);
      auto w = ((a + k) * (b + k) * u - (Dual<T>((2 * d - 1) * n) + middle) * Dual<T>(n + 1) * v) /
               Dual<T>(x * d * (n + 1) * (n + 2));
      slope = slope + w * Dual<T>((n + 2) * power);
      power *= h;
      sum = sum + w * Dual<T>(power);
      bool small = magnitude(w) * power < kEps<T> * std::fabs(sum.v) / 8;
      u = v, v = w;
      if (small && n > 20) break;
    }
    at = {sum, slope};
    d = next;
  }
  return at.y;
}
/// left: 1 - x, to all its digits.
template <class T> Dual<T> gauss_inside(Dual<T> a, Dual<T> b, Dual<T> c, T x, T left) {
  return x <= 0.5 ? gauss_series(a, b, c, x).y : gauss_near_one(a, b, c, left);
}
/// Abramowitz & Stegun 15.1.1, 15.1.20, 15.3.4.
template <class T> Dual<T> gauss(Dual<T> a, Dual<T> b, Dual<T> c, T x) {
  if (std::isnan(a.v) || std::isnan(b.v) || std::isnan(c.v) || std::isnan(x)) return {T(kNan), T(kNan)};
  if (x == 0) return T(1);
  bool finite = ends(a.v, c.v) || ends(b.v, c.v);
  if (pole(c.v) && !finite) return T(kInf);
  bool fixed = a.d == 0 && b.d == 0 && c.d == 0;
  if (finite && fixed && !std::isinf(x)) {
    T last = ends(a.v, c.v) ? a.v : b.v, term = 1, sum = 1;
    if (ends(a.v, c.v) && ends(b.v, c.v)) last = std::fmax(a.v, b.v);
    for (T k = 0; k < -last && term != 0 && std::isfinite(sum); ++k)
      sum += term *= (a.v + k) * (b.v + k) / (c.v + k) * (x / (k + 1));
    return sum;
  }
  if (x > 1) return T(kInf);
  auto d = c - a - b;
  if (x == 1) return d.v > 0 ? gamma_of(c) * gamma_of(d) * inverse_gamma(c - a) * inverse_gamma(c - b) : T(kInf);
  if (std::isinf(x)) return T(kNan);
  if (x > 0) {  // near 1 and for d < 0 the function grows as left^d, and the other factor does not
    if (d.v < 0 && x > 0.5)
      return exp_of(d * Dual<T>(std::log1p(-x))) * gauss_inside<T>(c - a, c - b, c, x, 1 - x);
    return gauss_inside<T>(a, b, c, x, 1 - x);
  }
  T left = 1 / (1 - x), log_left = -std::log1p(-x);
  if (std::fabs(b.v) < std::fabs(a.v)) std::swap(a, b);
  return exp_of(a * Dual<T>(log_left)) * gauss_inside<T>(a, c - b, c, -x * left, left);
}

/// For x, y >= 0: sums of the trapezoidal and of the midpoint rule, with the residues of the poles that they pass over
/// (Al Azah and Chandler-Wilde 2021).
template <class T> std::complex<T> faddeeva_quadrant(T x, T y) {
  using Complex = std::complex<T>;
  constexpr int points = sizeof(T) > 8 ? 15 : 11;
  const T pi = std::numbers::pi_v<T>, h = std::sqrt(pi / (points + 1));
  const Complex z(x, y), i(0, 1);
  if (std::fmax(x, y) > 1e15) return i / (z * std::sqrt(pi));
  T part = x / h - std::floor(x / h);
  bool trapezoid = y < std::fmax(x, pi / h) && part >= 0.25 && part <= 0.75;
  auto square = Complex((x - y) * (x + y), 2 * x * y);
  Complex sum = 0;
  for (int k = points; k >= 0; --k) {
    T t = (trapezoid ? k : k + T(0.5)) * h;
    if (t == 0) sum += Complex(0.5) / square;
    else sum += std::exp(-t * t) / (Complex((x - t) * (x + t) - y * y, 2 * x * y));
  }
  Complex r = Complex(0, 2 * h / pi) * z * sum;
  if (y >= std::fmax(x, pi / h)) return r;
  T turn = -2 * pi * (x / h - std::round(x / h)), growth = std::exp(2 * pi * y / h);
  Complex wave(growth * std::cos(turn), growth * std::sin(turn));  // exp(-2 i pi z / h)
  T bell = 2 * std::exp(-square.real());
  Complex residue(bell * std::cos(square.imag()), -bell * std::sin(square.imag()));
  return r + residue / (trapezoid ? Complex(1) - wave : Complex(1) + wave);
}
template <class T> std::complex<T> faddeeva(T x, T y) {
  using Complex = std::complex<T>;
  if (std::isnan(x) || std::isnan(y)) return {kNan, y == 0 && std::isinf(x) ? 0 : kNan};
  if (std::isinf(x) || y == kInf) return {0, 0};
  auto w = faddeeva_quadrant(std::fabs(x), std::fabs(y));
  if (y < 0) {  // w(z) = 2 exp(-z^2) - w(-z), for x >= 0
    T a = std::fabs(x), bell = 2 * std::exp((y - a) * (y + a)), angle = -2 * a * y;
    w = Complex(bell * std::cos(angle), angle == 0 ? 0 : bell * std::sin(angle)) - std::conj(w);
  }
  return x < 0 ? std::conj(w) : w;
}
/// 1 / z without the scaling of a complex quotient, but with one of its own.
template <class T> std::complex<T> reciprocal_of(std::complex<T> z) {
  T s = std::fmax(std::fabs(z.real()), std::fabs(z.imag())), x = z.real() / s, y = z.imag() / s, square = x * x + y * y;
  return {x / square / s, -y / square / s};
}
/// The k-th derivative of w: for |z| >= 7 that of each term of the asymptotic series, in the upper half plane, with the
/// exponential beside the real axis, where the series knows no real part.
template <class T> std::complex<T> faddeeva_slope(int k, T x, T y) {
  using Complex = std::complex<T>;
  const Complex z(x, y), i(0, 1);
  T root = std::numbers::inv_sqrtpi_v<T>, size = std::fmax(std::fabs(x), std::fabs(y));
  if (!(size < T(kInf)) && (std::isnan(x) || std::isnan(y) || y == -kInf)) return {kNan, kNan};
  if (!(size < T(kInf))) return {0, 0};
  auto bell_slope = [&] {  // of exp(-z^2)
    T bell = std::exp((y - x) * (y + x)), angle = -2 * x * y;
    Complex before = 0, at(bell * std::cos(angle), angle == 0 ? 0 : bell * std::sin(angle));
    for (int n = 0; n < k; ++n) {
      Complex next = -T(2) * z * at - T(2 * n) * before;
      before = at, at = next;
    }
    return at;
  };
  if (y < 0) return T(2) * bell_slope() - alternating(k, faddeeva_slope(k, -x, -y));
  if (std::hypot(x, y) < 7) {
    Complex before = faddeeva(x, y), at = -T(2) * z * before + T(2) * root * i;
    for (int n = 1; n < k; ++n) {
      Complex next = -T(2) * z * at - T(2 * n) * before;
      before = at, at = next;
    }
    return at;
  }
  Complex inverse = reciprocal_of(z), square = inverse * inverse, term = i * root * inverse, sum = 0;
  for (int j = 0; j < 45; ++j) {
    Complex part = term * rising(static_cast<T>(2 * j + 1), k);
    sum += part;
    T least = std::fmin(std::fabs(sum.real()), std::fabs(sum.imag()));
    if (std::fabs(part.real()) + std::fabs(part.imag()) < kEps<T> * least) break;
    term *= T(2 * j + 1) / 2 * square;
  }
  for (int n = 0; n < k; ++n) sum *= -inverse;
  return y < 1 ? sum + bell_slope() : sum;
}
}  // namespace
template <class T> T wofz_real_slope(int k, T x, T y) { return faddeeva_slope(k, x, y).real(); }
template <class T> T wofz_imag_slope(int k, T x, T y) { return faddeeva_slope(k, x, y).imag(); }

template <class T> T hyp1f1(T a, T b, T x) { return kummer<T>(a, b, x).v; }
template <class T> T hyp1f1_by_a(T a, T b, T x) { return kummer<T>({a, 1}, b, x).d; }
template <class T> T hyp1f1_by_b(T a, T b, T x) { return kummer<T>(a, {b, 1}, x).d; }
template <class T> T hyp2f1(T a, T b, T c, T x) { return gauss<T>(a, b, c, x).v; }
template <class T> T hyp2f1_by_a(T a, T b, T c, T x) { return gauss<T>({a, 1}, b, c, x).d; }
template <class T> T hyp2f1_by_c(T a, T b, T c, T x) { return gauss<T>(a, b, {c, 1}, x).d; }
template <class T> T wofz_real(T x, T y) { return faddeeva(x, y).real(); }
template <class T> T wofz_imag(T x, T y) { return faddeeva(x, y).imag(); }

#define BORA_SCALAR(T)                                                                                              \
  template T hyp1f1(T, T, T); template T hyp1f1_by_a(T, T, T); template T hyp1f1_by_b(T, T, T);                     \
  template T hyp2f1(T, T, T, T); template T hyp2f1_by_a(T, T, T, T); template T hyp2f1_by_c(T, T, T, T);            \
  template T wofz_real(T, T); template T wofz_imag(T, T); template T wofz_real_slope(int, T, T);                     \
  template T wofz_imag_slope(int, T, T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
