// elementwise.h -- the named forms of the functions of each element: ops/ufuncs.h, ops/nn.h, ops/complex.h. Operands
// are matched by name: the axes of one must contain those of the others; the result has its axes in its order (the
// first one's if several have all). Axes of size 1 are not broadcast. A number takes the dtype of the array beside it.
// Errors are AxisErrors that name the axes of both operands.
#pragma once
#include "bora/named/array.h"

namespace bora {
struct GeluOptions;
// ---- one operand ----------------------------------------------------------------------------------------------------
// The function of the same name of ops/ufuncs.h, ops/nn.h, ops/complex.h or ops/special.h, element by element; x's axes
// stay.
NamedArray negative(const NamedArray& x);
NamedArray exp(const NamedArray& x);
NamedArray expm1(const NamedArray& x);
NamedArray exp2(const NamedArray& x);
NamedArray log(const NamedArray& x);
NamedArray log1p(const NamedArray& x);
NamedArray log2(const NamedArray& x);
NamedArray log10(const NamedArray& x);
NamedArray sqrt(const NamedArray& x);
NamedArray rsqrt(const NamedArray& x);
NamedArray cbrt(const NamedArray& x);
NamedArray square(const NamedArray& x);
NamedArray reciprocal(const NamedArray& x);
NamedArray sin(const NamedArray& x);
NamedArray cos(const NamedArray& x);
NamedArray tan(const NamedArray& x);
NamedArray sinh(const NamedArray& x);
NamedArray cosh(const NamedArray& x);
NamedArray tanh(const NamedArray& x);
NamedArray arctanh(const NamedArray& x);
NamedArray sinc(const NamedArray& x);
NamedArray erf(const NamedArray& x);
NamedArray erfc(const NamedArray& x);
NamedArray erf_inv(const NamedArray& x);
NamedArray abs(const NamedArray& x);
NamedArray fabs(const NamedArray& x);
NamedArray sign(const NamedArray& x);
NamedArray floor(const NamedArray& x);
NamedArray ceil(const NamedArray& x);
NamedArray round(const NamedArray& x);
NamedArray rint(const NamedArray& x);
NamedArray trunc(const NamedArray& x);
NamedArray fix(const NamedArray& x);
NamedArray positive(const NamedArray& x);
NamedArray deg2rad(const NamedArray& x);
NamedArray rad2deg(const NamedArray& x);
NamedArray radians(const NamedArray& x);
NamedArray degrees(const NamedArray& x);
NamedArray isnan(const NamedArray& x);
NamedArray isinf(const NamedArray& x);
NamedArray isfinite(const NamedArray& x);
NamedArray isposinf(const NamedArray& x);
NamedArray isneginf(const NamedArray& x);
NamedArray signbit(const NamedArray& x);
NamedArray logical_not(const NamedArray& x);
NamedArray bitwise_not(const NamedArray& x);
NamedArray real(const NamedArray& x);
NamedArray imag(const NamedArray& x);
NamedArray conj(const NamedArray& x);
NamedArray conjugate(const NamedArray& x);
NamedArray angle(const NamedArray& x);
NamedArray iscomplex(const NamedArray& x);
NamedArray isreal(const NamedArray& x);
NamedArray sigmoid(const NamedArray& x);
NamedArray relu(const NamedArray& x);
NamedArray silu(const NamedArray& x);
NamedArray softplus(const NamedArray& x);
NamedArray stop_gradient(const NamedArray& x);                     // x, a constant for derivatives
NamedArray i0(const NamedArray& x);                                // special::i0
NamedArray around(const NamedArray& x, int decimals = 0);          // round(x 10^decimals) / 10^decimals
NamedArray gelu(const NamedArray& x);                              // x times the normal distribution function of x
NamedArray gelu(const NamedArray& x, const GeluOptions& options);  // ops/nn.h
struct NamedNanToNum {                                             // the numbers that nan_to_num puts in
  double nan = 0;                                                  // in place of NaN
  std::optional<double> posinf = none, neginf = none;  // default: the largest and smallest finite numbers of the dtype
};
NamedArray nan_to_num(const NamedArray& x, const NamedNanToNum& options = {});  // x without NaN and infinities

// ---- two operands ---------------------------------------------------------------------------------------------------
// The function of the same name of ops/ufuncs.h, element by element; operands are matched by name.
NamedArray add(const NamedArray& a, const NamedArray& b);
NamedArray add(const NamedArray& a, Scalar b);
NamedArray add(Scalar a, const NamedArray& b);
NamedArray subtract(const NamedArray& a, const NamedArray& b);
NamedArray subtract(const NamedArray& a, Scalar b);
NamedArray subtract(Scalar a, const NamedArray& b);
NamedArray multiply(const NamedArray& a, const NamedArray& b);
NamedArray multiply(const NamedArray& a, Scalar b);
NamedArray multiply(Scalar a, const NamedArray& b);
NamedArray divide(const NamedArray& a, const NamedArray& b);
NamedArray divide(const NamedArray& a, Scalar b);
NamedArray divide(Scalar a, const NamedArray& b);
NamedArray floor_divide(const NamedArray& a, const NamedArray& b);
NamedArray floor_divide(const NamedArray& a, Scalar b);
NamedArray floor_divide(Scalar a, const NamedArray& b);
NamedArray remainder(const NamedArray& a, const NamedArray& b);
NamedArray remainder(const NamedArray& a, Scalar b);
NamedArray remainder(Scalar a, const NamedArray& b);
NamedArray fmod(const NamedArray& a, const NamedArray& b);
NamedArray fmod(const NamedArray& a, Scalar b);
NamedArray fmod(Scalar a, const NamedArray& b);
NamedArray power(const NamedArray& a, const NamedArray& b);
NamedArray power(const NamedArray& a, Scalar b);
NamedArray power(Scalar a, const NamedArray& b);
NamedArray pow(const NamedArray& a, const NamedArray& b);
NamedArray pow(const NamedArray& a, Scalar b);
NamedArray pow(Scalar a, const NamedArray& b);
NamedArray float_power(const NamedArray& a, const NamedArray& b);
NamedArray float_power(const NamedArray& a, Scalar b);
NamedArray float_power(Scalar a, const NamedArray& b);
NamedArray maximum(const NamedArray& a, const NamedArray& b);
NamedArray maximum(const NamedArray& a, Scalar b);
NamedArray maximum(Scalar a, const NamedArray& b);
NamedArray minimum(const NamedArray& a, const NamedArray& b);
NamedArray minimum(const NamedArray& a, Scalar b);
NamedArray minimum(Scalar a, const NamedArray& b);
NamedArray fmax(const NamedArray& a, const NamedArray& b);
NamedArray fmax(const NamedArray& a, Scalar b);
NamedArray fmax(Scalar a, const NamedArray& b);
NamedArray fmin(const NamedArray& a, const NamedArray& b);
NamedArray fmin(const NamedArray& a, Scalar b);
NamedArray fmin(Scalar a, const NamedArray& b);
NamedArray hypot(const NamedArray& a, const NamedArray& b);
NamedArray hypot(const NamedArray& a, Scalar b);
NamedArray hypot(Scalar a, const NamedArray& b);
NamedArray logaddexp(const NamedArray& a, const NamedArray& b);
NamedArray logaddexp(const NamedArray& a, Scalar b);
NamedArray logaddexp(Scalar a, const NamedArray& b);
NamedArray logaddexp2(const NamedArray& a, const NamedArray& b);
NamedArray logaddexp2(const NamedArray& a, Scalar b);
NamedArray logaddexp2(Scalar a, const NamedArray& b);
NamedArray heaviside(const NamedArray& a, const NamedArray& b);
NamedArray heaviside(const NamedArray& a, Scalar b);
NamedArray heaviside(Scalar a, const NamedArray& b);
NamedArray copysign(const NamedArray& a, const NamedArray& b);
NamedArray copysign(const NamedArray& a, Scalar b);
NamedArray copysign(Scalar a, const NamedArray& b);
NamedArray equal(const NamedArray& a, const NamedArray& b);
NamedArray equal(const NamedArray& a, Scalar b);
NamedArray equal(Scalar a, const NamedArray& b);
NamedArray not_equal(const NamedArray& a, const NamedArray& b);
NamedArray not_equal(const NamedArray& a, Scalar b);
NamedArray not_equal(Scalar a, const NamedArray& b);
NamedArray less(const NamedArray& a, const NamedArray& b);
NamedArray less(const NamedArray& a, Scalar b);
NamedArray less(Scalar a, const NamedArray& b);
NamedArray less_equal(const NamedArray& a, const NamedArray& b);
NamedArray less_equal(const NamedArray& a, Scalar b);
NamedArray less_equal(Scalar a, const NamedArray& b);
NamedArray greater(const NamedArray& a, const NamedArray& b);
NamedArray greater(const NamedArray& a, Scalar b);
NamedArray greater(Scalar a, const NamedArray& b);
NamedArray greater_equal(const NamedArray& a, const NamedArray& b);
NamedArray greater_equal(const NamedArray& a, Scalar b);
NamedArray greater_equal(Scalar a, const NamedArray& b);
NamedArray logical_and(const NamedArray& a, const NamedArray& b);
NamedArray logical_and(const NamedArray& a, Scalar b);
NamedArray logical_and(Scalar a, const NamedArray& b);
NamedArray logical_or(const NamedArray& a, const NamedArray& b);
NamedArray logical_or(const NamedArray& a, Scalar b);
NamedArray logical_or(Scalar a, const NamedArray& b);
NamedArray logical_xor(const NamedArray& a, const NamedArray& b);
NamedArray logical_xor(const NamedArray& a, Scalar b);
NamedArray logical_xor(Scalar a, const NamedArray& b);
NamedArray bitwise_and(const NamedArray& a, const NamedArray& b);
NamedArray bitwise_and(const NamedArray& a, Scalar b);
NamedArray bitwise_and(Scalar a, const NamedArray& b);
NamedArray bitwise_or(const NamedArray& a, const NamedArray& b);
NamedArray bitwise_or(const NamedArray& a, Scalar b);
NamedArray bitwise_or(Scalar a, const NamedArray& b);
NamedArray bitwise_xor(const NamedArray& a, const NamedArray& b);
NamedArray bitwise_xor(const NamedArray& a, Scalar b);
NamedArray bitwise_xor(Scalar a, const NamedArray& b);
NamedArray left_shift(const NamedArray& a, const NamedArray& b);
NamedArray left_shift(const NamedArray& a, Scalar b);
NamedArray left_shift(Scalar a, const NamedArray& b);
NamedArray right_shift(const NamedArray& a, const NamedArray& b);
NamedArray right_shift(const NamedArray& a, Scalar b);
NamedArray right_shift(Scalar a, const NamedArray& b);
struct NamedDivision {  // of whole numbers, or of fractions
  NamedArray quotient, remainder;
};
/// floor_divide(a, b) and remainder(a, b).
NamedDivision divmod(const NamedArray& a, const NamedArray& b);
NamedDivision divmod(const NamedArray& a, Scalar b);

// ---- three operands -------------------------------------------------------------------------------------------------
/// on_true where the condition holds, else on_false.
NamedArray where(const NamedArray& condition, const NamedArray& on_true, const NamedArray& on_false);
NamedArray where(const NamedArray& condition, const NamedArray& on_true, Scalar on_false);
NamedArray where(const NamedArray& condition, Scalar on_true, const NamedArray& on_false);
NamedArray where(const NamedArray& condition, Scalar on_true, Scalar on_false);
/// minimum(maximum(x, lo), hi).
NamedArray clip(const NamedArray& x, const NamedArray& lo, const NamedArray& hi);
NamedArray clip(const NamedArray& x, Scalar lo, Scalar hi);

// ---- comparisons ----------------------------------------------------------------------------------------------------
struct NamedClose {                 // tolerances of isclose and allclose
  double rtol = 1e-5, atol = 1e-8;  // relative to |b|, and absolute
  bool equal_nan = false;           // NaN is close to NaN
};
/// |a - b| <= atol + rtol |b|, or equal infinities; boolean.
NamedArray isclose(const NamedArray& a, const NamedArray& b, const NamedClose& options = {});
/// isclose everywhere. These three read values: not inside transforms.
bool allclose(const NamedArray& a, const NamedArray& b, const NamedClose& options = {});
/// The same axes, in any order, and equal elements.
bool array_equal(const NamedArray& a, const NamedArray& b);
/// Equal elements once axes that one of them lacks are added.
bool array_equiv(const NamedArray& a, const NamedArray& b);

// ---- operators ------------------------------------------------------------------------------------------------------
NamedArray operator-(const NamedArray& x);
NamedArray operator!(const NamedArray& x);
NamedArray operator~(const NamedArray& x);
NamedArray operator+(const NamedArray& a, const NamedArray& b);
NamedArray operator+(const NamedArray& a, Scalar b);
NamedArray operator+(Scalar a, const NamedArray& b);
NamedArray operator-(const NamedArray& a, const NamedArray& b);
NamedArray operator-(const NamedArray& a, Scalar b);
NamedArray operator-(Scalar a, const NamedArray& b);
NamedArray operator*(const NamedArray& a, const NamedArray& b);
NamedArray operator*(const NamedArray& a, Scalar b);
NamedArray operator*(Scalar a, const NamedArray& b);
NamedArray operator/(const NamedArray& a, const NamedArray& b);
NamedArray operator/(const NamedArray& a, Scalar b);
NamedArray operator/(Scalar a, const NamedArray& b);
NamedArray operator%(const NamedArray& a, const NamedArray& b);
NamedArray operator%(const NamedArray& a, Scalar b);
NamedArray operator%(Scalar a, const NamedArray& b);
NamedArray operator==(const NamedArray& a, const NamedArray& b);
NamedArray operator==(const NamedArray& a, Scalar b);
NamedArray operator==(Scalar a, const NamedArray& b);
NamedArray operator!=(const NamedArray& a, const NamedArray& b);
NamedArray operator!=(const NamedArray& a, Scalar b);
NamedArray operator!=(Scalar a, const NamedArray& b);
NamedArray operator<(const NamedArray& a, const NamedArray& b);
NamedArray operator<(const NamedArray& a, Scalar b);
NamedArray operator<(Scalar a, const NamedArray& b);
NamedArray operator<=(const NamedArray& a, const NamedArray& b);
NamedArray operator<=(const NamedArray& a, Scalar b);
NamedArray operator<=(Scalar a, const NamedArray& b);
NamedArray operator>(const NamedArray& a, const NamedArray& b);
NamedArray operator>(const NamedArray& a, Scalar b);
NamedArray operator>(Scalar a, const NamedArray& b);
NamedArray operator>=(const NamedArray& a, const NamedArray& b);
NamedArray operator>=(const NamedArray& a, Scalar b);
NamedArray operator>=(Scalar a, const NamedArray& b);
NamedArray operator&&(const NamedArray& a, const NamedArray& b);
NamedArray operator&&(const NamedArray& a, Scalar b);
NamedArray operator&&(Scalar a, const NamedArray& b);
NamedArray operator||(const NamedArray& a, const NamedArray& b);
NamedArray operator||(const NamedArray& a, Scalar b);
NamedArray operator||(Scalar a, const NamedArray& b);
NamedArray operator&(const NamedArray& a, const NamedArray& b);
NamedArray operator&(const NamedArray& a, Scalar b);
NamedArray operator&(Scalar a, const NamedArray& b);
NamedArray operator|(const NamedArray& a, const NamedArray& b);
NamedArray operator|(const NamedArray& a, Scalar b);
NamedArray operator|(Scalar a, const NamedArray& b);
NamedArray operator^(const NamedArray& a, const NamedArray& b);
NamedArray operator^(const NamedArray& a, Scalar b);
NamedArray operator^(Scalar a, const NamedArray& b);
NamedArray operator<<(const NamedArray& a, const NamedArray& b);
NamedArray operator<<(const NamedArray& a, Scalar b);
NamedArray operator<<(Scalar a, const NamedArray& b);
NamedArray operator>>(const NamedArray& a, const NamedArray& b);
NamedArray operator>>(const NamedArray& a, Scalar b);
NamedArray operator>>(Scalar a, const NamedArray& b);
}  // namespace bora
