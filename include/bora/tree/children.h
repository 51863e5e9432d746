// children.h -- which types are trees, and their parts: leaves, containers, modules.
#pragma once
#include <array>
#include <concepts>
#include <map>
#include <tuple>
#include <variant>
#include "bora/tree/node.h"
#include "bora/tree/statics.h"

namespace bora::tree {
/// The parts of a container: each(x, f) calls f(name, part) in order. length(x): the number of parts, where it varies;
/// chosen(x): which alternative x holds.
template <class T> struct Children { static constexpr bool known = false; };
template <class T> concept Container = Children<T>::known;  // a type whose Children are known
/// A struct whose fields make a tree: an aggregate, or a class that lists its members.
template <class T> concept Module = std::is_class_v<T> && (std::is_aggregate_v<T> || fields::Listed<T>) &&
    !Container<T> && !IsLeaf<T> && !is_static<T>;
/// A container of another library, a tree to transforms alone.
template <class T> concept Foreign = bora::detail::becomes_array<T>;
/// What transforms take: a leaf, a container, a struct, a static value, or a container of another library.
template <class T> concept Tree = IsLeaf<T> || Container<T> || Module<T> || is_static<T> || Foreign<T>;

namespace detail {
inline Name index(std::size_t i) { return {Name::Kind::index, {}, i}; }
template <class T> struct Sequence {
  static constexpr bool known = Tree<typename T::value_type>;
  static std::size_t length(const T& x) { return x.size(); }
  template <class F> static void each(T& x, F&& f) {
    std::size_t i = 0;
    for (auto& e : x) f(index(i++), e);
  }
};
/// optional, unique_ptr: one part, or none; it has the name of its owner.
template <class T, class Part> struct Maybe {
  static constexpr bool known = Tree<Part>;
  static std::size_t length(const T& x) { return x ? 1 : 0; }
  template <class F> static void each(T& x, F&& f) {
    if (x) f(Name{}, *x);
  }
};
}  // namespace detail
template <class T>
requires(!std::is_same_v<T, bool>) struct Children<std::vector<T>> : detail::Sequence<std::vector<T>> {
};
template <class T, std::size_t N> struct Children<std::array<T, N>> : detail::Sequence<std::array<T, N>> {};
template <class T> struct Children<std::optional<T>> : detail::Maybe<std::optional<T>, T> {};
template <class T> struct Children<std::unique_ptr<T>> {
  static constexpr bool known = true;  // T may be the struct that has this member
  static std::size_t length(const std::unique_ptr<T>& x) { return x ? 1 : 0; }
  template <class F> static void each(std::unique_ptr<T>& x, F&& f) {
    static_assert(Tree<T>, "tree: a unique_ptr must point to an Array, a tree or a static value");
    if (x) f(Name{}, *x);
  }
};
template <class K, class T>
requires(std::is_same_v<K, std::string> || std::is_integral_v<K> || std::is_enum_v<K>) struct Children<std::map<K, T>> {
  static constexpr bool known = Tree<T>;
  static std::size_t length(const std::map<K, T>& x) { return x.size(); }
  template <class F> static void each(std::map<K, T>& x, F&& f) {
    for (auto& [k, e] : x)
      if constexpr (std::is_same_v<K, std::string>) f(Name{Name::Kind::key, k, 0}, e);
      else {
        auto text = std::to_string(static_cast<long long>(k));
        f(Name{Name::Kind::key, text, 0}, e);
      }
  }
};
template <class... T> struct Children<std::tuple<T...>> {
  static constexpr bool known = (Tree<T> && ... && true);
  template <class F> static void each(std::tuple<T...>& x, F&& f) {
    std::apply(
        [&](auto&... e) {
          [[maybe_unused]] std::size_t i = 0;
          (f(detail::index(i++), e), ...);
        },
        x);
  }
};
template <class A, class B> struct Children<std::pair<A, B>> {
  static constexpr bool known = Tree<A> && Tree<B>;
  template <class F> static void each(std::pair<A, B>& x, F&& f) {
    f(detail::index(0), x.first);
    f(detail::index(1), x.second);
  }
};
template <class... T> struct Children<std::variant<T...>> {
  static constexpr bool known = (Tree<T> && ... && true);
  static std::size_t chosen(const std::variant<T...>& x) { return x.index(); }
  template <class F> static void each(std::variant<T...>& x, F&& f) {
    if (!x.valueless_by_exception()) std::visit([&](auto& e) { f(Name{}, e); }, x);
  }
};
struct NoChildren {  // of types that hold nothing
  static constexpr bool known = true;
  template <class T, class F> static void each(T&, F&&) {}
};
template <> struct Children<std::nullopt_t> : NoChildren {};
template <> struct Children<std::monostate> : NoChildren {};

namespace detail {
template <template <class> class Test, class T, class... Above> consteval bool every();
/// every() of the members of an aggregate. A struct: clang 14 crashes on a lambda in a precompiled template's decltype.
template <template <class> class Test, class... Above> struct EveryMember {
  template <class... M> constexpr auto operator()(M&...) const {
    return std::bool_constant<(every<Test, M, Above...>() && ... && true)>{};
  }
};
/// Whether every part of T satisfies a condition: Test<Part>() says true, false, or nothing, and then its own parts are
/// asked. A part inside itself is true.
template <template <class> class Test, class T, class... Above> consteval bool every() {
  if constexpr ((std::is_same_v<T, Above> || ...)) return true;  // a recursive type
  else if constexpr (requires { Test<T>::value; }) return Test<T>::value;
  else if constexpr (is_static<T> || !Tree<T>) return true;
  else if constexpr (requires { typename T::mapped_type; }) return every<Test, typename T::mapped_type, T, Above...>();
  else if constexpr (Container<T> && requires { typename T::value_type; })
    return every<Test, typename T::value_type, T, Above...>();
  else if constexpr (Container<T> && requires { typename T::element_type; })
    return every<Test, typename T::element_type, T, Above...>();
  else if constexpr (Container<T> && requires { std::variant_size<T>::value; })
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (every<Test, std::variant_alternative_t<I, T>, T, Above...>() && ... && true);
    }(std::make_index_sequence<std::variant_size_v<T>>{});
  else if constexpr (Container<T> && requires { std::tuple_size<T>::value; })
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (every<Test, std::tuple_element_t<I, T>, T, Above...>() && ... && true);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  else if constexpr (Module<T> && !fields::HasBase<T>)
    return decltype(fields::apply(std::declval<T&>(), EveryMember<Test, T, Above...>{}))::value;
  else return true;
}
template <class T> struct PositionalTest {};
template <IsLeaf T> struct PositionalTest<T> {
  static constexpr bool value = [] {
    if constexpr (requires { Leaf<T>::positional; }) return Leaf<T>::positional;
    else return true;
  }();
};
template <class T> struct CopyTest {};
template <class T> struct CopyTest<std::unique_ptr<T>> : std::false_type {};
template <class T>
requires(IsLeaf<T> || is_static<T> || fields::Listed<T>) struct CopyTest<T> : std::true_type {};
}  // namespace detail
/// All leaves may get or lose a leading axis without a name.
template <class T> inline constexpr bool positional = detail::every<detail::PositionalTest, T>();
/// No unique_ptr is inside.
template <class T> inline constexpr bool copyable = detail::every<detail::CopyTest, T>();

