#include "bora/nn/multihead_attention.h"
#include "bora/named/axes.h"
#include "bora/nn/functions.h"
#include "bora/ops/creation.h"
#include "bora/ops/shape.h"
#include "nn/support.h"

namespace bora::nn {
namespace {
constexpr std::string_view kWhat = "MultiheadAttention";
/// x's array with one dimension for each of `axes`, of size 1 where x lacks it.
Array over(std::string_view what, const NamedArray& x, const AxisList& axes) {
  AxisList present;
  Shape shape;
  for (auto& a : x.axes())
    check<AxisError>(find_axis(axes, a.name) >= 0, kWhat, ": the ", what, " ", to_string(x.axes()), " has axis '",
                     a.name, "', which is none of ", to_string(axes));
  for (auto& a : axes) {
    if (x.has_axis(a.name)) present.push_back(a);
    shape.push_back(x.has_axis(a.name) ? a.size : 1);
  }
  return reshape(aligned(x, present).array(), shape);
}
/// Keys, values and the mask with the learned and the zero key behind them.
struct Extended {
  KeyValues kv;
  MultiheadMask mask;
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
Extended extended(const MultiheadAttention& a, const NamedArray& x, const KeyValues& kv, const MultiheadMask& mask) {
  check<AxisError>(kv.keys.has_axis(kKeyPosition) && kv.values.has_axis(kKeyPosition), kWhat, ": keys ",
                   to_string(kv.keys.axes()), " and values ", to_string(kv.values.axes()), " need the axis '",
                   kKeyPosition, "'; make them with keys(sequence)");
  std::vector<NamedArray> keys, values;
  if (a.learned_key && a.learned_value) {
    keys = {auto_sharded(*a.learned_key)};
    values = {auto_sharded(*a.learned_value)};
  }
  if (a.zero_key) {
    keys.push_back(zeros(a.k.out, kv.keys.dtype()));
    values.push_back(zeros(a.v.out, kv.values.dtype()));
  }
  if (keys.empty()) return {kv, mask};
  Extended r{{with_more(kv.keys, keys), with_more(kv.values, values)}, {}};
  auto& key_position = kv.keys.axis(kKeyPosition);
  auto along_keys = [&](const NamedArray& m, Scalar at_more) {
    auto axes = union_axes(m.axes(), {key_position});
    return with_more(broadcast_to(m, axes), std::vector<NamedArray>(keys.size(), full(AxisList{}, at_more, m.dtype())));
  };
  auto seen = mask.mask;
  if (mask.causal) seen = combine_masks_and(seen, causal_mask(x.axis(kPosition), key_position));
  if (seen) r.mask.mask = along_keys(*seen, 1);
  if (mask.bias) r.mask.bias = along_keys(*mask.bias, 0);
  return r;
}
NamedArray queries_of(const MultiheadAttention& a, const NamedArray& x) {
  check<AxisError>(x.has_axis(kPosition), kWhat, ": the input ", to_string(x.axes()), " has no axis '", kPosition, "'");
  return auto_sharded(a.q(x));
}
}  // namespace

MultiheadAttention MultiheadAttention::init(const Axis& embed, const Axis& heads, const Axis& head_size,
                                            const Array& key, const MultiheadAttentionInit& o) {
  auto keys = random::split<6>(key);
  auto value_size = o.value_size.value_or(head_size);
  Axes split{heads, head_size}, values{heads, value_size};
  MultiheadAttention a{Linear::init(embed, split, keys[0], o.q),
                       Linear::init(o.key_embed.value_or(embed), split, keys[1], o.k),
                       Linear::init(o.value_embed.value_or(embed), values, keys[2], o.v),
                       Linear::init(values, o.out_embed.value_or(embed), keys[3], o.out)};
  if (o.learned_key) {
    a.learned_key = o.k.weight(keys[4], split, embed.size);
    a.learned_value = o.v.weight(keys[5], values, embed.size);
  }
  a.zero_key = o.zero_key, a.dropout = o.dropout;
  return a;
}
KeyValues MultiheadAttention::keys(const NamedArray& sequence, const std::optional<NamedArray>& values) const {
  auto at_keys = [](const NamedArray& x) {
    check<AxisError>(x.has_axis(kPosition), kWhat, ": the keys' sequence ", to_string(x.axes()), " has no axis '",
                     kPosition, "'");
    return rename(x, {{kPosition, kKeyPosition}});
  };
  return {auto_sharded(k(at_keys(sequence))), auto_sharded(v(at_keys(values.value_or(sequence))))};
}
NamedArray MultiheadAttention::operator()(const NamedArray& x, const MultiheadMask& mask,
                                          const std::optional<Array>& key) const {
  return (*this)(x, keys(x), mask, key);
}
NamedArray MultiheadAttention::operator()(const NamedArray& x, const KeyValues& given, const MultiheadMask& limits,
                                          const std::optional<Array>& key) const {
  auto queries = queries_of(*this, x);
  auto [kv, mask] = extended(*this, x, given, limits);
  auto &heads = q.out.front(), &size = q.out.back(), &value_size = v.out.back();
  auto &position = x.axis(kPosition), &key_position = kv.keys.axis(kKeyPosition);
  AxisList batch;
  for (auto& axis : x.axes())
    if (axis.name != kPosition && find_axis(q.in, axis.name) < 0) batch.push_back(axis);
  auto array = [&](const NamedArray& a, const AxisList& own) { return array_over(a, joined(batch, own)); };
  auto pairs = joined(batch, {heads, position, key_position});
  AttentionOptions o{.causal = mask.causal};
  if (mask.mask) o.mask = over("mask", *mask.mask, pairs);
  if (mask.bias) o.bias = over("bias", *mask.bias, pairs);
  if (key && dropout > 0) o.dropout = dropout, o.key = *key;
  auto y = attention(array(queries, {position, heads, size}), array(kv.keys, {key_position, heads, size}),
                     array(kv.values, {key_position, heads, value_size}), o);
  auto order = x.axes();
  for (auto& axis : order)
    if (find_axis(q.in, axis.name) >= 0) axis = out.out.front();
  return aligned(out(named(y, joined(batch, {position, heads, value_size}))), order);
}
NamedArray MultiheadAttention::weights(const NamedArray& x, const KeyValues& given, const MultiheadMask& limits) const {
  auto queries = queries_of(*this, x);
  auto [kv, mask] = extended(*this, x, given, limits);
  auto& key_position = kv.keys.axis(kKeyPosition);
  if (mask.causal) mask.mask = combine_masks_and(mask.mask, causal_mask(x.axis(kPosition), key_position));
  auto& heads = q.out.front();
  auto w = dot_product_attention_weights(q.out.back(), key_position, queries, kv.keys,
                                         {.mask = mask.mask.value_or(NamedArray()),
                                          .bias = mask.bias.value_or(NamedArray())});
  return rearrange(w, {"...", heads, std::string_view(kPosition), key_position});
}
KeyValues MultiheadAttention::cache(const Axes& rows, std::int64_t length) const {
  auto room = [&](const Linear& l) {
    return auto_sharded(zeros(joined(joined(rows.list(), {{kKeyPosition, length}}), l.out), l.weight.dtype()));
  };
  return {room(k), room(v)};
}
std::pair<NamedArray, KeyValues> MultiheadAttention::decode(const NamedArray& x, const KeyValues& cache,
                                                            const Array& seen, const MultiheadMask& limits) const {
  auto kv = appended(cache, keys(x), seen);
  auto mask = limits;
  mask.causal = false;
  mask.mask = combine_masks_and(limits.mask, causal_mask(x.axis(kPosition), kv.keys.axis(kKeyPosition),
                                                         NamedArray(seen, {})));
  return {(*this)(x, kv, mask), kv};
}

template <> std::vector<LayerSample> samples<"MultiheadAttention">() {
  Axis batch{kBatch, 4}, position{kPosition, 5}, others{kPosition, 3}, embed{kEmbed, 8}, heads{kHeads, 4},
      size{kHeadSize, 6}, keys{"key_embed", 7}, values{"value_embed", 5}, result{"result", 9},
      key_position{kKeyPosition, 3};
  auto make = [=](const MultiheadAttentionInit& options) {
    return [=](const Array& k) { return MultiheadAttention::init(embed, heads, size, k, options); };
  };
  auto causal = [](const MultiheadAttention& a, const NamedArray& x) { return a(x, {.causal = true}); };
  auto dropped = [](const MultiheadAttention& a, const NamedArray& x) { return a(x, {}, random::key(5)); };
  auto more = [=](const MultiheadAttention& a, const NamedArray& x) {
    auto bias = example({heads, position}).astype(x.dtype());
    return a(x, {.causal = true, .mask = arange(batch) != 1, .bias = bias});
  };
  auto cross = [=](const MultiheadAttention& a, const NamedArray& x) {
    auto of = [&](const Axes& axes) { return example(axes).astype(x.dtype()); };
    Axes padding{batch, key_position};
    auto seen = broadcast_to(arange(key_position), padding) <= broadcast_to(arange(batch), padding);
    return a(x, a.keys(of({batch, others, keys}), of({batch, others, values})), {.mask = seen});
  };
  LinearOptions bare{.use_bias = false};
  Axis value_size{"value_size", 4};
  MultiheadAttentionInit unlike{.key_embed = keys, .value_embed = values, .out_embed = result,
                                .value_size = value_size, .q = bare, .k = bare, .v = bare};
  return {sample("of itself, causal", make({}), example({batch, position, embed}), causal),
          sample("dropout, position first", make({.dropout = 0.25}), example({position, batch, embed}), dropped),
          sample("a learned and a zero key, a bias", make({.out = bare, .learned_key = true, .zero_key = true}),
                 example({batch, position, embed}), more),
          sample("of other vectors, padding", make(unlike), example({batch, position, embed}), cross)};
}
template const bool added<"MultiheadAttention">;
}  // namespace bora::nn
