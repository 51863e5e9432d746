// functions.h -- trees as a whole and their parts: other results than Arrays, structure, transposition, subtrees.
#pragma once
#include "bora/tree/tree.h"

namespace bora::tree {
/// f(leaf, leaf of u...) for each leaf of t, in order, as a vector of f's results. Throws ValueError naming the first
/// path where the structures differ; the trees may have different types.
template <class F, class T, class... U> auto map_leaves(const F& f, const T& t, const U&... u) {
  using R = std::decay_t<std::invoke_result_t<const F&, const Array&, std::enable_if_t<Tree<U>, const Array&>...>>;
  std::vector<R> r;
  Arrays first = leaves(t);
  std::array<Arrays, sizeof...(U)> more{aligned("tree::map_leaves", node(t), node(u))...};
  for (std::size_t i = 0; i < first.size(); ++i)
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      r.push_back(std::invoke(f, std::as_const(first[i]), std::as_const(more[K][i])...));
    }(std::index_sequence_for<U...>{});
  return r;
}
/// pred(leaf) of all leaves, or of at least one.
template <class F, class T> bool all(const F& pred, const T& t) { return std::ranges::all_of(leaves(t), pred); }
/// Does pred hold for at least one leaf?
template <class F, class T> bool any(const F& pred, const T& t) { return std::ranges::any_of(leaves(t), pred); }

/// A tree without the numbers of its leaves: paths, lengths, statics, which leaves are empty; it compares and prints.
/// types: shapes and dtypes of the leaves belong to it too.
class Structure {
 public:
  explicit Structure(std::vector<Part> parts, std::size_t leaves) : parts_(std::move(parts)), leaves_(leaves) {}
  std::size_t leaf_count() const { return leaves_; }
  const std::vector<Part>& parts() const { return parts_; }
  std::size_t hash() const;
  bool operator==(const Structure& o) const;
 private:
  std::vector<Part> parts_;
  std::size_t leaves_;
};
Structure structure(Node, Same what);  // of a tree without its type
template <class T> Structure structure(const T& t, Same what = Same::structure) { return structure(node(t), what); }
std::ostream& operator<<(std::ostream&, const Structure&);

/// The tree as text, a line for each leaf and static value: path, dtype and shape, and how a leaf is split over the
/// mesh in force, where it is.
std::string to_text(Node);
template <class T> std::string to_text(const T& t) { return to_text(node(t)); }

/// `like` with each leaf replaced by the leaf of `prefix` whose path leads to it: an Array alone (the empty path)
/// reaches all leaves, a struct with an Array for `up` all below `up`. Throws ValueError naming a leaf that none leads
/// to.
void broadcast(Node prefix, Node to);
template <class P, class T> std::remove_cvref_t<T> broadcast(const P& prefix, T&& like) {
  auto t = own(std::forward<T>(like));
  broadcast(node(prefix), node(t));
  return t;
}
/// A tree of trees inside out: t has the structure of `outer` with a tree below each leaf, the result (its type and
/// lengths are those of `like`, whose numbers are ignored) one tree like `outer` below each leaf of the inner trees.
/// Throws ValueError naming the first leaf that does not fit.
void transpose(Node outer, Node t, Node to);
template <class O, class T, class R> std::remove_cvref_t<R> transpose(const O& outer, const T& t, R&& like) {
  auto r = own(std::forward<R>(like));
  transpose(node(outer), node(t), node(r));
  return r;
}

