#include "bora/nn/prelu.h"
#include "nn/core/support.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"
#include "bora/named/random.h"

namespace bora::nn {
Prelu Prelu::init(const Axes& channels, double slope) { return {full(channels, slope, f32)}; }
Prelu Prelu::init(double slope) { return init(std::vector<Axis>(), slope); }
NamedArray Prelu::operator()(const NamedArray& x) const {
  for (auto& a : weight.axes())
    check<AxisError>(x.has_axis(a.name), "Prelu: the input ", to_string(x.axes()), " has no axis '", a.name, "'");
  auto v = in_real_accumulator(x.array());
  auto left = v * stop_gradient(where(v == v, 1, v));  // the slope at NaN is NaN
  return named(where(v > 0, v, left * beside(x, weight)).astype(x.dtype()), x.axes());
}

template <> std::vector<LayerSample> samples<"Prelu">() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8};
  auto one = [](const Array&) { return Prelu::init(); };
  auto each = [=](const Array& key) { return Prelu{random::normal(key, embed)}; };
  auto call = [](const Prelu& l, const NamedArray& x) { return l(x); };
  return {sample("one slope", one, example({batch, embed}), call),
          sample("a slope for each channel", each, example({embed, batch}), call)};
}
template const bool added<"Prelu">;
}  // namespace bora::nn
