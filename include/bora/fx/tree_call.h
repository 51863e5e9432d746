// tree_call.h -- the common part of the typed transforms: trees in, a flat function of leaves, trees out. Code that
// needs no type of the user's is compiled once, in src/fx.
#pragma once
#include "bora/fx/core.h"
#include "bora/fx/foreign.h"
#include "bora/fx/numbers.h"
#include "bora/tree/tree.h"

namespace bora::fx {
/// A compile error that names the argument of a transformed function that is no tree.
template <std::size_t Number, class Argument> struct check_argument {
  static constexpr bool ok = tree::Tree<Argument>;
  static_assert(ok,
                "an argument of a transformed function is a tree: an Array, a number, enum, std::string or Axis, or a "
                "struct, vector, array, optional, map, tuple, pair, variant or unique_ptr of trees; text in quotes is "
                "a pointer: write std::string(..); let the function capture what is none of these, or specialize "
                "bora::is_static");
};
template <class Numbers, class... A> struct check_arguments;
template <std::size_t... I, class... A>
struct check_arguments<std::index_sequence<I...>, A...> : check_argument<I, A>... {};
template <class... A> constexpr void check_trees() {
  (void)sizeof(check_arguments<std::index_sequence_for<A...>, A...>);
}
template <class... A> inline constexpr bool are_trees = (tree::Tree<A> && ... && true);

template <class... A> Arrays pack(const A&... a) {
  Arrays r;
  (tree::append_leaves(tree::node(a), r), ...);
  return r;
}
/// A copy of `like` with the next leaves; `at` moves on.
template <class T> T take_tree(const T& like, const Array*& at, const Array* end) {
  T t = tree::clone(like);
  at += tree::replace(tree::node(t), at, static_cast<std::size_t>(end - at));
  return t;
}
/// f of trees as a function of their leaves. `out` receives the result, for its structure: its leaves are stale once
/// f's tracers are.
template <class R, class F, class... A> FlatFn flat_fn(const F& f, std::optional<R>& out, const A&... like) {
  return [&f, &out, &like...](const Arrays& leaves) {
    std::tuple<A...> args{tree::clone(like)...};
    tree::replace(tree::node(args), leaves.data(), leaves.size());
    out.emplace(std::apply([&](const A&... a) -> R { return std::invoke(f, a...); }, args));
    return tree::leaves(*out);
  };
}
/// Shape and dtype without numbers: reading it throws TraceError.
Array abstract_array(const Type&);
template <class T> std::remove_cvref_t<T> abstract(T&& x) {
  auto t = tree::own(std::forward<T>(x));
  auto l = tree::leaves(t);
  for (auto& a : l) a = abstract_array(a.type());
  tree::replace(tree::node(t), l.data(), l.size());
  return t;
}
/// "params.w", or "argument 1" where a whole argument is an Array.
void append_labels(tree::Node argument, std::size_t number, std::vector<std::string>&);
template <class... A> std::vector<std::string> labels_of(const A&... a) {
  std::vector<std::string> r;
  [[maybe_unused]] std::size_t i = 0;
  (append_labels(tree::node(a), i++, r), ...);
  return r;
}
/// Throws unless the value that a loop or branch returns has the structure and types of `want`.
void check_same(std::string_view what, tree::Node want, tree::Node got);
}  // namespace bora::fx
