// by_name.h -- the named forms of positional functions, those of a program too: by_name("blend", blend, a, b).
#pragma once
#include "bora/named/array.h"
#include "bora/ops/arguments.h"

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
}  // namespace bora