namespace detail {
template <class Sub, class T, class F> void each_subtree(T& x, const F& f) {
  if constexpr (std::is_same_v<T, Sub>) f(x);
  else if constexpr (IsLeaf<T> || is_static<T>) return;
  else if constexpr (Container<T>)
    Children<T>::each(x, [&]<class C>(const Name&, C& child) { each_subtree<Sub, C>(child, f); });
  else if constexpr (Module<T>)
    fields::apply(x, [&]<class... M>(M&... m) { (each_subtree<Sub, M>(m, f), ...); });
}
[[noreturn]] void no_subtree(const std::type_info&);
template <class T> decltype(auto) held(T& x) {  // the value that an optional or a pointer leads to
  if constexpr (requires { *x; static_cast<bool>(x); } && !IsLeaf<std::remove_const_t<T>>) {
    if (!x) no_subtree(typeid(T));
    return held(*x);
  } else return (x);
}
[[noreturn]] void no_element(std::size_t index, std::size_t size);
[[noreturn]] void no_entry(std::string_view key);
template <class T, class Step> auto& step(T& x, const Step& s) {
  auto& h = held(x);
  if constexpr (std::is_member_object_pointer_v<Step>) return h.*s;
  else if constexpr (requires { h.find(s); }) {
    auto i = h.find(s);
    if (i == h.end()) {
      if constexpr (std::is_convertible_v<const Step&, std::string_view>) no_entry(s);
      else no_entry(std::to_string(static_cast<long long>(s)));
    }
    return i->second;
  } else {
    auto i = static_cast<std::size_t>(s);
    if (i >= h.size()) no_element(i, h.size());
    return h[i];
  }
}
template <class T, class Step, class... More> auto& walk_to(T& x, const Step& s, const More&... more) {
  if constexpr (sizeof...(More) == 0) return step(x, s);
  else return walk_to(step(x, s), more...);
}
}  // namespace detail
/// A type that appears in a tree is a leaf of it for these two (is_leaf of jax.tree).
/// f(subtree) put in the place of each subtree of type Sub.
template <class Sub, class F, class T> std::remove_cvref_t<T> map_subtrees(const F& f, T&& like) {
  auto t = own(std::forward<T>(like));
  detail::each_subtree<Sub>(t, [&](Sub& x) { x = std::invoke(f, std::as_const(x)); });
  return t;
}
/// Copies of the subtrees of type Sub, in order.
template <class Sub, class T> std::vector<Sub> subtrees(const T& t) {
  std::vector<Sub> r;
  detail::each_subtree<Sub>(const_cast<T&>(t), [&](Sub& x) { r.push_back(clone(x)); });
  return r;
}

/// A place in a tree (equinox.tree_at): at(model, &Mlp::up, &Linear::weight).set(x) is a copy of model with x there;
/// at(model, &Net::layers, 3, &Linear::bias): elements by number, entries of maps by key. What an optional or a
/// unique_ptr holds is reached through it: ValueError where it is empty.
template <class T, class... Steps> class At {
 public:
  At(const T& tree, Steps... steps) : tree_(tree), steps_(std::move(steps)...) {}
  const auto& get() const { return place(tree_); }
  template <class V> T set(V&& value) const {
    T t = clone(tree_);
    const_cast<std::remove_const_t<std::remove_reference_t<decltype(place(t))>>&>(place(t)) = std::forward<V>(value);
    return t;
  }
  template <class F> T apply(const F& f) const { return set(std::invoke(f, get())); }
 private:
  template <class X> auto& place(X& x) const {
    return std::apply([&](const auto&... s) -> auto& { return detail::walk_to(x, s...); }, steps_);
  }
  const T& tree_;
  std::tuple<Steps...> steps_;
};
/// The place that the steps lead to: see At.
template <class T, class... Steps> requires(sizeof...(Steps) > 0) At<T, Steps...> at(const T& tree, Steps... steps) {
  return {tree, std::move(steps)...};
}
void set_leaf(Node, std::string_view path, const Array&);  // puts another leaf at a path
/// A copy of the tree with another leaf at a path: with_leaf(model, "blocks.0.up.weight", x). Throws ValueError naming
/// the nearest path.
template <class T> std::remove_cvref_t<T> with_leaf(T&& like, std::string_view path, const Array& leaf) {
  auto t = own(std::forward<T>(like));
  set_leaf(node(t), path, leaf);
  return t;
}
}  // namespace bora::tree
