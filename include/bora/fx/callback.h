// callback.h -- functions of the host with results, inside of transforms and jit.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
namespace fx {
/// ordered: it has effects, and runs in the order of the program even if nobody reads its results.
Arrays host_call(std::function<Arrays(const Arrays&)> f, const Types& out, const Arrays& in, bool ordered);
template <class F, class R, class... A> R call_host(const F& f, bool ordered, const R& like, const A&... a) {
  static_assert(std::is_invocable_r_v<R, const F&, const A&...>,
                "callback: f is called with the arguments, by value or const&, and returns a value like the first one");
  check_trees<R, A...>();
  auto flat = [f, like = abstract(like), args = std::tuple<A...>{abstract(a)...}](const Arrays& numbers) {
    auto given = args;
    tree::replace(tree::node(given), numbers.data(), numbers.size());
    R r = std::apply([&](const A&... x) -> R { return std::invoke(f, x...); }, given);
    check_same("callback: f must return a value like the one given", tree::node(like), tree::node(r));
    return tree::leaves(r);
  };
  return tree::unflatten(like, host_call(std::move(flat), types_of(pack(like)), pack(a...), ordered));
}
}  // namespace fx

/// f(args...), computed by the host when the program gets there: a tree with the structure, shapes and dtypes of `like`
/// (eval_shape's result, zeros, ..). f gets numbers and must be pure: it may run once or often, or not at all where
/// nobody reads its results. Under vmap it runs lane by lane, on a mesh on every rank, on whole values. It has no
/// derivative: give it one with custom_vjp or custom_jvp. What f throws comes out at the call; ShapeError for results
/// of another type. Source: jax.pure_callback.
template <class F, class R, class... A> R pure_callback(F f, const R& like, const A&... args) {
  return fx::call_host(f, false, like, args...);
}
/// The same for an f with effects: it runs once, in the order of the program, also where nobody reads its results
/// (`like` may be a tuple of nothing). On a mesh rank 0 runs it, and all get its results; inside shard_map every rank
/// does, on its block. Source: jax.experimental.io_callback(ordered=True).
template <class F, class R, class... A> R io_callback(F f, const R& like, const A&... args) {
  return fx::call_host(f, true, like, args...);
}
}  // namespace bora
