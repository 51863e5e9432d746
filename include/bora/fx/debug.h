// debug.h -- looking at numbers inside of transforms and jit, and stopping at the first NaN.
//   auto h = debug::print("hidden {}", layer(x));               // prints where h is computed
//   debug::check(h > 0, "hidden must be positive, is {}", h);   // throws at the call that runs it
//   debug::nans(true);                                          // or BORA_DEBUG_NANS=1
#pragma once
#include "bora/array/scope.h"
#include "bora/fx/tree_call.h"

namespace bora {
namespace fx {
/// The values, unchanged: where they are computed `see` is called with copies of their numbers.
Arrays observe(std::function<void(const Arrays&)> see, const Arrays& observed);
/// Throws ValueError unless `format` has one {} for each of n values.
void check_places(std::string_view format, std::size_t n);
void print_formatted(const std::string& format, const Arrays& values);
void check_flat(const Array& condition, std::string_view message, const Arrays& values);
}  // namespace fx

namespace debug {
/// x, unchanged. Where x is computed, f is called with its numbers, in any transform: once per run of a jitted function
/// or of a loop's body, once per lane under vmap; under grad with the values only. x's result must be used, else the
/// call is removed with it; recomputation (checkpoint) calls again. On a mesh f is called on rank 0 with the whole
/// value (inside shard_map on every rank, with its block). Source: jax.debug.callback.
template <class F, class T> T callback(F f, const T& x) {
  static_assert(std::is_invocable_v<const F&, const T&>, "debug::callback: f is called with x, by value or const&");
  fx::check_trees<T>();
  if constexpr (fx::are_trees<T> && std::is_invocable_v<const F&, const T&>) {
    auto see = [f = std::move(f), like = fx::abstract(x)](const Arrays& numbers) {
      std::invoke(f, tree::unflatten(like, numbers));
    };
    return tree::unflatten(x, fx::observe(std::move(see), fx::pack(x)));
  }
}
/// x, unchanged; writes `format` with the numbers of x's leaves in place of each {}, and a newline, to standard output
/// as callback() does. Throws ValueError for another number of {}.
template <class T> T print(std::string_view format, const T& x) {
  fx::check_trees<T>();
  auto leaves = fx::pack(x);
  fx::check_places(format, leaves.size());
  return tree::unflatten(
      x,
      fx::observe([text = std::string(format)](const Arrays& numbers) { fx::print_formatted(text, numbers); }, leaves));
}
/// Stops where an element of the condition is false: ValueError with the message, the numbers of the values' leaves in
/// place of its {}, and the line of the check. In every transform, also in the bodies of loops; under vmap it names the
/// first lane that fails. It runs although it has no result, and is not differentiated. On a mesh every rank checks the
/// whole value (inside shard_map its block). Under vmap both branches of a cond whose predicate is mapped run, and a
/// while_loop's body runs until the last lane ends: their checks see all lanes. Source: jax.experimental.checkify.
template <class... V> void check(const Array& condition, std::string_view message, const V&... values) {
  fx::check_trees<V...>();
  fx::check_flat(condition, message, fx::pack(values...));
}
/// Whether an operation that gives a NaN is an error that names it: ValueError with the operation, the place of the
/// first NaN, and your line. A jitted function is repeated operation by operation once its results hold one (on a mesh
/// all its runs are). For the whole process; off unless BORA_DEBUG_NANS=1 is set.
void nans(bool on);
}  // namespace debug
}  // namespace bora
