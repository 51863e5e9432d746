// stored.h -- how the static values of a tree become Values and are read back. One row for each kind of type; the last
// one takes structs by their fields.
#pragma once
#include <limits>
#include "bora/tree/tree.h"
#include "bora/tree/value.h"

namespace bora::tree {
/// Throws ValueError for a type that has no row.
template <class T> Value to_value(const T& x) { return Stored<T>::write(x); }
/// Throws CheckpointError for a Value of another kind, naming the path.
template <class T> void read_value(T& x, const Value& v, const std::string& path) { Stored<T>::read(x, v, path); }
namespace detail {
template <class T> T read_new(const Value& v, const std::string& path) {
  if constexpr (std::is_same_v<T, AxisName>) return AxisName(text_of(v, path));
  else if constexpr (std::default_initializable<T>) {
    T x{};
    read_value(x, v, path);
    return x;
  } else not_stored(typeid(T));
}
template <class T> concept Other = !Plain<T> && !KeptAsBytes<T>;
/// An enum with a type, which can hold every number of that type; of another enum some numbers are undefined.
template <class T> concept FixedEnum = std::is_enum_v<T> && requires { T{0}; };
template <class T> concept Integer = Other<T> && (std::is_integral_v<T> || FixedEnum<T>);
template <class T> struct Underlying { using type = T; };
template <class T> requires std::is_enum_v<T> struct Underlying<T> : std::underlying_type<T> {};
template <class T> concept Number = Other<T> && (std::is_floating_point_v<T> || is_float_class<T>);
template <class T> concept Optional = Other<T> && requires(T& x) {
  x.reset();
  *x;
};
template <class T> concept TupleLike = Other<T> && requires { std::tuple_size<T>::value; };
template <class T> concept List = Other<T> && param_rules::Range<T> && !TupleLike<T> && std::default_initializable<T>;
}  // namespace detail

template <KeptAsBytes T> struct Stored<T> {
  static Value write(const T& x) { return detail::text(Value::Kind::bytes, StaticBytes<T>::write(x)); }
  static void read(T& x, const Value& v, const std::string& path) {
    auto& bytes = detail::text_of(v, path, Value::Kind::bytes);
    try {
      StaticBytes<T>::read(x, bytes);
    } catch (const std::exception& e) { detail::not_read(path, e); }
  }
};
template <detail::Integer T> struct Stored<T> {
  using Limits = std::numeric_limits<typename detail::Underlying<T>::type>;
  static Value write(T x) {
    if constexpr (Limits::is_signed) return detail::integer(static_cast<std::int64_t>(x));
    else return detail::natural(static_cast<std::uint64_t>(x));
  }
  static void read(T& x, const Value& v, const std::string& path) {
    x = static_cast<T>(detail::integer_of(v, path, Limits::min(), static_cast<std::uint64_t>(Limits::max())));
  }
};
template <detail::Number T> struct Stored<T> {
  static double f64_of(T x) {
    if constexpr (is_float_class<T>) return static_cast<float>(x);
    else return x;
  }
  static Value write(T x) { return detail::number(f64_of(x)); }
  static void read(T& x, const Value& v, const std::string& path) {
    auto d = detail::number_of(v, path);
    if constexpr (is_float_class<T>) x = T(static_cast<float>(d));
    else x = static_cast<T>(d);
    if (f64_of(x) != d && d == d) detail::wrong_value(v, path, "a number of fewer bits");
  }
};
template <detail::Optional T> struct Stored<T> {
  using Part = std::remove_cvref_t<decltype(*std::declval<T&>())>;
  static Value write(const T& x) {
    return x ? detail::parts(Value::Kind::some, {to_value<Part>(*x)}) : Value();
  }
  static void read(T& x, const Value& v, const std::string& path) {
    if (v.kind == Value::Kind::none) return x.reset();
    if (v.kind != Value::Kind::some) detail::wrong_value(v, path, "a value that might not be there");
    auto part = detail::read_new<Part>(v.parts[0], path);
    if constexpr (requires { x = std::move(part); }) x = std::move(part);
    else x = std::make_unique<Part>(std::move(part));
  }
};
template <detail::TupleLike T> struct Stored<T> {  // pair, tuple, array
  static Value write(const T& x) {
    return std::apply([](auto&... e) { return detail::parts(Value::Kind::list, {to_value(e)...}); }, x);
  }
  static void read(T& x, const Value& v, const std::string& path) {
    auto part = detail::list_of(v, path, std::tuple_size_v<T>).begin();
    std::size_t i = 0;
    std::apply([&](auto&... e) { (read_value(e, *part++, detail::below(path, i++)), ...); }, x);
  }
};
template <class... T> struct Stored<std::variant<T...>> {
  using V = std::variant<T...>;
  static Value write(const V& x) {
    return std::visit([&](auto& e) { return detail::parts(Value::Kind::list, {to_value(x.index()), to_value(e)}); }, x);
  }
  static void read(V& x, const Value& v, const std::string& path) {
    auto& both = detail::list_of(v, path, 2);
    auto chosen = detail::integer_of(both[0], path, 0, sizeof...(T) - 1);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((I == chosen ? void(x.template emplace<I>(detail::read_new<T>(both[1], path))) : void()), ...);
    }(std::index_sequence_for<T...>());
  }
};
template <class K, class T> struct Stored<std::map<K, T>> {  // a list of pairs
  static Value write(const std::map<K, T>& x) {
    auto all = detail::parts(Value::Kind::list);
    for (auto& [k, e] : x) all.parts.push_back(detail::parts(Value::Kind::list, {to_value(k), to_value(e)}));
    return all;
  }
  static void read(std::map<K, T>& x, const Value& v, const std::string& path) {
    x.clear();
    for (auto& entry : detail::list_of(v, path)) {
      auto& both = detail::list_of(entry, path, 2);
      auto key = detail::read_new<K>(both[0], path);
      if (!x.emplace(std::move(key), detail::read_new<T>(both[1], path)).second)
        detail::wrong_value(v, path, "a map that has each key once");
    }
  }
};
template <detail::List T> struct Stored<T> {  // vector, set, Shape, Spec
  using Element = std::conditional_t<std::is_same_v<T, std::vector<bool>>, bool,
                                     std::remove_cvref_t<decltype(*std::declval<T&>().begin())>>;
  static Value write(const T& x) {
    auto all = detail::parts(Value::Kind::list);
    for (const Element& e : x) all.parts.push_back(to_value<Element>(e));
    return all;
  }
  static void read(T& x, const Value& v, const std::string& path) {
    T all{};
    std::size_t i = 0;
    for (auto& part : detail::list_of(v, path)) {
      auto e = detail::read_new<Element>(part, detail::below(path, i++));
      if constexpr (requires { all.push_back(std::move(e)); }) all.push_back(std::move(e));
      else all.insert(std::move(e));
    }
    x = std::move(all);
  }
};
/// Structs and empty types; other types have specializations.
template <class T> struct Stored {
  static constexpr bool empty = std::is_same_v<T, std::monostate> || std::is_same_v<T, std::nullopt_t>;
  static Value write(const T& x) {
    if constexpr (empty) return (void)x, Value();
    else if constexpr (fields::Listed<T> || std::is_aggregate_v<T>) {
      auto all = detail::parts(Value::Kind::fields);
      fields::for_each(x, [&](std::string_view name, const auto& m) {
        all.names.emplace_back(name);
        all.parts.push_back(to_value(m));
      });
      return all;
    } else detail::not_stored(typeid(T), std::is_enum_v<T>);
  }
  static void read(T& x, const Value& v, const std::string& path) {
    if constexpr (empty) {
      if (v.kind != Value::Kind::none) detail::wrong_value(v, path, "nothing");
    } else if constexpr (fields::Listed<T> || std::is_aggregate_v<T>) {
      std::vector<std::string_view> names;
      fields::for_each(x, [&](std::string_view name, auto&) { names.push_back(name); });
      auto values = detail::fields_of(v, path, names);
      auto part = values.begin();
      fields::for_each(x, [&](std::string_view name, auto& m) { read_value(m, **part++, detail::below(path, name)); });
    } else detail::not_stored(typeid(T), std::is_enum_v<T>);
  }
};

