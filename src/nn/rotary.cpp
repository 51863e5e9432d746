#include "bora/nn/rotary.h"
#include <cmath>
#include "bora/ops/creation.h"
#include "nn/support.h"

namespace bora::nn {
Rotary Rotary::init(const Axis& head_size, double theta) {
  check<ValueError>(head_size.size % 2 == 0, "Rotary: axis '", head_size.name, "' has size ", head_size.size,
                    "; pairs need an even one");
  return {head_size, theta};
}
NamedArray Rotary::operator()(const NamedArray& x, const std::optional<NamedArray>& positions) const {
  auto half = head_size.resize(head_size.size / 2);
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < half.size; ++i)
    frequencies.push_back(std::pow(theta, -static_cast<double>(i) / static_cast<double>(half.size)));
  auto place = (positions ? *positions : arange(x.axis(kPosition))).astype(wide(x));
  auto axes = place.axes();
  axes.push_back(half);
  auto angle = broadcast_to(place, axes) * named(asarray(frequencies).astype(wide(x)), half);
  auto c = cos(angle), s = sin(angle), v = x.astype(wide(x));
  auto a = v[{head_size, range(0, half.size)}], b = v[{head_size, range(half.size, none)}];
  return concatenate(head_size, {a * c - b * s, b * c + a * s}).astype(x.dtype());
}

namespace {
std::vector<LayerSample> samples() {
  Axis batch{kBatch, 4}, position{kPosition, 3}, heads{kHeads, 4}, size{kHeadSize, 6};
  auto init = [=](const Array&) { return Rotary::init(size, 100); };
  auto x = example({batch, position, heads, size});
  auto later = broadcast_to(arange(position), {batch, position}) + broadcast_to(arange(batch), {batch, position});
  auto from_zero = [](const Rotary& r, const NamedArray& v) { return r(v); };
  auto given = [=](const Rotary& r, const NamedArray& v) { return r(v, later); };
  return {sample("", init, x, from_zero), sample("positions of each row", init, x, given)};
}
[[maybe_unused]] const bool registered = add_layer("Rotary", samples);
}  // namespace
}  // namespace bora::nn
