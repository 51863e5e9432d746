// functions.h -- the named forms of positional functions: a row for each. Operands are matched by name: the axes of one
// must contain those of the others; the result has its axes in its order (the first one's if several have all). Axes of
// size 1 are not broadcast. Errors are AxisErrors that name the axes of both operands.
#pragma once
#include "bora/named/array.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/functions.h"
#include "bora/ops/reduce.h"
#include "bora/ops/transform.h"

namespace bora {
namespace detail {
/// The axes of the operand that has those of all others. AxisError naming `what` if there is none or sizes differ.
std::vector<Axis> common_axes(std::string_view what, std::initializer_list<const NamedArray*> operands);
/// x's array with the dimensions of `to`, which must contain x's axes.
Array spread_to(const NamedArray& x, const std::vector<Axis>& to);
/// Positions of the named axes of x, in the order given.
Dims positions(std::string_view what, const NamedArray& x, const AxisNames& names);
std::vector<Axis> without(const std::vector<Axis>& axes, const Dims& positions);

/// The type of a named function's argument in the positional function.
template <class X> struct Positional {
  using type = const X&;
};
template <> struct Positional<NamedArray> {
  using type = const Array&;
};
template <> struct Positional<Scalar> {
  using type = Scalar;
};
inline const NamedArray* operand(const NamedArray& x) { return &x; }
template <class X> const NamedArray* operand(const X&) { return nullptr; }
inline Array positional(const NamedArray& x, const std::vector<Axis>& axes) { return spread_to(x, axes); }
template <class X> const X& positional(const X& x, const std::vector<Axis>&) { return x; }
}  // namespace detail

/// The named form of an elementwise f: NamedArrays reach it with the same dimensions, other arguments as they are.
template <class... X>
NamedArray by_name(std::string_view what, Array (*f)(typename detail::Positional<X>::type...), const X&... x) {
  auto axes = detail::common_axes(what, {detail::operand(x)...});
  return tree::Leaf<NamedArray>::with_axes(f(detail::positional(x, axes)...), axes);
}
/// The named form of an f along axes, all of them for none, with f's default options. Axes that f removes disappear.
template <class D, class... Options> NamedArray by_name(std::string_view what, Array (*f)(const Array&, D, Options...),
                                                        const NamedArray& x, const std::optional<AxisNames>& axes) {
  auto along = axes ? detail::positions(what, x, *axes) : Dims();
  auto y = [&] {
    if constexpr (std::is_same_v<D, std::int64_t>) return f(x.array(), along.at(0));
    else return f(x.array(), axes ? Dimensions(along) : Dimensions(none), std::remove_cvref_t<Options>()...);
  }();
  auto left = y.ndim() == x.ndim() ? x.axes() : axes ? detail::without(x.axes(), along) : std::vector<Axis>();
  return tree::Leaf<NamedArray>::with_axes(std::move(y), std::move(left));
}

// ---- reductions: over all axes, or the named ones, which disappear --------------------------------------------------
inline NamedArray sum(const NamedArray& x) { return by_name("sum", sum, x, none); }
inline NamedArray sum(const NamedArray& x, const AxisNames& axes) { return by_name("sum", sum, x, axes); }
inline NamedArray mean(const NamedArray& x) { return by_name("mean", mean, x, none); }
inline NamedArray mean(const NamedArray& x, const AxisNames& axes) { return by_name("mean", mean, x, axes); }
inline NamedArray var(const NamedArray& x) { return by_name("var", var, x, none); }
inline NamedArray var(const NamedArray& x, const AxisNames& axes) { return by_name("var", var, x, axes); }
inline NamedArray prod(const NamedArray& x) { return by_name("prod", prod, x, none); }
inline NamedArray prod(const NamedArray& x, const AxisNames& axes) { return by_name("prod", prod, x, axes); }
inline NamedArray amax(const NamedArray& x) { return by_name("amax", amax, x, none); }
inline NamedArray amax(const NamedArray& x, const AxisNames& axes) { return by_name("amax", amax, x, axes); }
inline NamedArray amin(const NamedArray& x) { return by_name("amin", amin, x, none); }
inline NamedArray amin(const NamedArray& x, const AxisNames& axes) { return by_name("amin", amin, x, axes); }
inline NamedArray all(const NamedArray& x) { return by_name("all", all, x, none); }
inline NamedArray all(const NamedArray& x, const AxisNames& axes) { return by_name("all", all, x, axes); }
inline NamedArray any(const NamedArray& x) { return by_name("any", any, x, none); }
inline NamedArray any(const NamedArray& x, const AxisNames& axes) { return by_name("any", any, x, axes); }
inline NamedArray argmax(const NamedArray& x, const AxisNames::One& axis) {
  return by_name("argmax", argmax, x, AxisNames{axis});
}
inline NamedArray argmin(const NamedArray& x, const AxisNames::One& axis) {
  return by_name("argmin", argmin, x, AxisNames{axis});
}
inline NamedArray cumsum(const NamedArray& x, const AxisNames::One& axis) {
  return by_name("cumsum", cumsum, x, AxisNames{axis});
}
inline NamedArray sort(const NamedArray& x, const AxisNames::One& axis) {
  return by_name("sort", sort, x, AxisNames{axis});
}
inline NamedArray argsort(const NamedArray& x, const AxisNames::One& axis) {
  return by_name("argsort", argsort, x, AxisNames{axis});
}
inline NamedArray softmax(const NamedArray& x, const AxisNames::One& axis) {
  return by_name("softmax", softmax, x, AxisNames{axis});
}
inline NamedArray log_softmax(const NamedArray& x, const AxisNames::One& axis) {
  return by_name("log_softmax", log_softmax, x, AxisNames{axis});
}
inline NamedArray logsumexp(const NamedArray& x, const AxisNames::One& axis) {
  return by_name("logsumexp", logsumexp, x, AxisNames{axis});
}

// ---- elementwise ----------------------------------------------------------------------------------------------------
inline NamedArray exp(const NamedArray& x) { return by_name("exp", exp, x); }
inline NamedArray log(const NamedArray& x) { return by_name("log", log, x); }
inline NamedArray log1p(const NamedArray& x) { return by_name("log1p", log1p, x); }
inline NamedArray expm1(const NamedArray& x) { return by_name("expm1", expm1, x); }
inline NamedArray sqrt(const NamedArray& x) { return by_name("sqrt", sqrt, x); }
inline NamedArray rsqrt(const NamedArray& x) { return by_name("rsqrt", rsqrt, x); }
inline NamedArray square(const NamedArray& x) { return by_name("square", square, x); }
inline NamedArray abs(const NamedArray& x) { return by_name("abs", abs, x); }
inline NamedArray sign(const NamedArray& x) { return by_name("sign", sign, x); }
inline NamedArray floor(const NamedArray& x) { return by_name("floor", floor, x); }
inline NamedArray round(const NamedArray& x) { return by_name("round", round, x); }
inline NamedArray sin(const NamedArray& x) { return by_name("sin", sin, x); }
inline NamedArray cos(const NamedArray& x) { return by_name("cos", cos, x); }
inline NamedArray tanh(const NamedArray& x) { return by_name("tanh", tanh, x); }
inline NamedArray erf(const NamedArray& x) { return by_name("erf", erf, x); }
inline NamedArray erfc(const NamedArray& x) { return by_name("erfc", erfc, x); }
inline NamedArray sigmoid(const NamedArray& x) { return by_name("sigmoid", sigmoid, x); }
inline NamedArray relu(const NamedArray& x) { return by_name("relu", relu, x); }
inline NamedArray silu(const NamedArray& x) { return by_name("silu", silu, x); }
inline NamedArray gelu(const NamedArray& x, const GeluOptions& options = {}) {
  return by_name("gelu", gelu, x, options);
}
inline NamedArray stop_gradient(const NamedArray& x) { return by_name("stop_gradient", stop_gradient, x); }
inline NamedArray isnan(const NamedArray& x) { return by_name("isnan", isnan, x); }
inline NamedArray isfinite(const NamedArray& x) { return by_name("isfinite", isfinite, x); }
inline NamedArray maximum(const NamedArray& a, const NamedArray& b) { return by_name("maximum", maximum, a, b); }
inline NamedArray maximum(const NamedArray& a, Scalar b) { return by_name("maximum", maximum, a, b); }
inline NamedArray minimum(const NamedArray& a, const NamedArray& b) { return by_name("minimum", minimum, a, b); }
inline NamedArray minimum(const NamedArray& a, Scalar b) { return by_name("minimum", minimum, a, b); }
inline NamedArray pow(const NamedArray& a, const NamedArray& b) { return by_name("pow", pow, a, b); }
inline NamedArray pow(const NamedArray& a, Scalar b) { return by_name("pow", pow, a, b); }
inline NamedArray clip(const NamedArray& x, Scalar lo, Scalar hi) { return by_name("clip", clip, x, lo, hi); }
inline NamedArray where(const NamedArray& condition, const NamedArray& on_true, const NamedArray& on_false) {
  return by_name("where", where, condition, on_true, on_false);
}
inline NamedArray where(const NamedArray& condition, const NamedArray& on_true, Scalar on_false) {
  return by_name("where", where, condition, on_true, on_false);
}
inline NamedArray where(const NamedArray& condition, Scalar on_true, const NamedArray& on_false) {
  return by_name("where", where, condition, on_true, on_false);
}
inline NamedArray operator-(const NamedArray& x) { return by_name("-", operator-, x); }
inline NamedArray operator!(const NamedArray& x) { return by_name("!", operator!, x); }
inline NamedArray operator+(const NamedArray& a, const NamedArray& b) { return by_name("+", operator+, a, b); }
inline NamedArray operator+(const NamedArray& a, Scalar b) { return by_name("+", operator+, a, b); }
inline NamedArray operator+(Scalar a, const NamedArray& b) { return by_name("+", operator+, a, b); }
inline NamedArray operator-(const NamedArray& a, const NamedArray& b) { return by_name("-", operator-, a, b); }
inline NamedArray operator-(const NamedArray& a, Scalar b) { return by_name("-", operator-, a, b); }
inline NamedArray operator-(Scalar a, const NamedArray& b) { return by_name("-", operator-, a, b); }
inline NamedArray operator*(const NamedArray& a, const NamedArray& b) { return by_name("*", operator*, a, b); }
inline NamedArray operator*(const NamedArray& a, Scalar b) { return by_name("*", operator*, a, b); }
inline NamedArray operator*(Scalar a, const NamedArray& b) { return by_name("*", operator*, a, b); }
inline NamedArray operator/(const NamedArray& a, const NamedArray& b) { return by_name("/", operator/, a, b); }
inline NamedArray operator/(const NamedArray& a, Scalar b) { return by_name("/", operator/, a, b); }
inline NamedArray operator/(Scalar a, const NamedArray& b) { return by_name("/", operator/, a, b); }
inline NamedArray operator%(const NamedArray& a, const NamedArray& b) { return by_name("%", operator%, a, b); }
inline NamedArray operator%(const NamedArray& a, Scalar b) { return by_name("%", operator%, a, b); }
inline NamedArray operator==(const NamedArray& a, const NamedArray& b) { return by_name("==", operator==, a, b); }
inline NamedArray operator==(const NamedArray& a, Scalar b) { return by_name("==", operator==, a, b); }
inline NamedArray operator!=(const NamedArray& a, const NamedArray& b) { return by_name("!=", operator!=, a, b); }
inline NamedArray operator!=(const NamedArray& a, Scalar b) { return by_name("!=", operator!=, a, b); }
inline NamedArray operator<(const NamedArray& a, const NamedArray& b) { return by_name("<", operator<, a, b); }
inline NamedArray operator<(const NamedArray& a, Scalar b) { return by_name("<", operator<, a, b); }
inline NamedArray operator<(Scalar a, const NamedArray& b) { return by_name("<", operator<, a, b); }
inline NamedArray operator<=(const NamedArray& a, const NamedArray& b) { return by_name("<=", operator<=, a, b); }
inline NamedArray operator<=(const NamedArray& a, Scalar b) { return by_name("<=", operator<=, a, b); }
inline NamedArray operator<=(Scalar a, const NamedArray& b) { return by_name("<=", operator<=, a, b); }
inline NamedArray operator>(const NamedArray& a, const NamedArray& b) { return by_name(">", operator>, a, b); }
inline NamedArray operator>(const NamedArray& a, Scalar b) { return by_name(">", operator>, a, b); }
inline NamedArray operator>(Scalar a, const NamedArray& b) { return by_name(">", operator>, a, b); }
inline NamedArray operator>=(const NamedArray& a, const NamedArray& b) { return by_name(">=", operator>=, a, b); }
inline NamedArray operator>=(const NamedArray& a, Scalar b) { return by_name(">=", operator>=, a, b); }
inline NamedArray operator>=(Scalar a, const NamedArray& b) { return by_name(">=", operator>=, a, b); }
inline NamedArray operator&&(const NamedArray& a, const NamedArray& b) { return by_name("&&", operator&&, a, b); }
inline NamedArray operator||(const NamedArray& a, const NamedArray& b) { return by_name("||", operator||, a, b); }
}  // namespace bora
