// dual.h -- numbers with a derivative, for series and continued fractions that are differentiated term by term.
// Private.
#pragma once
#include <cmath>
#include <type_traits>

namespace bora::ops::scalar {
template <class T> struct Dual {
  T v = 0, d = 0;
  Dual(T value, T derivative = 0) : v(value), d(derivative) {}
  friend Dual operator-(Dual a) { return {-a.v, -a.d}; }
  friend Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
  friend Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
  friend Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
  friend Dual operator/(Dual a, Dual b) {
    T q = a.v / b.v;
    return {q, (a.d - q * b.d) / b.v};
  }
  /// base^-s.
  friend Dual inverse_power(T base, Dual s) {
    T p = std::pow(base, -s.v);
    return {p, -std::log(base) * p * s.d};
  }
  friend T value(Dual x) { return x.v; }
  /// The larger of a number and its derivative: what has to be small for a sum to be complete.
  friend T magnitude(Dual x) { return std::fmax(std::fabs(x.v), std::fabs(x.d)); }
};
template <class T> requires std::is_floating_point_v<T> T inverse_power(T base, T s) { return std::pow(base, -s); }
template <class T> requires std::is_floating_point_v<T> T value(T x) { return x; }
template <class T> requires std::is_floating_point_v<T> T magnitude(T x) { return std::fabs(x); }
}  // namespace bora::ops::scalar
