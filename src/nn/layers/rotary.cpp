#include "bora/nn/rotary.h"
#include <algorithm>
#include <cmath>
#include <numbers>
#include "bora/ops/creation.h"
#include "nn/core/support.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"

namespace bora::nn {
namespace {
const Axis kPair{"rotary_pair", 2};
using ScalingKind = RotaryScaling::Kind;
void check_scaling(const RotaryScaling& s) {
  check<ValueError>(std::isfinite(s.factor) && s.factor > 0, "Rotary: a scaling's factor must be above 0, got ",
                    s.factor);
  if (s.kind != ScalingKind::llama3 && s.kind != ScalingKind::yarn) return;
  check<ValueError>(s.original_positions >= 1, "Rotary: a scaling needs original_positions of 1 or more, got ",
                    s.original_positions);
  check<ValueError>(std::isfinite(s.high) && s.low > 0 && s.low < s.high,
                    "Rotary: a scaling's low must be above 0 and below high, got ", s.low, " and ", s.high);
}
double amplitude(const RotaryScaling& s) {
  if (s.kind != ScalingKind::yarn) return 1;
  return s.amplitude.value_or(s.factor > 1 ? 0.1 * std::log(s.factor) + 1 : 1);
}
/// Divides the frequencies by the scaling's factor, wholly, partly or not at all.
void scale(std::vector<double>& frequencies, double theta, const RotaryScaling& s) {
  auto original = static_cast<double>(s.original_positions), pairs = static_cast<double>(frequencies.size());
  // The pair that turns so often within the original positions.
  auto pair_of = [&](double turns) {
    return pairs * std::log(original / (turns * 2 * std::numbers::pi)) / std::log(theta);
  };
  double begin = 0, end = 0;
  if (s.kind == ScalingKind::yarn) {
    begin = pair_of(s.high), end = pair_of(s.low);
    if (s.whole_pairs) begin = std::floor(begin), end = std::ceil(end);
    begin = std::max(begin, 0.0), end = std::min(end, 2 * pairs - 1);
    if (begin == end) end += 0.001;
  }
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    auto& f = frequencies[i];
    double kept = 0;  // the part that keeps its frequency
    if (s.kind == ScalingKind::llama3) kept = (original * f / (2 * std::numbers::pi) - s.low) / (s.high - s.low);
    if (s.kind == ScalingKind::yarn) kept = 1 - (static_cast<double>(i) - begin) / (end - begin);
    kept = std::clamp(kept, 0.0, 1.0);
    f = (1 - kept) * f / s.factor + kept * f;
  }
}
}  // namespace

Rotary Rotary::init(const Axis& head_size, double theta, const RotaryOptions& options) {
  auto d = options.dims ? options.dims : head_size.size;
  check<ValueError>(d % 2 == 0, "Rotary: axis '", head_size.name, "' has size ", d, "; pairs need an even one");
  check<ValueError>(d >= 1 && d <= head_size.size, "Rotary: ", d, " numbers to turn of axis '", head_size.name,
                    "', which has size ", head_size.size);
  check_scaling(options.scaling);
  return {head_size, theta, options, none};
}
std::vector<double> Rotary::frequencies() const {
  auto pairs = (options.dims ? options.dims : head_size.size) / 2;
  std::vector<double> r;
  for (std::int64_t i = 0; i < pairs; ++i)
    r.push_back(std::pow(theta, -static_cast<double>(i) / static_cast<double>(pairs)));
  if (options.scaling.kind != ScalingKind::none) scale(r, theta, options.scaling);
  return r;
}
NamedArray Rotary::operator()(const NamedArray& x, const std::optional<NamedArray>& positions) const {
  auto each = speeds ? *speeds : asarray(frequencies());
  auto half = head_size.resize(each.shape(0)), turning = half.resize(2 * half.size);
  auto place = (positions ? *positions : arange(x.axis(kPosition))).astype(real_accumulator(x.dtype()));
  auto axes = place.axes();
  axes.push_back(half);
  auto angle = broadcast_to(place, axes) * named(each.astype(real_accumulator(x.dtype())), half);
  auto c = cos(angle), s = sin(angle), v = in_real_accumulator(x);
  if (auto a = amplitude(options.scaling); a != 1) c = c * a, s = s * a;
  auto part = [&](std::int64_t begin, std::int64_t end, std::int64_t step) {
    return v[{head_size, range(begin, end, step)}];
  };
  auto [a, b] = options.interleaved
                    ? std::pair{part(0, turning.size, 2), part(1, turning.size, 2)}
                    : std::pair{part(0, half.size, 1), part(half.size, turning.size, 1)};
  std::vector<NamedArray> turned{a * c - b * s, b * c + a * s};
  if (options.interleaved) {
    auto order = x.axes();
    order[static_cast<std::size_t>(x.position(head_size))] = turning;
    turned = {aligned(flatten_axes(stack(kPair, turned), {half, kPair}, turning), order)};
  }
  if (turning.size < head_size.size) turned.push_back(part(turning.size, head_size.size, 1));
  return (turned.size() == 1 ? turned[0] : concatenate(head_size, turned)).astype(x.dtype());
}

template <> std::vector<LayerSample> samples<"Rotary">() {
  Axis batch{kBatch, 4}, position{kPosition, 3}, heads{kHeads, 4}, size{kHeadSize, 6};
  auto make = [=](const RotaryOptions& options) {
    return [=](const Array&) { return Rotary::init(size, 100, options); };
  };
  auto x = example({batch, position, heads, size});
  auto later = broadcast_to(arange(position), {batch, position}) + broadcast_to(arange(batch), {batch, position});
  auto from_zero = [](const Rotary& r, const NamedArray& v) { return r(v); };
  auto given = [=](const Rotary& r, const NamedArray& v) { return r(v, later); };
  auto as_value = [=](const Rotary& r, const NamedArray& v) {
    auto other = r;
    other.speeds = asarray(std::vector<double>{0, 0.5, 2});
    return other(v, later);
  };
  RotaryScaling yarn{ScalingKind::yarn, 4, 1, 32, 64};
  return {sample("", make({}), x, from_zero), sample("positions of each row", make({}), x, given),
          sample("interleaved", make({.interleaved = true}), x, given),
          sample("some of the numbers", make({.dims = 4}), x, from_zero),
          sample("some, interleaved", make({.dims = 4, .interleaved = true}), x, from_zero),
          sample("frequencies as a value", make({}), x, as_value),
          sample("yarn", make({.scaling = yarn}), x, given)};
}
template const bool added<"Rotary">;
}  // namespace bora::nn
