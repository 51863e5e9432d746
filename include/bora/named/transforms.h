// transforms.h -- vmap, scan, fold and map over a named axis: NamedArrays that have the axis are mapped or sliced
// wherever it is; all other values are the same for every element. In results the axis comes first.
#pragma once
#include <functional>
#include "bora/fx/checkpoint.h"
#include "bora/fx/control.h"
#include "bora/fx/vmap.h"
#include "bora/named/operations.h"

namespace bora {
/// Whether the leaf of xs with this path is sliced. Empty: every NamedArray that has the axis.
using IsScanned = std::function<bool(const std::string& path)>;
struct NamedScanOptions {                          // of scan over an axis
  bool reverse = false;                            // from the last position to the first
  std::optional<std::int64_t> length = none;       // the axis' size
  int unroll = 1;                                  // iterations per round of the loop
  int checkpoint_every = 0;                        // as ScanOptions has it: nested checkpoints of the loop
  IsScanned is_scanned = {};                       // which leaves are sliced
  std::optional<remat::Policy> checkpoint = none;  // of the body: checkpoint(body, policy)
  operator ScanOptions() const {
    return {.reverse = reverse, .length = length, .unroll = unroll, .checkpoint_every = checkpoint_every};
  }
};
namespace fx {
/// Removes the axis from every NamedArray of t that has it (and is scanned); returns its position for each leaf, -1 if
/// absent.
Dims remove_axis(tree::Node t, const Axis& axis, std::string_view what, const IsScanned& is_scanned = {});
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
/// body as it is. xs_labels: paths of the leaves of xs. weak: the leaves of init that were numbers, if there were any.
template <class F, class C, class X> auto scan_slices(const F& body, const C& init, const X& one, const Arrays& xs,
                                                      const std::vector<std::string>& xs_labels, const Dims& positions,
                                                      const Axis& axis, const bora::ScanOptions& options,
                                                      const Mask& weak = {}) {
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
  auto first = tree::leaves(init), sliced = sliced_leaves(xs, positions);
  if (!weak.empty()) first = weak_carry(flat, std::move(first), weak, types_of_elements(sliced));
  auto r = scan_shell(flat, first, sliced, labels, o);
  const Array *at = r.data(), *end = at + r.size();
  C carry = take_tree(init, at, end);
  auto ys = take_tree(out->second, at, end);
  add_axis(tree::node(ys), axis);
  return R(std::move(carry), std::move(ys));
}
/// Calls f(carry, x...) with the elements of a tuple.
template <class F> struct Spread {
  F f;
  template <class C, class... X> auto operator()(const C& carry, const std::tuple<X...>& xs) const {
    return std::apply([&](const auto&... x) { return std::invoke(f, carry, x...); }, xs);
  }
};
template <class F> struct NamedScanned {
  F f;
  Axis axis;
  NamedScanOptions options;
  template <class C, class X> auto operator()(const C& init, const X& xs) const {
    if constexpr (Numbers<C>::any && Callable<F, arrays_t<C>, X>) {
      Mask weak;
      Numbers<C>::mark_weak(init, weak);
      return run(GivesArrays<F>{f}, arrays(init), xs, weak);
    } else return run(f, init, xs);
  }
  template <class G, class C, class X> auto run(const G& f, const C& init, const X& xs, const Mask& weak = {}) const {
    static_assert(Callable<G, C, X>,
                  "scan: body cannot be called with (carry, x); it takes them by value or const&, and may not be a "
                  "mutable lambda");
    X one = xs;
    auto where = remove_axis(tree::node(one), axis, "scan", options.is_scanned);
    auto over = [&](const auto& body) {
      return scan_slices(body, init, one, tree::leaves(xs), labels_of(xs), where, axis, options, weak);
    };
    return options.checkpoint ? over(bora::checkpoint(f, *options.checkpoint)) : over(f);
  }
  template <class C, class X, class Y, class... More>
  auto operator()(const C& init, const X& x, const Y& y, const More&... more) const {
    return NamedScanned<Spread<F>>{{f}, axis, options}(init, std::tuple<X, Y, More...>(x, y, more...));
  }
};
/// f(carry, x) -> carry as a body of scan.
template <class F> struct Folding {
  F f;
  template <class C, class... X> auto operator()(const C& carry, const X&... x) const {
    return std::pair<C, std::nullopt_t>(std::invoke(f, carry, x...), none);
  }
};
/// f(x...) as a body of scan without a carry.
template <class F> struct Mapping {
  F f;
  template <class... X> auto operator()(const std::nullopt_t&, const X&... x) const {
    return std::pair<std::nullopt_t, result_t<F, X...>>(none, std::invoke(f, x...));
  }
};
}  // namespace fx
/// f over `axis`: vmap(f, Batch)(x, w). NamedArrays without the axis and plain Arrays are the same for every element.
template <class F> auto vmap(F f, const Axis& axis) { return fx::NamedVmapped<F>{std::move(f), axis}; }
/// auto [last, ys] = scan(body, Layers)(init, xs...): body(carry, x...) for each position along the axis.
template <class F> auto scan(F body, const Axis& axis, const NamedScanOptions& options = {}) {
  return fx::NamedScanned<F>{std::move(body), axis, options};
}
/// last = fold(body, Layers)(init, xs...): body(carry, x...) -> carry for each position along the axis.
template <class F> auto fold(F body, const Axis& axis, const NamedScanOptions& options = {}) {
  return [folded = scan(fx::Folding<F>{std::move(body)}, axis, options)](const auto& init, const auto&... xs) {
    return folded(init, xs...).first;
  };
}
/// ys = named_map(f, Layers)(xs...): f(x...) for one position along the axis after the other; vmap takes all at once.
template <class F> auto named_map(F f, const Axis& axis, const NamedScanOptions& options = {}) {
  return [mapped = scan(fx::Mapping<F>{std::move(f)}, axis, options)](const auto&... xs) {
    return mapped(none, xs...).second;
  };
}
}  // namespace bora
