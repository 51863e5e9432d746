// any.h -- a tree whose type is known only at run time: code around it is compiled once for all trees.
#pragma once
#include "bora/tree/tree.h"

namespace bora::tree {
/// Owns a tree of any type, or nothing. It is a tree itself: its leaves, their paths and the answers of `decays` are
/// those of what it holds, whose type is a static value, and so a part of jit's key. A copy copies what it holds, also
/// behind a unique_ptr. Transforms of positions (vmap without an Axis, scan over it) do not take it: it may hold
/// NamedArrays.
class Any {
 public:
  Any() = default;
  template <class T>
  requires(!std::is_same_v<T, Any>) explicit Any(T value) : held_(std::make_unique<Holds<T>>(std::move(value))) {
    static_assert(Tree<T>, "tree::Any: it holds a tree: an Array, a struct or container of trees, or a static value");
  }
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

 private:
  struct Held {
    virtual ~Held() = default;
    virtual const std::type_info& type() const = 0;
    virtual std::unique_ptr<Held> copy() const = 0;
    virtual void walk(Visitor&, const Name&) = 0;
  };
  template <class T> struct Holds final : Held {
    explicit Holds(T v) : value(std::move(v)) {}
    const std::type_info& type() const override { return typeid(T); }
    std::unique_ptr<Held> copy() const override { return std::make_unique<Holds>(clone(value)); }
    void walk(Visitor& v, const Name& name) override { tree::walk<T>(&value, v, name); }
    T value;
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
