// foreign.h -- transforms called with containers of another library: the seam that <bora/xtensor.h> fills.
#pragma once
#include "bora/tree/children.h"

namespace bora::fx {
template <class T> struct NotForeign {};
template <tree::Foreign T> struct NotForeign<T> : std::false_type {};
/// Whether these trees hold containers of another library: f gets Arrays in their place, and results are turned back.
template <class... A> inline constexpr bool foreign = !(tree::detail::every<NotForeign, A>() && ... && true);
/// A result: f's own; several of f's; an X, or a pair of it and aux; the loss, aux and an X; derivatives by an X.
enum class Gives { value, stacked, gradient, value_and_gradient, jacobian, hessian };
/// call(f, transform, arguments...): transform(arguments as Arrays), turned back. X: the differentiated argument.
template <Gives what, class X, class... A> struct ForeignCall;
}  // namespace bora::fx
