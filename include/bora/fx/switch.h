// switch.h -- one of several functions, selected by an index that is an Array.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
namespace fx {
/// The branch at `index`, clamped to the first and the last. Throws ShapeError or DtypeError unless index is one
/// integer, ValueError where there is no branch.
Arrays switch_shell(const Array& index, const std::vector<FlatFn>& branches, const Arrays& operands);
/// out[k] is compared with the result of the first branch.
template <class R> FlatFn switch_branch(FlatFn f, const std::vector<std::optional<R>>& out, std::size_t k) {
  return [f = std::move(f), &out, k](const Arrays& in) {
    auto r = f(in);
    if (k > 0)
      check_same("switch_: branches 0 and " + std::to_string(k) + " must give the same", tree::node(*out[0]),
                 tree::node(*out[k]));
    return r;
  };
}
template <class F, class... More, class... A>
auto switch_arrays(const Array& index, const std::tuple<F, More...>& branches, const A&... operands) {
  static_assert(Callable<F, A...> && (Callable<More, A...> && ... && true),
                "switch_: a branch cannot be called with these operands; it takes them by value or const&");
  check_trees<A...>();
  if constexpr (are_trees<A...> && Callable<F, A...> && (Callable<More, A...> && ... && true)) {
    using R = result_t<F, A...>;
    constexpr bool same = (std::is_same_v<R, result_t<More, A...>> && ... && true);
    static_assert(same, "switch_: all branches must return the same type");
    if constexpr (same) {
      std::vector<std::optional<R>> out(1 + sizeof...(More));
      std::vector<FlatFn> flat;
      auto add = [&](const auto& f) {
        auto k = flat.size();
        flat.push_back(switch_branch<R>(flat_fn<R>(f, out[k], operands...), out, k));
      };
      std::apply([&](const auto&... f) { (add(f), ...); }, branches);
      auto r = switch_shell(index, flat, pack(operands...));
      return tree::unflatten(std::move(*out[0]), r);
    }
  }
}
template <class F, class... A>
auto switch_arrays(const Array& index, const std::vector<F>& branches, const A&... operands) {
  static_assert(Callable<F, A...>,
                "switch_: a branch cannot be called with these operands; it takes them by value or const&");
  check_trees<A...>();
  if constexpr (are_trees<A...> && Callable<F, A...>) {
    using R = result_t<F, A...>;
    std::vector<std::optional<R>> out(branches.size());
    std::vector<FlatFn> flat;
    for (std::size_t k = 0; k < branches.size(); ++k)
      flat.push_back(switch_branch<R>(flat_fn<R>(branches[k], out[k], operands...), out, k));
    auto r = switch_shell(index, flat, pack(operands...));
    return tree::unflatten(std::move(*out[0]), r);
  }
}
}  // namespace fx

/// branches[index](operands...): the index is an integer scalar, clamped to [0, number of branches). Inside transforms
/// and jit all branches are staged and one of them runs; under a vmap of the index all run. All branches return one
/// type, with the same shapes and dtypes: throws ShapeError showing both where they differ.
/// Numbers are Arrays where a branch takes those, and in the results. Source: lax.switch.
template <class F, class... More, class... A>
auto switch_(const Array& index, const std::tuple<F, More...>& branches, const A&... operands) {
  if constexpr (fx::takes_arrays<F, A...> || (fx::takes_arrays<More, A...> || ...))
    return switch_(index, branches, fx::arrays(operands)...);
  else if constexpr (fx::gives_numbers<F, A...> || (fx::gives_numbers<More, A...> || ...))
    return std::apply(
        [&](const auto& f, const More&... more) {
          return fx::switch_arrays(index, std::tuple<fx::GivesArrays<F>, fx::GivesArrays<More>...>{{f}, {more}...},
                                   operands...);
        },
        branches);
  else return fx::switch_arrays(index, branches, operands...);
}
template <class F, class... A> auto switch_(const Array& index, const std::vector<F>& branches, const A&... operands) {
  if constexpr (fx::takes_arrays<F, A...>) return switch_(index, branches, fx::arrays(operands)...);
  else if constexpr (fx::gives_numbers<F, A...>) {
    std::vector<fx::GivesArrays<F>> giving;
    for (const F& f : branches) giving.push_back({f});
    return fx::switch_arrays(index, giving, operands...);
  } else return fx::switch_arrays(index, branches, operands...);
}
template <Number I, class Branches, class... A> auto switch_(I index, const Branches& branches, const A&... operands) {
  return switch_(fx::number(index), branches, operands...);
}
}  // namespace bora
