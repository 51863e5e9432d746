#include "bora/nn/attention.h"
#include <algorithm>
#include "bora/named/axes.h"
#include "bora/named/shape.h"
#include "bora/nn/dropout.h"
#include "bora/nn/functions.h"
#include "bora/nn/ring_attention.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "nn/core/attention_dims.h"
#include "nn/core/attention_parts.h"

namespace bora::nn {
namespace {
/// Keys, values and the mask with the learned and the zero key behind them.
struct Extended {
  KeyValues kv;
  AttentionMask mask;
};
NamedArray with_more(const NamedArray& x, const std::vector<NamedArray>& more) {
  auto one = x.axes();
  auto& axis = one[static_cast<std::size_t>(x.position(kKeyPosition))];
  auto all = axis.resize(axis.size + static_cast<std::int64_t>(more.size()));
  axis.size = 1;
  std::vector<NamedArray> parts{x};
  for (auto& m : more) parts.push_back(broadcast_to(m.astype(x.dtype()), one));
  return concatenate(all, parts);
}
template <bool c>
Extended extended(const BasicAttention<c>& a, const NamedArray& x, const KeyValues& given, const AttentionMask& mask) {
  if (!a.learned_key && !a.zero_key) return {given, mask};
  check<ValueError>(!mask.window && !mask.window_value && !mask.segments && !mask.key_segments,
                    "Attention: learned and zero keys go with explicit masks and biases, not with windows or segments");
  auto at_keys = [](const NamedArray& y) {
    return y.has_axis(kKeyPosition) ? y : rename(y, {{kPosition, kKeyPosition}});
  };
  KeyValues kv{at_keys(given.keys), at_keys(given.values)};
  std::vector<NamedArray> keys, values;
  if (a.learned_key && a.learned_value) {
    keys = {auto_sharded(*a.learned_key)};
    values = {auto_sharded(*a.learned_value)};
  }
  if (a.zero_key) {
    keys.push_back(zeros(a.k.out, kv.keys.dtype()));
    values.push_back(zeros(a.v.out, kv.values.dtype()));
  }
  Extended r{{with_more(kv.keys, keys), with_more(kv.values, values)}, {.causal = false}};
  auto& key_position = kv.keys.axis(kKeyPosition);
  auto along_keys = [&](const NamedArray& m, Scalar at_more) {
    auto axes = union_axes(m.axes(), {key_position});
    return with_more(broadcast_to(m, axes), std::vector<NamedArray>(keys.size(), full(AxisList{}, at_more, m.dtype())));
  };
  auto seen = mask.explicit_mask;
  if (*mask.causal) seen = combine_masks_and(seen, causal_mask(x.axis(kPosition), key_position));
  if (seen) r.mask.explicit_mask = along_keys(*seen, 1);
  if (mask.bias) r.mask.bias = along_keys(*mask.bias, 0);
  return r;
}
/// The axes of an attention by their parts in it.
struct AttentionAxes {
  AxisList batch, position, key_position, few, many;  // few, many: heads of the keys, heads of the queries
};
AttentionOptions options_of(const AttentionMask& mask, const AttentionAxes& p) {
  AttentionOptions o{.causal = *mask.causal};
  auto of_pairs = [&](std::string_view what, const NamedArray& m) {
    auto all = united(united(p.batch, p.many), joined(p.position, p.key_position));
    for (auto& axis : m.axes())
      check<AxisError>(find_axis(all, axis.name) >= 0, "Attention: the ", what, " ", to_string(m.axes()),
                       " has axis '", axis.name, "', which is none of ", to_string(all));
    return with_dims(m, p.batch, {p.many, p.position, p.key_position});
  };
  auto of_places = [&](const NamedArray& s, const AxisList& along) {
    return with_dims(s.has_axis(along[0].name) ? s : broadcast_axis(s, along), p.batch, {along});
  };
  if (mask.explicit_mask) o.mask = of_pairs("mask", *mask.explicit_mask);
  if (mask.bias) o.bias = of_pairs("bias", *mask.bias);
  if (mask.window) {
    check<ValueError>(*mask.window >= 1, "Attention: a window has at least its own position, got ", *mask.window);
    o.left = *mask.window - 1;
  }
  if (mask.window_value) o.window = *mask.window_value;
  check<ValueError>(!mask.key_segments || mask.segments, "Attention: the keys have segments, but the queries none");
  if (mask.segments) o.query_segments = o.key_segments = of_places(*mask.segments, p.position);
  if (mask.key_segments) o.key_segments = of_places(*mask.key_segments, p.key_position);
  return o;
}
/// Keys lie along key_position, or along position where they are those of x itself. The mask says whether it is causal.
template <bool c>
NamedArray attend(const BasicAttention<c>& a, const NamedArray& x, const NamedArray& queries, const KeyValues& given,
                  const AttentionMask& limits, const std::optional<Array>& key = none) {
  auto [kv, mask] = extended(a, x, given, limits);
  auto position = x.axis(kPosition), size = a.q.out.back(), value_size = a.v.out.back();
  auto key_position = kv.keys.has_axis(kKeyPosition) ? kv.keys.axis(kKeyPosition) : position;
  AttentionAxes p{{}, {position}, {key_position.alias(kKeyPosition)}, all_but_last(a.k.out), {}};
  p.many = united(p.few, all_but_last(a.q.out));
  for (auto& axis : x.axes())
    if (axis.name != kPosition && find_axis(a.q.in, axis.name) < 0) p.batch.push_back(axis);
  auto options = options_of(mask, p);
  options.scale = a.scale, options.soft_cap = a.soft_cap;
  if (a.sinks) options.sinks = with_whole_dims(auto_sharded(*a.sinks), {}, {p.many});
  if (key && a.dropout > 0) {
    // A key that is dropped for all queries has no value: the weights' own dropout would draw for every pair.
    if (a.drop_keys) kv.values = Dropout{static_cast<float>(a.dropout)}.along(kv.values, value_size.name, key);
    else options.dropout = a.dropout, options.key = *key;
  }
  auto y = attention(with_whole_dims(queries, p.batch, {p.position, p.many, {size}}),
                     with_whole_dims(kv.keys, p.batch, {{key_position}, p.few, {size}}),
                     with_whole_dims(kv.values, p.batch, {{key_position}, p.few, {value_size}}), options);
  auto axes = united(united(united(p.batch, p.position), p.many), {value_size}), order = x.axes();
  for (auto& axis : order)
    if (find_axis(a.q.in, axis.name) >= 0) axis = a.out.out.front();
  auto weighted = marked(named(reshape(y, shape_of(axes)), axes), {kAttn});
  return marked(aligned(a.out(weighted), order), {kAttn, kAttnOut});
}
/// The same where the ranks of the current mapping hold parts of the sequence, in zigzag order.
template <bool c>
NamedArray attend_in_ring(const BasicAttention<c>& a, const NamedArray& x, const NamedArray& queries,
                          const KeyValues& kv, const AttentionMask& mask, const std::optional<Array>& key) {
  bool dropped = key && a.dropout > 0, windowed = mask.window || mask.window_value;
  bool more = mask.explicit_mask || mask.bias || mask.key_segments || a.learned_key || a.zero_key;
  check<ValueError>(*mask.causal && !more && !windowed && !dropped && !a.sinks, "Attention: a sequence split over ",
                    mask.zigzag, " ranks has no ",
                    !*mask.causal ? "attention to later positions"
                    : dropped     ? "dropout of weights"
                    : windowed    ? "sliding windows"
                    : a.sinks     ? "sinks"
                                  : "explicit masks",
                    "; leave the mesh axis context out");
  auto y = ring_attention(queries, kv.keys, kv.values,
                          {.segments = mask.segments, .scale = a.scale, .soft_cap = a.soft_cap, .ranks = mask.zigzag});
  return marked(aligned(a.out(marked(auto_sharded(y), {kAttn})), x.axes()), {kAttn, kAttnOut});
}
AttentionMask causal_or(AttentionMask mask, bool causal) {
  mask.causal = mask.causal.value_or(causal);
  return mask;
}
}  // namespace

template <bool c>
BasicAttention<c> BasicAttention<c>::init(const Axis& embed, const Axis& heads, const Axis& head_size,
                                          const Array& key, const AttentionInit& o) {
  auto keys = random::split<6>(key);
  auto value_size = o.value_size.value_or(head_size);
  auto of_queries = [&](const Axis& size) { return o.group ? Axes{heads, *o.group, size} : Axes{heads, size}; };
  Axes few{heads, head_size}, values{heads, value_size};
  auto &of_k = o.k ? *o.k : o.in, &of_v = o.v ? *o.v : o.in;
  BasicAttention a{Linear::init(embed, of_queries(head_size), keys[0], o.q ? *o.q : o.in),
                   Linear::init(o.key_embed.value_or(embed), few, keys[1], of_k),
                   Linear::init(o.value_embed.value_or(embed), values, keys[2], of_v),
                   Linear::init(of_queries(value_size), o.out_embed.value_or(embed), keys[3], o.out)};
  if (o.theta) a.rotary = Rotary::init(head_size, *o.theta, o.rotary);
  a.dropout = o.dropout, a.drop_keys = o.drop_keys;
  if (o.norm_eps) a.q_norm = a.k_norm = RmsNorm::init(head_size, *o.norm_eps);
  a.scale = o.scale, a.soft_cap = o.soft_cap;
  if (o.learned_key) {
    a.learned_key = of_k.weight(keys[4], few, embed.size);
    a.learned_value = of_v.weight(keys[5], values, embed.size);
  }
  a.zero_key = o.zero_key;
  if (o.sinks) a.sinks = zeros(all_but_last(a.q.out));
  return a;
}
template <bool c>
NamedArray BasicAttention<c>::operator()(const NamedArray& x, const AttentionMask& mask,
                                         const std::optional<NamedArray>& positions,
                                         const std::optional<Array>& key) const {
  check<ValueError>(mask.zigzag == 1 || !rotary || positions, "Attention: the positions are in the zigzag order of ",
                    mask.zigzag, " ranks, and a rotary embedding needs to know them; give `positions`");
  auto [queries, kv] = project(*this, x, positions);
  return (mask.zigzag > 1 ? attend_in_ring<c> : attend<c>)(*this, x, queries, kv, causal_or(mask, c), key);
}
template <bool c>
NamedArray BasicAttention<c>::operator()(const NamedArray& x, const KeyValues& kv, const AttentionMask& mask,
                                         const std::optional<Array>& key) const {
  return attend(*this, x, queries_of(*this, x, kv), kv, causal_or(mask, false), key);
}
template <bool c>
KeyValues BasicAttention<c>::keys(const NamedArray& sequence, const std::optional<NamedArray>& values) const {
  auto at_keys = [](const NamedArray& x) {
    position_of(x, "keys' sequence");
    return rename(x, {{kPosition, kKeyPosition}});
  };
  KeyValues r{auto_sharded(k(at_keys(sequence))), auto_sharded(v(at_keys(values.value_or(sequence))))};
  if (k_norm) r.keys = (*k_norm)(r.keys);
  if (rotary) r.keys = (*rotary)(r.keys, arange(r.keys.axis(kKeyPosition)));
  return {marked(r.keys, {kAttn, kQkv}), marked(r.values, {kAttn, kQkv})};
}
template <bool c>
NamedArray BasicAttention<c>::weights(const NamedArray& x, const KeyValues& given, const AttentionMask& limits) const {
  bool more = limits.window || limits.window_value || limits.segments || limits.key_segments || soft_cap || sinks;
  check<ValueError>(!more, "Attention: weights are computed under explicit masks and biases only");
  auto queries = queries_of(*this, x, given);
  auto [kv, mask] = extended(*this, x, given, causal_or(limits, false));
  auto& key_position = kv.keys.axis(kKeyPosition);
  if (*mask.causal)
    mask.explicit_mask = combine_masks_and(mask.explicit_mask, causal_mask(x.axis(kPosition), key_position));
  auto w = dot_product_attention_weights(q.out.back(), key_position, queries, kv.keys,
                                         {.mask = mask.explicit_mask.value_or(NamedArray()),
                                          .bias = mask.bias.value_or(NamedArray()),
                                          .scale = scale});
  auto heads = all_but_last(q.out);
  auto order = without_axes(w.axes(), names_of(united(heads, {x.axis(kPosition), key_position})));
  return aligned(w, joined(order, united(heads, {x.axis(kPosition), key_position})));
}
template <bool c> KeyValues BasicAttention<c>::cache(const Axes& rows, std::int64_t length) const {
  auto room = [&](const Linear& l) {
    return auto_sharded(zeros(joined(joined(rows.list(), {{kKeyPosition, length}}), l.out), l.dtype()));
  };
  return {room(k), room(v)};
}
template <bool c>
std::pair<NamedArray, KeyValues> BasicAttention<c>::decode(const NamedArray& x, const KeyValues& cache,
                                                           const Array& seen, const AttentionMask& limits) const {
  check<ValueError>(!limits.segments && !limits.key_segments, "Attention: decode takes no segments");
  auto places = arange(position_of(x, "input")) + NamedArray(seen, {});
  auto [queries, of_x] = project(*this, x, places);
  auto at_keys = [](const NamedArray& y) { return rename(y, {{kPosition, kKeyPosition}}); };
  auto kv = appended(cache, {at_keys(of_x.keys), at_keys(of_x.values)}, seen);
  auto& key_position = kv.keys.axis(kKeyPosition);
  std::vector<Axis> pairs{x.axis(kPosition), key_position};
  auto key_places = broadcast_to(arange(key_position), pairs), own = broadcast_to(places, pairs);
  auto sees = key_places <= own;
  if (limits.window) sees = sees && key_places > own - *limits.window;
  if (limits.window_value) sees = sees && key_places > own - NamedArray(*limits.window_value, {});
  AttentionMask mask{.causal = false, .explicit_mask = combine_masks_and(limits.explicit_mask, sees),
                     .bias = limits.bias};
  return {attend(*this, x, queries, kv, mask), kv};
}
template struct BasicAttention<true>;
template struct BasicAttention<false>;

KeyValues appended(const KeyValues& cache, const KeyValues& more, const Array& seen) {
  auto written = [&](const NamedArray& to, const NamedArray& part) {
    auto axes = to.axes();
    auto at = static_cast<std::size_t>(to.position(kKeyPosition));
    axes[at] = part.axis(kKeyPosition);
    Arrays starts(axes.size(), array(0));
    starts[at] = seen;
    return named(dynamic_update_slice(to.array(), aligned(part, axes).array().astype(to.dtype()), starts), to.axes());
  };
  return {written(cache.keys, more.keys), written(cache.values, more.values)};
}

template <> std::vector<LayerSample> samples<"Attention">() {
  Axis batch{kBatch, 4}, position{kPosition, 5}, embed{kEmbed, 8}, heads{kHeads, 4}, size{kHeadSize, 6},
      keys{kKeyPosition, 6};
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
  auto of_itself = [=](const Attention& a, const NamedArray& x) {
    Axis same{kKeyPosition, position.size};
    return a(x, a.keys(x), {.causal = true, .bias = example({heads, position, same})}, random::key(3));
  };
  auto of_others = [=](const Attention& a, const NamedArray& x) {
    auto others = rename(example({batch, keys, embed}), {{kKeyPosition, kPosition}}).astype(x.dtype());
    return a(x, a.keys(others),
             {.segments = (arange(position) >= 2).astype(i32), .key_segments = (arange(keys) >= 3).astype(i32)});
  };
  LinearOptions bare{.use_bias = false};
  AttentionInit llama{.in = bare, .out = bare, .group = Axis{kHeadGroup, 2}, .theta = 10000.};
  AttentionInit sunk{.out = bare, .group = Axis{kHeadGroup, 2}, .sinks = true};
  AttentionInit normed{.out = bare, .theta = 100., .norm_eps = 1e-6F, .scale = 0.3, .soft_cap = 2.};
  AttentionInit t5{.in = bare, .out = bare, .dropout = 0.25, .drop_keys = true, .scale = 1.};
  return {sample("causal", make({}), example({batch, position, embed}), causal),
          sample("shared keys, rotary, a window", make(llama), example({batch, position, embed}), in_window),
          sample("dropout", make({.dropout = 0.25}), example({batch, position, embed}), dropped),
          sample("sinks, shared keys, a window", make(sunk), example({batch, position, embed}), in_window),
          sample("norms, a cap, a window as a value", make(normed), example({batch, position, embed}), as_value),
          sample("segments, position first", make({}), example({position, batch, embed}), in_segments),
          sample("T5's of itself, causal, a bias", make(t5), example({batch, position, embed}), of_itself),
          sample("T5's of another sequence, position first", make(t5), example({position, batch, embed}), of_others)};
}
template const bool added<"Attention">;
template <> std::vector<LayerSample> samples<"MultiheadAttention">() {
  Axis batch{kBatch, 4}, position{kPosition, 5}, others{kPosition, 3}, embed{kEmbed, 8}, heads{kHeads, 4},
      size{kHeadSize, 6}, keys{"key_embed", 7}, values{"value_embed", 5}, result{"result", 9},
      key_position{kKeyPosition, 3};
  auto make = [=](const AttentionInit& options) {
    return [=](const Array& k) { return MultiheadAttention::init(embed, heads, size, k, options); };
  };
  auto causal = [](const MultiheadAttention& a, const NamedArray& x) { return a(x, {.causal = true}); };
  auto dropped = [](const MultiheadAttention& a, const NamedArray& x) { return a(x, {}, random::key(5)); };
  auto more = [=](const MultiheadAttention& a, const NamedArray& x) {
    auto bias = example({heads, position}).astype(x.dtype());
    return a(x, {.causal = true, .explicit_mask = arange(batch) != 1, .bias = bias});
  };
  auto cross = [=](const MultiheadAttention& a, const NamedArray& x) {
    auto of = [&](const Axes& axes) { return example(axes).astype(x.dtype()); };
    Axes padding{batch, key_position};
    auto seen = broadcast_to(arange(key_position), padding) <= broadcast_to(arange(batch), padding);
    return a(x, a.keys(of({batch, others, keys}), of({batch, others, values})), {.explicit_mask = seen});
  };
  LinearOptions bare{.use_bias = false};
  Axis value_size{"value_size", 4};
  AttentionInit unlike{.in = bare, .key_embed = keys, .value_embed = values, .out_embed = result,
                       .value_size = value_size};
  return {sample("of itself, causal", make({}), example({batch, position, embed}), causal),
          sample("dropout, position first", make({.dropout = 0.25}), example({position, batch, embed}), dropped),
          sample("a learned and a zero key, a bias", make({.out = bare, .learned_key = true, .zero_key = true}),
                 example({batch, position, embed}), more),
          sample("of other vectors, padding", make(unlike), example({batch, position, embed}), cross)};
}
template const bool added<"MultiheadAttention">;
}  // namespace bora::nn
