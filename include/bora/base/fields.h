// fields.h -- the fields of a plain aggregate as (name, reference) pairs, with no declaration by its author; classes
// with private members list them in one line. The same mechanism serves parameters of primitives (equality, hash,
// print), trees of Arrays, settings (YAML, command line) and archives.
// How: fields are counted by brace initialization, bound by structured bindings, and named from __PRETTY_FUNCTION__ of
// a pointer into an object that is never defined. Compilers: g++ 12 and clang 14.
// Limits of aggregates: at most 64 fields; no base class, no reference, const or private member.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include "bora/base/fields_bind.h"

namespace bora {
/// The members of a class that is no aggregate, in order: `using members = bora::MemberList<&Counter::n_>;`, after
/// them, in a public part of the class. Underscores at its end are no part of a name.
template <auto... P> struct MemberList {};
}  // namespace bora

namespace bora::fields {
namespace detail {
template <class> inline constexpr bool lists = false;
template <auto... P> inline constexpr bool lists<MemberList<P...>> = true;
}  // namespace detail
/// A class that lists its members itself.
template <class T> concept Listed = requires { typename T::members; } && detail::lists<typename T::members>;
namespace detail {
struct Any {
  template <class T> operator T() const noexcept;
};
template <class T> struct BaseOf {
  template <class B>
  requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>) operator B() const noexcept;
};
template <std::size_t> using AnyAt = Any;
template <class T, std::size_t... I> consteval bool takes(std::index_sequence<I...>) {
  return requires { T{AnyAt<I>{}...}; };
}
/// The number of members of an aggregate: the largest number of initializers that it takes, up to kMax + 1.
template <class T, std::size_t N> consteval std::size_t count_down() {
  if constexpr (N == 0) return 0;
  else if constexpr (takes<T>(std::make_index_sequence<N>{})) return N;
  else return count_down<T, N - 1>();
}
/// It takes Low initializers, but not High. The numbers that it takes are an interval, from the last member without a
/// default value to the number of its members: bisection needs seven tests where counting down needs forty.
template <class T, std::size_t Low, std::size_t High> consteval std::size_t bisect() {
  if constexpr (High - Low == 1) return Low;
  else {
    constexpr auto middle = (Low + High) / 2;
    if constexpr (takes<T>(std::make_index_sequence<middle>{})) return bisect<T, middle, High>();
    else return bisect<T, Low, middle>();
  }
}
template <class T> consteval std::size_t count_aggregate() {
  constexpr auto most = sizeof(T) <= kMax ? sizeof(T) : kMax + 1;
  if constexpr (takes<T>(std::index_sequence<>{}) && !takes<T>(std::make_index_sequence<most + 1>{}))
    return bisect<T, 0, most + 1>();
  else return count_down<T, most>();
}
template <class> inline constexpr std::size_t listed = 0;
template <auto... P> inline constexpr std::size_t listed<MemberList<P...>> = sizeof...(P);
template <auto... P, class T, class F> constexpr decltype(auto) bind_listed(MemberList<P...>, T& x, F& f) {
  return f(x.*P...);
}
template <auto P> consteval std::string_view listed_name() {
  std::string_view s = __PRETTY_FUNCTION__;
  s = s.substr(s.find("P = ") + 4);
  s = s.substr(0, s.find_first_of(";]"));
  s = s.substr(s.rfind(':') + 1);
  while (s.ends_with('_') || s.ends_with(')')) s.remove_suffix(1);  // n_ is called n
  return s;
}
template <std::size_t I, auto P, auto... More> consteval std::string_view name_of(MemberList<P, More...>) {
  if constexpr (I == 0) return listed_name<P>();
  else return name_of<I - 1>(MemberList<More...>{});
}
template <class T> consteval std::size_t count() {
  if constexpr (Listed<T>) return listed<typename T::members>;
  else return count_aggregate<T>();
}
/// Calls f with references to all fields of x.
template <class T, class F> constexpr decltype(auto) bind(T&& x, F&& f) {
  using U = std::remove_cvref_t<T>;
  if constexpr (Listed<U>) return bind_listed(typename U::members{}, x, f);
  else {
    constexpr auto n = count<U>();
    static_assert(n <= kMax, "a reflected struct may have at most 64 fields; group some into a struct of their own");
    static_assert(n > 0 || std::is_empty_v<U>,
                  "cannot see the fields of this struct: it has a reference, const or private member, or a "
                  "constructor; a class lists its members: using members = bora::MemberList<&Class::a_, &Class::b_>;");
    return bind_members<n>(x, f);
  }
}
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <class T> struct Fake {
  const T value;
  static const Fake<T> never_defined;
};
template <class T> consteval const T& fake() { return Fake<T>::never_defined.value; }
#ifdef __clang__
#pragma clang diagnostic pop
#endif
template <class T> struct Ptr { const T* p; };
template <std::size_t I, class T> struct PtrAt { const T* p; };
template <class, class...> struct Ptrs;
template <std::size_t... I, class... M> struct Ptrs<std::index_sequence<I...>, M...> : PtrAt<I, M>... {};
/// Pointers to all fields of an object that is never defined.
template <class T> consteval auto pointers() {
  return bind(fake<T>(), []<class... M>(const M&... m) {
    return Ptrs<std::index_sequence_for<M...>, M...>{{&m}...};
  });
}
template <std::size_t I, class M> consteval Ptr<M> pointer_at(const PtrAt<I, M>& p) { return {p.p}; }
template <auto P> consteval std::string_view name_from_signature() {
  std::string_view s = __PRETTY_FUNCTION__;
#ifdef __clang__
  auto e = s.rfind('}');
  auto b = s.find_last_of(".", e) + 1;
#else
  auto e = s.rfind(")}");
  auto b = s.rfind("::", e) + 2;
#endif
  return s.substr(b, e - b);
}
template <class T, std::size_t I> consteval std::string_view name_at() {
  if constexpr (Listed<T>) return name_of<I>(typename T::members{});
  else return name_from_signature<pointer_at<I>(pointers<T>())>();
}
}  // namespace detail

