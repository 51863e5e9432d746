// transforms.h -- vmap and scan over a named axis: NamedArrays that have the axis are mapped or sliced wherever it is;
// all other values are the same for every element. In results the axis comes first.
#pragma once
#include "bora/fx/control.h"
#include "bora/fx/vmap.h"
#include "bora/named/named.h"

namespace bora {
namespace fx {
/// Removes the axis from every NamedArray of t that has it; returns its position for each leaf, -1 if absent.
Dims remove_axis(tree::Node t, const Axis& axis, std::string_view what);
/// Puts the axis first in every NamedArray of t (without touching the arrays).
void add_axis(tree::Node t, const Axis& axis);
/// Transposes the NamedArrays of `t` to the axis order of those of `like`. AxisError naming the path if axes differ.
void align_axes(tree::Node t, tree::Node like, std::string_view what);
Arrays named_vmap(const FlatFn& f, const Arrays& in, const Dims& positions, const Axis& axis);
/// The leaves that have the axis, with it first.
Arrays sliced_leaves(const Arrays& leaves, const Dims& positions);

template <class F> struct NamedVmapped {
  F f;
  Axis axis;
  template <class... A> auto operator()(const A&... a) const {
    static_assert(Callable<F, A...>,
                  "vmap: f cannot be called with these arguments; it takes them by value or const&, and may not be a "
                  "mutable lambda");
    using R = result_t<F, A...>;
    std::tuple<A...> inner{a...};
    auto where = remove_axis(tree::node(inner), axis, "vmap");
    std::optional<R> out;
    FlatFn flat = [&](const Arrays& leaves) {
      auto args = inner;
      tree::replace(tree::node(args), leaves.data(), leaves.size());
      out.emplace(std::apply([&](const A&... x) -> R { return std::invoke(f, x...); }, args));
      return tree::leaves(*out);
    };
    auto y = named_vmap(flat, pack(a...), where, axis);
    tree::replace(tree::node(*out), y.data(), y.size());
    add_axis(tree::node(*out), axis);
    return std::move(*out);
  }
};
/// body(carry, x) over slices of xs. positions: of the axis in each leaf of xs; a leaf with -1 lacks it and reaches the
/// body as it is. xs_labels: paths of the leaves of xs.
template <class F, class C, class X> auto scan_slices(const F& body, const C& init, const X& one, const Arrays& xs,
                                                      const std::vector<std::string>& xs_labels, const Dims& positions,
                                                      const Axis& axis, const bora::ScanOptions& options) {
  using R = result_t<F, C, X>;
  static_assert(carries<R, C>,
                "scan: body must return std::pair{carry, y} with the carry's type unchanged; none for no y");
  std::optional<R> out;
  auto n = tree::count_leaves(tree::node(init));
  FlatFn flat = [&](const Arrays& leaves) {
    C c = init;
    X x = one;
    tree::replace(tree::node(c), leaves.data(), n);
    Arrays all;
    std::size_t next = n;
    for (std::size_t i = 0; i < xs.size(); ++i) all.push_back(positions[i] >= 0 ? leaves[next++] : xs[i]);
    tree::replace(tree::node(x), all.data(), all.size());
    out.emplace(std::invoke(body, std::as_const(c), std::as_const(x)));
    align_axes(tree::node(out->first), tree::node(init), "scan: the carry must keep its axes");
    auto r = tree::leaves(out->first);
    auto ys = tree::leaves(out->second);
    r.insert(r.end(), ys.begin(), ys.end());
    return r;
  };
  auto o = options;
  check<ValueError>(o.length.value_or(axis.size) == axis.size, "scan: .length is ", o.length.value_or(0),
                    ", but axis '", axis.name, "' has size ", axis.size);
  o.length = axis.size;
  auto labels = labels_of(init);
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (positions[i] >= 0) labels.push_back(xs_labels[i]);
  auto r = scan_shell(flat, tree::leaves(init), sliced_leaves(xs, positions), labels, o);
  const Array *at = r.data(), *end = at + r.size();
  C carry = take_tree(init, at, end);
  auto ys = take_tree(out->second, at, end);
  add_axis(tree::node(ys), axis);
  return R(std::move(carry), std::move(ys));
}
template <class F> struct NamedScanned {
  F f;
  Axis axis;
  bora::ScanOptions options;
  template <class C, class X> auto operator()(const C& init, const X& xs) const {
    static_assert(Callable<F, C, X>,
                  "scan: body cannot be called with (carry, x); it takes them by value or const&, and may not be a "
                  "mutable lambda");
    X one = xs;
    auto where = remove_axis(tree::node(one), axis, "scan");
    return scan_slices(f, init, one, tree::leaves(xs), labels_of(xs), where, axis, options);
  }
};
}  // namespace fx
/// f over `axis`: vmap(f, Batch)(x, w). NamedArrays without the axis and plain Arrays are the same for every element.
template <class F> auto vmap(F f, const Axis& axis) { return fx::NamedVmapped<F>{std::move(f), axis}; }
/// auto [last, ys] = scan(body, Layers)(init, xs): body(carry, x) for each position along the axis.
template <class F> auto scan(F body, const Axis& axis, const ScanOptions& options = {}) {
  return fx::NamedScanned<F>{std::move(body), axis, options};
}
}  // namespace bora
