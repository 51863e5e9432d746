// custom.h -- a function with a user-defined backward pass.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
namespace fx {
/// Gradients of the floating leaves of the argument; zeros where none was given. Throws if a gradient's type is not its
/// input's.
void append_gradients(tree::Node argument, tree::Node gradient, Arrays&);
void append_zero_gradients(tree::Node argument, Arrays&);
/// Cotangents of the floating leaves of `out`; the others stay empty.
Arrays spread_cotangents(tree::Node out, const Array* cotangents);
template <class X, class G> void append_gradient(const X& x, const G& g, Arrays& to) {
  static_assert(std::is_same_v<X, G> || std::is_same_v<G, std::nullopt_t>,
                "custom_vjp: bwd must return the gradient with the type of the argument (a tuple of them for several), "
                "or none for zero");
  if constexpr (std::is_same_v<X, G>) append_gradients(tree::node(x), tree::node(g), to);
  else if constexpr (std::is_same_v<G, std::nullopt_t>) append_zero_gradients(tree::node(x), to);
}
template <class F, class Fwd, class Bwd> struct CustomVjp {
  F f;
  Fwd fwd;
  Bwd bwd;
  template <class... A> auto operator()(const A&... a) const {
    if constexpr (foreign<A...>) return ForeignCall<Gives::value, void, A...>::call(f, *this, a...);
    else if constexpr (takes_arrays<F, A...>) return run(arrays(a)...);
    else return run(a...);
  }
  template <class... A> auto run(const A&... a) const {
    static_assert(Callable<F, A...> && Callable<Fwd, A...>,
                  "custom_vjp: f and fwd are called with the same arguments, by value or const&");
    check_trees<A...>();
    if constexpr (are_trees<A...> && Callable<F, A...> && Callable<Fwd, A...>) {
      using R = result_t<F, A...>;
      using S = result_t<Fwd, A...>;
      static_assert(
          requires(S s) {
            requires std::is_same_v<std::remove_cvref_t<decltype(s.first)>, R>;
            s.second;
          },
          "custom_vjp: fwd must return std::pair{f's result, residuals}");
      using Residuals = typename S::second_type;
      static_assert(Callable<Bwd, Residuals, R>, "custom_vjp: bwd is called with (residuals, cotangent of f's result)");
      if constexpr (Callable<Bwd, Residuals, R>) {
        std::optional<R> out;
        std::optional<S> both;
        FlatFn backward = [&](const Arrays& in) {
          const Array *at = in.data(), *end = at + in.size();
          Residuals residuals = take_tree(both->second, at, end);
          R ct = tree::unflatten(both->first, spread_cotangents(tree::node(both->first), at));
          auto g = std::invoke(bwd, std::as_const(residuals), std::as_const(ct));
          Arrays r;
          if constexpr (sizeof...(A) == 1) (append_gradient(a, g, r), ...);
          else {
            static_assert(
                requires { requires std::tuple_size<decltype(g)>::value == sizeof...(A); },
                "custom_vjp: bwd must return a tuple with one gradient per argument (none for zero)");
            std::apply([&](const auto&... each) { (append_gradient(a, each, r), ...); }, g);
          }
          return r;
        };
        FlatFn forward = [&](const Arrays& in) {
          auto r = flat_fn<S>(fwd, both, a...)(in);
          if (out) check_same("custom_vjp: fwd must give what f gives", tree::node(*out), tree::node(both->first));
          return r;
        };
        auto y = custom_vjp_flat(flat_fn<R>(f, out, a...), forward, backward, pack(a...));
        return tree::unflatten(std::move(*out), y);
      }
    }
  }
};
}  // namespace fx
/// f, differentiated by the user's rule: fwd(args...) -> std::pair{f's result, residuals}; bwd(residuals, cotangent) ->
/// the gradient of the argument, or a tuple with one per argument (none: zero). Leaves that are not floating have
/// neither: their cotangents are empty, their gradients ignored. Values that f, fwd and bwd close over are constants:
/// throws TraceError where one is differentiated.
template <class F, class Fwd, class Bwd> auto custom_vjp(F f, Fwd fwd, Bwd bwd) {
  return fx::CustomVjp<F, Fwd, Bwd>{std::move(f), std::move(fwd), std::move(bwd)};
}
}  // namespace bora
