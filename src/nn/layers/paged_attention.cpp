// Attention to keys and values in pages: of the tokens of many sequences at once.
#include "bora/nn/attention.h"
#include "bora/named/axes.h"
#include "bora/named/shape.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/ufuncs.h"
#include "bora/nn/relative_bias.h"
#include "nn/core/attention_parts.h"

namespace bora::nn {
namespace {
constexpr const char *kPage = "page", *kPlace = "place";
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
  if (limits.window) {
    check<ValueError>(*limits.window >= 1, "Attention: a window has at least its own position, got ", *limits.window);
    o.window = array(*limits.window).astype(i32);
  }
  if (limits.window_value) o.window = limits.window ? minimum(o.window, *limits.window_value) : *limits.window_value;
  if (limits.bias) {
    auto& distance = limits.bias->axis(kDistance);
    o.bias = reshape(array_over(*limits.bias, joined(many, {distance})), {heads, distance.size});
  }
  auto q = reshape(array_over(queries, joined(joined({position}, many), {size})), {position.size, heads, size.size});
  auto y = paged_attention(q, pages.keys.array(), pages.values.array(), {at.first, at.positions, at.table}, o);
  auto axes = joined(joined({position}, many), {value_size}), order = x.axes();
  for (auto& axis : order)
    if (find_axis(a.q.in, axis.name) >= 0) axis = a.out.out.front();
  auto weighted = marked(named(reshape(y, shape_of(axes)), axes), {kAttn});
  return marked(aligned(a.out(weighted), order), {kAttn, kAttnOut});
}
}  // namespace

template <bool c> KeyValues BasicAttention<c>::pages(const Axes& rows, std::int64_t n) const {
  check<AxisError>(k.out.size() == 2 && v.out.size() == 2, "Attention: pages have one axis of heads, got ",
                   to_string(k.out));
  Axis page{kPage, n}, place{kPlace, kPagePositions};
  auto room = [&](const AxisList& axes, const Linear& l) {
    return auto_sharded(zeros(joined(rows.list(), axes), l.dtype()));
  };
  return {room({page, k.out[0], k.out[1], place}, k), room({page, v.out[0], place, v.out[1]}, v)};
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
  template KeyValues BasicAttention<c>::pages(const Axes&, std::int64_t) const;                              \
  template std::pair<NamedArray, KeyValues> BasicAttention<c>::decode(const NamedArray&, const KeyValues&,   \
                                                                      const PagePlaces&, const AttentionMask&) const; \
  template NamedArray BasicAttention<c>::to_pages(const NamedArray&, const KeyValues&, const PagePlaces&) const;
BORA_OF(true)
BORA_OF(false)
#undef BORA_OF

KeyValues in_pages(const KeyValues& pages, const KeyValues& more, const Array& slots) {
  auto rows = [](const NamedArray& x, const Axis& heads, const Axis& size) {
    return array_over(x, {x.axis(kKeyPosition), heads, size});
  };
  auto &k = pages.keys.axes(), &v = pages.values.axes();
  check<AxisError>(k.size() == 4 && v.size() == 4, "in_pages: pages have 4 axes, got ", to_string(k), " and ",
                   to_string(v));
  return {named(write_key_pages(pages.keys.array(), rows(more.keys, k[1], k[2]), slots), k),
          named(write_value_pages(pages.values.array(), rows(more.values, v[1], v[3]), slots), v)};
}
}  // namespace bora::nn
