// custom_jvp.h -- a function with a user-defined derivative along a tangent.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
namespace fx {
/// Tangents of the floating leaves of a result, zeros where the rule gave none, checked against their types.
void append_tangents(tree::Node out, tree::Node given, Arrays&);
template <class F, class Rule> struct CustomJvp {
  F f;
  Rule rule;
  template <class... A> auto operator()(const A&... a) const {
    if constexpr (foreign<A...>) return ForeignCall<Gives::value, void, A...>::call(f, *this, a...);
    else if constexpr (takes_arrays<F, A...>) return run(arrays(a)...);
    else return run(a...);
  }
  template <class... A> auto run(const A&... a) const {
    static_assert(Callable<F, A...>, "custom_jvp: f cannot be called with these arguments");
    check_trees<A...>();
    if constexpr (are_trees<A...> && Callable<F, A...>) {
      using R = result_t<F, A...>;
      using X = std::conditional_t<sizeof...(A) == 1, std::tuple_element_t<0, std::tuple<A..., int>>, std::tuple<A...>>;
      constexpr bool pairs = std::is_invocable_r_v<std::pair<R, R>, const Rule&, const X&, const X&>;
      static_assert(pairs,
                    "custom_jvp: the rule is called with (arguments, tangents), tuples where f has several, and "
                    "returns std::pair{f's result, its tangent}, of f's type both");
      if constexpr (pairs) {
        std::optional<R> out, ruled;
        auto f_flat = flat_fn<R>(f, out, a...);
        FlatFn primal = [&](const Arrays& in) {
          auto r = f_flat(in);
          check_same("custom_jvp: the rule must give what f gives", tree::node(*out), tree::node(*ruled));
          return r;
        };
        FlatFn both = [&](const Arrays& in) {
          std::tuple<A...> x{a...}, dx{a...};
          auto n = tree::replace(tree::node(x), in.data(), in.size());
          Arrays tangents;
          for (std::size_t i = 0, at = n; i < n; ++i)
            tangents.push_back(is_inexact(in[i].dtype()) ? in[at++] : Array());
          tree::replace(tree::node(dx), tangents.data(), n);
          std::pair<R, R> y = [&] {
            if constexpr (sizeof...(A) == 1) return std::invoke(rule, std::get<0>(x), std::get<0>(dx));
            else return std::invoke(rule, x, dx);
          }();
          Arrays r = tree::leaves(y.first);
          append_tangents(tree::node(y.first), tree::node(y.second), r);
          ruled.emplace(std::move(y.first));
          return r;
        };
        auto y = custom_jvp_flat(primal, both, pack(a...));
        return tree::unflatten(std::move(*out), y);
      }
    }
  }
};
}  // namespace fx
/// f, differentiated by the user's rule: rule(x, dx) -> std::pair{f(x), the derivative along dx}; where f has several
/// arguments x and dx are std::tuples of them. The tangent is linear in dx; grad transposes it, so the rule serves both
/// directions and derivatives of any order. Leaves that are not floating have empty tangents. Values that f and rule
/// close over are constants: throws TraceError where one is differentiated, or where the rule is not linear.
template <class F, class Rule> auto custom_jvp(F f, Rule rule) {
  return fx::CustomJvp<F, Rule>{std::move(f), std::move(rule)};
}
}  // namespace bora
