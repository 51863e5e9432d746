// params.h -- comparison, hashing and printing of primitives' parameters by field reflection: nothing to write, nothing
// to forget.
#pragma once
#include <array>
#include <bit>
#include <ostream>
#include "bora/array/rules.h"
#include "bora/base/fields.h"

namespace bora::params {
template <class T> concept Range = requires(const T& x) {
  x.begin();
  x.end();
  x.size();
};
template <class T> concept Pair = requires(const T& x) {
  x.first;
  x.second;
};
template <class T> concept Optional = requires(const T& x) {
  x.has_value();
  *x;
};
/// Types that bring operator<< to print, operator== to compare and hash_value to hash.
template <class T> concept Opaque =
    std::is_same_v<T, Dtype> || std::is_same_v<T, Spec> || std::is_same_v<T, MeshAxes> || std::is_same_v<T, Shape>;

void print_program_name(std::ostream&, const ProgramPtr&);  // defined in compile
template <class T> void print(std::ostream& o, const T& x) {
  if constexpr (std::is_same_v<T, bool>) o << (x ? "true" : "false");
  else if constexpr (std::is_same_v<T, MeshAxes>) o << to_string(x);
  else if constexpr (std::is_same_v<T, AxisName>) o << x.str();
  else if constexpr (std::is_same_v<T, Scalar>) {
    if (x.integral()) o << x.integer;
    else print(o, x.value);
    if (x.kind == Scalar::Kind::complex) {
      o << (x.imaginary < 0 ? "" : "+");
      print(o, x.imaginary);
      o << 'j';
    }
  } else if constexpr (std::is_same_v<T, ProgramPtr>) print_program_name(o, x);
  else if constexpr (std::is_floating_point_v<T>) {
    auto p = o.precision(17);
    o << x;
    o.precision(p);
  } else if constexpr (Opaque<T> || std::is_arithmetic_v<T> || std::is_convertible_v<T, std::string_view>) o << x;
  else if constexpr (requires { word(x); }) o << word(x);
  else if constexpr (std::is_enum_v<T>) o << static_cast<int>(x);
  else if constexpr (Optional<T>) {
    if (x) print(o, *x);
    else o << "none";
  } else if constexpr (Pair<T>) {
    print(o, x.first);
    o << ':';
    print(o, x.second);
  } else if constexpr (Range<T>) {
    o << '[';
    bool first = true;
    for (const auto& e : x) {
      if (!first) o << ", ";
      first = false;
      print(o, static_cast<const std::remove_cvref_t<decltype(e)>&>(e));
    }
    o << ']';
  } else {
    std::size_t i = 0;
    fields::for_each(x, [&](std::string_view name, const auto& m) {
      o << (i++ ? " " : "") << name << '=';
      print(o, m);
    });
  }
}
template <class T> bool equal(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<std::array<char, sizeof(T)>>(a) == std::bit_cast<std::array<char, sizeof(T)>>(b);
  else if constexpr (std::is_same_v<T, Scalar>)
    return a.kind == b.kind && a.integer == b.integer && equal(a.value, b.value) && equal(a.imaginary, b.imaginary);
  else if constexpr (std::is_same_v<T, AxisName> || Opaque<T> || std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                     std::is_convertible_v<T, std::string_view> || std::is_same_v<T, ProgramPtr>)
    return a == b;
  else if constexpr (Optional<T>) return a.has_value() == b.has_value() && (!a || equal(*a, *b));
  else if constexpr (Pair<T>) return equal(a.first, b.first) && equal(a.second, b.second);
  else if constexpr (Range<T>) {
    if (a.size() != b.size()) return false;
    auto j = b.begin();
    for (auto i = a.begin(); i != a.end(); ++i, ++j) {
      using E = std::remove_cvref_t<decltype(*i)>;
      if (!equal(static_cast<const E&>(*i), static_cast<const E&>(*j))) return false;
    }
    return true;
  } else {
    const void* other[fields::count<T> + 1];
    std::size_t i = 0;
    fields::for_each(b, [&](std::string_view, const auto& m) { other[i++] = &m; });
    bool same = true;
    i = 0;
    fields::for_each(a, [&](std::string_view, const auto& m) {
      same = same && equal(m, *static_cast<const std::remove_cvref_t<decltype(m)>*>(other[i]));
      ++i;
    });
    return same;
  }
}
template <class T> std::size_t hash(const T& x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::hash<std::uint64_t>{}(std::bit_cast<std::uint64_t>(static_cast<double>(x)));
  else if constexpr (std::is_same_v<T, Scalar>)
    return hash_combine(hash_combine(hash(x.value), hash(x.imaginary)),
                        static_cast<std::size_t>(x.integer) * 4 + static_cast<std::size_t>(x.kind));
  else if constexpr (std::is_same_v<T, AxisName>) return std::hash<const void*>{}(x.id());
  else if constexpr (std::is_same_v<T, Dtype> || std::is_arithmetic_v<T> || std::is_enum_v<T>)
    return static_cast<std::size_t>(x) + 0x9e3779b9u;
  else if constexpr (std::is_convertible_v<T, std::string_view>) return std::hash<std::string_view>{}(x);
  else if constexpr (std::is_same_v<T, ProgramPtr>) return std::hash<const void*>{}(x.get());
  else if constexpr (Opaque<T>) return hash_value(x);
  else if constexpr (Optional<T>) return x ? hash_combine(1, hash(*x)) : 0;
  else if constexpr (Pair<T>) return hash_combine(hash(x.first), hash(x.second));
  else if constexpr (Range<T>) {
    std::size_t h = x.size();
    for (const auto& e : x) h = hash_combine(h, hash(static_cast<const std::remove_cvref_t<decltype(e)>&>(e)));
    return h;
  } else {
    std::size_t h = 7;
    fields::for_each(x, [&](std::string_view, const auto& m) { h = hash_combine(h, hash(m)); });
    return h;
  }
}
}  // namespace bora::params
