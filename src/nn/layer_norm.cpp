#include "bora/nn/layer_norm.h"
#include "bora/ops/functions.h"
#include "nn/support.h"

namespace bora::nn {
LayerNorm LayerNorm::init(const Axes& embed, float eps) { return {ones(embed), zeros(embed), eps}; }
NamedArray LayerNorm::operator()(const NamedArray& x) const {
  return named(layer_norm(x.array(), beside(x, weight), beside(x, bias),
                          {.axes = positions_of(weight, x), .eps = static_cast<double>(eps)}),
               x.axes());
}

template <> std::vector<LayerSample> samples<"LayerNorm">() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8}, position{kPosition, 3};
  auto init = [=](const Array&) { return LayerNorm::init(embed); };
  auto call = [](const LayerNorm& l, const NamedArray& x) { return l(x); };
  return {sample("over an axis in the middle", init, example({batch, embed, position}), call)};
}
template const bool added<"LayerNorm">;
}  // namespace bora::nn
