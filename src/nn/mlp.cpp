#include "bora/nn/mlp.h"
#include "nn/support.h"

namespace bora::nn {
Mlp Mlp::init(const Axis& embed, const Axis& hidden, const Array& key, const LinearOptions& up,
              const LinearOptions& down, Activation activation) {
  auto keys = random::split<2>(key);
  return {Linear::init(embed, hidden, keys[0], up), Linear::init(hidden, embed, keys[1], down), activation};
}
NamedArray Mlp::operator()(const NamedArray& x) const { return down(activate(activation, auto_sharded(up(x)))); }

template <> std::vector<LayerSample> samples<"Mlp">() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8}, hidden{kMlp, 16};
  auto init = [=](const Array& k) { return Mlp::init(embed, hidden, k); };
  auto call = [](const Mlp& m, const NamedArray& x) { return m(x); };
  return {sample("", init, example({batch, embed}), call)};
}
template const bool added<"Mlp">;
}  // namespace bora::nn
