// xtensor_transforms.h -- transforms called with xtensor's containers and expressions.
// f is called with Arrays in their place: alone, in std::tuple, pair, vector, array, optional and map. A struct that
// holds some comes as the std::tuple of its fields, `auto& [w, b] = p` binds either; a struct template S<xt::..> whose
// fields are its parameters comes as S<Array>. Results are turned back: a gradient or carry has its argument's type
// (an expression's: the container that xt::eval gives), a loss is an xt::xtensor of rank 0, and other Arrays, whose
// rank only the program's run tells, are xt::xarray; all with the arguments' value type, promoted where they differ.
// Where an Array is among the arguments, those others are Arrays, as in functions of Arrays and xtensor.
#pragma once
#include "bora/fx/transforms.h"
#include "bora/xtensor_array.h"

namespace bora::fx {
// ---- arguments as Arrays --------------------------------------------------------------------------------------------
/// A tree with Arrays in place of xtensor's containers.
template <class T> struct Native {
  using type = T;
  static const T& in(const T& x) { return x; }
};
template <class T> using native_t = typename Native<T>::type;
template <class T> decltype(auto) native(T&& x) { return Native<std::remove_cvref_t<T>>::in(std::forward<T>(x)); }

template <class T>
requires tree::Foreign<T> struct Native<T> {
  using type = Array;
  template <class X> static Array in(X&& x) { return asarray(std::forward<X>(x)); }
};
template <class... T>
requires foreign<std::tuple<T...>> struct Native<std::tuple<T...>> {
  using type = std::tuple<native_t<T>...>;
  static type in(const std::tuple<T...>& x) {
    return std::apply([](const T&... e) { return type{native(e)...}; }, x);
  }
};
template <class A, class B>
requires foreign<A, B> struct Native<std::pair<A, B>> {
  using type = std::pair<native_t<A>, native_t<B>>;
  static type in(const std::pair<A, B>& x) { return {native(x.first), native(x.second)}; }
};
template <class T>
requires foreign<T> struct Native<std::vector<T>> {
  using type = std::vector<native_t<T>>;
  static type in(const std::vector<T>& x) {
    type r;
    for (auto& e : x) r.push_back(native(e));
    return r;
  }
};
template <class T, std::size_t N>
requires foreign<T> struct Native<std::array<T, N>> {
  using type = std::array<native_t<T>, N>;
  static type in(const std::array<T, N>& x) {
    return std::apply([](const auto&... e) { return type{native(e)...}; }, x);
  }
};
template <class T>
requires foreign<T> struct Native<std::optional<T>> {
  using type = std::optional<native_t<T>>;
  static type in(const std::optional<T>& x) { return x ? type(native(*x)) : type(); }
};
template <class K, class T>
requires foreign<T> struct Native<std::map<K, T>> {
  using type = std::map<K, native_t<T>>;
  static type in(const std::map<K, T>& x) {
    type r;
    for (auto& [k, e] : x) r.emplace(k, native(e));
    return r;
  }
};
/// S<Array> of an S<xt::xtensor<..>>.
template <class T> struct Rebound { using type = void; };
template <template <class...> class S, class... T>
requires foreign<T...> struct Rebound<S<T...>> {
  using type = S<native_t<T>...>;
};
template <class T> struct FieldsIn {
  template <class... M> auto operator()(const M&... m) const {
    using S = typename Rebound<T>::type;
    if constexpr (std::is_void_v<S>) return std::tuple<native_t<M>...>{native(m)...};
    else if constexpr (requires { S{std::declval<native_t<M>>()...}; }) return S{native(m)...};
    else return std::tuple<native_t<M>...>{native(m)...};
  }
};
template <class T>
requires(foreign<T>&& tree::Module<T>) struct Native<T> {
  static_assert(!fields::HasBase<T> && !fields::Listed<T>,
                "a struct that holds xtensor's containers is an aggregate without a base class");
  using type = decltype(fields::apply(std::declval<T&>(), FieldsIn<T>{}));
  static type in(const T& x) { return fields::apply(const_cast<T&>(x), FieldsIn<T>{}); }
};
template <class T>
requires(foreign<T> && (requires { std::variant_size<T>::value; } || requires { typename T::deleter_type; }))
struct Native<T> {
  static_assert(detail::never<T>, "transforms take no xtensor's containers in a variant or unique_ptr: use asarray");
};

// ---- results as xtensor's containers --------------------------------------------------------------------------------
/// The rank of an expression; SIZE_MAX where only the run tells it.
template <class E> consteval std::size_t rank_of() {
  using S = typename E::shape_type;
  if constexpr (detail::is_xfixed<E>) return S::size();
  else if constexpr (requires { std::tuple_size<S>::value; }) return std::tuple_size<S>::value;
  else return xt::get_rank<E>::value;
}
/// The container for the numbers of an expression E: E itself, if it owns its memory.
template <class E> consteval auto owner_of() {
  using V = typename E::value_type;
  if constexpr (detail::XtContainer<E>) return std::type_identity<E>{};
  else if constexpr (rank_of<E>() != SIZE_MAX) return std::type_identity<xt::xtensor<V, rank_of<E>()>>{};
  else return std::type_identity<xt::xarray<V>>{};
}
template <class E> using owner_t = typename decltype(owner_of<E>())::type;
inline constexpr const char* kWithArrays = "call the transform with asarray(x): then its results are Arrays";
/// An Array's numbers in a container X. Throws DtypeError for a dtype that X's value type does not hold, ShapeError for
/// another rank; `else_do` says what to do.
template <class X> X to_xt(const Array& a, const char* else_do = kWithArrays) {
  using V = typename X::value_type;
  if (!a.defined()) {  // the gradient of integers
    if constexpr (detail::is_xarray<X>) return X(typename X::shape_type{0});
    else return X();
  }
  check<DtypeError>(promote(a.dtype(), dtype_of<V>) == dtype_of<V>, "a result is ", a.type(),
                    ", and the value type of its container ", dtype_of<V>, "; ", else_do);
  constexpr auto rank = rank_of<X>();
  if constexpr (rank != SIZE_MAX)
    check<ShapeError>(a.ndim() == static_cast<std::int64_t>(rank), "a result is ", a.type(),
                      ", and its container an xtensor of rank ", rank, "; ", else_do);
  return X(as_xarray<V>(a.astype(dtype_of<V>)));
}
/// A tree like T around the numbers of its native form.
template <class T> struct Back {
  using type = T;
  static T out(native_t<T> x) { return x; }
};
template <class T> using back_t = typename Back<T>::type;
template <class T>
requires tree::Foreign<T> struct Back<T> {
  using type = owner_t<T>;
  static type out(const Array& a) { return to_xt<type>(a); }
};
template <class... T>
requires foreign<std::tuple<T...>> struct Back<std::tuple<T...>> {
  using type = std::tuple<back_t<T>...>;
  static type out(const native_t<std::tuple<T...>>& x) {
    return std::apply([](const native_t<T>&... e) { return type{Back<T>::out(e)...}; }, x);
  }
};
template <class A, class B>
requires foreign<A, B> struct Back<std::pair<A, B>> {
  using type = std::pair<back_t<A>, back_t<B>>;
  static type out(const native_t<std::pair<A, B>>& x) { return {Back<A>::out(x.first), Back<B>::out(x.second)}; }
};
template <class T>
requires foreign<T> struct Back<std::vector<T>> {
  using type = std::vector<back_t<T>>;
  static type out(const std::vector<native_t<T>>& x) {
    type r;
    for (auto& e : x) r.push_back(Back<T>::out(e));
    return r;
  }
};
template <class T, std::size_t N>
requires foreign<T> struct Back<std::array<T, N>> {
  using type = std::array<back_t<T>, N>;
  static type out(const std::array<native_t<T>, N>& x) {
    return std::apply([](const auto&... e) { return type{Back<T>::out(e)...}; }, x);
  }
};
template <class T>
requires foreign<T> struct Back<std::optional<T>> {
  using type = std::optional<back_t<T>>;
  static type out(const std::optional<native_t<T>>& x) { return x ? type(Back<T>::out(*x)) : type(); }
};
template <class K, class T>
requires foreign<T> struct Back<std::map<K, T>> {
  using type = std::map<K, back_t<T>>;
  static type out(const std::map<K, native_t<T>>& x) {
    type r;
    for (auto& [k, e] : x) r.emplace(k, Back<T>::out(e));
    return r;
  }
};
template <class... M> struct FieldsOut {
  template <class T, class... P> static T of(const P&... part) { return T{Back<M>::out(part)...}; }
};
struct FieldTypes {
  template <class... M> auto operator()(const M&...) const { return FieldsOut<M...>{}; }
  template <class... M> static constexpr bool own(FieldsOut<M...>) { return (std::is_same_v<back_t<M>, M> && ...); }
};
template <class T>
requires(foreign<T>&& tree::Module<T>) struct Back<T> {
  using type = T;
  using Parts = decltype(fields::apply(std::declval<T&>(), FieldTypes{}));
  static_assert(FieldTypes::own(Parts{}),
                "a struct in a transform holds containers of xtensor, not views or expressions");
  static T out(const native_t<T>& x) {
    auto make = [](const auto&... part) { return Parts::template of<T>(part...); };
    if constexpr (requires { std::tuple_size<native_t<T>>::value; }) return std::apply(make, x);
    else return fields::apply(const_cast<native_t<T>&>(x), make);
  }
};

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
/// A result with containers of kind K in place of its Arrays, in tuples and the like; structs stay as they are.
template <class K, class R> auto loose(const R& r) {
  if constexpr (std::is_same_v<typename K::Array, Array>) return r;
  else if constexpr (std::is_same_v<R, Array>) return to_xt<typename K::Array>(r);
  else if constexpr (requires { typename R::mapped_type; }) {
    std::map<typename R::key_type, decltype(loose<K>(std::declval<const typename R::mapped_type&>()))> m;
    for (auto& [k, e] : r) m.emplace(k, loose<K>(e));
    return m;
  } else if constexpr (std::is_same_v<R, std::vector<bool>> || std::is_same_v<R, std::string>) return r;
  else if constexpr (tree::Container<R> && requires { r.front(); r.data(); typename R::allocator_type; }) {
    std::vector<decltype(loose<K>(r.front()))> v;
    for (auto& e : r) v.push_back(loose<K>(e));
    return v;
  } else if constexpr (tree::Container<R> && requires { r.front(); })
    return std::apply([](const auto&... e) { return std::array{loose<K>(e)...}; }, r);
  else if constexpr (requires { r.has_value(); })
    return r ? std::optional(loose<K>(*r)) : std::optional<decltype(loose<K>(*r))>();
  else if constexpr (requires { r.first; r.second; }) return std::pair{loose<K>(r.first), loose<K>(r.second)};
  else if constexpr (requires { std::tuple_size<R>::value; })
    return std::apply([](const auto&... e) { return std::tuple{loose<K>(e)...}; }, r);
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
    if constexpr (check_takes_arrays<Inner, A...>()) return back(transform(native(std::forward<G>(given))...));
  }
  template <class R> static auto back(const R& r) {
    using K = decltype(kind_of<A...>());
    if constexpr (what == Gives::gradient) {
      if constexpr (std::is_same_v<R, native_t<X>>) return Back<X>::out(r);
      else return std::pair{Back<X>::out(r.first), loose<K>(r.second)};
    } else if constexpr (what == Gives::value_and_gradient) {
      auto value = scalar<K>(std::get<0>(r));
      if constexpr (std::tuple_size_v<R> == 2) return std::pair{std::move(value), Back<X>::out(std::get<1>(r))};
      else return std::tuple{std::move(value), loose<K>(std::get<1>(r)), Back<X>::out(std::get<2>(r))};
    } else if constexpr (what == Gives::hessian && std::is_same_v<R, Array> && tree::Foreign<X>) {
      using O = owner_t<X>;
      if constexpr (detail::is_xarray<O>) return to_xt<O>(r);
      else return to_xt<xt::xtensor<typename O::value_type, 2 * rank_of<O>(), O::static_layout>>(r);
    } else return loose<K>(r);
  }
};
}  // namespace bora::fx
