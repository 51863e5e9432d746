// ufuncs.h -- operations on each element, and the operators.
//
// Two Arrays are promoted (JAX's lattice, base/dtype.h) and broadcast by NumPy's rules. A number beside an Array is
// weak: it takes the Array's dtype, except that a fraction makes integers and booleans f32 and an integer makes
// booleans i32. Functions whose result is a fraction (exp, sqrt, /, ..) take integers and booleans as f32. Errors:
// ShapeError for shapes that do not broadcast, DtypeError for a dtype the operation does not take, ValueError for a
// number that the Array's integer dtype cannot hold.
#pragma once
#include <math.h>  // with these two, abs(-1.5) and sqrt(2.f) of plain numbers are std's also without std::, not C's
#include <stdlib.h>
#include "bora/ops/arguments.h"

namespace bora {
// ---- one operand ----------------------------------------------------------------------------------------------------
Array negative(const Array& x);    // -x
Array exp(const Array& x);         // e^x
Array expm1(const Array& x);       // exp(x) - 1, exact near 0
Array exp2(const Array& x);        // 2^x
Array log(const Array& x);         // the natural logarithm; derivative 1 / x
Array log1p(const Array& x);       // log(1 + x), exact near 0
Array log2(const Array& x);        // the logarithm to base 2
Array log10(const Array& x);       // the logarithm to base 10
Array sqrt(const Array& x);        // the square root; derivative at 0: inf
Array rsqrt(const Array& x);       // 1 / sqrt(x)
Array cbrt(const Array& x);        // the cube root, of negative x too
Array square(const Array& x);      // x^2
Array reciprocal(const Array& x);  // 1 / x
Array sin(const Array& x);         // of x in radians
Array cos(const Array& x);         // of x in radians
Array tan(const Array& x);         // of x in radians
Array sinh(const Array& x);        // (exp(x) - exp(-x)) / 2
Array cosh(const Array& x);        // (exp(x) + exp(-x)) / 2
Array tanh(const Array& x);        // sinh(x) / cosh(x)
Array arctanh(const Array& x);     // the inverse of tanh; infinite at -1 and 1
// Inverses of trigonometric and hyperbolic functions. Of real numbers, f32 and bf16 are computed in f64 and rounded
// once, and NaN stands outside of the domain; of complex numbers they are the principal values.
Array arcsin(const Array& x);    // the inverse of sin, in [-pi / 2, pi / 2]
Array arccos(const Array& x);    // the inverse of cos, in [0, pi]
Array arctan(const Array& x);    // the inverse of tan, in (-pi / 2, pi / 2)
Array arcsinh(const Array& x);   // the inverse of sinh
Array arccosh(const Array& x);   // the inverse of cosh, >= 0
Array asin(const Array& x);      // arcsin
Array acos(const Array& x);      // arccos
Array atan(const Array& x);      // arctan
Array asinh(const Array& x);     // arcsinh
Array acosh(const Array& x);     // arccosh
Array atanh(const Array& x);     // arctanh
Array erf(const Array& x);       // 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x
Array erfc(const Array& x);      // 1 - erf(x), exact in the tail
Array erf_inv(const Array& x);   // the inverse of erf
Array sinc(const Array& x);      // sin(pi x) / (pi x), 1 at 0
Array deg2rad(const Array& x);   // pi / 180 x
Array rad2deg(const Array& x);   // 180 / pi x
Array radians(const Array& x);   // deg2rad
Array degrees(const Array& x);   // rad2deg
Array abs(const Array& x);       // |x|; derivative at 0: 1
Array positive(const Array& x);  // x itself
Array fabs(const Array& x);      // abs, a fraction also of integers
Array sign(const Array& x);      // -1, 0, 1; NaN stays
/// The largest whole number <= x; of floor, ceil, round, trunc integers do not change; derivative 0.
Array floor(const Array& x);
Array ceil(const Array& x);   // the smallest whole number >= x
Array round(const Array& x);  // to the nearest whole number, halves to even
Array trunc(const Array& x);  // the whole number towards 0
Array rint(const Array& x);   // round, a fraction also of integers
Array fix(const Array& x);    // trunc
/// x rounded to so many decimals (negative: to tens, hundreds, ..), halves to even.
Array around(const Array& x, int decimals = 0);
Array isnan(const Array& x);                           // boolean: NaN
Array isinf(const Array& x);                           // boolean: inf or -inf
Array isfinite(const Array& x);                        // boolean: neither infinite nor NaN
Array signbit(const Array& x);                         // boolean: is the sign a minus, also of -0 and NaN?
Array isposinf(const Array& x);                        // boolean: inf
Array isneginf(const Array& x);                        // boolean: -inf
struct NanToNumOptions {                               // the numbers that nan_to_num puts in
  double nan = 0;                                      // in place of NaN
  std::optional<double> posinf = none, neginf = none;  // default: the largest and smallest finite numbers of the dtype
};
/// x without NaN and infinities.
Array nan_to_num(const Array& x, const NanToNumOptions& options = {});
// The whole part, towards 0, and the rest with x's sign.
struct WholeAndFraction {
  Array fraction, whole;
};
WholeAndFraction modf(const Array& x);
Array logical_not(const Array& x);  // boolean: x == 0
Array bitwise_not(const Array& x);  // ~x of integers and booleans
/// The same bits as another dtype of the same size. Throws DtypeError if sizes differ.
Array bitcast(const Array& x, Dtype dtype);

// ---- two operands ---------------------------------------------------------------------------------------------------
Array add(const Array& a, const Array& b);  // a + b
Array add(const Array& a, Scalar b);
Array add(Scalar a, const Array& b);
Array subtract(const Array& a, const Array& b);  // a - b
Array subtract(const Array& a, Scalar b);
Array subtract(Scalar a, const Array& b);
Array multiply(const Array& a, const Array& b);  // a b
Array multiply(const Array& a, Scalar b);
Array multiply(Scalar a, const Array& b);
/// a / b; of integers too it is a fraction (f32).
Array divide(const Array& a, const Array& b);
Array divide(const Array& a, Scalar b);
Array divide(Scalar a, const Array& b);
/// The largest whole number <= a / b, in the promoted dtype.
Array floor_divide(const Array& a, const Array& b);
Array floor_divide(const Array& a, Scalar b);
Array floor_divide(Scalar a, const Array& b);
/// The remainder of floor_divide, with the sign of b (NumPy's and Python's %).
Array remainder(const Array& a, const Array& b);
Array remainder(const Array& a, Scalar b);
Array remainder(Scalar a, const Array& b);
/// The remainder of division towards zero, with the sign of a (C's fmod and %).
Array fmod(const Array& a, const Array& b);
Array fmod(const Array& a, Scalar b);
Array fmod(Scalar a, const Array& b);
/// The quotient of floor_divide and the remainder.
struct QuotientRemainder {
  Array quotient, remainder;
};
QuotientRemainder divmod(const Array& a, const Array& b);  // floor_divide and remainder
/// a^b. A whole number b (not 2.0) multiplies repeatedly: any sign of a, exact derivatives also at 0.
Array power(const Array& a, const Array& b);
Array power(const Array& a, Scalar b);
Array power(Scalar a, const Array& b);
Array pow(const Array& a, const Array& b);  // power
Array pow(const Array& a, Scalar b);
Array pow(Scalar a, const Array& b);
/// The power of fractions: integers are taken as f32.
Array float_power(const Array& a, const Array& b);
/// sqrt(a^2 + b^2) without overflow; infinite if either is. Its derivative at (0, 0) is 0.
Array hypot(const Array& a, const Array& b);
/// The angle of the point (x, y) in [-pi, pi], of real numbers. Its derivative at (0, 0) is NaN.
Array arctan2(const special::Operand& y, const special::Operand& x);
Array atan2(const special::Operand& y, const special::Operand& x);  // arctan2
/// NaN if either is NaN; equal operands share the derivative, half each.
Array maximum(const Array& a, const Array& b);
Array maximum(const Array& a, Scalar b);
Array maximum(Scalar a, const Array& b);
Array minimum(const Array& a, const Array& b);  // the smaller one; NaN and derivatives as maximum
Array minimum(const Array& a, Scalar b);
Array minimum(Scalar a, const Array& b);
/// The larger (smaller) one; of NaN and a number the number.
Array fmax(const Array& a, const Array& b);
Array fmin(const Array& a, const Array& b);  // the smaller one; of NaN and a number the number
/// log(exp(a) + exp(b)) without overflow.
Array logaddexp(const Array& a, const Array& b);
Array logaddexp(const Array& a, Scalar b);
Array logaddexp(Scalar a, const Array& b);
/// log2(2^a + 2^b) without overflow.
Array logaddexp2(const Array& a, const Array& b);
/// 0 for x < 0, 1 for x > 0, at 0 `at_zero`.
Array heaviside(const Array& x, const Array& at_zero);
Array copysign(const Array& a, const Array& b);  // |a| with the sign of b
// Comparisons give booleans. Ordering booleans throws DtypeError: 0 < x < 6 is a mistake, 0 < x && x < 6 is not.
Array equal(const Array& a, const Array& b);  // a == b
Array equal(const Array& a, Scalar b);
Array equal(Scalar a, const Array& b);
Array not_equal(const Array& a, const Array& b);  // a != b
Array not_equal(const Array& a, Scalar b);
Array not_equal(Scalar a, const Array& b);
Array less(const Array& a, const Array& b);  // a < b
Array less(const Array& a, Scalar b);
Array less(Scalar a, const Array& b);
Array less_equal(const Array& a, const Array& b);  // a <= b
Array less_equal(const Array& a, Scalar b);
Array less_equal(Scalar a, const Array& b);
Array greater(const Array& a, const Array& b);  // a > b
Array greater(const Array& a, Scalar b);
Array greater(Scalar a, const Array& b);
Array greater_equal(const Array& a, const Array& b);  // a >= b
Array greater_equal(const Array& a, Scalar b);
Array greater_equal(Scalar a, const Array& b);
// Logic takes any dtype as != 0 and gives booleans; bitwise operations take integers and booleans.
Array logical_and(const Array& a, const Array& b);  // boolean: both other than 0
Array logical_and(const Array& a, Scalar b);
Array logical_and(Scalar a, const Array& b);
Array logical_or(const Array& a, const Array& b);  // boolean: one other than 0
Array logical_or(const Array& a, Scalar b);
Array logical_or(Scalar a, const Array& b);
Array logical_xor(const Array& a, const Array& b);  // boolean: exactly one other than 0
Array bitwise_and(const Array& a, const Array& b);  // a & b, bit by bit
Array bitwise_and(const Array& a, Scalar b);
Array bitwise_and(Scalar a, const Array& b);
Array bitwise_or(const Array& a, const Array& b);  // a | b, bit by bit
Array bitwise_or(const Array& a, Scalar b);
Array bitwise_or(Scalar a, const Array& b);
Array bitwise_xor(const Array& a, const Array& b);  // a ^ b, bit by bit
Array bitwise_xor(const Array& a, Scalar b);
Array bitwise_xor(Scalar a, const Array& b);
/// Integers. right_shift keeps the sign of signed dtypes and shifts zeros into unsigned ones.
Array left_shift(const Array& a, const Array& b);
Array left_shift(const Array& a, Scalar b);
Array left_shift(Scalar a, const Array& b);
Array right_shift(const Array& a, const Array& b);  // a's bits moved to the right by b places
Array right_shift(const Array& a, Scalar b);
Array right_shift(Scalar a, const Array& b);

// ---- three operands -------------------------------------------------------------------------------------------------
/// a * b + c with one rounding.
Array fma(const Array& a, const Array& b, const Array& c);
/// on_true where the condition holds (is not 0), else on_false. Both are computed: a derivative that is infinite in the
/// branch not taken gives NaN, so guard its argument with another where.
Array where(const Array& condition, const Array& on_true, const Array& on_false);
Array where(const Array& condition, const Array& on_true, Scalar on_false);
Array where(const Array& condition, Scalar on_true, const Array& on_false);
Array where(const Array& condition, Scalar on_true, Scalar on_false);
/// minimum(maximum(x, lo), hi).
Array clip(const Array& x, const Array& lo, const Array& hi);
Array clip(const Array& x, Scalar lo, Scalar hi);
/// As clip, with the whole derivative on one side at a bound (lax.clamp): x gets it strictly between lo and hi only.
Array clamp(const Array& lo, const Array& x, const Array& hi);

// ---- comparisons of whole arrays, and with a tolerance --------------------------------------------------------------
struct CloseOptions {               // of isclose
  double rtol = 1e-5, atol = 1e-8;  // relative to |b|, and absolute
  bool equal_nan = false;           // NaN is close to NaN
};
/// |a - b| <= atol + rtol |b|, or equal infinities; boolean.
Array isclose(const Array& a, const Array& b, const CloseOptions& options = {});
/// |a - b| <= atol + rtol * |b| everywhere; NaN is close to nothing, equal infinities are close. Reads values: not
/// inside transforms.
bool allclose(const Array& a, const Array& b, double rtol = 1e-5, double atol = 1e-8);
/// Same shape and equal elements.
bool array_equal(const Array& a, const Array& b);
/// Do a and b broadcast to equal arrays? Reads values: not inside transforms.
bool array_equiv(const Array& a, const Array& b);

// ---- integers and bits; none is defined for complex numbers (DtypeError) --------------------------------------------
/// The number of bits that are 1, in x's dtype; of booleans 0 and 1.
Array population_count(const Array& x);
/// The number of bits of |x| that are 1, u8 (NumPy).
Array bitwise_count(const Array& x);
/// The number of zeros in front of the first 1, in x's dtype; of 0 the number of all bits.
Array clz(const Array& x);
/// Shifts zeros in from the left, also into signed dtypes; 0 for n outside of [0, number of bits).
Array shift_right_logical(const Array& x, const Array& n);
/// The upper half of the bits of the product a b, in the promoted dtype.
Array mulhi(const Array& a, const Array& b);
/// The largest number that divides both, not negative; 0 of 0 and 0. In the promoted dtype.
Array gcd(const Array& a, const Array& b);
/// The smallest number, not negative, that both divide; 0 if either is 0.
Array lcm(const Array& a, const Array& b);
/// The neighbour of x in the direction of y; y itself where they are equal. No derivative.
Array nextafter(const Array& x, const Array& y);
/// The distance from x to its neighbour further from 0, with x's sign; NaN for infinities.
Array spacing(const Array& x);
// x = mantissa * 2^exponent with |mantissa| in [1/2, 1), exponent i32; of 0, infinities and NaN x and 0. Derivatives
// take the exponent as constant.
struct Frexp {
  Array mantissa, exponent;
};
Frexp frexp(const Array& x);
/// x * 2^n, rounded once, also where 2^n is no number of the dtype. n: integers, which have no derivative.
Array ldexp(const Array& x, const Array& n);
/// x rounded to a format with that many bits of exponent (1 .. 11) and mantissa (0 .. 52), halves to even, in its own
/// dtype: what is too large becomes infinite, what is too small 0. So {5, 10} is f16, {8, 7} bf16, {4, 3} one kind of
/// fp8. The derivative is rounded so too.
Array reduce_precision(const Array& x, std::int64_t exponent_bits, std::int64_t mantissa_bits);

// ---- operators ------------------------------------------------------------------------------------------------------
Array operator-(const Array& x);
Array operator!(const Array& x);
Array operator~(const Array& x);
Array operator+(const Array& a, const Array& b);
Array operator+(const Array& a, Scalar b);
Array operator+(Scalar a, const Array& b);
Array operator-(const Array& a, const Array& b);
Array operator-(const Array& a, Scalar b);
Array operator-(Scalar a, const Array& b);
Array operator*(const Array& a, const Array& b);
Array operator*(const Array& a, Scalar b);
Array operator*(Scalar a, const Array& b);
Array operator/(const Array& a, const Array& b);
Array operator/(const Array& a, Scalar b);
Array operator/(Scalar a, const Array& b);
Array operator%(const Array& a, const Array& b);
Array operator%(const Array& a, Scalar b);
Array operator%(Scalar a, const Array& b);
Array operator==(const Array& a, const Array& b);
Array operator==(const Array& a, Scalar b);
Array operator==(Scalar a, const Array& b);
Array operator!=(const Array& a, const Array& b);
Array operator!=(const Array& a, Scalar b);
Array operator!=(Scalar a, const Array& b);
Array operator<(const Array& a, const Array& b);
Array operator<(const Array& a, Scalar b);
Array operator<(Scalar a, const Array& b);
Array operator<=(const Array& a, const Array& b);
Array operator<=(const Array& a, Scalar b);
Array operator<=(Scalar a, const Array& b);
Array operator>(const Array& a, const Array& b);
Array operator>(const Array& a, Scalar b);
Array operator>(Scalar a, const Array& b);
Array operator>=(const Array& a, const Array& b);
Array operator>=(const Array& a, Scalar b);
Array operator>=(Scalar a, const Array& b);
// Elementwise: both sides are always computed.
Array operator&&(const Array& a, const Array& b);
Array operator&&(const Array& a, Scalar b);
Array operator&&(Scalar a, const Array& b);
Array operator||(const Array& a, const Array& b);
Array operator||(const Array& a, Scalar b);
Array operator||(Scalar a, const Array& b);
inline Array operator&&(const Array& a, bool b) { return a && Scalar(b); }  // else C++'s own && would match as well
inline Array operator&&(bool a, const Array& b) { return Scalar(a) && b; }
inline Array operator||(const Array& a, bool b) { return a || Scalar(b); }
inline Array operator||(bool a, const Array& b) { return Scalar(a) || b; }
Array operator&(const Array& a, const Array& b);
Array operator&(const Array& a, Scalar b);
Array operator&(Scalar a, const Array& b);
Array operator|(const Array& a, const Array& b);
Array operator|(const Array& a, Scalar b);
Array operator|(Scalar a, const Array& b);
Array operator^(const Array& a, const Array& b);
Array operator^(const Array& a, Scalar b);
Array operator^(Scalar a, const Array& b);
Array operator<<(const Array& a, const Array& b);
Array operator<<(const Array& a, Scalar b);
Array operator<<(Scalar a, const Array& b);
Array operator>>(const Array& a, const Array& b);
Array operator>>(const Array& a, Scalar b);
Array operator>>(Scalar a, const Array& b);

/// x.item<T>(), also in templates and generic lambdas, where x.item<T>() would need `x.template`.
template <Number T> T item(const Array& x) { return x.template item<T>(); }
}  // namespace bora
