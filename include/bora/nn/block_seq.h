// block_seq.h -- equal layers as a list, run by a loop of the program: Haliax's BlockSeq, beside Stacked.
#pragma once
#include "bora/nn/stacked.h"

namespace bora::nn {
/// Layers of one kind, each with arrays of its own: paths blocks.0.weight, blocks.1.weight. A staged function holds
/// each layer's operations, where Stacked's holds them once; layers may differ in shapes and statics. fold, scan and
/// init are those of Stacked and give the same numbers.
template <class Block> struct BlockSeq {
  std::vector<Block> blocks;
  Axis axis;
  template <class... A> static BlockSeq init(const Axis& axis, const A&... args);
};

namespace detail {
/// The slice `i` along each leaf's axis where[leaf]; leaves with -1 as they are.
Arrays slices_at(const Arrays& leaves, const Dims& where, std::int64_t i);
/// One result for all layers from theirs: leaf by leaf along a new leading dimension.
Arrays stacked_leaves(const std::vector<Arrays>& layers);
void check_layers(std::string_view what, std::size_t blocks, const Axis& axis);
void check_equal_layers(tree::Node first, tree::Node other);
/// An argument for layer i.
template <class T> auto part_of(const T& argument, const Axis& axis, std::int64_t i) {
  auto one = argument;
  if constexpr (is_per_layer<T>) {
    auto where = take_layer_axis(one, axis);
    auto leaves = slices_at(tree::leaves(argument.value), where, i);
    tree::replace(tree::node(one.value), leaves.data(), leaves.size());
    return one.value;
  } else return one;
}
/// The layers' results as one, with the axis first.
template <class Y> Y stack_results(std::vector<Y> ys, const Axis& axis) {
  auto all = ys.front();
  std::vector<Arrays> leaves;
  for (auto& y : ys) {
    fx::align_axes(tree::node(y), tree::node(all), "scan: all layers give results with the same axes");
    leaves.push_back(tree::leaves(y));
  }
  auto stacked = stacked_leaves(leaves);
  tree::replace(tree::node(all), stacked.data(), stacked.size());
  fx::add_axis(tree::node(all), axis);
  return all;
}
}  // namespace detail

template <class Block>
template <class... A> BlockSeq<Block> BlockSeq<Block>::init(const Axis& axis, const A&... args) {
  BlockSeq seq{{}, axis};
  for (std::int64_t i = 0; i < axis.size; ++i) seq.blocks.push_back(Block::init(detail::part_of(args, axis, i)...));
  return seq;
}
/// scan(seq, f, x)(args...), as for Stacked.
template <class Block, class F, class X>
auto scan(const BlockSeq<Block>& seq, const F& f, const X& x, const FoldOptions& options = {}) {
  return [&seq, f, x, options](const auto&... args) {
    using Y = std::remove_cvref_t<decltype(f(seq.blocks.front(), x, detail::part_of(args, seq.axis, 0)...).second)>;
    detail::check_layers("scan", seq.blocks.size(), seq.axis);
    auto body = [&f](const X& carry, const auto& layer) {
      return std::apply([&](const auto&... a) { return f(layer.first, carry, a...); }, layer.second);
    };
    auto run = checkpoint(body, options.checkpoint);
    auto carry = x;
    std::vector<Y> ys;
    auto n = static_cast<std::int64_t>(seq.blocks.size());
    for (std::int64_t k = 0; k < n; ++k) {
      auto i = options.reverse ? n - 1 - k : k;
      auto r = run(carry, std::pair{seq.blocks[static_cast<std::size_t>(i)],
                                    std::tuple{detail::part_of(args, seq.axis, i)...}});
      fx::align_axes(tree::node(r.first), tree::node(x), "scan: the carry must keep its axes");
      carry = std::move(r.first);
      ys.push_back(std::move(r.second));
    }
    if (options.reverse) std::reverse(ys.begin(), ys.end());
    if constexpr (std::is_same_v<Y, std::nullopt_t>) return std::pair<X, Y>(std::move(carry), none);
    else return std::pair<X, Y>(std::move(carry), detail::stack_results(std::move(ys), seq.axis));
  };
}
// The layers of a stack as a list, and back. Throws ValueError where the layers differ in more than their numbers.
template <class Block> BlockSeq<Block> unstacked(const Stacked<Block>& stack) {
  BlockSeq<Block> seq{{}, stack.axis};
  for (std::int64_t i = 0; i < stack.axis.size; ++i)
    seq.blocks.push_back(detail::part_of(per_layer(stack.layer), stack.axis, i));
  return seq;
}
template <class Block> Stacked<Block> stacked(const BlockSeq<Block>& seq) {
  detail::check_layers("stacked", seq.blocks.size(), seq.axis);
  for (auto& b : seq.blocks) detail::check_equal_layers(tree::node(seq.blocks.front()), tree::node(b));
  return {detail::stack_results(seq.blocks, seq.axis), seq.axis};
}
}  // namespace bora::nn
