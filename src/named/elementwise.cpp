// The named forms of functions of each element. A row of a list is all that a function needs: its definitions, and the
// sample on which tests/named/laws_test.cpp compares it with its positional form.
#include "bora/named/elementwise.h"
#include <cmath>
#include "bora/named/by_name.h"
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/special.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "named/api/registry.h"
#include "named/api/support.h"
#include "bora/ops/nn.h"

// name, and the range and dtype of its samples
// clang-format off
#define BORA_UNARY(F) \
  F(negative, -1, 1, f32) F(exp, -1, 1, f32) F(expm1, -1, 1, f32) F(exp2, -1, 1, f32) F(log, 0.5, 2, f32) \
  F(log1p, -0.5, 2, f32) F(log2, 0.5, 2, f32) F(log10, 0.5, 2, f32) F(sqrt, 0.5, 2, f32) F(rsqrt, 0.5, 2, f32) \
  F(cbrt, -2, 2, f32) F(square, -2, 2, f32) F(reciprocal, 0.5, 2, f32) F(sin, -3, 3, f32) F(cos, -3, 3, f32) \
  F(tan, -1, 1, f32) F(sinh, -2, 2, f32) F(cosh, -2, 2, f32) F(tanh, -2, 2, f32) F(arctanh, -0.9, 0.9, f32) \
  F(sinc, -2, 2, f32) F(erf, -2, 2, f32) F(erfc, -2, 2, f32) F(erf_inv, -0.9, 0.9, f32) F(abs, -2, 2, f32) \
  F(fabs, -2, 2, f32) F(sign, -2, 2, f32) F(floor, -3, 3, f32) F(ceil, -3, 3, f32) F(round, -3, 3, f32) \
  F(rint, -3, 3, f32) F(trunc, -3, 3, f32) F(fix, -3, 3, f32) F(positive, -2, 2, f32) F(deg2rad, -90, 90, f32) \
  F(rad2deg, -2, 2, f32) F(radians, -90, 90, f32) F(degrees, -2, 2, f32) F(isnan, -2, 2, f32) F(isinf, -2, 2, f32) \
  F(isfinite, -2, 2, f32) F(isposinf, -2, 2, f32) F(isneginf, -2, 2, f32) F(signbit, -2, 2, f32) \
  F(logical_not, -1, 2, i32) F(bitwise_not, -9, 9, i32) F(real, -2, 2, f32) F(imag, -2, 2, f32) F(conj, -2, 2, f32) \
  F(conjugate, -2, 2, f32) F(angle, -2, 2, f32) F(iscomplex, -2, 2, f32) F(isreal, -2, 2, f32) F(sigmoid, -3, 3, f32) \
  F(relu, -2, 2, f32) F(silu, -3, 3, f32) F(softplus, -3, 3, f32) F(stop_gradient, -2, 2, f32)
// of two Arrays, or one and a number on either side
#define BORA_BINARY(F) \
  F(add, -2, 2, f32) F(subtract, -2, 2, f32) F(multiply, -2, 2, f32) F(divide, 0.5, 2, f32) \
  F(floor_divide, 0.5, 9, f32) F(remainder, 0.5, 9, f32) F(fmod, 0.5, 9, f32) F(power, 0.5, 2, f32) \
  F(pow, 0.5, 2, f32) F(maximum, -2, 2, f32) F(minimum, -2, 2, f32) F(logaddexp, -2, 2, f32) F(equal, 0, 3, i32) \
  F(not_equal, 0, 3, i32) F(less, -2, 2, f32) F(less_equal, -2, 2, f32) F(greater, -2, 2, f32) \
  F(greater_equal, -2, 2, f32) F(logical_and, 0, 2, i32) F(logical_or, 0, 2, i32) F(bitwise_and, 0, 99, i32) \
  F(bitwise_or, 0, 99, i32) F(bitwise_xor, 0, 99, i32) F(left_shift, 0, 5, i32) F(right_shift, 0, 5, i32)
