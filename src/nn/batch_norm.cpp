#include "bora/nn/batch_norm.h"
#include "nn/support.h"

namespace bora::nn {
BatchNorm BatchNorm::init(const Axes& channels, float momentum, float eps) {
  return {ones(channels), zeros(channels), momentum, eps};
}
BatchStats BatchNorm::first_stats() const {
  auto dtype = real_accumulator(weight.dtype());
  return {zeros(weight.axes(), dtype), ones(weight.axes(), dtype)};
}
std::pair<NamedArray, BatchStats> BatchNorm::operator()(const NamedArray& x, const BatchStats& stats,
                                                        BatchNormMode mode) const {
  std::vector<Axis> rest;
  for (auto& a : weight.axes())
    check<AxisError>(x.has_axis(a.name), "BatchNorm: the input ", to_string(x.axes()), " has no axis '", a.name, "'");
  for (auto& a : x.axes())
    if (!weight.has_axis(a.name)) rest.push_back(a);
  auto v = in_real_accumulator(x);
  auto normalized = [&](const NamedArray& mean, const NamedArray& variance) {
    auto factor = rsqrt(variance + eps) * auto_sharded(weight).astype(v.dtype());
    auto y = (v - mean) * factor + auto_sharded(bias).astype(v.dtype());
    return aligned(y, x.axes()).astype(x.dtype());
  };
  if (mode == BatchNormMode::infer)
    return {normalized(stats.mean.astype(v.dtype()), stats.variance.astype(v.dtype())), stats};
  check<ShapeError>(x.size() > 0, "BatchNorm: the input ", to_string(x.axes()), " has no element to average");
  auto mean = bora::mean(v, names_of(rest));
  auto variance = bora::mean(square(v - mean), names_of(rest));
  auto moved = [&](const NamedArray& average, const NamedArray& now) {
    auto next = average * momentum + stop_gradient(now).astype(average.dtype()) * (1 - momentum);
    return aligned(next, average.axes());
  };
  return {normalized(mean, variance), {moved(stats.mean, mean), moved(stats.variance, variance)}};
}

template <> std::vector<LayerSample> samples<"BatchNorm">() {
  Axis batch{kBatch, 4}, height{"height", 3}, channels{kEmbed, 6};
  auto init = [=](const Array&) { return BatchNorm::init(channels, 0.9F); };
  auto train = [](const BatchNorm& l, const NamedArray& x) { return l(x, l.first_stats()).first; };
  auto infer = [=](const BatchNorm& l, const NamedArray& x) {
    return l(x, {example(channels), square(example(channels)) + 0.5}, BatchNormMode::infer).first;
  };
  return {sample("train", init, example({batch, height, channels}), train),
          sample("infer, channels first", init, example({batch, channels, height}), infer)};
}
template const bool added<"BatchNorm">;
}  // namespace bora::nn
