// argnums.h -- derivatives by other arguments than the first: grad<1>(f), grad<0, 2>(f), jacrev<1>(f), ..
#pragma once
#include "bora/fx/jacobian.h"

namespace bora {
namespace fx {
template <std::size_t Count> constexpr std::size_t place(int argument) {
  return static_cast<std::size_t>(argument < 0 ? argument + static_cast<int>(Count) : argument);
}
template <std::size_t Count, int... Numbers> constexpr bool distinct() {
  constexpr std::size_t p[] = {place<Count>(Numbers)...};
  for (std::size_t i = 0; i < sizeof...(Numbers); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (p[i] == p[k]) return false;
  return true;
}
/// f as a function of the arguments by which it is differentiated (one, or a tuple), then of all as a tuple.
template <class F, int... Numbers> struct Chosen {
  F f;
  template <class C, class... A> auto operator()(const C& chosen, const std::tuple<A...>& all) const {
    auto args = all;
    if constexpr (sizeof...(Numbers) == 1) ((std::get<place<sizeof...(A)>(Numbers)>(args) = chosen), ...);
    else {
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        ((std::get<place<sizeof...(A)>(Numbers)>(args) = std::get<K>(chosen)), ...);
      }(std::make_index_sequence<sizeof...(Numbers)>{});
    }
    return std::apply([&](const A&... a) { return std::invoke(f, a...); }, args);
  }
};
template <class F, int... Numbers> inline constexpr bool marked_aux<Chosen<F, Numbers...>> = marked_aux<F>;
/// Throws DtypeError if none of these has a floating leaf.
void check_chosen(std::initializer_list<std::pair<int, tree::Node>> chosen);
/// transformed(chosen arguments, all arguments), called with all arguments.
template <class T, class F, int... Numbers> struct ByArguments {
  T transformed;
  template <class... A> auto operator()(const A&... a) const {
    constexpr auto n = sizeof...(A);
    constexpr bool exist = ((Numbers < static_cast<int>(n) && Numbers >= -static_cast<int>(n)) && ...);
    static_assert(exist, "argnums: a number names an argument that f is not called with; they count from 0");
    if constexpr (exist && foreign<A...>) {
      using All = std::tuple<A...>;
      using X = std::conditional_t<sizeof...(Numbers) == 1, std::tuple<std::tuple_element_t<place<n>(Numbers), All>...>,
                                   std::tuple<std::tuple<std::tuple_element_t<place<n>(Numbers), All>...>>>;
      return ForeignCall<T::gives, std::tuple_element_t<0, X>, A...>::call(transformed, *this, a...);
    } else if constexpr (takes_arrays<F, A...>) return run(arrays(a)...);
    else return of_fractions(std::index_sequence_for<A...>{}, a...);
  }
  /// run() with Arrays for the fractions by which f is differentiated.
  template <std::size_t... I, class... A> auto of_fractions(std::index_sequence<I...>, const A&... a) const {
    return run(fractions_if<chosen<sizeof...(A), I>()>(a)...);
  }
  template <std::size_t Count, std::size_t I> static constexpr bool chosen() {
    return ((place<Count>(Numbers) == I) || ...);
  }
  template <bool yes, class X> static decltype(auto) fractions_if(const X& x) {
    if constexpr (yes) return fractions(x);
    else return (x);
  }
  template <class... A> auto run(const A&... a) const {
    constexpr auto n = sizeof...(A);
    constexpr bool exist = ((Numbers < static_cast<int>(n) && Numbers >= -static_cast<int>(n)) && ...);
    static_assert(
        Callable<F, A...>,
        "argnums: f cannot be called with these arguments; it takes them by value or const&, and may not be a "
        "mutable lambda");
    if constexpr (exist && Callable<F, A...>) {
      static_assert(distinct<n, Numbers...>(), "argnums: an argument is named twice");
      std::tuple<A...> all{a...};
      check_chosen({{Numbers, tree::node(std::get<place<n>(Numbers)>(all))}...});
      if constexpr (sizeof...(Numbers) == 1) return transformed(std::get<place<n>(Numbers)>(all)..., all);
      else return transformed(std::make_tuple(std::get<place<n>(Numbers)>(all)...), all);
    }
  }
};
template <class F, int... Numbers, class T> auto by_arguments(T transformed) {
  return ByArguments<T, F, Numbers...>{std::move(transformed)};
}
}  // namespace fx

// The derivative by these arguments: grad<1>(f) has the type of argument 1, grad<0, 2>(f) is a tuple of two. Negative
// numbers count from the last. Source: JAX's argnums.
template <int First, int... More, class F> auto grad(F f, const GradOptions& options = {}) {
  return fx::by_arguments<F, First, More...>(grad(fx::Chosen<F, First, More...>{std::move(f)}, options));
}
template <int First, int... More, class F> auto value_and_grad(F f, const GradOptions& options = {}) {
  return fx::by_arguments<F, First, More...>(value_and_grad(fx::Chosen<F, First, More...>{std::move(f)}, options));
}
template <int First, int... More, class F> auto jacrev(F f, const GradOptions& options = {}) {
  return fx::by_arguments<F, First, More...>(jacrev(fx::Chosen<F, First, More...>{std::move(f)}, options));
}
template <int First, int... More, class F> auto jacfwd(F f, const GradOptions& options = {}) {
  return fx::by_arguments<F, First, More...>(jacfwd(fx::Chosen<F, First, More...>{std::move(f)}, options));
}
template <int First, int... More, class F> auto hessian(F f, const GradOptions& options = {}) {
  return fx::by_arguments<F, First, More...>(hessian(fx::Chosen<F, First, More...>{std::move(f)}, options));
}
}  // namespace bora
