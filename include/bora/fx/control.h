// control.h -- loops and branches that are staged once and can be differentiated, batched and sharded as a whole.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
struct ScanOptions {                          // of scan
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

template <class F, class C, class X>
auto scan_arrays(const F& body, const C& init, const X& xs, const ScanOptions& options) {
  static_assert(
      Callable<F, C, X>,
      "scan: body cannot be called with (carry, x); it takes them by value or const&, and may not be a mutable lambda");
  static_assert(tree::positional<X>, "scan: xs holds NamedArrays, whose axes have names: use scan(f, Axis)(init, xs)");
  check_trees<C, X>();
  if constexpr (are_trees<C, X> && Callable<F, C, X> && tree::positional<X>) {
    using R = result_t<F, C, X>;
    static_assert(carries<R, C>,
                  "scan: body must return std::pair{carry, y} with the carry's type unchanged; none for no y");
    if constexpr (carries<R, C>) {
      using Y = typename R::second_type;
      static_assert(tree::positional<Y>,
                    "scan: y holds NamedArrays, whose axes have names: use scan(f, Axis)(init, xs)");
      std::optional<R> out;
      auto flat = flat_fn<R>(body, out, init, xs);
      auto checked = [&](const Arrays& in) {
        auto r = flat(in);
        check_same("scan: the carry must stay as init is", tree::node(init), tree::node(out->first));
        return r;
      };
      auto r = scan_shell(checked, pack(init), pack(xs), labels_of(init, xs), options);
      const Array *at = r.data(), *end = at + r.size();
      C carry = take_tree(init, at, end);
      return R(std::move(carry), take_tree(out->second, at, end));
    }
  }
}
template <class T, class F, class... A>
auto cond_arrays(const Array& predicate, const T& on_true, const F& on_false, const A&... operands) {
  static_assert(Callable<T, A...> && Callable<F, A...>,
                "cond: a branch cannot be called with these operands; it takes them by value or const&");
  check_trees<A...>();
  if constexpr (are_trees<A...> && Callable<T, A...> && Callable<F, A...>) {
    using R = result_t<T, A...>;
    static_assert(std::is_same_v<R, result_t<F, A...>>, "cond: both branches must return the same type");
    if constexpr (std::is_same_v<R, result_t<F, A...>>) {
      std::optional<R> yes, no;
      auto flat = flat_fn<R>(on_false, no, operands...);
      auto checked = [&](const Arrays& in) {
        auto r = flat(in);
        if (yes) check_same("cond: both branches must give the same", tree::node(*yes), tree::node(*no));
        return r;
      };
      auto r = cond_shell(predicate, flat_fn<R>(on_true, yes, operands...), checked, pack(operands...));
      return tree::unflatten(std::move(yes ? *yes : *no), r);
    }
  }
}
template <class P, class F, class C> C while_arrays(const P& condition, const F& body, const C& init) {
  static_assert(Callable<P, C> && Callable<F, C>,
                "while_loop: condition and body are called with the value; they take it by value or const&");
  check_trees<C>();
  if constexpr (are_trees<C> && Callable<P, C> && Callable<F, C>) {
    static_assert(std::is_same_v<result_t<P, C>, Array>, "while_loop: the condition must return a boolean Array");
    static_assert(std::is_same_v<result_t<F, C>, C>, "while_loop: body must return a value of init's type");
    std::optional<Array> p;
    std::optional<C> out;
    auto flat = flat_fn<C>(body, out, init);
    auto checked = [&](const Arrays& in) {
      auto r = flat(in);
      check_same("while_loop: the value must stay as init is", tree::node(init), tree::node(*out));
      return r;
    };
    return tree::unflatten(init, while_shell(flat_fn<Array>(condition, p, init), checked, pack(init)));
  }
}
template <class F, class C>
C fori_arrays(const LoopBound& lower, const LoopBound& upper, const F& body, const C& init) {
  static_assert(Callable<F, Array, C>,
                "fori_loop: body is called with (i, value); it takes them by value or const&");
  check_trees<C>();
  if constexpr (are_trees<C> && Callable<F, Array, C>) {
    static_assert(std::is_same_v<result_t<F, Array, C>, C>, "fori_loop: body must return a value of init's type");
    std::optional<C> out;
    Array i = abstract_array({{}, i32});
    auto flat = flat_fn<C>(body, out, i, init);
    auto checked = [&](const Arrays& in) {
      auto r = flat(in);
      check_same("fori_loop: the value must stay as init is", tree::node(init), tree::node(*out));
      return r;
    };
    return tree::unflatten(init, fori_shell(lower, upper, checked, pack(init), labels_of(init)));
  }
}
}  // namespace fx

