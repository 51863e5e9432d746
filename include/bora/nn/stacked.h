// stacked.h -- equal layers as one tree with a leading layer axis, run by scan: staged once, whatever the depth.
#pragma once
#include "bora/fx/checkpoint.h"
#include "bora/named/mapping.h"
#include "bora/named/transforms.h"

namespace bora::nn {
/// An argument with one slice per layer: along an Array's leading dimension, a NamedArray's layer axis.
template <class T> struct PerLayer { T value; };
/// Marks an argument of which each layer gets its slice.
template <class T> PerLayer<T> per_layer(T v) { return {std::move(v)}; }

namespace detail {
template <class T> inline constexpr bool is_per_layer = false;
template <class T> inline constexpr bool is_per_layer<PerLayer<T>> = true;
template <class T> const T& slice_of(const PerLayer<T>& p) { return p.value; }
template <class T> const T& slice_of(const T& x) { return x; }
template <class T> T bare(const PerLayer<T>&);
template <class T> T bare(const T&);
template <class T> using bare_t = decltype(bare(std::declval<T>()));
/// The layer axis' position in each leaf of an argument, which loses it: per_layer's plain Arrays have it first.
template <class T> Dims take_layer_axis(T& one, const Axis& axis) {
  if constexpr (is_per_layer<T>) {
    auto where = fx::remove_axis(tree::node(one.value), axis, "per_layer");
    std::size_t i = 0;
    for (auto& s : tree::slots(tree::node(one.value))) {
      if (!s.leaf.defined()) continue;
      if (s.leaf.template as<Array>()) {
        check<AxisError>(s.leaf.get().ndim() > 0 && s.leaf.get().shape(0) == axis.size,
                         "per_layer: the leading dimension of ", s.leaf.get().type(), " must be the ", axis.size,
                         " layers");
        where[i] = 0;
      }
      ++i;
    }
    return where;
  } else {
    return Dims(tree::count_leaves(tree::node(one)), -1);
  }
}
}  // namespace detail

/// All layers of one kind. `layer` holds every layer: each NamedArray in it has `axis` first.
template <class Block> struct Stacked {
  Block layer;
  Axis axis;
  /// Block::init for every layer at once; arguments in per_layer(..) are sliced (keys!), the others are shared.
  template <class... A> static Stacked init(const Axis& axis, const A&... args) {
    std::tuple<A...> one{args...};
    Dims where;
    auto note = [&](auto& a) {
      auto w = detail::take_layer_axis(a, axis);
      where.insert(where.end(), w.begin(), w.end());
    };
    std::apply([&](auto&... a) { (note(a), ...); }, one);
    std::optional<Block> out;
    FlatFn flat = [&](const Arrays& leaves) {
      auto mine = one;
      tree::replace(tree::node(mine), leaves.data(), leaves.size());
      out.emplace(std::apply([](const auto&... a) { return Block::init(detail::slice_of(a)...); }, mine));
      return tree::leaves(*out);
    };
    auto y = fx::named_vmap(flat, fx::pack(args...), where, axis);
    tree::replace(tree::node(*out), y.data(), y.size());
    fx::add_axis(tree::node(*out), axis);
    return {std::move(*out), axis};
  }
};
struct FoldOptions {                          // of scan and fold over layers
  remat::Policy checkpoint = remat::nothing;  // values kept of each layer for the backward pass, besides its input
  bool reverse = false;                       // from the last layer to the first
};
/// auto [y, each] = scan(stack, f, x)(args...): f(layer, x, args...) -> std::pair{x, a layer's result} for every layer
/// in turn; the results are stacked along the layer axis. Arguments in per_layer(..) are sliced.
template <class Block, class F, class X>
auto scan(const Stacked<Block>& stack, const F& f, const X& x, const FoldOptions& options = {}) {
  return [&stack, f, x, options](const auto&... args) {
    auto arguments = std::tuple<std::remove_cvref_t<decltype(args)>...>{args...};
    auto all = std::pair{stack.layer, arguments};
    auto one = all;
    auto where = fx::remove_axis(tree::node(one.first), stack.axis, "fold");
    auto note = [&](auto& a) {
      auto w = detail::take_layer_axis(a, stack.axis);
      where.insert(where.end(), w.begin(), w.end());
    };
    std::apply([&](auto&... a) { (note(a), ...); }, one.second);
    auto body = [&f](const X& carry, const auto& layer) {
      return std::apply([&](const auto&... a) { return f(layer.first, carry, detail::slice_of(a)...); }, layer.second);
    };
    return fx::scan_slices(checkpoint(body, options.checkpoint), x, one, tree::leaves(all),
                           fx::labels_of(stack.layer, args...), where, stack.axis, {.reverse = options.reverse});
  };
}
/// y = fold(layers, x, {.checkpoint})(args...): x through layer(x, args...) for every layer of a Stacked or BlockSeq in
/// turn.
template <template <class> class Layers, class Block, class X>
requires std::is_same_v<decltype(Layers<Block>::axis), Axis>
auto fold(const Layers<Block>& layers, const X& x, const FoldOptions& options = {}) {
  auto layer = [](const Block& block, const X& carry, const auto&... args) {
    return std::pair<X, std::nullopt_t>(block(carry, args...), none);
  };
  return [folded = scan(layers, layer, x, options)](const auto&... args) { return folded(args...).first; };
}
}  // namespace bora::nn
