#include "bora/nn/layers.h"
#include <cmath>
#include <vector>

namespace bora::nn {
namespace {
std::vector<Axis> joined(const Axes& a, const Axes& b) {
  auto r = a.list();
  r.insert(r.end(), b.begin(), b.end());
  return r;
}
AxisNames names_of(const std::vector<Axis>& axes) {
  std::vector<AxisNames::One> r;
  for (auto& a : axes) r.emplace_back(a);
  return AxisNames(r);
}
}  // namespace

Linear Linear::init(const Axes& in, const Axes& out, const Array& key, const Init& o) {
  Linear l{random::normal(key, Axes(joined(in, out))) * o.stddev, none};
  if (o.use_bias) l.bias = zeros(out);
  return l;
}
NamedArray Linear::operator()(const NamedArray& x) const {
  std::vector<Axis> in;
  auto w = auto_sharded(weight);
  for (auto& a : w.axes()) {
    bool of_output = bias ? bias->has_axis(a.name) : !x.has_axis(a.name);
    if (!of_output && x.has_axis(a.name)) in.push_back(a);
  }
  check<AxisError>(!in.empty(), "Linear: the input ", x.axes(), " shares no input axis with the weight ", w.axes());
  auto y = dot(x, w, names_of(in));
  return bias ? y + auto_sharded(*bias) : y;
}
Embedding Embedding::init(const Axis& vocab, const Axis& embed, const Array& key, double stddev) {
  return {random::normal(key, {vocab, embed}) * stddev};
}
NamedArray Embedding::embed(const NamedArray& indices) const {
  return take(auto_sharded(weight), std::string_view(weight.axes().at(0).name), indices);
}
NamedArray Embedding::unembed(const NamedArray& x) const {
  return dot(x, auto_sharded(weight), std::string_view(weight.axes().at(1).name));
}

LayerNorm LayerNorm::init(const Axis& embed, float eps) { return {ones(embed), zeros(embed), eps}; }
NamedArray LayerNorm::operator()(const NamedArray& x) const {
  auto axes = names_of(weight.axes());
  auto v = x.astype(f32);
  auto centered = v - mean(v, axes);
  auto y = centered * rsqrt(mean(square(centered), axes) + static_cast<double>(eps));
  return (y * auto_sharded(weight).astype(f32) + auto_sharded(bias).astype(f32)).astype(x.dtype());
}
NamedArray Dropout::operator()(const NamedArray& x, const std::optional<Array>& key) const {
  if (!key || rate == 0) return x;
  check<ValueError>(0 <= rate && rate < 1, "Dropout: the rate must be in [0, 1), got ", rate);
  auto keep = random::bernoulli(*key, 1.0 - static_cast<double>(rate), Axes(x.axes()));
  return where(keep, x / (1.0 - static_cast<double>(rate)), 0);
}
Mlp Mlp::init(const Axis& embed, const Axis& hidden, const Array& key, double down_stddev) {
  auto keys = random::split<2>(key);
  return {Linear::init(embed, hidden, keys[0]), Linear::init(hidden, embed, keys[1], {.stddev = down_stddev})};
}
NamedArray Mlp::operator()(const NamedArray& x) const { return down(gelu(auto_sharded(up(x)))); }

Attention Attention::init(const Axis& embed, const Axis& heads, const Axis& head_size, const Array& key,
                          double out_stddev) {
  auto keys = random::split<4>(key);
  auto make = [&](const Array& k) { return Linear::init(embed, {heads, head_size}, k); };
  return {make(keys[0]), make(keys[1]), make(keys[2]),
          Linear::init({heads, head_size}, embed, keys[3], {.stddev = out_stddev})};
}
NamedArray Attention::operator()(const NamedArray& x, const AttentionMask& mask) const {
  auto position = x.axis(kPosition), key_position = position.alias(kKeyPosition);
  auto head_size = q.weight.axes().back();
  auto queries = auto_sharded(q(x)) * (1 / std::sqrt(static_cast<double>(head_size.size)));
  auto keys = rename(auto_sharded(k(x)), {{kPosition, kKeyPosition}}),
       values = rename(auto_sharded(v(x)), {{kPosition, kKeyPosition}});
  auto scores = dot(queries, keys, head_size).astype(f32);
  constexpr double masked = -1e30;  // not -inf: a row that is masked everywhere must not become NaN
  if (mask.causal) {
    std::vector<Axis> both{position, key_position};
    auto attend = broadcast_to(arange(key_position), both) <= broadcast_to(arange(position), both);
    scores = where(attend, scores, masked);
  }
  if (mask.explicit_mask) scores = where(*mask.explicit_mask, scores, masked);
  auto weights = softmax(scores, key_position).astype(x.dtype());
  return aligned(out(dot(weights, values, key_position)), x.axes());
}
}  // namespace bora::nn
