#include "bora/nn/block_seq.h"
#include "bora/nn/linear.h"
#include "bora/ops/manipulation.h"
#include "nn/core/support.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"

namespace bora::nn {
namespace detail {
Arrays slices_at(const Arrays& leaves, const Dims& where, std::int64_t i) {
  Arrays r;
  for (std::size_t k = 0; k < leaves.size(); ++k)
    r.push_back(where[k] < 0 ? leaves[k] : index_in_dim(leaves[k], where[k], i));
  return r;
}
Arrays stacked_leaves(const std::vector<Arrays>& layers) {
  Arrays r;
  for (std::size_t k = 0; k < layers.front().size(); ++k) {
    Arrays one;
    for (auto& l : layers) one.push_back(l[k]);
    r.push_back(stack(one));
  }
  return r;
}
void check_layers(std::string_view what, std::size_t blocks, const Axis& axis) {
  check<ValueError>(blocks > 0 && static_cast<std::int64_t>(blocks) == axis.size, what, ": a BlockSeq of ", blocks,
                    " layers along axis '", axis.name, "' of size ", axis.size, "; it needs as many, at least one");
}
void check_equal_layers(tree::Node first, tree::Node other) {
  auto difference = tree::first_difference(first, other, tree::Same::types);
  check<ValueError>(difference.empty(), "stacked: the layers differ, ", difference, "; keep the BlockSeq");
}
}  // namespace detail

namespace {
struct Block {
  Linear up;
  static Block init(const Axis& embed, const Array& key) {
    return {Linear::init(embed, embed.alias("out"), key)};
  }
  NamedArray operator()(const NamedArray& x) const { return x + rename(tanh(up(x)), {{"out", kEmbed}}); }
};
template <template <class> class Layers> std::vector<LayerSample> block_samples() {
  Axis batch{kBatch, 4}, embed{kEmbed, 6}, layers{kLayers, 3};
  auto init = [=](const Array& key) {
    return Layers<Block>::init(layers, embed, per_layer(random::split(key, layers.size)));
  };
  auto call = [](const Layers<Block>& l, const NamedArray& x) { return nn::fold(l, x)(); };
  auto each = [](const Layers<Block>& l, const NamedArray& x) {
    auto f = [](const Block& b, const NamedArray& v) { return std::pair{b(v), square(v)}; };
    auto [y, all] = nn::scan(l, f, x, {.reverse = true})();
    return y + sum(all, kLayers);
  };
  return {sample("fold", init, example({batch, embed}), call),
          sample("scan, reversed", init, example({embed, batch}), each)};
}
}  // namespace
template const bool added<"BlockSeq", block_samples<BlockSeq>>;
template const bool added<"Stacked", block_samples<Stacked>>;
}  // namespace bora::nn