// of two Arrays
#define BORA_PAIRS(F) \
  F(float_power, 0.5, 2, f32) F(fmax, -2, 2, f32) F(fmin, -2, 2, f32) F(hypot, -2, 2, f32) F(logaddexp2, -2, 2, f32) \
  F(heaviside, -2, 2, f32) F(copysign, -2, 2, f32) F(logical_xor, 0, 2, i32)
#define BORA_OPERATORS(F) \
  F(+) F(-) F(*) F(/) F(%) F(==) F(!=) F(<) F(<=) F(>) F(>=) F(&&) F(||) F(&) F(|) F(^) F(<<) F(>>)
// clang-format on

namespace bora {
namespace {
/// A number as an Array of the dtype that it would have beside x.
Array beside(const NamedArray& x, Scalar s) {
  auto d = x.dtype();
  if (s.kind == Scalar::Kind::complex) return constant(s, complex_dtype(d));
  if (!is_inexact(d) && !s.integral()) d = f32;
  if (d == boolean && s.kind == Scalar::Kind::integer) d = i32;
  return constant(s, d);
}
NamedArray number(const NamedArray& x, Scalar s) { return made(beside(x, s), {}); }
}  // namespace

#define UNARY(f, lo, hi, dtype) \
  NamedArray f(const NamedArray& x) { return by_name(#f, f, x); }
BORA_UNARY(UNARY)
#define BINARY(f, lo, hi, dtype)                                                                   \
  NamedArray f(const NamedArray& a, const NamedArray& b) { return by_name(#f, f, a, b); }          \
  NamedArray f(const NamedArray& a, Scalar b) { return by_name(#f, f, a, b); }                     \
  NamedArray f(Scalar a, const NamedArray& b) { return by_name(#f, f, a, b); }
BORA_BINARY(BINARY)
#define PAIR(f, lo, hi, dtype)                                                                     \
  NamedArray f(const NamedArray& a, const NamedArray& b) { return by_name(#f, f, a, b); }          \
  NamedArray f(const NamedArray& a, Scalar b) { return f(a, number(a, b)); }                       \
  NamedArray f(Scalar a, const NamedArray& b) { return f(number(b, a), b); }
BORA_PAIRS(PAIR)
#define OPERATOR(o)                                                                                \
  NamedArray operator o(const NamedArray& a, const NamedArray& b) { return by_name(#o, operator o, a, b); } \
  NamedArray operator o(const NamedArray& a, Scalar b) { return by_name(#o, operator o, a, b); }   \
  NamedArray operator o(Scalar a, const NamedArray& b) { return by_name(#o, operator o, a, b); }
BORA_OPERATORS(OPERATOR)
NamedArray operator-(const NamedArray& x) { return by_name("-", operator-, x); }
NamedArray operator!(const NamedArray& x) { return by_name("!", operator!, x); }
NamedArray operator~(const NamedArray& x) { return by_name("~", operator~, x); }

NamedArray i0(const NamedArray& x) { return by_name("i0", special::i0, x); }
NamedArray gelu(const NamedArray& x) { return gelu(x, GeluOptions()); }
NamedArray gelu(const NamedArray& x, const GeluOptions& options) { return by_name("gelu", gelu, x, options); }
NamedArray around(const NamedArray& x, int decimals) {
  return made(around(x.array(), decimals), x.axes());
}
NamedArray nan_to_num(const NamedArray& x, const NamedNanToNum& o) {
  return made(nan_to_num(x.array(), {.nan = o.nan, .posinf = o.posinf, .neginf = o.neginf}), x.axes());
}
NamedDivision divmod(const NamedArray& a, const NamedArray& b) { return {floor_divide(a, b), remainder(a, b)}; }
NamedDivision divmod(const NamedArray& a, Scalar b) { return {floor_divide(a, b), remainder(a, b)}; }
NamedArray where(const NamedArray& c, const NamedArray& x, const NamedArray& y) {
  return by_name("where", where, c, x, y);
}
NamedArray where(const NamedArray& c, const NamedArray& x, Scalar y) { return by_name("where", where, c, x, y); }
NamedArray where(const NamedArray& c, Scalar x, const NamedArray& y) { return by_name("where", where, c, x, y); }
NamedArray where(const NamedArray& c, Scalar x, Scalar y) { return by_name("where", where, c, x, y); }
NamedArray clip(const NamedArray& x, const NamedArray& lo, const NamedArray& hi) {
  return by_name("clip", clip, x, lo, hi);
}
NamedArray clip(const NamedArray& x, Scalar lo, Scalar hi) { return by_name("clip", clip, x, lo, hi); }

NamedArray isclose(const NamedArray& a, const NamedArray& b, const NamedClose& o) {
  CloseOptions options{.rtol = o.rtol, .atol = o.atol, .equal_nan = o.equal_nan};
  auto axes = detail::common_axes("isclose", {&a, &b});
  return made(isclose(spread_to(a, axes), spread_to(b, axes), options), axes);
}
bool allclose(const NamedArray& a, const NamedArray& b, const NamedClose& o) {
  return all(isclose(a, b, o).array()).item<bool>();
}
bool array_equal(const NamedArray& a, const NamedArray& b) {
  if (a.ndim() != b.ndim()) return false;
  for (auto& x : a.axes())
    if (auto p = find_axis(b.axes(), x.name); p < 0 || b.axes()[static_cast<std::size_t>(p)] != x) return false;
  return array_equal(a.array(), aligned(b, a.axes()).array());
}
bool array_equiv(const NamedArray& a, const NamedArray& b) {
  auto axes = detail::common_axes("array_equiv", {&a, &b});
  return array_equal(spread_to(a, axes), spread_to(b, axes));
}

namespace {
#define UNARY_ROW(f, lo, hi, dtype)                                                                             \
  {#f, NamedKind::unary, [](const NamedArrays& x) { return f(x[0]); }, [](const Arrays& x) { return f(x[0]); }, \
   dtype, lo, hi},
#define BINARY_ROW(f, lo, hi, dtype)                                                                            \
  {#f, NamedKind::binary, [](const NamedArrays& x) { return f(x[0], x[1]); },                                   \
   [](const Arrays& x) { return f(x[0], x[1]); }, dtype, lo, hi},
#define NUMBER_ROW(f, of_x, lo, hi, dtype)                                                                     \
  {#f " with 2", NamedKind::unary, [](const NamedArrays& x) { return f(x[0], 2); },                            \
   [](const Arrays& x) { return f(x[0], of_x); }, dtype, lo, hi},                                              \
      {"2 with " #f, NamedKind::unary, [](const NamedArrays& x) { return f(2, x[0]); },                        \
       [](const Arrays& x) { return f(of_x, x[0]); }, dtype, lo, hi},
#define RIGHT_ROW(f, lo, hi, dtype) NUMBER_ROW(f, 2, lo, hi, dtype)
#define PAIR_ROW(f, lo, hi, dtype) NUMBER_ROW(f, full_of(x[0].type(), 2), lo, hi, dtype)
[[maybe_unused]] const bool elementwise_registered =
    add_named({BORA_UNARY(UNARY_ROW) BORA_BINARY(BINARY_ROW) BORA_PAIRS(BINARY_ROW) BORA_BINARY(RIGHT_ROW)
                   BORA_PAIRS(PAIR_ROW)});
}  // namespace
}  // namespace bora
#undef BORA_UNARY
#undef BORA_BINARY
#undef BORA_PAIRS
#undef BORA_OPERATORS
#undef UNARY
#undef BINARY
#undef PAIR
#undef OPERATOR
#undef UNARY_ROW
#undef BINARY_ROW
#undef NUMBER_ROW
#undef RIGHT_ROW
#undef PAIR_ROW
