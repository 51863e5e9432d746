// control.h -- loops and branches that are staged once and can be differentiated, batched and sharded as a whole.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
struct ScanOptions {
  bool reverse = false;                       // from the last element to the first; ys stay in place
  std::optional<std::int64_t> length = none;  // needed where xs has no leaves
  int unroll = 1;                             // iterations per round of the loop
  /// The backward pass keeps the carry of every n-th iteration and computes the others again: n + length / n values
  /// of a kind instead of length; the square root of the length is best. 0: keeps all.
  int checkpoint_every = 0;
};
/// A loop bound: an integer known now, or a scalar integer Array.
struct LoopBound {
  std::optional<std::int64_t> n = none;
  Array a = {};
  template <std::integral T>
  requires(!std::same_as<T, bool>) LoopBound(T v) : n(static_cast<std::int64_t>(v)) {}
  LoopBound(const Array& x) : a(x) {}
  template <class A>
  requires detail::becomes_array<A> LoopBound(const A& x) : a(x) {}
};
namespace fx {
template <class R, class C> inline constexpr bool carries = false;
template <class C, class Y> inline constexpr bool carries<std::pair<C, Y>, C> = true;
/// Last carry, then ys. labels: paths of init, then of xs.
Arrays scan_shell(const FlatFn& body, const Arrays& init, const Arrays& xs, const std::vector<std::string>& labels,
                  const ScanOptions& options);
Arrays cond_shell(const Array& predicate, const FlatFn& on_true, const FlatFn& on_false, const Arrays& operands);
Arrays while_shell(const FlatFn& condition, const FlatFn& body, const Arrays& init);
/// body: (i, carry) -> carry.
Arrays fori_shell(const LoopBound& lower, const LoopBound& upper, const FlatFn& body, const Arrays& init,
                  const std::vector<std::string>& labels);
}  // namespace fx

/// body(carry, x) -> std::pair{carry, y}, once for each element of the leading axis of xs: {last carry, ys stacked}. xs
/// may be none with .length; y may be none. The carry keeps structure, shapes and dtypes. Throws ShapeError naming the
/// path of a leaf that changes.
template <class F, class C, class X>
auto scan(const F& body, const C& init, const X& xs, const ScanOptions& options = {}) {
  static_assert(
      fx::Callable<F, C, X>,
      "scan: body cannot be called with (carry, x); it takes them by value or const&, and may not be a mutable lambda");
  static_assert(tree::positional<X>, "scan: xs holds NamedArrays, whose axes have names: use scan(f, Axis)(init, xs)");
  fx::check_trees<C, X>();
  if constexpr (fx::are_trees<C, X> && fx::Callable<F, C, X> && tree::positional<X>) {
    using R = fx::result_t<F, C, X>;
    static_assert(fx::carries<R, C>,
                  "scan: body must return std::pair{carry, y} with the carry's type unchanged; none for no y");
    if constexpr (fx::carries<R, C>) {
      using Y = typename R::second_type;
      static_assert(tree::positional<Y>,
                    "scan: y holds NamedArrays, whose axes have names: use scan(f, Axis)(init, xs)");
      std::optional<R> out;
      auto flat = fx::flat_fn<R>(body, out, init, xs);
      auto checked = [&](const Arrays& in) {
        auto r = flat(in);
        fx::check_same("scan: the carry must stay as init is", tree::node(init), tree::node(out->first));
        return r;
      };
      auto r = fx::scan_shell(checked, fx::pack(init), fx::pack(xs), fx::labels_of(init, xs), options);
      const Array *at = r.data(), *end = at + r.size();
      C carry = fx::take_tree(init, at, end);
      return R(std::move(carry), fx::take_tree(out->second, at, end));
    }
  }
}
/// on_true(operands...) or on_false(operands...); inside transforms and jit both are staged and one of them runs.
/// predicate: a scalar.
template <class T, class F, class... A>
auto cond(const Array& predicate, const T& on_true, const F& on_false, const A&... operands) {
  static_assert(fx::Callable<T, A...> && fx::Callable<F, A...>,
                "cond: a branch cannot be called with these operands; it takes them by value or const&");
  fx::check_trees<A...>();
  if constexpr (fx::are_trees<A...> && fx::Callable<T, A...> && fx::Callable<F, A...>) {
    using R = fx::result_t<T, A...>;
    static_assert(std::is_same_v<R, fx::result_t<F, A...>>, "cond: both branches must return the same type");
    if constexpr (std::is_same_v<R, fx::result_t<F, A...>>) {
      std::optional<R> yes, no;
      auto flat = fx::flat_fn<R>(on_false, no, operands...);
      auto checked = [&](const Arrays& in) {
        auto r = flat(in);
        if (yes) fx::check_same("cond: both branches must give the same", tree::node(*yes), tree::node(*no));
        return r;
      };
      auto r = fx::cond_shell(predicate, fx::flat_fn<R>(on_true, yes, operands...), checked, fx::pack(operands...));
      return tree::unflatten(std::move(yes ? *yes : *no), r);
    }
  }
}
/// body(body(.. init)) while condition(value) holds: a boolean scalar. It has forward derivatives (jvp, linearize,
/// jacfwd), but none in reverse: grad takes values without one (stop_gradient, floor, counters); where the number of
/// rounds is known use fori_loop or scan.
template <class P, class F, class C> C while_loop(const P& condition, const F& body, const C& init) {
  static_assert(fx::Callable<P, C> && fx::Callable<F, C>,
                "while_loop: condition and body are called with the value; they take it by value or const&");
  fx::check_trees<C>();
  if constexpr (fx::are_trees<C> && fx::Callable<P, C> && fx::Callable<F, C>) {
    static_assert(std::is_same_v<fx::result_t<P, C>, Array>, "while_loop: the condition must return a boolean Array");
    static_assert(std::is_same_v<fx::result_t<F, C>, C>, "while_loop: body must return a value of init's type");
    std::optional<Array> p;
    std::optional<C> out;
    auto flat = fx::flat_fn<C>(body, out, init);
    auto checked = [&](const Arrays& in) {
      auto r = flat(in);
      fx::check_same("while_loop: the value must stay as init is", tree::node(init), tree::node(*out));
      return r;
    };
    return tree::unflatten(init, fx::while_shell(fx::flat_fn<Array>(condition, p, init), checked, fx::pack(init)));
  }
}
/// body(i, .. body(lower, init)) for i in [lower, upper), i an i32 scalar. Integer bounds make it a scan, which has a
/// reverse mode.
template <class F, class C> C fori_loop(const LoopBound& lower, const LoopBound& upper, const F& body, const C& init) {
  static_assert(fx::Callable<F, Array, C>,
                "fori_loop: body is called with (i, value); it takes them by value or const&");
  fx::check_trees<C>();
  if constexpr (fx::are_trees<C> && fx::Callable<F, Array, C>) {
    static_assert(std::is_same_v<fx::result_t<F, Array, C>, C>, "fori_loop: body must return a value of init's type");
    std::optional<C> out;
    Array i = fx::abstract_array({{}, i32});
    auto flat = fx::flat_fn<C>(body, out, i, init);
    auto checked = [&](const Arrays& in) {
      auto r = flat(in);
      fx::check_same("fori_loop: the value must stay as init is", tree::node(init), tree::node(*out));
      return r;
    };
    return tree::unflatten(init, fx::fori_shell(lower, upper, checked, fx::pack(init), fx::labels_of(init)));
  }
}
}  // namespace bora
