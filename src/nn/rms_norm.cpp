#include "bora/nn/rms_norm.h"
#include "bora/ops/functions.h"
#include "nn/support.h"

namespace bora::nn {
RmsNorm RmsNorm::init(const Axes& embed, float eps) { return {ones(embed), eps}; }
NamedArray RmsNorm::operator()(const NamedArray& x) const {
  return named(
      rms_norm(x.array(), beside(x, weight), {.axes = positions_of(weight, x), .eps = static_cast<double>(eps)}),
      x.axes());
}

namespace {
std::vector<LayerSample> samples() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8}, heads{kHeads, 2};
  auto one = [=](const Array&) { return RmsNorm::init(embed); };
  auto two = [=](const Array&) { return RmsNorm::init({embed, heads}); };
  auto call = [](const RmsNorm& l, const NamedArray& x) { return l(x); };
  return {sample("over one axis", one, example({batch, embed}), call),
          sample("over two axes", two, example({heads, batch, embed}), call)};
}
[[maybe_unused]] const bool registered = add_layer("RmsNorm", samples);
}  // namespace
}  // namespace bora::nn
