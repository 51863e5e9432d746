// node.h -- type-erased trees: what is compiled once, in src/tree, for trees of all types.
#pragma once
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>
#include "bora/tree/leaf.h"

namespace bora::tree {
/// The name of a field, element or entry inside its owner.
struct Name {
  enum class Kind : std::uint8_t { none, field, index, key } kind = Kind::none;
  std::string_view text = {};
  std::size_t index = 0;
  std::optional<bool> decays = {};  // the answer of the struct that owns the field, if it gives one
};
struct LeafType {  // how leaves of one type are read and written
  const Array& (*get)(const void*);
  void (*set)(void*, Array);
  void (*key)(const void*, Key&);
  std::string (*text)(const void*);
  const std::type_info* type;
};
/// A reference to a leaf inside its tree.
struct LeafRef {
  void* at;
  const LeafType* type;
  const Array& get() const { return type->get(at); }
  bool defined() const { return get().defined(); }
  void set(Array a) const { type->set(at, std::move(a)); }
  std::string text() const { return type->text(at); }
  /// The leaf itself if it is a T, else null.
  template <class T> T* as() const { return *type->type == typeid(T) ? static_cast<T*>(at) : nullptr; }
};
struct StaticRef {  // a reference to a static value inside its tree
  const void* at;
  void (*key)(const void*, Key&);
  void (*print)(const void*, std::ostream&);
};

/// Visits a tree in order of declaration, empty leaves included.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void leaf(const Name&, const LeafRef&) = 0;
  virtual void statics(const Name&, const StaticRef&) {}
  virtual void enter(const Name&) {}
  virtual void leave() {}
  virtual void sized(std::size_t) {}  // length of a vector or map; 0 or 1 for an optional
};
using Walk = void (*)(void*, Visitor&, const Name&);            // visits the tree that lies at an address
class ValueVisitor;                                             // value.h
using ValueWalk = void (*)(void*, ValueVisitor&, const Name&);  // the same for static values alone
/// A type-erased tree. On a const tree only visitors that read may be used.
struct Node {
  void* at;
  Walk walk;
  void operator()(Visitor& v) const { walk(at, v, {}); }
};
/// A leaf and its path.
struct Slot {
  std::string path;
  LeafRef leaf;
};
std::vector<Slot> slots(Node);                       // all leaves and their paths, empty leaves included
void append_leaves(Node, Arrays&);                   // adds its leaves, without empty ones
void append_paths(Node, std::vector<std::string>&);  // adds a path for each of these leaves
std::size_t count_leaves(Node);                      // the number of leaves, without empty ones
/// Whether weight decay shrinks each leaf: the answer of the innermost struct around it that gives one; true without.
std::vector<bool> decays(Node);
/// Puts arrays into the leaves in order; returns the number used.
std::size_t replace(Node, const Array* arrays, std::size_t n);
std::size_t replace(Node, Arrays&&);  // moves them out
/// Appends structure, statics and types.
void append_key(Node, Key&);
/// Path and text of every leaf, static and length.
struct Part {
  std::string path, text;
};
/// How much of two trees is compared or described: the structure alone, or the leaves' shapes and dtypes too.
enum class Same : std::uint8_t { structure, types };
std::vector<Part> describe(Node, Same what = Same::types);  // a Part for each leaf, static value and length
/// The first difference of two trees of one C++ type, such as "'layers': 2 elements and 3 elements"; empty if there is
/// none. structure: lengths, entries, which leaves are empty; types: their shapes and dtypes too.
std::string first_difference(Node a, Node b, Same what);
/// Whether a pattern such as "a.*" or "*.weight" matches a path; * stands for any text, also for none.
bool matches(std::string_view pattern, std::string_view path);
/// The leaves of `other` that correspond to the leaves of `t` (empty ones as empty Arrays). Throws ValueError naming
/// `what` and the path.
Arrays aligned(std::string_view what, Node t, Node other);
}  // namespace bora::tree
