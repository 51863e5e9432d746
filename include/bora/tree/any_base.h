// any_base.h -- a tree whose type is known only at run time: code around it is compiled once for all trees. any.h makes
// one of a user's tree.
#pragma once
#include "bora/tree/tree.h"

namespace bora::tree {
/// For an Any whose static values save_tree and load_tree refuse: the library's own, which are written without them.
struct Unsaved {};
inline constexpr Unsaved unsaved;  // Any(value, unsaved)
/// Owns a tree of any type, or nothing. It is a tree itself: its leaves, their paths and the answers of `decays` are
/// those of what it holds, whose type is a static value, and so a part of jit's key. A copy copies what it holds, also
/// behind a unique_ptr. Transforms of positions (vmap without an Axis, scan over it) do not take it: it may hold
/// NamedArrays.
class Any {
 public:
  Any() = default;
  template <class T>
  requires(!std::is_same_v<T, Any>) explicit Any(T value);  // in any.h
  template <class T> Any(T value, Unsaved) : Any(std::move(value), ValueWalk()) {}
  Any(const Any& o) : held_(o.held_ ? o.held_->copy() : nullptr) {}
  Any(Any&&) noexcept = default;
  Any& operator=(const Any& o) { return *this = Any(o); }
  Any& operator=(Any&&) noexcept = default;
  /// The type of the held tree; void if it holds none.
  const std::type_info& type() const { return held_ ? held_->type() : typeid(void); }
  /// The held tree. Throws ValueError if it is no T.
  template <class T> T& get() {
    if (type() != typeid(T)) wrong_type(typeid(T));
    return static_cast<Holds<T>&>(*held_).value;
  }
  template <class T> const T& get() const { return const_cast<Any&>(*this).get<T>(); }
  void walk(Visitor&, const Name&);
  void walk_values(ValueVisitor&, const Name&);  // the held type is not one of them: its name is the compiler's

 private:
  template <class T> Any(T value, ValueWalk values) : held_(std::make_unique<Holds<T>>(std::move(value), values)) {
    static_assert(Tree<T>, "tree::Any: it holds a tree: an Array, a struct or container of trees, or a static value");
  }
  struct Held {
    virtual ~Held() = default;
    virtual const std::type_info& type() const = 0;
    virtual std::unique_ptr<Held> copy() const = 0;
    virtual void walk(Visitor&, const Name&) = 0;
    virtual bool walk_values(ValueVisitor&, const Name&) = 0;  // false: unsaved
  };
  template <class T> struct Holds final : Held {
    Holds(T v, ValueWalk w) : value(std::move(v)), values(w) {}
    const std::type_info& type() const override { return typeid(T); }
    std::unique_ptr<Held> copy() const override { return std::make_unique<Holds>(clone(value), values); }
    void walk(Visitor& v, const Name& name) override { tree::walk<T>(&value, v, name); }
    bool walk_values(ValueVisitor& v, const Name& name) override {
      if (values) values(&value, v, name);
      return values != nullptr;
    }
    T value;
    ValueWalk values;
  };
  [[noreturn]] void wrong_type(const std::type_info& wanted) const;
  std::unique_ptr<Held> held_;
};
template <> void walk<Any>(void*, Visitor&, const Name&);
template <> struct Children<Any> {
  static constexpr bool known = true;
  template <class F> static void each(Any&, F&&) {
    static_assert(!sizeof(F), "tree::Any: the type of its parts is not known here; use get<T>()");
  }
};
namespace detail {
template <> struct PositionalTest<Any> : std::false_type {};
}  // namespace detail
}  // namespace bora::tree
