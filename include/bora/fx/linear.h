// linear.h -- derivatives as linear functions: linearize, linear_transpose, and vjp and jvp with auxiliary results.
#pragma once
#include "bora/fx/grad.h"

namespace bora {
namespace fx {
/// f, marked: it returns std::pair{result, aux}.
template <class F> struct HasAux {
  F f;
  template <class... A>
    requires Callable<F, A...>
  auto operator()(const A&... a) const {
    return std::invoke(f, a...);
  }
};
template <class F> inline constexpr bool marked_aux = false;
template <class F> inline constexpr bool marked_aux<HasAux<F>> = true;
template <class T> inline constexpr bool is_pair = false;
template <class A, class B> inline constexpr bool is_pair<std::pair<A, B>> = true;
/// The part of f's result R that is differentiated, and the rest.
template <class F, class R> struct Parts {
  using Result = R;
  static const R& result(const R& r) { return r; }
};
template <class F, class R>
  requires marked_aux<F>
struct Parts<F, R> {
  static_assert(is_pair<R>, "has_aux: f must return std::pair{result, aux}");
  using Result = typename R::first_type;
  static const Result& result(const R& r) { return r.first; }
};
/// The leaves of the differentiated part, of all leaves of the result.
template <class F, class R> Arrays result_leaves(const R& like, const Arrays& all) {
  auto n = tree::count_leaves(tree::node(Parts<F, R>::result(like)));
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)};
}
/// Tangents of `leaves`, zeros where none flows (empty where they are not floating).
Arrays pushed(const std::function<Arrays(const Arrays&)>& push, const Arrays& tangents, const Types& out);
template <class... A> auto alone_or_tuple(std::tuple<A...> t) {
  if constexpr (sizeof...(A) == 1) return std::get<0>(std::move(t));
  else return t;
}
template <class F, class... A> auto linearize_arrays(const F& f, const A&... a) {
  static_assert(Callable<F, A...>,
                "linearize: f cannot be called with these arguments; it takes them by value or const&");
  check_trees<A...>();
  if constexpr (are_trees<A...> && Callable<F, A...>) {
    using R = result_t<F, A...>;
    using P = Parts<F, R>;
    std::optional<R> out;
    auto l = linearize_flat(flat_fn<R>(f, out, a...), pack(a...));
    auto push = [push = std::move(l.push), types = types_of(result_leaves<F>(*out, l.out)),
                 like = abstract(P::result(*out)), args = std::tuple<A...>{abstract(a)...}](const A&... da) ->
        typename P::Result {
          std::tuple<A...> given{da...};
          return tree::unflatten(
              like, pushed(push, tangents(tree::node(args), tree::node(given), "linearize"), types));
        };
    R y = tree::unflatten(std::move(*out), l.out);
    if constexpr (marked_aux<F>) return std::tuple{std::move(y.first), std::move(push), std::move(y.second)};
    else return std::pair{std::move(y), std::move(push)};
  }
}
}  // namespace fx

/// f, of which vjp, jvp, linearize, jacfwd, jacrev and hessian know that it returns std::pair{result, aux}: they
/// differentiate the result only and return aux too.
template <class F> auto has_aux(F f) { return fx::HasAux<F>{std::move(f)}; }
/// {y, pull, aux} where f gives std::pair{y, aux}.
template <class F, class X, class... More> auto vjp(const fx::HasAux<F>& f, const X& x, const More&... more) {
  if constexpr (fx::takes_fractions<F, X, More...>) return vjp(f, fx::fractions(x), fx::fractions(more)...);
  else if constexpr (fx::takes_arrays<F, X, More...>) return vjp(f, fx::arrays(x), fx::arrays(more)...);
  else {
    using R = fx::result_t<F, X, More...>;
    using Y = typename fx::Parts<fx::HasAux<F>, R>::Result;
    auto [out, pull] = fx::vjp_of(f.f, x, more...);
    auto like = fx::abstract(out.second);
    auto of_result = [pull = std::move(pull), none_of = tree::map([](const Array&) { return Array(); }, like)](
                         const Y& ct) { return pull(R(ct, none_of)); };
    return std::tuple{std::move(out.first), std::move(of_result), std::move(out.second)};
  }
}
/// {f(args...), push}: push maps tangents of the arguments to the tangent of f's result, and may be called many times:
/// f is traced once. Empty leaves of tangents are zero. f may be has_aux(..): {y, push, aux}.
template <class F, class... A> auto linearize(const F& f, const A&... a) {
  if constexpr (fx::takes_fractions<F, A...>) return linearize(f, fx::fractions(a)...);
  else if constexpr (fx::takes_arrays<F, A...>) return linearize(f, fx::arrays(a)...);
  else return fx::linearize_arrays(f, a...);
}
/// {y, its derivative along dx, aux} where f gives std::pair{y, aux}; several arguments are tuples, as for any f.
template <class F, class X> auto jvp(const fx::HasAux<F>& f, const X& x, const X& dx) {
  auto [y, dy] = jvp(f.f, x, dx);
  static_assert(fx::is_pair<std::remove_cvref_t<decltype(y)>>, "has_aux: f must return std::pair{result, aux}");
  return std::tuple{std::move(y.first), std::move(dy.first), std::move(y.second)};
}
/// For a linear f of values like these (of which only shapes and dtypes matter; they may come from eval_shape): the
/// transpose, which maps a cotangent of f's result to the cotangent of the argument, or to a tuple of them. All are
/// floating. Throws TraceError where f is not linear.
template <class F, class... A> auto linear_transpose(const F& f, const A&... like) {
  static_assert(fx::Callable<F, A...>,
                "linear_transpose: f cannot be called with these arguments; it takes them by value or const&");
  fx::check_trees<A...>();
  if constexpr (fx::are_trees<A...> && fx::Callable<F, A...>) {
    using R = fx::result_t<F, A...>;
    std::optional<R> out;
    auto back = fx::linear_transpose_flat(fx::flat_fn<R>(f, out, like...), types_of(fx::pack(like...)));
    return [back = std::move(back), result = fx::abstract(std::move(*out)),
            args = std::tuple<A...>{fx::abstract(like)...}](const R& ct) {
      auto types = types_of(tree::leaves(result));
      return fx::alone_or_tuple(
          tree::unflatten(args, back(fx::cotangents(tree::node(result), tree::node(ct), types, "linear_transpose"))));
    };
  }
}
}  // namespace bora
