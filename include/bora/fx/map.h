// map.h -- a function applied to one element after the other.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
/// How fx::map(f, xs, options) applies f to the elements of the leading axis of xs, as lax.map does.
struct MapOptions {
  std::optional<std::int64_t> batch_size = none;  // elements computed at once, as by vmap; the rest comes last
};
namespace fx {
/// labels: paths of xs. Throws ShapeError or ValueError naming them.
Arrays map_shell(const FlatFn& f, const Arrays& xs, const std::vector<std::string>& labels, const MapOptions& options);

/// f of each element of the leading axis of xs, stacked: f(X) -> Y gives a Y whose leaves have that axis. It is a scan:
/// one element is in memory at a time, or .batch_size of them. Throws ShapeError naming the path of a leaf without that
/// axis. Source: lax.map.
template <class F, class X> auto map(const F& f, const X& xs, const MapOptions& options = {}) {
  static_assert(Callable<F, X>, "map: f is called with one element of xs; it takes it by value or const&");
  static_assert(tree::positional<X>, "map: xs holds NamedArrays, whose axes have names: use vmap(f, Axis) or scan");
  check_trees<X>();
  if constexpr (are_trees<X> && Callable<F, X> && tree::positional<X>) {
    using R = arrays_t<result_t<F, X>>;
    static_assert(tree::Tree<R> && tree::positional<R>, "map: f must return a tree of Arrays");
    if constexpr (tree::Tree<R> && tree::positional<R>) {
      std::optional<R> out;
      const GivesArrays<F> g{f};
      auto y = map_shell(flat_fn<R>(g, out, xs), pack(xs), labels_of(xs), options);
      return tree::unflatten(std::move(*out), y);
    }
  }
}
}  // namespace fx
}  // namespace bora
