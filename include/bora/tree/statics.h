// statics.h -- the values in a tree that are part of its structure: how they enter jit's key, and how they are printed.
#pragma once
#include <bit>
#include "bora/array/params.h"
#include "bora/tree/leaf.h"

namespace bora::tree {
/// Adds a static value to jit's key, part by part.
template <class T> void add_static(Key& k, const T& x) {
  if constexpr (std::is_same_v<T, Scalar>) {
    add_static(k, x.value);
    add_static(k, x.imaginary);
    k.add(static_cast<std::uint64_t>(x.integer));
    k.add(static_cast<std::uint64_t>(x.kind));
  } else if constexpr (std::is_same_v<T, AxisName>) k.add_text(x.str());
  else if constexpr (is_float_class<T>) k.add(x.bits);
  else if constexpr (std::is_same_v<T, long double>) k.add_text({reinterpret_cast<const char*>(&x), 10});
  else if constexpr (std::is_floating_point_v<T>) k.add(std::bit_cast<std::uint64_t>(static_cast<double>(x)));
  else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) k.add(static_cast<std::uint64_t>(x));
  else if constexpr (std::is_convertible_v<const T&, std::string_view>) k.add_text(x);
  else if constexpr (param_rules::Optional<T>) {
    k.add(x.has_value());
    if (x) add_static(k, *x);
  } else if constexpr (param_rules::Pair<T>) {
    add_static(k, x.first);
    add_static(k, x.second);
  } else if constexpr (param_rules::Range<T>) {
    k.add(x.size());
    for (const auto& e : x) add_static(k, static_cast<const std::remove_cvref_t<decltype(e)>&>(e));
  } else if constexpr (requires { std::hash<T>{}(x); } && !std::is_aggregate_v<T>) k.add_value(x);
  else if constexpr (KeptAsBytes<T>) k.add_text(StaticBytes<T>::write(x));
  else fields::for_each(x, [&](std::string_view, const auto& m) { add_static(k, m); });
}
/// Prints a static value; one that cannot be printed as "another value".
template <class T> void print_static(std::ostream& o, const T& x) {
  if constexpr (requires { o << x; }) {
    if constexpr (std::is_arithmetic_v<T>) param_rules::print(o, x);
    else o << x;
  } else if constexpr (std::is_aggregate_v<T> || std::is_enum_v<T> || param_rules::Range<T> || param_rules::Pair<T> ||
                       param_rules::Optional<T>)
    param_rules::print(o, x);
  else o << "another value";
}
}  // namespace bora::tree
