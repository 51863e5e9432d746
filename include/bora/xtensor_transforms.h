// xtensor_transforms.h -- transforms called with xtensor's containers and expressions.
// f is called with Arrays in their place: alone, in std::tuple, pair, vector, array, optional and map. A struct that
// holds some comes as the std::tuple of its fields, `auto& [w, b] = p` binds either; a struct template S<xt::..> whose
// fields are its parameters comes as S<Array>. Results are turned back: a gradient or carry has its argument's type
// (an expression's: the container that xt::eval gives), a loss is an xt::xtensor of rank 0, and other Arrays, whose
// rank only the program's run tells, are xt::xarray; all with the arguments' value type, promoted where they differ.
// Where an Array is among the arguments, those others are Arrays, as in functions of Arrays and xtensor.
#pragma once
#include "bora/xtensor_trees.h"

namespace bora::fx {
// ---- results that are no arguments ----------------------------------------------------------------------------------
/// The value type for numbers of two: JAX's lattice.
template <class A, class B> consteval auto promoted() {
  if constexpr (std::is_same_v<A, B> || std::is_same_v<B, bool>) return std::type_identity<A>{};
  else if constexpr (std::is_same_v<A, bool>) return std::type_identity<B>{};
  else if constexpr (ComplexNumber<A> || ComplexNumber<B>) {
    constexpr bool wide = dtype_of<A> == Dtype::complex128 || dtype_of<B> == Dtype::complex128 ||
        dtype_of<A> == Dtype::f64 || dtype_of<B> == Dtype::f64;
    return std::type_identity<std::complex<std::conditional_t<wide, double, float>>>{};
  } else if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    if constexpr (std::is_signed_v<A> == std::is_signed_v<B>)
      return std::type_identity<std::conditional_t<(sizeof(A) >= sizeof(B)), A, B>>{};
    else {
      constexpr auto u = std::is_signed_v<A> ? sizeof(B) : sizeof(A), s = std::is_signed_v<A> ? sizeof(A) : sizeof(B);
      using S = std::conditional_t<std::is_signed_v<A>, A, B>;
      using Next = std::conditional_t<u == 1, std::int16_t, std::conditional_t<u == 2, std::int32_t, std::int64_t>>;
      return std::type_identity<std::conditional_t<(u == 8), float, std::conditional_t<(s > u), S, Next>>>{};
    }
  } else if constexpr (std::is_integral_v<B>) return std::type_identity<A>{};
  else if constexpr (std::is_integral_v<A>) return std::type_identity<B>{};
  else if constexpr (std::is_same_v<A, double> || std::is_same_v<B, double>) return std::type_identity<double>{};
  else return std::type_identity<float>{};
}
/// What the containers of some arguments have in common.
template <class V, bool Static, xt::layout_type L> struct Kind {
  template <class E> constexpr auto operator+(std::type_identity<E>) const {
    using O = owner_t<E>;
    using W = typename O::value_type;
    constexpr auto layout = O::static_layout;
    if constexpr (std::is_void_v<V>) return Kind<W, !detail::is_xarray<O>, layout>{};
    else
      return Kind<typename decltype(promoted<V, W>())::type, Static && !detail::is_xarray<O>,
                  L == layout ? L : xt::layout_type::row_major>{};
  }
  using Stored = std::conditional_t<std::is_void_v<V>, bool, V>;
  using Array = xt::xarray<Stored, L>;
  using Scalar = std::conditional_t<Static, xt::xtensor<Stored, 0, L>, Array>;
};
struct ArraysKind {
  using Array = bora::Array;
  using Scalar = bora::Array;
};
template <class T, class K> constexpr auto join(K k);
template <class K> struct JoinFields {
  template <class... M> auto operator()(const M&...) const { return all(K{}, std::type_identity<M>{}...); }
  template <class J> static constexpr J all(J j) { return j; }
  template <class J, class M, class... More>
  static constexpr auto all(J j, std::type_identity<M>, std::type_identity<More>... more) {
    return all(join<M>(j), more...);
  }
};
/// The kind of k and of the containers in T.
template <class T, class K> constexpr auto join(K k) {
  using J = JoinFields<K>;
  if constexpr (!foreign<T>) return k;
  else if constexpr (tree::Foreign<T>) return k + std::type_identity<T>{};
  else if constexpr (requires { typename T::mapped_type; }) return join<typename T::mapped_type>(k);
  else if constexpr (tree::Container<T> && requires { typename T::value_type; })
    return join<typename T::value_type>(k);
  else if constexpr (tree::Container<T>)
    return [k]<std::size_t... I>(std::index_sequence<I...>) {
      return J::all(k, std::type_identity<std::tuple_element_t<I, T>>{}...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  else return decltype(fields::apply(std::declval<T&>(), J{})){};
}
template <class T> struct NoLeaf {};
template <class T>
requires(tree::IsLeaf<T> || tree::Foreign<T>) struct NoLeaf<T> : std::bool_constant<tree::Foreign<T>> {
};
template <class... A> consteval auto kind_of() {
  if constexpr ((tree::detail::every<NoLeaf, A>() && ...))
    return JoinFields<int>::all(Kind<void, true, xt::layout_type::row_major>{}, std::type_identity<A>{}...);
  else return ArraysKind{};
}
/// How results of a call with arguments A turn into containers. Exact: values of an argument's native form become it.
template <class K, bool Exact, class... A> struct Results : K {
  /// The argument's type of a value R, or void.
  template <class R> static constexpr auto original(const R*) {
    if constexpr (Exact) return search<R, A...>();
    else return std::type_identity<void>{};
  }
  template <class T, class... M> static constexpr auto original(const FieldsOf<T, M...>*) {
    return std::type_identity<std::conditional_t<Exact, T, void>>{};
  }
 private:
  template <class R> static constexpr auto search() { return std::type_identity<void>{}; }
  template <class R, class B, class... More> static constexpr auto search() {
    if constexpr (foreign<B> && tree::Module<B> && std::is_same_v<R, native_t<B>>) return std::type_identity<B>{};
    else return search<R, More...>();
  }
};
template <class... A> using exact_results = Results<decltype(kind_of<A...>()), true, A...>;
template <class... A> using stacked_results = Results<decltype(kind_of<A...>()), false, A...>;
/// A result with containers in place of its Arrays, in tuples and the like; other structs stay as they are.
template <class K, class R> auto turned(const R& r) {
  using T = typename decltype(K::original(&r))::type;
  if constexpr (!std::is_void_v<T>) return Back<T>::out(r);
  else if constexpr (std::is_same_v<R, Array> && !std::is_same_v<typename K::Array, Array>)
    return to_xt<typename K::Array>(r);
  else if constexpr (tree::IsLeaf<R> || is_static<R>) return r;
  else if constexpr (requires { typename R::mapped_type; }) {
    std::map<typename R::key_type, decltype(turned<K>(std::declval<const typename R::mapped_type&>()))> m;
    for (auto& [k, e] : r) m.emplace(k, turned<K>(e));
    return m;
  } else if constexpr (tree::Container<R> && requires { r.front(); typename R::allocator_type; }) {
    std::vector<decltype(turned<K>(r.front()))> v;
    for (auto& e : r) v.push_back(turned<K>(e));
    return v;
  } else if constexpr (tree::Container<R> && requires { r.front(); })
    return std::apply([](const auto&... e) { return std::array{turned<K>(e)...}; }, r);
  else if constexpr (requires { r.has_value(); })
    return r ? std::optional(turned<K>(*r)) : std::optional<decltype(turned<K>(*r))>();
  else if constexpr (requires { r.first; r.second; }) return std::pair(turned<K>(r.first), turned<K>(r.second));
  else if constexpr (requires { std::tuple_size<R>::value; })
    return std::apply([](const auto&... e) { return std::tuple<decltype(turned<K>(e))...>(turned<K>(e)...); }, r);
  else return r;
}
template <class K, class R> auto scalar(const R& r) {
  if constexpr (std::is_same_v<R, Array> && !std::is_same_v<typename K::Scalar, Array>)
    return to_xt<typename K::Scalar>(r);
  else return r;
}

// ---- the call of a transform ----------------------------------------------------------------------------------------
template <class F> const F& innermost(const F& f) { return f; }
template <class F> const auto& innermost(const HasAux<F>& f) { return innermost(f.f); }
template <class F, int... N> const auto& innermost(const Chosen<F, N...>& f) { return innermost(f.f); }
template <class F> const auto& innermost(const ValueAndGrad<F>& f) { return innermost(f.f); }
template <class F> const auto& innermost(const Grad<F>& f) { return innermost(f.both.f); }
template <BlocksOf B, class F> const auto& innermost(const Jacobian<B, F>& f) { return innermost(f.f); }
template <class T, class F, int... N> const auto& innermost(const ByArguments<T, F, N...>& f) {
  return innermost(f.transformed);
}

/// A compile error unless f takes the arguments as Arrays.
template <class F, class... A> constexpr bool check_takes_arrays() {
  constexpr bool ok = Callable<F, native_t<A>...>;
  static_assert(ok,
                "f is called with Arrays in place of xtensor's containers: write const auto& x or const Array& x for a "
                "parameter; a struct of containers comes as the std::tuple of its fields, const auto& [w, b] = p");
  return ok;
}
template <Gives what, class X, class... A> struct ForeignCall {
  template <class F, class T, class... G> static auto call(const F& f, const T& transform, G&&... given) {
    using Inner = std::remove_cvref_t<decltype(innermost(f))>;
    if constexpr (check_takes_arrays<Inner, A...>()) {
      // What jit and checkpoint give of a transform is what it gives.
      if constexpr (what == Gives::value && requires { F::gives; })
        return ForeignCall<F::gives, std::tuple_element_t<0, std::tuple<A...>>, A...>::back(
            transform(native(std::forward<G>(given))...));
      else return back(transform(native(std::forward<G>(given))...));
    }
  }
  template <class R> static auto back(const R& r) {
    using K = exact_results<A...>;
    if constexpr (what == Gives::value) return turned<K>(r);
    else if constexpr (what == Gives::gradient) {
      if constexpr (std::is_same_v<R, native_t<X>>) return Back<X>::out(r);
      else return std::pair{Back<X>::out(r.first), turned<K>(r.second)};
    } else if constexpr (what == Gives::value_and_gradient) {
      auto value = scalar<K>(std::get<0>(r));
      if constexpr (std::tuple_size_v<R> == 2) return std::pair{std::move(value), Back<X>::out(std::get<1>(r))};
      else return std::tuple{std::move(value), turned<K>(std::get<1>(r)), Back<X>::out(std::get<2>(r))};
    } else if constexpr (what == Gives::hessian && std::is_same_v<R, Array> && tree::Foreign<X>) {
      using O = owner_t<X>;
      if constexpr (detail::is_xarray<O>) return to_xt<O>(r);
      else return to_xt<xt::xtensor<typename O::value_type, 2 * rank_of<O>(), O::static_layout>>(r);
    } else return turned<stacked_results<A...>>(r);
  }
};
}  // namespace bora::fx
