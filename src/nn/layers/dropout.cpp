#include "bora/nn/dropout.h"
#include "bora/named/axes.h"
#include "nn/core/support.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"

namespace bora::nn {
NamedArray Dropout::operator()(const NamedArray& x, const std::optional<Array>& key) const {
  return key ? dropout(*key, x, static_cast<double>(rate)) : x;
}
NamedArray Dropout::along(const NamedArray& x, const AxisNames& shared, const std::optional<Array>& key) const {
  if (!key || rate == 0) return x;
  auto axes = eliminate_axes(x.axes(), shared);
  auto kept = dropout(*key, auto_sharded(ones(axes, real_accumulator(x.dtype()))), static_cast<double>(rate));
  return aligned(where(kept != 0, in_real_accumulator(x) * kept, 0).astype(x.dtype()), x.axes());  // 0 for NaN too
}

template <> std::vector<LayerSample> samples<"Dropout">() {
  auto init = [](const Array&) { return Dropout{0.25F}; };
  auto call = [](const Dropout& d, const NamedArray& x) { return d(x, random::key(3)); };
  auto along = [](const Dropout& d, const NamedArray& x) { return d.along(x, kPosition, random::key(3)); };
  auto along_two = [](const Dropout& d, const NamedArray& x) {
    return d.along(x, {kPosition, kBatch}, random::key(3));
  };
  return {sample("with a key", init, example({Axis{kBatch, 4}, Axis{kEmbed, 8}}), call),
          sample("along two axes", init, example({Axis{kBatch, 4}, Axis{kPosition, 3}, Axis{kEmbed, 8}}), along_two),
          sample("along positions", init, example({Axis{kBatch, 4}, Axis{kPosition, 3}, Axis{kEmbed, 8}}), along)};
}
template const bool added<"Dropout">;
}  // namespace bora::nn
