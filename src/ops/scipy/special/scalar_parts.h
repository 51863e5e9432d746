// scalar_parts.h -- numbers and steps that the files of functions of numbers share. Private.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

namespace bora::ops::scalar {
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kTiny = 1e-300;  // stands for 0 in continued fractions
/// Half of the distance from 1 to the next number.
template <class T> inline constexpr T kEps = std::numeric_limits<T>::epsilon() / 2;
template <class T> inline constexpr T kPi = std::numbers::pi_v<T>;
/// Whether the gamma function is infinite at x.
template <class T> bool pole(T x) { return x <= 0 && x == std::floor(x); }
/// The coefficients p[0] x^(n-1) + .. + p[n-1] at x.
template <class T, class C, int n> T polynomial(T x, const C (&p)[n]) {
  T r = p[0];
  for (int i = 1; i < n; ++i) r = r * x + p[i];
  return r;
}
/// x (x - 1) .. (x - n + 1); x (x + 1) .. (x + n - 1); n!; n choose k; (-1)^k x.
template <class T> T falling(T x, int n) {
  T r = 1;
  for (int i = 0; i < n; ++i) r *= x - static_cast<T>(i);
  return r;
}
template <class T> T rising(T x, int n) { return falling(x + static_cast<T>(n - 1), n); }
template <class T> T factorial_of(int n) { return falling(static_cast<T>(n), n); }
template <class T> T choose(int n, int k) { return falling(static_cast<T>(n), k) / factorial_of<T>(k); }
template <class T> T alternating(int k, T x) { return k % 2 == 0 ? x : -x; }
}  // namespace bora::ops::scalar
