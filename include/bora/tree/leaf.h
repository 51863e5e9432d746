// leaf.h -- how a type says its place in a tree: as a leaf, or as a static value, which is part of jit's key.
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "bora/array/array.h"
#include "bora/array/mesh.h"

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

/// A type whose data is one Array: how to read the Array, and how to make a copy of a value around a new Array (which
/// may be empty). A specialization may also have `key(const T&, Key&)` and `text(const T&)` for the rest of its
/// structure, and `positional = false` if a leading axis cannot be added or removed without a name.
template <class T> struct Leaf;
template <> struct Leaf<Array> {
  static const Array& array(const Array& a) { return a; }
  static Array rebuild(const Array&, Array a) { return a; }
};
/// Bytes of a static value whose parts cannot be seen: write(const T&), read(T&, const std::string&). See io/cereal.h.
template <class T> struct StaticBytes;
template <class T> concept KeptAsBytes = requires { sizeof(StaticBytes<T>); };  // its StaticBytes are known
template <class T> concept IsLeaf = requires(const T& x) {  // a type whose data is one Array: it has a Leaf
  { Leaf<T>::array(x) } -> std::convertible_to<const Array&>;
};
}  // namespace bora::tree
