#include "bora/nn/weight_norm.h"
#include "bora/named/axes.h"
#include "bora/nn/conv.h"
#include "bora/nn/linear.h"
#include "nn/core/support.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"

namespace bora::nn {
NamedArray norms_of(const NamedArray& weight, const Axes& kept) {
  auto w = weight.astype(f64);  // the same first values on every mesh: sums of parts round in another order
  auto gone = eliminate_axes(weight.axes(), names_of(kept.list()));
  return aligned(sqrt(sum(square(w), names_of(gone))), kept.list()).astype(weight.dtype());
}
NamedArray weight_of_norm(const NamedArray& direction, const NamedArray& length) {
  for (auto& a : length.axes())
    check<AxisError>(direction.has_axis(a.name), "WeightNorm: the weight ", to_string(direction.axes()),
                     " has no axis '", a.name, "' of the lengths ", to_string(length.axes()));
  auto w = in_real_accumulator(auto_sharded(direction));
  auto rest = without_axes(direction.axes(), names_of(length.axes()));
  auto scale = auto_sharded(length).astype(w.dtype()) * rsqrt(sum(square(w), names_of(rest)));
  return aligned(w * scale, direction.axes()).astype(direction.dtype());
}

template <> std::vector<LayerSample> samples<"WeightNorm">() {
  Axis batch{kBatch, 4}, height{"height", 5}, embed{kEmbed, 6}, out{kMlp, 8};
  auto linear = [=](const Array& k) { return WeightNorm<Linear>::init(Linear::init(embed, out, k), out); };
  auto conv = [=](const Array& k) {
    return WeightNorm<Conv>::init(Conv::init(Axis{"height", 3}, embed, out, k), {out, embed});
  };
  auto call = [](const auto& l, const NamedArray& x) { return l(x); };
  return {sample("of a linear layer", linear, example({batch, embed}), call),
          sample("of a convolution, two axes", conv, example({batch, height, embed}), call)};
}
template const bool added<"WeightNorm">;
}  // namespace bora::nn
