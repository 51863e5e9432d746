#include "bora/nn/norm.h"
#include "bora/ops/nn.h"
#include "nn/core/support.h"
#include "bora/ops/transform.h"
#include "bora/named/elementwise.h"

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

GroupNorm GroupNorm::init(const Axis& channels, const std::vector<std::string>& over, std::int64_t groups, float eps) {
  check<ValueError>(groups > 0 && channels.size % groups == 0, "GroupNorm: ", groups, " groups do not divide ",
                    channels.size, " channels");
  return {ones(channels), zeros(channels), over, groups, eps};
}
NamedArray GroupNorm::operator()(const NamedArray& x) const {
  auto& channels = weight.axes().front();
  check<AxisError>(x.has_axis(channels.name), "GroupNorm: the input ", to_string(x.axes()), " has no axis '",
                   channels.name, "'");
  Axis group{channels.name + "_group", groups}, each{channels.name + "_of_group", channels.size / groups};
  auto parts = unflatten_axis(x, channels.name, {group, each});
  Dims axes{parts.position(each.name)};
  for (auto& a : over) axes.push_back(parts.position(a));
  auto by_group = [&](const NamedArray& p) { return beside(parts, unflatten_axis(p, channels, {group, each})); };
  auto y = layer_norm(parts.array(), by_group(weight), by_group(bias), {.axes = axes, .eps = static_cast<double>(eps)});
  auto flat = flatten_axes(named(y, parts.axes()), {group, each}, channels);
  return aligned(flat, x.axes());
}

template <> std::vector<LayerSample> samples<"GroupNorm">() {
  Axis batch{kBatch, 4}, height{"height", 3}, width{"width", 2}, channels{kEmbed, 6};
  auto make = [=](std::int64_t groups) {
    return [=](const Array&) { return GroupNorm::init(channels, {"height", "width"}, groups); };
  };
  auto call = [](const GroupNorm& l, const NamedArray& x) { return l(x); };
  return {sample("three groups", make(3), example({batch, height, width, channels}), call),
          sample("each channel, channels first", make(6), example({batch, channels, height, width}), call)};
}
template const bool added<"GroupNorm">;

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
