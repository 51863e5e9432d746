#include "bora/nn/sequential.h"
#include "bora/nn/dropout.h"
#include "bora/nn/identity.h"
#include "bora/nn/linear.h"
#include "nn/core/support.h"
#include "bora/ops/nn.h"
#include "bora/named/elementwise.h"

namespace bora::nn {
template <> std::vector<LayerSample> samples<"Sequential">() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8}, hidden{kMlp, 6};
  auto init = [=](const Array& key) {
    auto keys = random::split<2>(key);
    return sequential(Linear::init(embed, hidden, keys[0]), lambda([](const NamedArray& x) { return gelu(x); }),
                      Dropout{0.25F}, Linear::init(hidden, embed, keys[1]));
  };
  auto call = [](const auto& l, const NamedArray& x) { return l(x); };
  auto dropped = [](const auto& l, const NamedArray& x) { return l(x, random::key(3)); };
  return {sample("without a key", init, example({batch, embed}), call),
          sample("with a key", init, example({batch, embed}), dropped)};
}
template const bool added<"Sequential">;
}  // namespace bora::nn
