#include "bora/nn/layers.h"
#include <algorithm>
#include <numeric>
#include <vector>
#include "bora/ops/functions.h"
#include "bora/ops/shape.h"

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
  auto queries = auto_sharded(q(x)), keys = auto_sharded(k(x)), values = auto_sharded(v(x));
  auto position = x.axis(kPosition), key_position = position.alias(kKeyPosition), size = q.weight.axes().back(),
       value_size = v.weight.axes().back();
  std::vector<Axis> batch, heads, own;  // heads that the keys have too, and those that share them
  for (auto& a : queries.axes())
    if (a.name != kPosition && a.name != size.name)
      (x.has_axis(a.name) ? batch : keys.has_axis(a.name) ? heads : own).push_back(a);
  auto shared = heads.size();
  heads.insert(heads.end(), own.begin(), own.end());
  auto times = [](std::vector<Axis>::const_iterator from, std::vector<Axis>::const_iterator to) {
    return std::accumulate(from, to, std::int64_t{1}, [](auto n, auto& a) { return n * a.size; });
  };
  /// [batch.., position, heads, last], the heads as one dimension.
  auto flat = [&](const NamedArray& y, std::size_t with, const Axis& last) {
    auto order = batch;
    order.push_back(position);
    auto to = heads.begin() + static_cast<std::ptrdiff_t>(with);
    order.insert(order.end(), heads.begin(), to);
    order.push_back(last);
    auto a = aligned(y, order).array();
    auto shape =
        Shape(Dims(a.type().shape.begin(), a.type().shape.begin() + static_cast<std::ptrdiff_t>(batch.size()) + 1));
    shape.append(Shape{times(heads.begin(), to), last.size});
    return reshape(a, shape);
  };
  /// [batch.., heads, rest..], 1 for axes that y lacks.
  auto spread = [&](const NamedArray& y, const std::vector<Axis>& rest, bool with_heads) {
    auto any_head = std::any_of(heads.begin(), heads.end(), [&](auto& a) { return y.has_axis(a.name); });
    std::vector<Axis> order;
    Shape shape;
    auto add = [&](const Axis& a) {
      if (y.has_axis(a.name)) order.push_back(a);
      shape.push_back(y.has_axis(a.name) ? a.size : 1);
    };
    for (auto& a : batch) add(a);
    if (any_head) order.insert(order.end(), heads.begin(), heads.end());
    if (with_heads) shape.push_back(any_head ? times(heads.begin(), heads.end()) : 1);
    for (auto& a : rest) add(a);
    return reshape(broadcast_to(y, order).array(), shape);
  };
  AttentionOptions options{.causal = mask.causal};
  if (mask.explicit_mask) options.mask = spread(*mask.explicit_mask, {position, key_position}, true);
  if (mask.window) {
    check<ValueError>(*mask.window >= 1, "Attention: a window has at least its own position, got ", *mask.window);
    options.left = *mask.window - 1;
  }
  if (mask.segments) options.query_segments = options.key_segments = spread(*mask.segments, {position}, false);
  auto y =
      attention(flat(queries, heads.size(), size), flat(keys, shared, size), flat(values, shared, value_size), options);
  auto axes = batch;
  axes.push_back(position);
  axes.insert(axes.end(), heads.begin(), heads.end());
  axes.push_back(value_size);
  Shape shape;
  for (auto& a : axes) shape.push_back(a.size);
  return aligned(out(named(reshape(y, shape), axes)), x.axes());
}
}  // namespace bora::nn
