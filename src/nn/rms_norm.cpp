#include "bora/nn/rms_norm.h"
#include "bora/ops/functions.h"
#include "nn/support.h"

namespace bora::nn {
RmsNorm RmsNorm::init(const Axes& embed, float eps, float offset) {
  return {full(embed, 1 - offset, f32), eps, offset};
}
NamedArray RmsNorm::operator()(const NamedArray& x) const {
  auto factor = beside(x, offset == 0 ? weight : weight.astype(real_accumulator(x.dtype())) + offset);
  return named(rms_norm(x.array(), factor, {.axes = positions_of(weight, x), .eps = static_cast<double>(eps)}),
               x.axes());
}

template <> std::vector<LayerSample> samples<"RmsNorm">() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8}, heads{kHeads, 2};
  auto one = [=](const Array&) { return RmsNorm::init(embed); };
  auto two = [=](const Array&) { return RmsNorm::init({embed, heads}); };
  auto shifted = [=](const Array&) { return RmsNorm::init(embed, 1e-3F, 1); };
  auto call = [](const RmsNorm& l, const NamedArray& x) { return l(x); };
  return {sample("over one axis", one, example({batch, embed}), call),
          sample("weights around 0", shifted, example({batch, embed}), call),
          sample("over two axes", two, example({heads, batch, embed}), call)};
}
template const bool added<"RmsNorm">;
}  // namespace bora::nn
