// tree.h -- a plain aggregate is a tree of Arrays; nothing is registered and no field can be forgotten.
//   1. a module is an aggregate: no base class, no private, const or reference member, at most 64 fields; or a class
//      that lists its members: `using members = bora::MemberList<&Counter::n_>;`
//   2. a field is a leaf (Array), a tree (struct or container: children.h) or a static value;
//   3. statics are part of jit's key and never change under a transform; an empty Array is no leaf, as if the field
//      were absent;
//   4. a module may say which of its fields weight decay shrinks: static constexpr bool decays(std::string_view field).
// Each rule is a compile-time error that names struct, field and type. One virtual Visitor separates the user's types
// from everything else, so that transforms, optimizers and checkpoints are compiled once, not per model.
#pragma once
#include <algorithm>
#include "bora/tree/children.h"
#include "bora/tree/node.h"

namespace bora::tree {
/// How leaves of type T are read and written.
template <class T> inline constexpr LeafType leaf_type = {
    [](const void* p) -> const Array& { return Leaf<T>::array(*static_cast<const T*>(p)); },
    [](void* p, Array a) {
      if constexpr (std::is_same_v<T, Array>) *static_cast<T*>(p) = std::move(a);
      else *static_cast<T*>(p) = Leaf<T>::rebuild(*static_cast<const T*>(p), std::move(a));
    },
    [](const void* p, Key& k) {
      auto& x = *static_cast<const T*>(p);
      if constexpr (requires { Leaf<T>::key(x, k); }) Leaf<T>::key(x, k);
      else (void)x, (void)k;
    },
    [](const void* p) -> std::string {
      if constexpr (requires { Leaf<T>::text(*static_cast<const T*>(p)); })
        return Leaf<T>::text(*static_cast<const T*>(p));
      else
        return Leaf<T>::array(*static_cast<const T*>(p)).defined()
                   ? to_string(Leaf<T>::array(*static_cast<const T*>(p)).type())
                   : "empty";
    },
    &typeid(T)};
// ---- the walk over a tree -------------------------------------------------------------------------------------------
namespace detail {
struct FieldRef {
  std::string_view name;
  void* at;
  Walk walk;
  std::optional<bool> decays;
};
template <class Struct> constexpr std::optional<bool> decays(std::string_view field) {
  if constexpr (requires { Struct::decays(field); }) return Struct::decays(field);
  else return (void)field, std::nullopt;
}
void add_alternative(const void* index, Key&);
void print_alternative(const void* index, std::ostream&);
void walk_fields(const FieldRef* fields, std::size_t n, Visitor& v, const Name& name);
template <std::size_t N> struct FixedString {
  char s[N]{};
  constexpr FixedString(std::string_view v) {
    for (std::size_t i = 0; i < v.size(); ++i) s[i] = v[i];
  }
};
template <class T, std::size_t I>
inline constexpr FixedString<fields::name<T, I>.size() + 1> name_of{fields::name<T, I>};
template <class Struct, FixedString Field, class Type> struct check_field {
  static_assert(Tree<Type>,
                "tree: this field must be an Array, a tree (struct, vector, array, optional, map, tuple, pair, variant "
                "or unique_ptr) or a number, enum, string or Axis; specialize bora::is_static<Type> to make it part "
                "of the jit key, or move it out of the struct");
  static constexpr bool ok = Tree<Type>;
};
}  // namespace detail
/// Visits the tree of type T at p. Does not compile where T is no tree.
template <class T> void walk(void* p, Visitor& v, const Name& name) {
  if constexpr (IsLeaf<T>) v.leaf(name, LeafRef{p, &leaf_type<T>});
  else if constexpr (is_static<T>)
    v.statics(name, {p, [](const void* q, Key& k) { add_static(k, *static_cast<const T*>(q)); },
                     [](const void* q, std::ostream& o) { print_static(o, *static_cast<const T*>(q)); }});
  else if constexpr (Container<T>) {
    auto& x = *static_cast<T*>(p);
    if constexpr (requires { Children<T>::chosen(x); }) {  // the alternative is a static value
      auto which = Children<T>::chosen(x);
      v.statics(name, {&which, &detail::add_alternative, &detail::print_alternative});
    }
    v.enter(name);
    if constexpr (requires { Children<T>::length(x); }) v.sized(Children<T>::length(x));
    Children<T>::each(x, [&]<class C>(const Name& n, C& child) { walk<C>(&child, v, n); });
    v.leave();
  } else if constexpr (Module<T>) {
    static_assert(!fields::HasBase<T>, "tree: a struct in a tree must not inherit; make the base a field");
    if constexpr (!fields::HasBase<T>) {
      fields::apply(*static_cast<T*>(p), [&]<class... M>(M&... m) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          constexpr bool ok = (detail::check_field<T, detail::name_of<T, I>, M>::ok && ... && true);
          if constexpr (ok && sizeof...(M) > 0) {
            const detail::FieldRef f[] = {{fields::name<T, I>, &m, &walk<M>, detail::decays<T>(fields::name<T, I>)}...};
            detail::walk_fields(f, sizeof...(M), v, name);
          } else detail::walk_fields(nullptr, 0, v, name);
        }
        (std::index_sequence_for<M...>{});
      });
    }
  } else if constexpr (Foreign<T>) {
    static_assert(!Foreign<T>, "here a tree holds Arrays: write asarray(xs) for a container of xtensor");
  } else
    static_assert(
        Tree<T>, "tree: this type is not an Array, a tree or a static value (specialize bora::is_static for the last)");
}
/// x without its type, for functions that are compiled once.
template <class T> Node node(const T& x) { return {const_cast<void*>(static_cast<const void*>(&x)), &walk<T>}; }
// ---- public functions -----------------------------------------------------------------------------------------------
/// The Arrays of a tree, in order of declaration. Empty Arrays are no leaves.
template <class T> Arrays leaves(const T& t) {
  Arrays r;
  append_leaves(node(t), r);
  return r;
}
/// One path per leaf: "blocks.0.attn.q.weight".
template <class T> std::vector<std::string> paths(const T& t) {
  std::vector<std::string> r;
  append_paths(node(t), r);
  return r;
}
struct Flat {  // a tree in parts
  Arrays leaves;
  std::vector<std::string> paths;
  Key key;
};
/// The leaves, their paths and jit's key: structure, static values and types.
template <class T> Flat flatten(const T& t) {
  Flat f{leaves(t), paths(t), {}};
  append_key(node(t), f.key);
  return f;
}
[[noreturn]] void wrong_leaf_count(std::size_t want, std::size_t got);  // unflatten's ValueError
/// `like` with other leaves. Throws ValueError unless there is one Array for each leaf of `like`.
template <class T> std::remove_cvref_t<T> unflatten(T&& like, const Arrays& leaves) {
  if (auto n = count_leaves(node(like)); n != leaves.size()) wrong_leaf_count(n, leaves.size());
  auto t = own(std::forward<T>(like));
  replace(node(t), leaves.data(), leaves.size());
  return t;
}
/// t with f(leaf, leaf of u...) for each of its leaves; f gets an empty Array where a u has an empty leaf. Throws
/// ValueError naming the first path where the structures differ.
template <class F, class T, class... U> std::remove_cvref_t<T> map(const F& f, T&& like, const U&... u) {
  constexpr bool ok = []<std::size_t... K>(std::index_sequence<K...>) {
    return std::is_invocable_r_v<Array, const F&, const Array&, std::enable_if_t<(K >= 0), const Array&>...>;
  }
  (std::index_sequence_for<U...>{});
  static_assert(ok, "tree::map: f is given one leaf of each tree and returns an Array: tree::map(f, t, u...); "
                    "tree::map_leaves takes a function with another result");
  auto t = own(std::forward<T>(like));
  if constexpr (ok) {
    Arrays first = leaves(t);
    std::array<Arrays, sizeof...(U)> more{aligned("tree::map", node(t), node(u))...};
    for (std::size_t i = 0; i < first.size(); ++i) first[i] = [&]<std::size_t... K>(std::index_sequence<K...>)->Array {
        return std::invoke(f, std::as_const(first[i]), std::as_const(more[K][i])...);
      }
    (std::index_sequence_for<U...>{});
    replace(node(t), first.data(), first.size());
  }
  return t;
}
/// t with f(path, leaf) for each leaf.
template <class F, class T> std::remove_cvref_t<T> map_with_path(const F& f, T&& like) {
  auto t = own(std::forward<T>(like));
  for (auto& s : slots(node(t)))
    if (s.leaf.defined()) s.leaf.set(std::invoke(f, std::as_const(s.path), s.leaf.get()));
  return t;
}
/// Calls f(path, leaf) for each leaf.
template <class F, class T> void for_each(const F& f, const T& t) {
  for (auto& s : slots(node(t)))
    if (s.leaf.defined()) std::invoke(f, std::as_const(s.path), s.leaf.get());
}
/// The same tree with only the leaves for which pred(path, leaf) holds; the others are empty.
template <class T>
std::remove_cvref_t<T> filter(T&& like, const std::function<bool(const std::string&, const Array&)>& pred) {
  auto t = own(std::forward<T>(like));
  for (auto& s : slots(node(t)))
    if (s.leaf.defined() && !pred(s.path, s.leaf.get())) s.leaf.set(Array());
  return t;
}
/// Two trees: the leaves for which pred(path, leaf) holds, and the others. combine() joins them again.
template <class T>
std::pair<T, T> partition(const T& t, const std::function<bool(const std::string&, const Array&)>& pred) {
  return {filter(t, pred), filter(t, [&](const std::string& path, const Array& x) { return !pred(path, x); })};
}
[[noreturn]] void cannot_combine(const std::vector<Slot>& a, const std::vector<Slot>& b);  // combine's ValueError
/// Leaf by leaf that of the first tree in which it is not empty. Throws ValueError naming the first path that one tree
/// has and another lacks.
template <class T, std::same_as<T>... More> T combine(T first, const More&... more) {
  auto to = slots(node(first));
  auto fill = [&](const T& from) {
    auto s = slots(node(from));
    auto path = [](const Slot& x) -> auto& { return x.path; };
    if (!std::ranges::equal(s, to, {}, path, path)) cannot_combine(to, s);
    for (std::size_t i = 0; i < s.size(); ++i)
      if (!to[i].leaf.defined()) to[i].leaf.set(s[i].leaf.get());
  };
  (fill(more), ...);
  return first;
}
/// f(.. f(f(first, leaf), leaf) .., leaf) over the leaves in order.
template <class F, class T, class R> R reduce(const F& f, const T& t, R first) {
  for (auto& x : leaves(t)) first = std::invoke(f, std::move(first), x);
  return first;
}
}  // namespace bora::tree
