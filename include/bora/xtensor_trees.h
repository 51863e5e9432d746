// xtensor_trees.h -- trees that hold xtensor's containers, with Arrays in their place, and back.
#pragma once
#include "bora/fx/transforms.h"
#include "bora/xtensor_array.h"

namespace bora::fx {
/// The fields of a struct T that holds containers, as f gets them: the std::tuple of them, which a structured binding
/// names; its paths have T's names, and what has this type in a result of jit becomes a T.
template <class T, class... M> struct FieldsOf : std::tuple<M...> {
  using std::tuple<M...>::tuple;
};
}  // namespace bora::fx
template <class T, class... M>
struct std::tuple_size<bora::fx::FieldsOf<T, M...>> : std::integral_constant<std::size_t, sizeof...(M)> {};
template <std::size_t I, class T, class... M>
struct std::tuple_element<I, bora::fx::FieldsOf<T, M...>> : std::tuple_element<I, std::tuple<M...>> {};
namespace bora::tree {
template <class T, class... M> struct Children<fx::FieldsOf<T, M...>> {
  static constexpr bool known = (Tree<M> && ... && true);
  template <class F> static void each(fx::FieldsOf<T, M...>& x, F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(Name{Name::Kind::field, fields::name<T, I>, 0, detail::decays<T>(fields::name<T, I>)}, std::get<I>(x)), ...);
    }(std::index_sequence_for<M...>{});
  }
};
}  // namespace bora::tree

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
    if constexpr (std::is_void_v<S>) return FieldsOf<T, native_t<M>...>{native(m)...};
    else if constexpr (requires { S{std::declval<native_t<M>>()...}; }) return S{native(m)...};
    else return FieldsOf<T, native_t<M>...>{native(m)...};
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
    if constexpr (detail::is_xarray<X>) return X::from_shape(std::vector<std::size_t>{0});
    else return X();
  }
  check<DtypeError>(promote(a.dtype(), dtype_of<V>) == dtype_of<V>, "a result is ", a.type(),
                    ", and the value type of its container ", dtype_of<V>, "; ", else_do);
  constexpr auto rank = rank_of<X>();
  if constexpr (rank != SIZE_MAX)
    check<ShapeError>(a.ndim() == static_cast<std::int64_t>(rank), "a result is ", a.type(),
                      ", and its container an xtensor of rank ", rank, "; ", else_do);
  Array numbers = a.astype(dtype_of<V>).concrete();
  auto* from = static_cast<const V*>(numbers.bytes());
  auto n = static_cast<std::size_t>(a.size());
  auto filled = [&](X x) {
    if constexpr (X::static_layout == xt::layout_type::row_major) std::copy_n(from, n, x.data());
    else std::copy_n(from, n, x.template begin<xt::layout_type::row_major>());
    return x;
  };
  if constexpr (rank == 0 || detail::is_xfixed<X>) return filled(X());
  else return filled(X::from_shape(a.shape()));
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
}  // namespace bora::fx