/// Number of fields of T.
template <class T> inline constexpr std::size_t count = detail::count<T>();
template <class T> concept HasBase = !Listed<T> && requires { T{detail::BaseOf<T>{}}; };
/// The name of T's I-th field, as written in its definition.
template <class T, std::size_t I>
inline constexpr std::string_view name = detail::name_at<T, I>();
/// Calls f(name, field) for every field of x, in order of declaration.
template <class T, class F> constexpr void for_each(T&& x, F&& f) {
  using U = std::remove_cvref_t<T>;
  detail::bind(x, [&]<class... M>(M&... m) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(name<U, I>, m), ...); }
    (std::index_sequence_for<M...>{});
  });
}
/// A field for functions that are no templates: its name, its place in the struct, and what `Kind` says of its type.
template <class Kind> struct Field {
  std::string_view name;
  std::ptrdiff_t offset;
  const Kind* kind;
  const void* in(const void* object) const { return static_cast<const char*>(object) + offset; }
  void* in(void* object) const { return static_cast<char*>(object) + offset; }
};
/// Makes Fields of an object; Kinds::of(field) gives a field's address and its Kind.
template <class Kind, class Kinds> struct Row {
  const void* object;
  template <class M> Field<Kind> operator()(std::string_view name, const M& m) const {
    auto [at, kind] = Kinds::of(m);
    return {name, static_cast<const char*>(at) - static_cast<const char*>(object), kind};
  }
};
/// The fields of a struct, from any object of it.
template <class Kind, class Kinds, class T> std::array<Field<Kind>, count<T>> table(const T& x) {
  return detail::bind(x, [row = Row<Kind, Kinds>{&x}]<class... M>(const M&... m) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      (void)row;
      return std::array<Field<Kind>, sizeof...(M)>{row(name<T, I>, m)...};
    }(std::index_sequence_for<M...>{});
  });
}
/// Calls f with references to all fields at once.
template <class T, class F> constexpr decltype(auto) apply(T&& x, F&& f) {
  return detail::bind(std::forward<T>(x), std::forward<F>(f));
}
}  // namespace bora::fields
