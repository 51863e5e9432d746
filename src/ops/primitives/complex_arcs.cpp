// Written with the parts, as 1 - z would lose the sign of a part that is zero.
#include "ops/primitives/complex_arcs.h"
#include "ops/primitives/quotients.h"
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"

namespace bora::ops {
namespace {
struct Roots {
  Array minus, plus;  // of 1 - z and 1 + z
};
Roots roots_of(const Array& z) {
  auto x = real(z), y = imag(z);
  return {sqrt(complex(1 - x, -y)), sqrt(complex(1 + x, y))};
}
/// The imaginary part of conj(a) b.
Array area(const Array& a, const Array& b) { return real(a) * imag(b) - imag(a) * real(b); }
Array times_i(const Array& z) { return complex(-imag(z), real(z)); }
Array over_i(const Array& z) { return complex(imag(z), -real(z)); }
}  // namespace

Array complex_arcsin(const Array& z) {
  auto [minus, plus] = roots_of(z);
  return complex(arctan2(real(z), real(minus * plus)), arcsinh(area(minus, plus)));
}
Array complex_arccos(const Array& z) {
  auto [minus, plus] = roots_of(z);
  return complex(2 * arctan2(real(minus), real(plus)), arcsinh(area(plus, minus)));
}
Array complex_arccosh(const Array& z) {
  auto x = real(z), y = imag(z);
  auto a = sqrt(complex(x - 1, y)), b = sqrt(complex(x + 1, y));
  return complex(arcsinh(real(a) * real(b) + imag(a) * imag(b)), 2 * arctan2(imag(a), real(b)));
}
Array complex_arctanh(const Array& z) {
  auto x = real(z), y = imag(z);
  auto side = where(x < 0, full_like(x, -1), full_like(x, 1));
  auto right = side * x, from_pole = length_of(1 - right, y);  // squares of large and small ones would leave the range
  auto near = from_pole < 0.5, one = ones_like(x);
  auto far = where(near, one, from_pole), close = where(near, from_pole, one);
  auto re = where(near, 0.5 * (log(length_of(1 + right, y)) - log(close)), 0.25 * log1p(4 * (right / far / far)));
  return complex(side * re, 0.5 * arctan2(2 * y, (1 - x) * (1 + x) - square(y)));
}
Array complex_arcsinh(const Array& z) { return over_i(complex_arcsin(times_i(z))); }
Array complex_arctan(const Array& z) { return over_i(complex_arctanh(times_i(z))); }
}  // namespace bora::ops
