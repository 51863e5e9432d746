// statics.h -- the values in a tree that are part of its structure: how they enter jit's key, and how they are printed.
#pragma once
#include <bit>
#include "bora/array/params.h"

namespace bora {
/// Whether T is part of a tree's structure, and so of jit's key, rather than data. Specialize it for your own type: an
/// aggregate of statics, or a type with std::hash and ==. Never for a pointer: transforms would not see its target.
template <class T> inline constexpr bool is_static =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> || is_float_class<T> ||
    std::is_same_v<T, Scalar> || std::is_same_v<T, Shape> || std::is_same_v<T, Spec> || std::is_same_v<T, MeshAxes> ||
    std::is_same_v<T, std::vector<bool>>;
}  // namespace bora

namespace bora::tree {
/// Words that encode a tree's structure, statics and types exactly: keys are equal if and only if these are.
class Key {
 public:
  Key() { words_.reserve(256); }
  void add(std::uint64_t w) { words_.push_back(w); }
  void add_text(std::string_view s);
  void add_type(const Type& t) {
    add(static_cast<std::uint64_t>(t.dtype) << 32 | t.shape.size());
    for (auto n : t.shape) add(static_cast<std::uint64_t>(n));
  }
  /// A value that only == distinguishes from others.
  template <class T> void add_value(const T& x) {
    add(std::hash<T>{}(x));
    values_.push_back({std::make_shared<const T>(x), [](const void* a, const void* b) {
                         return static_cast<bool>(*static_cast<const T*>(a) == *static_cast<const T*>(b));
                       }});
  }
  std::size_t hash() const;
  bool operator==(const Key&) const = default;
 private:
  struct Held {
    std::shared_ptr<const void> at;
    bool (*equal)(const void*, const void*);
    bool operator==(const Held& o) const { return equal == o.equal && equal(at.get(), o.at.get()); }
  };
  std::vector<std::uint64_t> words_;
  std::vector<Held> values_;
};
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
  else fields::for_each(x, [&](std::string_view, const auto& m) { add_static(k, m); });
}
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
