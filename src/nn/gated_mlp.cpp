#include "bora/nn/gated_mlp.h"
#include "nn/support.h"

namespace bora::nn {
GatedMlp GatedMlp::init(const Axis& embed, const Axis& hidden, const Array& key, const LinearOptions& up,
                        const LinearOptions& down, Activation activation) {
  auto keys = random::split<3>(key);
  return {Linear::init(embed, hidden, keys[0], up), Linear::init(embed, hidden, keys[1], up),
          Linear::init(hidden, embed, keys[2], down), activation};
}
NamedArray GatedMlp::operator()(const NamedArray& x) const {
  return down(auto_sharded(activate(activation, gate(x)) * up(x)));
}

template <> std::vector<LayerSample> samples<"GatedMlp">() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8}, hidden{kMlp, 12};
  auto bare = [=](const Array& k) { return GatedMlp::init(embed, hidden, k); };
  auto biased = [=](const Array& k) { return GatedMlp::init(embed, hidden, k, {}, {}); };
  auto gelu = [=](const Array& k) {
    return GatedMlp::init(embed, hidden, k, {.use_bias = false}, {.use_bias = false}, Activation::gelu_new);
  };
  auto call = [](const GatedMlp& m, const NamedArray& x) { return m(x); };
  return {sample("", bare, example({batch, embed}), call),
          sample("GeGLU", gelu, example({batch, embed}), call),
          sample("with biases", biased, example({batch, embed}), call)};
}
template const bool added<"GatedMlp">;
}  // namespace bora::nn
