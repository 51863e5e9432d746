// dual.h -- numbers with a derivative, for series and continued fractions that are differentiated term by term.
// Private.
#pragma once
#include <cmath>

namespace bora::ops::scalar {
struct Dual {
  double v = 0, d = 0;
  Dual(double value, double derivative = 0) : v(value), d(derivative) {}
};
inline Dual operator-(Dual a) { return {-a.v, -a.d}; }
inline Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
inline Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
inline Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
inline Dual operator/(Dual a, Dual b) {
  double q = a.v / b.v;
  return {q, (a.d - q * b.d) / b.v};
}
/// base^-s.
inline double inverse_power(double base, double s) { return std::pow(base, -s); }
inline Dual inverse_power(double base, Dual s) {
  double p = std::pow(base, -s.v);
  return {p, -std::log(base) * p * s.d};
}
inline double value(double x) { return x; }
inline double value(Dual x) { return x.v; }
/// The larger of a number and its derivative: what has to be small for a sum to be complete.
inline double magnitude(double x) { return std::fabs(x); }
inline double magnitude(Dual x) { return std::fmax(std::fabs(x.v), std::fabs(x.d)); }
}  // namespace bora::ops::scalar
