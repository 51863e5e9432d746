// elementwise.h -- operations on each element, and the operators.
//
// Two Arrays are promoted (JAX's lattice, base/dtype.h) and broadcast by NumPy's rules. A number beside an Array is
// weak: it takes the Array's dtype, except that a fraction makes integers and booleans f32 and an integer makes
// booleans i32. Functions whose result is a fraction (exp, sqrt, /, ..) take integers and booleans as f32. Errors:
// ShapeError for shapes that do not broadcast, DtypeError for a dtype the operation does not take, ValueError for a
// number that the Array's integer dtype cannot hold.
#pragma once
#include <math.h>  // with these two, abs(-1.5) and sqrt(2.f) of plain numbers are std's also without std::, not C's
#include <stdlib.h>
#include "bora/array/array.h"

namespace bora {
// ---- one operand ----------------------------------------------------------------------------------------------------
Array negative(const Array& x);
Array exp(const Array& x);
Array expm1(const Array& x);  // exp(x) - 1, exact near 0
Array exp2(const Array& x);
Array log(const Array& x);
Array log1p(const Array& x);  // log(1 + x), exact near 0
Array log2(const Array& x);
Array log10(const Array& x);
Array sqrt(const Array& x);   // derivative at 0: inf
Array rsqrt(const Array& x);  // 1 / sqrt(x)
Array cbrt(const Array& x);
Array square(const Array& x);
Array reciprocal(const Array& x);
Array sin(const Array& x);
Array cos(const Array& x);
Array tan(const Array& x);
Array sinh(const Array& x);
Array cosh(const Array& x);
Array tanh(const Array& x);
Array arctanh(const Array& x);
Array erf(const Array& x);
Array erfc(const Array& x);  // 1 - erf(x), exact in the tail
Array erf_inv(const Array& x);
Array abs(const Array& x);    // derivative at 0: 1
Array sign(const Array& x);   // -1, 0, 1; NaN stays
Array floor(const Array& x);  // floor, ceil, round, trunc: integers do not change; derivative 0
Array ceil(const Array& x);
Array round(const Array& x);  // halves to even
Array trunc(const Array& x);
Array isnan(const Array& x);  // boolean, as isinf and isfinite
Array isinf(const Array& x);
Array isfinite(const Array& x);
Array logical_not(const Array& x);  // boolean: x == 0
Array bitwise_not(const Array& x);  // integers and booleans
/// The same bits as another dtype of the same size. Throws DtypeError if sizes differ.
Array bitcast(const Array& x, Dtype dtype);

// ---- two operands ---------------------------------------------------------------------------------------------------
Array add(const Array& a, const Array& b);
Array add(const Array& a, Scalar b);
Array add(Scalar a, const Array& b);
Array subtract(const Array& a, const Array& b);
Array subtract(const Array& a, Scalar b);
Array subtract(Scalar a, const Array& b);
Array multiply(const Array& a, const Array& b);
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
/// a^b. A whole number b (not 2.0) multiplies repeatedly: any sign of a, exact derivatives also at 0.
Array power(const Array& a, const Array& b);
Array power(const Array& a, Scalar b);
Array power(Scalar a, const Array& b);
Array pow(const Array& a, const Array& b);
Array pow(const Array& a, Scalar b);
Array pow(Scalar a, const Array& b);
/// NaN if either is NaN; equal operands share the derivative, half each.
Array maximum(const Array& a, const Array& b);
Array maximum(const Array& a, Scalar b);
Array maximum(Scalar a, const Array& b);
Array minimum(const Array& a, const Array& b);
Array minimum(const Array& a, Scalar b);
Array minimum(Scalar a, const Array& b);
/// log(exp(a) + exp(b)) without overflow.
Array logaddexp(const Array& a, const Array& b);
Array logaddexp(const Array& a, Scalar b);
Array logaddexp(Scalar a, const Array& b);
// Comparisons give booleans. Ordering booleans throws DtypeError: 0 < x < 6 is a mistake, 0 < x && x < 6 is not.
Array equal(const Array& a, const Array& b);
Array equal(const Array& a, Scalar b);
Array equal(Scalar a, const Array& b);
Array not_equal(const Array& a, const Array& b);
Array not_equal(const Array& a, Scalar b);
Array not_equal(Scalar a, const Array& b);
Array less(const Array& a, const Array& b);
Array less(const Array& a, Scalar b);
Array less(Scalar a, const Array& b);
Array less_equal(const Array& a, const Array& b);
Array less_equal(const Array& a, Scalar b);
Array less_equal(Scalar a, const Array& b);
Array greater(const Array& a, const Array& b);
Array greater(const Array& a, Scalar b);
Array greater(Scalar a, const Array& b);
Array greater_equal(const Array& a, const Array& b);
Array greater_equal(const Array& a, Scalar b);
Array greater_equal(Scalar a, const Array& b);
// Logic takes any dtype as != 0 and gives booleans; bitwise operations take integers and booleans.
Array logical_and(const Array& a, const Array& b);
Array logical_and(const Array& a, Scalar b);
Array logical_and(Scalar a, const Array& b);
Array logical_or(const Array& a, const Array& b);
Array logical_or(const Array& a, Scalar b);
Array logical_or(Scalar a, const Array& b);
Array bitwise_and(const Array& a, const Array& b);
Array bitwise_and(const Array& a, Scalar b);
Array bitwise_and(Scalar a, const Array& b);
Array bitwise_or(const Array& a, const Array& b);
Array bitwise_or(const Array& a, Scalar b);
Array bitwise_or(Scalar a, const Array& b);
Array bitwise_xor(const Array& a, const Array& b);
Array bitwise_xor(const Array& a, Scalar b);
Array bitwise_xor(Scalar a, const Array& b);
/// Integers. right_shift keeps the sign of signed dtypes and shifts zeros into unsigned ones.
Array left_shift(const Array& a, const Array& b);
Array left_shift(const Array& a, Scalar b);
Array left_shift(Scalar a, const Array& b);
Array right_shift(const Array& a, const Array& b);
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

// ---- activations: bf16 is computed in f32 and rounded once ----------------------------------------------------------
Array sigmoid(const Array& x);
Array relu(const Array& x);      // derivative 0 at 0
Array silu(const Array& x);      // x * sigmoid(x)
Array softplus(const Array& x);  // log(1 + exp(x))
struct GeluOptions {
  bool approximate = true;  // the tanh form (GPT-2); false: with erf
};
Array gelu(const Array& x, const GeluOptions& options = {});

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
/// on_true where condition holds, else on_false; equal shapes and dtypes, no broadcasting.
Array select(const Array& condition, const Array& on_true, const Array& on_false);
}  // namespace bora
