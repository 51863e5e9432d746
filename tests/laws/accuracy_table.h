// accuracy_table.h -- every elementwise function of one operand: what it is, its first two derivatives, and how many
// units in the last place each may be wrong. docs/numerics.md quotes the bounds (laws/accuracy_test.cpp compares).
#pragma once
#include <cmath>
#include <vector>
#include "laws/laws.h"

namespace bora::laws {
using Real = long double;
using Exact = Real (*)(Real);
struct Domain {
  double lo, hi;
};
struct Accuracy {
  const char* name;            // of the public function; of a primitive where f is null
  Array (*f)(const Array&);
  const char* primitive;       // the row's own primitive; null: composites
  Exact value, first, second;  // the true ones; null: a step function, whose derivatives are 0
  Domain f32, f64;
  double bound[3][2];  // of f, f', f'' in f32 and f64
  double roots = 0;     // |x| below this: a derivative crosses 0; its error is absolute, in units of 1/8's last place
  double argument = 0;  // beside the bound, what an argument wrong by so many of its own units would do
};
inline void PrintTo(const Accuracy& a, std::ostream* to) { *to << a.name; }

namespace exact {
inline constexpr Real pi = 3.14159265358979323846264338327950288L, ln2 = 0.693147180559945309417232121458176568L,
                      ln10 = 2.30258509299404568401799145468436421L,
                      two_over_sqrt_pi = 1.12837916709551257389615890312154517L,
                      one_over_sqrt_two_pi = 0.398942280401432677939946059934381868L,
                      sqrt_half = 0.707106781186547524400844362104849039L;
inline Real square(Real x) { return x * x; }
inline Real cube(Real x) { return x * x * x; }
inline Real sigma(Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
inline Real slope(Real x) { return sigma(x) * sigma(-x); }
inline Real bend(Real x) { return -slope(x) * std::tanh(x / 2); }
/// exp(-x^2 c), c = 1 or 1/2, with the square's rounding.
inline Real bell(Real x, Real c) {
  Real h = x * x;
  return std::exp(-h * c) * (1 - std::fma(x, x, -h) * c);
}
/// The distribution function of the normal distribution: erfc(z + low) / 2 with z + low = -x / sqrt 2.
inline Real normal(Real x) {
  Real z = -x * sqrt_half, low = std::fma(-x, sqrt_half, -z) - x * 1.89503255889e-20L;
  return (std::erfc(z) - two_over_sqrt_pi * bell(z, 1) * low) / 2;
}
inline Real density(Real x) { return one_over_sqrt_two_pi * bell(x, 0.5L); }
inline Real erf_inv(Real x) {
  Real y = std::sqrt(-std::log((1 - x) * (1 + x)));
  y = std::copysign(y < 1 ? std::fabs(x) / two_over_sqrt_pi : y, x);
  for (int i = 0; i < 60; ++i) {  // Halley's; of erfc in the tail
    Real e = y > 0.5L ? (1 - x) - std::erfc(y) : y < -0.5L ? std::erfc(-y) - (1 + x) : std::erf(y) - x;
    Real d = e / (two_over_sqrt_pi * bell(y, 1)), next = y - d / (1 + y * d);
    if (next == y) break;
    y = next;
  }
  return y;
}
inline Real erf_inv_slope(Real x) { return 1 / (two_over_sqrt_pi * bell(erf_inv(x), 1)); }
// gelu's argument 2 sqrt(2 / pi) (x + 0.044715 x^3), with the dtype's number 0.044715 taken as exact, and its
// derivatives
inline constexpr Real gelu_scale = 1.59576912160573071175978423973752748L, gelu_cube = 0.044715L;
inline Real gelu_u(Real x) { return gelu_scale * (x + gelu_cube * cube(x)); }
inline Real gelu_du(Real x) { return gelu_scale * (1 + 3 * gelu_cube * square(x)); }
}  // namespace exact

#define BORA_REAL(...) [](Real x) -> Real { return __VA_ARGS__; }
#define BORA_F(...) [](const Array& x) -> Array { return __VA_ARGS__; }
inline const std::vector<Accuracy>& accuracies() {
  using namespace exact;
  static const std::vector<Accuracy> rows = {
      {"exp", BORA_F(exp(x)), "exp", BORA_REAL(std::exp(x)), BORA_REAL(std::exp(x)), BORA_REAL(std::exp(x)),
       {-103, 88.7}, {-745, 709.7}, {{1, 1}, {1, 1}, {1, 1}}},
      {"expm1", BORA_F(expm1(x)), "expm1", BORA_REAL(std::expm1(x)), BORA_REAL(std::exp(x)), BORA_REAL(std::exp(x)),
       {-103, 88.7}, {-745, 709.7}, {{1.5, 1.5}, {1, 1}, {1, 1}}},
      {"exp2", BORA_F(exp2(x)), nullptr, BORA_REAL(std::exp2(x)), BORA_REAL(ln2 * std::exp2(x)),
       BORA_REAL(ln2 * ln2 * std::exp2(x)), {-149, 127}, {-1074, 1023}, {{1.25, 1.25}, {2.5, 2.5}, {3, 3}}},
      {"log", BORA_F(log(x)), "log", BORA_REAL(std::log(x)), BORA_REAL(1 / x), BORA_REAL(-1 / square(x)),
       {1e-45, 3e38}, {5e-324, 1e308}, {{1, 1}, {0.5, 0.5}, {2, 2}}},
      {"log1p", BORA_F(log1p(x)), "log1p", BORA_REAL(std::log1p(x)), BORA_REAL(1 / (1 + x)),
       BORA_REAL(-1 / square(1 + x)), {-0.99999994, 3e38}, {-0.9999999999999999, 1e308},
       {{1, 1}, {1.5, 1.5}, {3.5, 3.5}}},
      {"log2", BORA_F(log2(x)), nullptr, BORA_REAL(std::log2(x)), BORA_REAL(1 / (ln2 * x)),
       BORA_REAL(-1 / (ln2 * square(x))), {1e-45, 3e38}, {5e-324, 1e308}, {{2, 2}, {1, 1}, {3.5, 3.5}}},
      {"log10", BORA_F(log10(x)), nullptr, BORA_REAL(std::log10(x)), BORA_REAL(1 / (ln10 * x)),
       BORA_REAL(-1 / (ln10 * square(x))), {1e-45, 3e38}, {5e-324, 1e308}, {{2.5, 2.5}, {2, 2}, {4.5, 4.5}}},
      {"sqrt", BORA_F(sqrt(x)), "sqrt", BORA_REAL(std::sqrt(x)), BORA_REAL(0.5L / std::sqrt(x)),
       BORA_REAL(-0.25L / (x * std::sqrt(x))), {1e-45, 3e38}, {5e-324, 1e308}, {{0.5, 0.5}, {1.5, 1.5}, {5, 5}}},
      {"rsqrt", BORA_F(rsqrt(x)), "rsqrt", BORA_REAL(1 / std::sqrt(x)), BORA_REAL(-0.5L / (x * std::sqrt(x))),
       BORA_REAL(0.75L / (x * x * std::sqrt(x))), {1e-45, 3e38}, {5e-324, 1e308}, {{1.5, 1.5}, {2, 2}, {3.5, 3.5}}},
      {"cbrt", BORA_F(cbrt(x)), "cbrt", BORA_REAL(std::cbrt(x)), BORA_REAL(1 / (3 * square(std::cbrt(x)))),
       BORA_REAL(-2 / (9 * x * square(std::cbrt(x)))), {-3e38, 3e38}, {-1e308, 1e308},
       {{0.51, 0.51}, {3.5, 3.5}, {10, 10}}},
      {"square", BORA_F(square(x)), nullptr, BORA_REAL(square(x)), BORA_REAL(2 * x), BORA_REAL(0 * x + 2),
       {-1e19, 1e19}, {-1e154, 1e154}, {{0.5, 0.5}, {0, 0}, {0, 0}}},
      {"reciprocal", BORA_F(reciprocal(x)), nullptr, BORA_REAL(1 / x), BORA_REAL(-1 / square(x)),
       BORA_REAL(2 / cube(x)), {-3e38, 3e38}, {-1e308, 1e308}, {{0.5, 0.5}, {2, 2}, {3.5, 3.5}}},
      {"sin", BORA_F(sin(x)), "sin", BORA_REAL(std::sin(x)), BORA_REAL(std::cos(x)), BORA_REAL(-std::sin(x)),
       {-3e38, 3e38}, {-1e308, 1e308}, {{1.6, 2.5}, {1.6, 2.5}, {1.6, 2.5}}},
      {"cos", BORA_F(cos(x)), "cos", BORA_REAL(std::cos(x)), BORA_REAL(-std::sin(x)), BORA_REAL(-std::cos(x)),
       {-3e38, 3e38}, {-1e308, 1e308}, {{1.6, 2.5}, {1.6, 2.5}, {1.6, 2.5}}},
      {"tan", BORA_F(tan(x)), nullptr, BORA_REAL(std::tan(x)), BORA_REAL(1 / square(std::cos(x))),
       BORA_REAL(2 * std::tan(x) / square(std::cos(x))), {-1e6, 1e6}, {-1e6, 1e6}, {{4, 4}, {6, 6}, {10, 10}}},
      {"sinh", BORA_F(sinh(x)), "sinh", BORA_REAL(std::sinh(x)), BORA_REAL(std::cosh(x)), BORA_REAL(std::sinh(x)),
       {-89.4, 89.4}, {-710.4, 710.4}, {{1.75, 1.75}, {1.5, 1.5}, {1.75, 1.75}}},
      {"cosh", BORA_F(cosh(x)), "cosh", BORA_REAL(std::cosh(x)), BORA_REAL(std::sinh(x)), BORA_REAL(std::cosh(x)),
       {-89.4, 89.4}, {-710.4, 710.4}, {{1.5, 1.5}, {1.75, 1.75}, {1.5, 1.5}}},
      {"tanh", BORA_F(tanh(x)), "tanh", BORA_REAL(std::tanh(x)), BORA_REAL(4 * slope(2 * x)),
       BORA_REAL(8 * bend(2 * x)), {-51, 51}, {-372, 372}, {{1.5, 2.1}, {4, 4}, {5, 5}}},
      {"arctanh", BORA_F(arctanh(x)), "arctanh", BORA_REAL(std::atanh(x)), BORA_REAL(1 / ((1 - x) * (1 + x))),
       BORA_REAL(2 * x / square((1 - x) * (1 + x))), {-0.99999994, 0.99999994},
       {-0.9999999999999999, 0.9999999999999999}, {{2, 2}, {1.5, 1.5}, {4, 4}}},
      {"erf", BORA_F(erf(x)), "erf", BORA_REAL(std::erf(x)), BORA_REAL(two_over_sqrt_pi * bell(x, 1)),
       BORA_REAL(-2 * x * two_over_sqrt_pi * bell(x, 1)), {-10.1, 10.1}, {-27.2, 27.2},
       {{1.25, 1.25}, {4, 4}, {4.5, 4.5}}},
      {"erfc", BORA_F(erfc(x)), "erfc", BORA_REAL(std::erfc(x)), BORA_REAL(-two_over_sqrt_pi * bell(x, 1)),
       BORA_REAL(2 * x * two_over_sqrt_pi * bell(x, 1)), {-10.1, 10.1}, {-27.2, 27.2},
       {{4, 4}, {4, 4}, {4.5, 4.5}}},
      {"erf_inv", BORA_F(erf_inv(x)), "erf_inv", BORA_REAL(erf_inv(x)), BORA_REAL(erf_inv_slope(x)),
       BORA_REAL(2 * erf_inv(x) * square(erf_inv_slope(x))), {-0.99999994, 0.99999994},
       {-0.9999999999999999, 0.9999999999999999}, {{4, 4}, {8, 8}, {12, 12}}, 0, 1},
      {"abs", BORA_F(abs(x)), "abs", BORA_REAL(std::fabs(x)), BORA_REAL(x < 0 ? -1 : 1), BORA_REAL(0 * x),
       {-3e38, 3e38}, {-1e308, 1e308}, {}},
      {"negative", BORA_F(negative(x)), "neg", BORA_REAL(-x), BORA_REAL(0 * x - 1), BORA_REAL(0 * x), {-3e38, 3e38},
       {-1e308, 1e308}, {}},
      {"relu", BORA_F(relu(x)), "relu", BORA_REAL(x > 0 ? x : 0), BORA_REAL(x > 0 ? 1 : 0), BORA_REAL(0 * x),
       {-3e38, 3e38}, {-1e308, 1e308}, {}},
      {"sign", BORA_F(sign(x)), "sign", BORA_REAL(x < 0 ? -1 : x > 0 ? 1 : x), nullptr, nullptr, {-3e38, 3e38},
       {-1e308, 1e308}, {}},
      {"floor", BORA_F(floor(x)), "floor", BORA_REAL(std::floor(x)), nullptr, nullptr, {-1e9, 1e9}, {-1e18, 1e18}, {}},
      {"ceil", BORA_F(ceil(x)), "ceil", BORA_REAL(std::ceil(x)), nullptr, nullptr, {-1e9, 1e9}, {-1e18, 1e18}, {}},
      {"round", BORA_F(round(x)), "round", BORA_REAL(std::nearbyint(x)), nullptr, nullptr, {-1e9, 1e9}, {-1e18, 1e18},
       {}},
      {"trunc", BORA_F(trunc(x)), nullptr, BORA_REAL(std::trunc(x)), nullptr, nullptr, {-1e9, 1e9}, {-1e18, 1e18}, {}},
      {"sigmoid", BORA_F(sigmoid(x)), "logistic", BORA_REAL(sigma(x)), BORA_REAL(slope(x)), BORA_REAL(bend(x)),
       {-103, 103}, {-745, 745}, {{2.25, 2.25}, {3.5, 3.5}, {4.5, 4.5}}},
      {"logistic_slope", nullptr, "logistic_slope", BORA_REAL(slope(x)), BORA_REAL(bend(x)),
       BORA_REAL(bend(x) * -std::tanh(x / 2) - slope(x) / 2 / square(std::cosh(x / 2))), {-103, 103}, {-745, 745},
       {{3.5, 3.5}, {4.5, 4.5}, {8, 8}}, 4},
      {"silu", BORA_F(silu(x)), nullptr, BORA_REAL(x * sigma(x)), BORA_REAL(sigma(x) + x * slope(x)),
       BORA_REAL(slope(x) * (2 - x * std::tanh(x / 2))), {-87, 87}, {-707, 707}, {{3, 3}, {8, 8}, {16, 16}}, 4},
      {"softplus", BORA_F(softplus(x)), nullptr,
       BORA_REAL(x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x))),
       BORA_REAL(sigma(x)), BORA_REAL(slope(x)), {-103, 3e38}, {-745, 1e308}, {{1.75, 1.75}, {2.5, 2.5}, {3.5, 3.5}}},
      {"gelu, tanh form", BORA_F(gelu(x)), nullptr, BORA_REAL(x * sigma(gelu_u(x))),
       BORA_REAL(sigma(gelu_u(x)) + x * slope(gelu_u(x)) * gelu_du(x)),
       BORA_REAL(2 * slope(gelu_u(x)) * gelu_du(x) +
                 x * (bend(gelu_u(x)) * square(gelu_du(x)) + slope(gelu_u(x)) * gelu_scale * 6 * gelu_cube * x)),
       {-8.9, 8.9}, {-18.8, 18.8}, {{5, 5}, {8, 8}, {12, 12}}, 4, 3},
      {"gelu, erf form", BORA_F(gelu(x, {.approximate = false})), nullptr, BORA_REAL(x * normal(x)),
       BORA_REAL(normal(x) + x * density(x)), BORA_REAL(density(x) * (2 - x * x)), {-12.9, 12.9}, {-37.4, 37.4},
       {{5, 5}, {8, 8}, {12, 12}}, 4},
      {"normal_cdf", nullptr, "normal_cdf", BORA_REAL(normal(x)), BORA_REAL(density(x)), BORA_REAL(-x * density(x)),
       {-13.1, 13.1}, {-37.6, 37.6}, {{4, 4.5}, {2.25, 2.25}, {3.5, 3.5}}},
      {"bell", nullptr, "bell", BORA_REAL(bell(x, 0.5L)), BORA_REAL(-x * bell(x, 0.5L)),
       BORA_REAL((x - 1) * (x + 1) * bell(x, 0.5L)), {-13.1, 13.1}, {-37.6, 37.6}, {{1.25, 1.25}, {2, 2}, {6, 6}}, 4},
  };
  return rows;
}
#undef BORA_F
#undef BORA_REAL
}  // namespace bora::laws
