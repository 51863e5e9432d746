// Attention to keys and values in pages: of the tokens of many sequences at once.
#include "bora/nn/attention.h"
#include "bora/named/axes.h"
#include "bora/named/shape.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/nn/relative_bias.h"
#include "nn/core/attention_parts.h"

namespace bora::nn {
namespace {
constexpr const char *kPage = "page", *kPlace = "place", *kScale = "scale";
/// x's queries against the keys in pages, and the output layer.
template <bool c> NamedArray attend_to_pages(const BasicAttention<c>& a, const NamedArray& x, const NamedArray& queries,
                                             const KeyValues& pages, const PagePlaces& at,
                                             const AttentionMask& limits) {
  check<ValueError>(!limits.segments && !limits.key_segments && !limits.explicit_mask && !limits.causal,
                    "Attention: pages go with windows and biases by distance, not with other masks");
  check<ValueError>(!a.learned_key && !a.zero_key, "Attention: pages have no learned or zero keys");
  auto &position = position_of(x, "input"), &size = a.q.out.back(), &value_size = a.v.out.back();
  check<AxisError>(x.ndim() == 1 + static_cast<std::int64_t>(a.q.in.size()), "Attention: tokens in pages have the ",
                   "axis '", kPosition, "' alone, got ", to_string(x.axes()));
  auto few = all_but_last(a.k.out), many = united(few, all_but_last(a.q.out));
  check<AxisError>(few.size() == 1, "Attention: pages have one axis of heads, got ", to_string(few));
  auto heads = volume(shape_of(many));
  PagedAttentionOptions o{.scale = a.scale, .soft_cap = a.soft_cap};
  if (pages.key_scales) o.key_scales = pages.key_scales->array(), o.value_scales = pages.value_scales->array();
  if (limits.window) {
    check<ValueError>(*limits.window >= 1, "Attention: a window has at least its own position, got ", *limits.window);
    o.window = array(*limits.window).astype(i32);
  }
  if (limits.window_value) o.window = limits.window ? minimum(o.window, *limits.window_value) : *limits.window_value;
  if (limits.bias) {
    auto& distance = limits.bias->axis(kDistance);
    o.bias = reshape(array_over(*limits.bias, joined(many, {distance})), {heads, distance.size});
  }
  if (a.sinks) o.sinks = reshape(array_over(auto_sharded(*a.sinks), many), {heads});
  auto q = reshape(array_over(queries, joined(joined({position}, many), {size})), {position.size, heads, size.size});
  auto y = paged_attention(q, pages.keys.array(), pages.values.array(), {at.first, at.positions, at.table}, o);
  auto axes = joined(joined({position}, many), {value_size}), order = x.axes();
  for (auto& axis : order)
    if (find_axis(a.q.in, axis.name) >= 0) axis = a.out.out.front();
  auto weighted = marked(named(reshape(y, shape_of(axes)), axes), {kAttn});
  return marked(aligned(a.out(weighted), order), {kAttn, kAttnOut});
}
}  // namespace

template <bool c> KeyValues BasicAttention<c>::pages(const Axes& rows, const PageOptions& o) const {
  check<AxisError>(k.out.size() == 2 && v.out.size() == 2, "Attention: pages have one axis of heads, got ",
                   to_string(k.out));
  Axis page{kPage, o.count}, place{kPlace, kPagePositions};
  auto room = [&](const AxisList& axes, Dtype dtype) { return auto_sharded(zeros(joined(rows.list(), axes), dtype)); };
  auto scales = [&](const Linear& l) {
    return o.int8 ? std::optional(room({page, l.out[0], place, {kScale, 1}}, f32)) : none;
  };
  return {room({page, k.out[0], k.out[1], place}, o.int8 ? u8 : k.dtype()),
          room({page, v.out[0], place, v.out[1]}, o.int8 ? u8 : v.dtype()), scales(k), scales(v)};
}
template <bool c>
std::pair<NamedArray, KeyValues> BasicAttention<c>::decode(const NamedArray& x, const KeyValues& pages,
                                                           const PagePlaces& at, const AttentionMask& limits) const {
  auto [queries, of_x] = project(*this, x, NamedArray(at.positions, {position_of(x, "input")}));
  auto at_keys = [](const NamedArray& y) { return rename(y, {{kPosition, kKeyPosition}}); };
  auto grown = in_pages(pages, {at_keys(of_x.keys), at_keys(of_x.values)}, at.slots);
  return {attend_to_pages(*this, x, queries, grown, at, limits), grown};
}
template <bool c> NamedArray BasicAttention<c>::to_pages(const NamedArray& x, const KeyValues& pages,
                                                         const PagePlaces& at) const {
  return attend_to_pages(*this, x, queries_of(*this, x), pages, at, {});
}
#define BORA_OF(c)                                                                                           \
  template KeyValues BasicAttention<c>::pages(const Axes&, const PageOptions&) const;                        \
  template std::pair<NamedArray, KeyValues> BasicAttention<c>::decode(const NamedArray&, const KeyValues&,   \
                                                                      const PagePlaces&, const AttentionMask&) const; \
  template NamedArray BasicAttention<c>::to_pages(const NamedArray&, const KeyValues&, const PagePlaces&) const;
BORA_OF(true)
BORA_OF(false)
#undef BORA_OF

/// Makes rows [T, K, D] bytes of 8-bit integers, the largest number of a row 127 or -127; gives the pages of scales
/// with theirs.
static NamedArray quantise(Array& rows, const NamedArray& scales, const Array& slots) {
  auto x = rows.astype(f32);
  auto most = bora::amax(abs(x), -1, {.keepdims = true});
  rows = bitcast(round(x * where(most > 0, 127 / most, 0)).astype(i8), u8);
  return named(write_value_pages(scales.array(), most / 127, slots), scales.axes());
}
KeyValues in_pages(const KeyValues& pages, const KeyValues& more, const Array& slots) {
  auto rows = [](const NamedArray& x, const Axis& heads, const Axis& size) {
    return array_over(x, {x.axis(kKeyPosition), heads, size});
  };
  auto &k = pages.keys.axes(), &v = pages.values.axes();
  check<AxisError>(k.size() == 4 && v.size() == 4, "in_pages: pages have 4 axes, got ", to_string(k), " and ",
                   to_string(v));
  auto new_keys = rows(more.keys, k[1], k[2]), new_values = rows(more.values, v[1], v[3]);
  std::optional<NamedArray> key_scales, value_scales;
  if (pages.key_scales) {
    key_scales = quantise(new_keys, *pages.key_scales, slots);
    value_scales = quantise(new_values, *pages.value_scales, slots);
  }
  return {named(write_key_pages(pages.keys.array(), new_keys, slots), k),
          named(write_value_pages(pages.values.array(), new_values, slots), v), key_scales, value_scales};
}
}  // namespace bora::nn