/// A copy; what a unique_ptr owns is copied too.
template <class T> T clone(const T& x) {
  if constexpr (copyable<T>) return x;
  else if constexpr (requires { typename T::element_type; })
    return x ? std::make_unique<typename T::element_type>(clone(*x)) : nullptr;
  else if constexpr (requires { typename T::mapped_type; }) {
    T r;
    for (auto& [k, e] : x) r.emplace(k, clone(e));
    return r;
  } else if constexpr (requires { x.push_back(x.front()); std::declval<T&>().reserve(1); }) {
    T r;
    r.reserve(x.size());
    for (auto& e : x) r.push_back(clone(e));
    return r;
  } else if constexpr (requires { std::variant_size<T>::value; })
    return std::visit([](auto& e) { return T(clone(e)); }, x);
  else if constexpr (requires { std::tuple_size<T>::value; })
    return std::apply([](auto&... e) { return T{clone(e)...}; }, x);
  else if constexpr (requires { x.has_value(); }) return x ? T(clone(*x)) : T();
  else return fields::apply(const_cast<T&>(x), [](auto&... m) { return T{clone(m)...}; });
}
/// A value of one's own: an rvalue is moved, anything else cloned.
template <class T> std::remove_cvref_t<T> own(T&& x) {
  if constexpr (std::is_lvalue_reference_v<T>) return clone<std::remove_cvref_t<T>>(x);
  else return std::move(x);
}
}  // namespace bora::tree
