#include "bora/nn/group_norm.h"
#include "bora/ops/functions.h"
#include "nn/support.h"

namespace bora::nn {
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
}  // namespace bora::nn