// ---- the walk over a tree -------------------------------------------------------------------------------------------
namespace detail {
template <class T> concept WalksItself = requires(T& x, ValueVisitor& v) { x.walk_values(v, Name()); };  // Any
template <class T> struct LeaflessTest {};
template <class T> requires(IsLeaf<T> || WalksItself<T>) struct LeaflessTest<T> : std::false_type {};
template <class V> void check_alternative(void* p, const Value& v, const std::string& path) {
  auto chosen = static_cast<const V*>(p)->index();
  if (integer_of(v, path, 0, ~std::uint64_t{0}) != chosen) wrong_value(v, path, std::to_string(chosen));
}
}  // namespace detail
/// Visits the static values of the tree of type T at p.
template <class T> void walk_values(void* p, ValueVisitor& v, const Name& name) {
  auto& x = *static_cast<T*>(p);
  if constexpr (detail::WalksItself<T>) x.walk_values(v, name);
  else if constexpr (is_static<T> || (Container<T> && detail::every<detail::LeaflessTest, T>()))
    v.value(name, {p, [](const void* q) { return to_value(*static_cast<const T*>(q)); },
                   [](void* q, const Value& s, const std::string& path) { read_value(*static_cast<T*>(q), s, path); }});
  else if constexpr (!IsLeaf<T>) {
    v.enter(name);
    if constexpr (Container<T>) {
      if constexpr (requires { Children<T>::chosen(x); })
        v.value({Name::Kind::field, "(alternative)"},
                {p, [](const void* q) { return to_value(static_cast<const T*>(q)->index()); },
                 &detail::check_alternative<T>});
      Children<T>::each(x, [&]<class C>(const Name& n, C& child) { walk_values<C>(&child, v, n); });
    } else
      fields::for_each(x, [&]<class C>(std::string_view n, C& child) {
        walk_values<C>(&child, v, {Name::Kind::field, n});
      });
    v.leave();
  }
}
/// The static values of a tree and their paths.
template <class T> std::vector<ValueSlot> value_slots(T& x) { return value_slots(&x, &walk_values<T>); }
}  // namespace bora::tree