/// body(carry, x) -> std::pair{carry, y}, once for each element of the leading axis of xs: {last carry, ys stacked}. xs
/// may be none with .length; y may be none. The carry keeps structure, shapes and dtypes. Throws ShapeError naming the
/// path of a leaf that changes. Numbers in init (scan(body, 0, xs), also in pairs and tuples) are Arrays of the dtype
/// that body makes of them, as JAX's weak numbers are; those in y are Arrays too.
template <class F, class C, class X>
auto scan(const F& body, const C& init, const X& xs, const ScanOptions& options = {}) {
  using Carry = fx::arrays_t<C>;
  if constexpr (fx::Numbers<C>::any && fx::Callable<F, Carry, X>) {
    const fx::GivesArrays<F> f{body};
    using R = fx::result_t<decltype(f), Carry, X>;
    if constexpr (fx::carries<R, Carry>) {
      std::optional<R> out;
      auto first = fx::weak_carry_of(fx::flat_fn<R>(f, out, fx::arrays(init), xs), init,
                                     fx::types_of_elements(fx::pack(xs)));
      return fx::scan_arrays(f, first, xs, options);
    } else return fx::scan_arrays(f, fx::arrays(init), xs, options);
  } else if constexpr (fx::gives_numbers<F, C, X>)
    return fx::scan_arrays(fx::GivesArrays<F>{body}, init, xs, options);
  else return fx::scan_arrays(body, init, xs, options);
}
/// on_true(operands...) or on_false(operands...); inside transforms and jit both are staged and one of them runs.
/// predicate: a scalar. Numbers are Arrays where a branch takes those, and in the results.
template <class T, class F, class... A>
auto cond(const Array& predicate, const T& on_true, const F& on_false, const A&... operands) {
  if constexpr (fx::takes_arrays<T, A...> || fx::takes_arrays<F, A...>)
    return cond(predicate, on_true, on_false, fx::arrays(operands)...);
  else if constexpr (fx::gives_numbers<T, A...> || fx::gives_numbers<F, A...>)
    return fx::cond_arrays(predicate, fx::GivesArrays<T>{on_true}, fx::GivesArrays<F>{on_false}, operands...);
  else return fx::cond_arrays(predicate, on_true, on_false, operands...);
}
template <Number P, class T, class F, class... A>
auto cond(P predicate, const T& on_true, const F& on_false, const A&... operands) {
  return cond(fx::number(predicate), on_true, on_false, operands...);
}
/// body(body(.. init)) while condition(value) holds: a boolean scalar. It has forward derivatives (jvp, linearize,
/// jacfwd), but none in reverse: grad takes values without one (stop_gradient, floor, counters); where the number of
/// rounds is known use fori_loop or scan. Numbers in init are Arrays, as scan's.
template <class P, class F, class C> auto while_loop(const P& condition, const F& body, const C& init) {
  using Carry = fx::arrays_t<C>;
  if constexpr (fx::Numbers<C>::any && fx::Callable<P, Carry> && fx::Callable<F, Carry>) {
    const fx::GivesArrays<F> f{body};
    std::optional<Carry> out;
    if constexpr (std::is_same_v<fx::result_t<decltype(f), Carry>, Carry>)
      return while_loop(condition, f, fx::weak_carry_of(fx::flat_fn<Carry>(f, out, fx::arrays(init)), init));
    else return fx::while_arrays(condition, f, fx::arrays(init));
  } else if constexpr (fx::gives_numbers<P, C>) return fx::while_arrays(fx::GivesArrays<P>{condition}, body, init);
  else return fx::while_arrays(condition, body, init);
}
/// body(i, .. body(lower, init)) for i in [lower, upper), i an i32 scalar. Integer bounds make it a scan, which has a
/// reverse mode. Numbers in init are Arrays, as scan's.
template <class F, class C>
auto fori_loop(const LoopBound& lower, const LoopBound& upper, const F& body, const C& init) {
  using Carry = fx::arrays_t<C>;
  if constexpr (fx::Numbers<C>::any && fx::Callable<F, Array, Carry>) {
    const fx::GivesArrays<F> f{body};
    const Carry given = fx::arrays(init);
    if constexpr (std::is_same_v<fx::result_t<decltype(f), Array, Carry>, Carry>) {
      std::optional<Carry> out;
      Array i = fx::abstract_array({{}, i32});
      auto flat = fx::flat_fn<Carry>(f, out, i, given);
      auto after_carry = [&flat](const Arrays& in) {  // i comes last
        Arrays a{in.back()};
        a.insert(a.end(), in.begin(), in.end() - 1);
        return flat(a);
      };
      return fx::fori_arrays(lower, upper, f, fx::weak_carry_of(after_carry, init, {{{}, i32}}));
    } else return fx::fori_arrays(lower, upper, f, given);
  } else return fx::fori_arrays(lower, upper, body, init);
}
}  // namespace bora
