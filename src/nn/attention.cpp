#include "bora/nn/attention.h"
#include <algorithm>
#include "bora/nn/ring_attention.h"
#include "bora/ops/creation.h"
#include "bora/ops/functions.h"
#include "bora/ops/index.h"
#include "bora/ops/shape.h"
#include "nn/attention_dims.h"

namespace bora::nn {
namespace {
AxisList all_but_last(const AxisList& axes) { return {axes.begin(), axes.end() - 1}; }
AxisList united(AxisList a, const AxisList& b) {
  for (auto& axis : b)
    if (find_axis(a, axis.name) < 0) a.push_back(axis);
  return a;
}
/// The axes of an attention by their parts in it.
struct AttentionAxes {
  AxisList batch, position, key_position, few, many;  // few, many: heads of the keys, heads of the queries
};
AttentionOptions options_of(const AttentionMask& mask, const AttentionAxes& p) {
  AttentionOptions o{.causal = mask.causal};
  if (mask.explicit_mask) o.mask = with_dims(*mask.explicit_mask, p.batch, {p.many, p.position, p.key_position});
  if (mask.window) {
    check<ValueError>(*mask.window >= 1, "Attention: a window has at least its own position, got ", *mask.window);
    o.left = *mask.window - 1;
  }
  if (mask.window_value) o.window = *mask.window_value;
  if (mask.segments) o.query_segments = o.key_segments = with_dims(*mask.segments, p.batch, {p.position});
  return o;
}
/// Keys lie along key_position, or along position where they are those of x itself.
NamedArray attend(const Attention& a, const NamedArray& x, const NamedArray& queries, const KeyValues& kv,
                  const AttentionMask& mask, const std::optional<Array>& key = none) {
  auto position = x.axis(kPosition), size = a.q.out.back(), value_size = a.v.out.back();
  auto key_position = kv.keys.has_axis(kKeyPosition) ? kv.keys.axis(kKeyPosition) : position;
  AttentionAxes p{{}, {position}, {key_position.alias(kKeyPosition)}, all_but_last(a.k.out), {}};
  p.many = united(p.few, all_but_last(a.q.out));
  for (auto& axis : queries.axes())
    if (x.has_axis(axis.name) && axis.name != kPosition) p.batch.push_back(axis);
  auto options = options_of(mask, p);
  options.scale = a.scale, options.soft_cap = a.soft_cap;
  if (key && a.dropout > 0) options.dropout = a.dropout, options.key = *key;
  auto y = attention(with_dims(queries, p.batch, {p.position, p.many, {size}}),
                     with_dims(kv.keys, p.batch, {{key_position}, p.few, {size}}),
                     with_dims(kv.values, p.batch, {{key_position}, p.few, {value_size}}), options);
  auto axes = united(united(united(p.batch, p.position), p.many), {value_size});
  return aligned(a.out(named(reshape(y, shape_of(axes)), axes)), x.axes());
}
/// The same where the ranks of the current mapping hold parts of the sequence, in zigzag order.
NamedArray attend_in_ring(const Attention& a, const NamedArray& x, const NamedArray& queries, const KeyValues& kv,
                          const AttentionMask& mask, const std::optional<Array>& key) {
  bool dropped = key && a.dropout > 0, windowed = mask.window || mask.window_value;
  check<ValueError>(mask.causal && !mask.explicit_mask && !windowed && !dropped, "Attention: a sequence split over ",
                    mask.zigzag, " ranks has no ",
                    !mask.causal   ? "attention to later positions"
                    : dropped      ? "dropout of weights"
                    : windowed     ? "sliding windows"
                                   : "explicit masks",
                    "; leave the mesh axis context out");
  auto y = ring_attention(queries, kv.keys, kv.values,
                          {.segments = mask.segments, .scale = a.scale, .soft_cap = a.soft_cap, .ranks = mask.zigzag});
  return aligned(a.out(auto_sharded(y)), x.axes());
}
/// Queries, keys and values of x at these positions.
struct Projected {
  NamedArray queries;
  KeyValues kv;
};
Projected project(const Attention& a, const NamedArray& x, const std::optional<NamedArray>& positions) {
  auto queries = auto_sharded(a.q(x)), keys = auto_sharded(a.k(x)), values = auto_sharded(a.v(x));
  if (a.q_norm) queries = (*a.q_norm)(queries);
  if (a.k_norm) keys = (*a.k_norm)(keys);
  if (a.rotary) {
    queries = (*a.rotary)(queries, positions);
    keys = (*a.rotary)(keys, positions);
  }
  return {queries, {keys, values}};
}
}  // namespace

Attention Attention::init(const Axis& embed, const Axis& heads, const Axis& head_size, const Array& key,
                          const AttentionInit& o) {
  auto keys = random::split<4>(key);
  Axes few{heads, head_size}, many = o.group ? Axes{heads, *o.group, head_size} : few;
  Attention a{Linear::init(embed, many, keys[0], o.in), Linear::init(embed, few, keys[1], o.in),
              Linear::init(embed, few, keys[2], o.in), Linear::init(many, embed, keys[3], o.out)};
  if (o.theta) a.rotary = Rotary::init(head_size, *o.theta, o.rotary);
  a.dropout = o.dropout;
  if (o.norm_eps) a.q_norm = a.k_norm = RmsNorm::init(head_size, *o.norm_eps);
  a.scale = o.scale, a.soft_cap = o.soft_cap;
  return a;
}
NamedArray Attention::operator()(const NamedArray& x, const AttentionMask& mask,
                                 const std::optional<NamedArray>& positions, const std::optional<Array>& key) const {
  check<ValueError>(mask.zigzag == 1 || !rotary || positions, "Attention: the positions are in the zigzag order of ",
                    mask.zigzag, " ranks, and a rotary embedding needs to know them; give `positions`");
  auto [queries, kv] = project(*this, x, positions);
  return (mask.zigzag > 1 ? attend_in_ring : attend)(*this, x, queries, kv, mask, key);
}
KeyValues Attention::cache(const Axes& rows, std::int64_t length) const {
  auto room = [&](const Linear& l) {
    auto axes = rows.list();
    axes.push_back({kKeyPosition, length});
    axes.insert(axes.end(), l.out.begin(), l.out.end());
    return auto_sharded(zeros(axes, l.weight.dtype()));
  };
  return {room(k), room(v)};
}
std::pair<NamedArray, KeyValues> Attention::decode(const NamedArray& x, const KeyValues& cache,
                                                   const Array& seen, const std::optional<Array>& window) const {
  auto places = arange(x.axis(kPosition)) + NamedArray(seen, {});
  auto [queries, of_x] = project(*this, x, places);
  auto written = [&](const NamedArray& to, const NamedArray& part) {
    auto axes = to.axes();
    auto at = to.position(kKeyPosition);
    axes[static_cast<std::size_t>(at)] = x.axis(kPosition);
    Arrays starts(axes.size(), array(0));
    starts[static_cast<std::size_t>(at)] = seen;
    return named(dynamic_update_slice(to.array(), aligned(part, axes).array().astype(to.dtype()), starts), to.axes());
  };
  KeyValues kv{written(cache.keys, of_x.keys), written(cache.values, of_x.values)};
  auto& key_position = kv.keys.axis(kKeyPosition);
  std::vector<Axis> pairs{x.axis(kPosition), key_position};
  auto key_places = broadcast_to(arange(key_position), pairs), own = broadcast_to(places, pairs);
  auto sees = key_places <= own;
  if (window) sees = sees && key_places > own - NamedArray(*window, {});
  return {attend(*this, x, queries, kv, {.causal = false, .explicit_mask = sees}), kv};
}

template <> std::vector<LayerSample> samples<"Attention">() {
  Axis batch{kBatch, 4}, position{kPosition, 5}, embed{kEmbed, 8}, heads{kHeads, 4}, size{kHeadSize, 6};
  auto make = [=](const AttentionInit& options) {
    return [=](const Array& k) { return Attention::init(embed, heads, size, k, options); };
  };
  auto causal = [](const Attention& a, const NamedArray& v) { return a(v); };
  auto in_window = [](const Attention& a, const NamedArray& v) { return a(v, {.window = 2}); };
  auto in_segments = [segments = (arange(position) >= 2).astype(i32)](const Attention& a, const NamedArray& v) {
    return a(v, {.causal = false, .segments = segments});
  };
  auto dropped = [](const Attention& a, const NamedArray& v) { return a(v, {}, none, random::key(5)); };
  auto as_value = [](const Attention& a, const NamedArray& v) { return a(v, {.window_value = array(3)}); };
  LinearOptions bare{.use_bias = false};
  AttentionInit llama{.in = bare, .out = bare, .group = Axis{kHeadGroup, 2}, .theta = 10000.};
  AttentionInit normed{.out = bare, .theta = 100., .norm_eps = 1e-6F, .scale = 0.3, .soft_cap = 2.};
  return {sample("causal", make({}), example({batch, position, embed}), causal),
          sample("shared keys, rotary, a window", make(llama), example({batch, position, embed}), in_window),
          sample("dropout", make({.dropout = 0.25}), example({batch, position, embed}), dropped),
          sample("norms, a cap, a window as a value", make(normed), example({batch, position, embed}), as_value),
          sample("segments, position first", make({}), example({position, batch, embed}), in_segments)};
}
template const bool added<"Attention">;
}  // namespace bora::nn
