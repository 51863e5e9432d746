#include "bora/nn/cross_attention.h"
#include "bora/ops/creation.h"
#include "bora/ops/functions.h"
#include "bora/ops/index.h"
#include "bora/ops/shape.h"
#include "nn/support.h"

namespace bora::nn {
CrossAttention CrossAttention::init(const Axis& embed, const Axis& heads, const Axis& head_size, const Array& key,
                                    const CrossAttentionInit& o) {
  auto keys = random::split<4>(key);
  Axes split{heads, head_size};
  auto bare = [](const Init& weight) { return LinearOptions{.weight = weight, .use_bias = false}; };
  return {Linear::init(embed, split, keys[0], bare(o.q)),
          Linear::init(embed, split, keys[1], bare(o.k)),
          Linear::init(embed, split, keys[2], bare(o.v)),
          Linear::init(split, embed, keys[3], bare(o.out)),
          {o.dropout}};
}
KeyValues CrossAttention::keys(const NamedArray& sequence) const {
  auto x = rename(sequence, {{kPosition, kKeyPosition}});
  return {auto_sharded(k(x)), auto_sharded(v(x))};
}
NamedArray CrossAttention::operator()(const NamedArray& x, const KeyValues& kv, const CrossMask& mask,
                                      const std::optional<Array>& key) const {
  auto& heads = q.out.front();
  auto &size = q.out.back(), &position = x.axis(kPosition), &key_position = kv.keys.axis(kKeyPosition);
  AxisList batch;
  for (auto& axis : x.axes())
    if (axis.name != kPosition && find_axis(q.in, axis.name) < 0) batch.push_back(axis);
  AttentionOptions o{.causal = mask.causal, .scale = 1};
  if (mask.mask) o.mask = array_over(*mask.mask, {position, key_position});
  if (mask.bias) o.bias = array_over(*mask.bias, {heads, position, key_position});
  if (mask.query_segments) o.query_segments = array_over(*mask.query_segments, joined(batch, {position}));
  if (mask.key_segments) o.key_segments = array_over(*mask.key_segments, joined(batch, {key_position}));
  auto of_keys = joined(batch, {key_position, heads, size});
  auto axes = joined(batch, {position, heads, size});
  // A key that is dropped for all queries has no value: the weights' own dropout would draw for every pair.
  auto y = attention(array_over(auto_sharded(q(x)), axes), array_over(kv.keys, of_keys),
                     array_over(dropout.along(kv.values, size.name, key), of_keys), o);
  return aligned(out(named(y, axes)), x.axes());
}
KeyValues CrossAttention::cache(const Axes& rows, std::int64_t length) const {
  auto room = [&](const Linear& l) {
    return auto_sharded(zeros(joined(joined(rows.list(), {{kKeyPosition, length}}), l.out), l.weight.dtype()));
  };
  return {room(k), room(v)};
}
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

template <> std::vector<LayerSample> samples<"CrossAttention">() {
  Axis batch{kBatch, 4}, position{kPosition, 5}, keys{kKeyPosition, 6}, heads{kHeads, 4}, embed{kEmbed, 8},
      size{kHeadSize, 6};
  auto init = [=](const Array& k) { return CrossAttention::init(embed, heads, size, k, {.dropout = 0.25F}); };
  auto of_itself = [=](const CrossAttention& a, const NamedArray& x) {
    Axis same{kKeyPosition, position.size};
    auto bias = example({heads, position, same});
    return a(x, a.keys(x), {.causal = true, .bias = bias}, random::key(3));
  };
  auto of_others = [=](const CrossAttention& a, const NamedArray& x) {
    auto others = rename(example({batch, keys, embed}), {{kKeyPosition, kPosition}}).astype(x.dtype());
    CrossMask mask{.query_segments = (arange(position) >= 2).astype(i32),
                   .key_segments = (arange(keys) >= 3).astype(i32)};
    return a(x, a.keys(others), mask);
  };
  return {sample("of itself, causal, a bias", init, example({batch, position, embed}), of_itself),
          sample("of another sequence, position first", init, example({position, batch, embed}), of_others)};
}
template const bool added<"CrossAttention">;
}  // namespace bora::nn
