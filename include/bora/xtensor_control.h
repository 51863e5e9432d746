// xtensor_control.h -- derivatives, loops and branches called with xtensor's containers, by the rules of
// xtensor_transforms.h. Each overload has the form of Bora's own and wins by its constraint.
#pragma once
#include "bora/fx/lower.h"
#include "bora/fx/ode.h"
#include "bora/xtensor_transforms.h"

namespace bora {
namespace fx {
/// pull with cotangents of any form that becomes R's, the result of f.
template <class R, class Pull, class... A> auto pulled(Pull pull, std::type_identity<std::tuple<A...>>) {
  return [pull = std::move(pull)](const auto& ct) {
    auto g = pull(static_cast<const R&>(native(ct)));
    if constexpr (sizeof...(A) == 1) return (Back<A>::out(g), ...);
    else return Back<std::tuple<A...>>::out(g);
  };
}
}  // namespace fx

template <class F, class X, class... More>
requires fx::foreign<X, More...> auto vjp(const F& f, const X& x, const More&... more) {
  if constexpr (fx::check_takes_arrays<F, X, More...>()) {
    using K = fx::exact_results<X, More...>;
    auto [y, pull] = bora::vjp(f, fx::native(x), fx::native(more)...);
    using R = std::remove_cvref_t<decltype(y)>;
    auto back = fx::pulled<R>(std::move(pull), std::type_identity<std::tuple<X, More...>>{});
    return std::pair{fx::turned<K>(y), std::move(back)};
  }
}
template <class F, class X, class... More>
requires fx::foreign<X, More...> auto vjp(const fx::HasAux<F>& f, const X& x, const More&... more) {
  if constexpr (fx::check_takes_arrays<F, X, More...>()) {
    using K = fx::exact_results<X, More...>;
    auto [y, pull, aux] = bora::vjp(f, fx::native(x), fx::native(more)...);
    using R = std::remove_cvref_t<decltype(y)>;
    auto back = fx::pulled<R>(std::move(pull), std::type_identity<std::tuple<X, More...>>{});
    return std::tuple{fx::turned<K>(y), std::move(back), fx::turned<K>(aux)};
  }
}
namespace fx {
/// f of x, or of x's elements.
template <class F, class X> consteval bool takes_one_or_each() {
  if constexpr (Callable<F, X>) return true;
  else if constexpr (requires { std::tuple_size<X>::value; })
    return requires(const F& f, const X& x) { std::apply(f, x); };
  else return false;
}
template <class F, class X, class D> auto xt_jvp(const F& f, const X& x, const D& dx) {
  constexpr bool ok = takes_one_or_each<std::remove_cvref_t<decltype(innermost(f))>, native_t<X>>();
  constexpr bool like = std::is_same_v<native_t<X>, native_t<D>>;
  static_assert(ok, "jvp: f is called with Arrays in place of xtensor's containers: write const auto& x or "
                    "const Array& x for a parameter");
  static_assert(like, "jvp: the tangents are a tree like the arguments");
  if constexpr (ok && like) return turned<exact_results<X>>(bora::jvp(f, native(x), native(dx)));
}
}  // namespace fx
template <class F, class X>
requires fx::foreign<X> auto jvp(const F& f, const X& x, const X& dx) { return fx::xt_jvp(f, x, dx); }
template <class F, class X>
requires fx::foreign<X> auto jvp(const fx::HasAux<F>& f, const X& x, const X& dx) { return fx::xt_jvp(f, x, dx); }
template <class F, class X, class D>
requires fx::foreign<X, D> auto jvp(const F& f, const X& x, const D& dx) { return fx::xt_jvp(f, x, dx); }

template <class F, class... A>
requires fx::foreign<A...> auto linearize(const F& f, const A&... a) {
  using Inner = std::remove_cvref_t<decltype(fx::innermost(f))>;
  if constexpr (fx::check_takes_arrays<Inner, A...>()) {
    using K = fx::exact_results<A...>;
    auto wrap = [](auto push) {
      return [push = std::move(push)](const auto&... da) {
        return fx::turned<K>(push(static_cast<const fx::native_t<A>&>(fx::native(da))...));
      };
    };
    auto l = bora::linearize(f, fx::native(a)...);
    if constexpr (fx::marked_aux<F>)
      return std::tuple{fx::turned<K>(std::get<0>(l)), wrap(std::get<1>(std::move(l))), fx::turned<K>(std::get<2>(l))};
    else return std::pair{fx::turned<K>(l.first), wrap(std::move(l.second))};
  }
}
template <class F, class... A>
requires fx::foreign<A...> auto linear_transpose(const F& f, const A&... like) {
  if constexpr (fx::check_takes_arrays<F, A...>()) {
    using R = fx::result_t<F, fx::native_t<A>...>;
    return fx::pulled<R>(bora::linear_transpose(f, fx::native(like)...), std::type_identity<std::tuple<A...>>{});
  }
}
template <class F, class X, class... Rest>
requires fx::foreign<X, Rest...> auto hvp(const F& f, const X& x, const X& v, const Rest&... rest) {
  if constexpr (fx::check_takes_arrays<F, X, Rest...>())
    return fx::Back<X>::out(bora::hvp(f, fx::native(x), fx::native(v), fx::native(rest)...));
}

// ---- loops and branches ---------------------------------------------------------------------------------------------
template <class F, class C, class X>
requires fx::foreign<C, X> auto scan(const F& body, const C& init, const X& xs, const ScanOptions& options = {}) {
  if constexpr (fx::check_takes_arrays<F, C, X>()) {
    auto [last, ys] = bora::scan(body, fx::native(init), fx::native(xs), options);
    return std::pair{fx::Back<C>::out(last), fx::turned<fx::stacked_results<C, X>>(ys)};
  }
}
template <class T, class F, class... A>
requires fx::foreign<A...> auto cond(const Array& predicate, const T& on_true, const F& on_false,
                                     const A&... operands) {
  if constexpr (fx::check_takes_arrays<T, A...>() && fx::check_takes_arrays<F, A...>())
    return fx::turned<fx::exact_results<A...>>(
        bora::cond(predicate, on_true, on_false, fx::native(operands)...));
}
template <class F, class... More, class... A>
requires fx::foreign<A...> auto switch_(const Array& index, const std::tuple<F, More...>& branches,
                                        const A&... operands) {
  return fx::turned<fx::exact_results<A...>>(bora::switch_(index, branches, fx::native(operands)...));
}
template <class F, class... A>
requires fx::foreign<A...> auto switch_(const Array& index, const std::vector<F>& branches, const A&... operands) {
  return fx::turned<fx::exact_results<A...>>(bora::switch_(index, branches, fx::native(operands)...));
}
template <class P, class F, class C>
requires fx::foreign<C> auto while_loop(const P& condition, const F& body, const C& init) {
  if constexpr (fx::check_takes_arrays<P, C>() && fx::check_takes_arrays<F, C>())
    return fx::Back<C>::out(bora::while_loop(condition, body, fx::native(init)));
}
template <class F, class C>
requires fx::foreign<C> auto fori_loop(const LoopBound& lower, const LoopBound& upper, const F& body, const C& init) {
  if constexpr (fx::check_takes_arrays<F, Array, C>())
    return fx::Back<C>::out(bora::fori_loop(lower, upper, body, fx::native(init)));
}
template <class F, class T>
requires fx::foreign<T> auto associative_scan(const F& f, const T& elements,
                                              const AssociativeScanOptions& options = {}) {
  if constexpr (fx::check_takes_arrays<F, T, T>())
    return fx::Back<T>::out(bora::associative_scan(f, fx::native(elements), options));
}
namespace fx {
template <class F, class X>
requires foreign<X> auto map(const F& f, const X& xs, const MapOptions& options = {}) {
  if constexpr (check_takes_arrays<F, X>()) return turned<stacked_results<X>>(fx::map(f, native(xs), options));
}
}  // namespace fx
namespace integrate {
template <class F, class Y>
requires fx::foreign<Y> auto odeint(const F& f, const Y& y0, const Array& t, const OdeOptions& options = {}) {
  if constexpr (fx::check_takes_arrays<F, Y, Array>())
    return fx::turned<fx::stacked_results<Y>>(integrate::odeint(f, fx::native(y0), t, options));
}
}  // namespace integrate

// ---- Programs and shapes, as of a call with Arrays ------------------------------------------------------------------
template <class F, class... A>
requires fx::foreign<A...> ProgramPtr program_of(const F& f, const A&... args) {
  return bora::program_of(f, fx::native(args)...);
}
template <class F, class... A>
requires fx::foreign<A...> auto eval_shape(const F& f, const A&... args) {
  return bora::eval_shape(f, fx::native(args)...);
}
template <class F, class... A>
requires fx::foreign<A...> auto lower(const F& f, const A&... like) {
  return bora::lower(f, fx::native(like)...);
}
}  // namespace bora
