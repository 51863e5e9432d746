// numbers.h -- plain numbers as arguments and results of transforms, which are Arrays where JAX takes Python's scalars.
#pragma once
#include "bora/array/array.h"
#include "bora/tree/tree.h"

namespace bora::fx {
template <class F, class... A> using result_t = std::remove_cvref_t<std::invoke_result_t<const F&, const A&...>>;
template <class F, class... A> concept Callable = std::is_invocable_v<const F&, const A&...>;

/// A scalar of the number's own dtype: boolean, i32, f32 or complex64.
Array number(const Scalar&);
/// A T with Arrays in place of its numbers: itself, or parts of pairs and tuples. (A struct's numbers are static.)
template <class T> struct Numbers {
  using Arrays = T;
  static constexpr bool any = false;
  static const T& arrays(const T& x) { return x; }
  /// Which leaves of arrays(x) are weak: numbers, but no bool.
  static void mark_weak(const T& x, Mask& m) { m.resize(m.size() + tree::count_leaves(tree::node(x))); }
};
template <Number T> struct Numbers<T> {
  using Arrays = Array;
  static constexpr bool any = true;
  static Array arrays(const T& x) { return number(x); }
  static void mark_weak(const T&, Mask& m) { m.push_back(!std::is_same_v<T, bool>); }
};
template <class A, class B>
requires(Numbers<A>::any || Numbers<B>::any) struct Numbers<std::pair<A, B>> {
  using Arrays = std::pair<typename Numbers<A>::Arrays, typename Numbers<B>::Arrays>;
  static constexpr bool any = true;
  static Arrays arrays(const std::pair<A, B>& x) { return {Numbers<A>::arrays(x.first), Numbers<B>::arrays(x.second)}; }
  static void mark_weak(const std::pair<A, B>& x, Mask& m) {
    Numbers<A>::mark_weak(x.first, m);
    Numbers<B>::mark_weak(x.second, m);
  }
};
template <class... A>
requires(Numbers<A>::any || ...) struct Numbers<std::tuple<A...>> {
  using Arrays = std::tuple<typename Numbers<A>::Arrays...>;
  static constexpr bool any = true;
  static Arrays arrays(const std::tuple<A...>& x) {
    return std::apply([](const A&... a) { return Arrays(Numbers<A>::arrays(a)...); }, x);
  }
  static void mark_weak(const std::tuple<A...>& x, Mask& m) {
    std::apply([&m](const A&... a) { (Numbers<A>::mark_weak(a, m), ...); }, x);
  }
};
template <class T> using arrays_t = typename Numbers<T>::Arrays;
template <class T> decltype(auto) arrays(const T& x) { return Numbers<T>::arrays(x); }
/// f takes Arrays where these arguments have numbers.
template <class F, class... A> inline constexpr bool takes_arrays =
    (Numbers<A>::any || ...) && !Callable<F, A...> && Callable<F, arrays_t<A>...>;
/// The same of an argument by which there are derivatives: fractions alone.
template <class T> inline constexpr bool is_fraction = Number<T> && !std::is_integral_v<T>;
template <class T> using fractions_t = std::conditional_t<is_fraction<T>, Array, T>;
template <class T> decltype(auto) fractions(const T& x) {
  if constexpr (is_fraction<T>) return number(x);
  else return (x);
}
template <class F, class... A> inline constexpr bool takes_fractions =
    (is_fraction<A> || ...) && Callable<F, fractions_t<A>...>;

/// The same of arguments in a tuple, jvp's.
template <class F, class X> inline constexpr bool tuple_takes_fractions = false;
template <class F, class... A> inline constexpr bool tuple_takes_fractions<F, std::tuple<A...>> =
    takes_fractions<F, A...>;
template <class F, class A, class B> inline constexpr bool tuple_takes_fractions<F, std::pair<A, B>> =
    takes_fractions<F, A, B>;

/// f, with Arrays in place of the numbers of its results.
template <class F> struct GivesArrays {
  const F& f;
  template <class... A>
  requires Callable<F, A...> arrays_t<result_t<F, A...>> operator()(const A&... a) const {
    return arrays(std::invoke(f, a...));
  }
};
template <class F, class... A> inline constexpr bool gives_numbers = false;
template <class F, class... A>
requires Callable<F, A...> inline constexpr bool gives_numbers<F, A...> = Numbers<result_t<F, A...>>::any;

/// A loop's first carry in the dtypes that JAX gives weak numbers: those that `body` makes of them. body: (carry,
/// others..) -> (carry, ..).
Arrays weak_carry(const FlatFn& body, Arrays init, const Mask& weak, const Types& others);
Types types_of_elements(const Arrays& xs);
template <class C> arrays_t<C> weak_carry_of(const FlatFn& body, const C& init, const Types& others = {}) {
  auto r = arrays(init);
  Mask weak;
  Numbers<C>::mark_weak(init, weak);
  return tree::unflatten(r, weak_carry(body, tree::leaves(r), weak, others));
}
}  // namespace bora::fx
