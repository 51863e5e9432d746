// attention_parts.h -- parts of Attention that its sources share: queries, keys and values. Private.
#pragma once
#include "bora/nn/attention.h"
#include "bora/nn/checkpoint_names.h"
#include "nn/core/support.h"

namespace bora::nn {
using checkpoint_names::kAttn, checkpoint_names::kAttnOut, checkpoint_names::kQkv;
inline AxisList all_but_last(const AxisList& axes) { return {axes.begin(), axes.end() - 1}; }
inline AxisList united(AxisList a, const AxisList& b) {
  for (auto& axis : b)
    if (find_axis(a, axis.name) < 0) a.push_back(axis);
  return a;
}
inline const Axis& position_of(const NamedArray& x, std::string_view what) {
  check<AxisError>(x.has_axis(kPosition), "Attention: the ", what, " ", to_string(x.axes()), " has no axis '",
                   kPosition, "'");
  return x.axis(kPosition);
}
/// Queries, keys and values of x at these positions.
struct Projected {
  NamedArray queries;
  KeyValues kv;
};
template <bool c>
static Projected project(const BasicAttention<c>& a, const NamedArray& x, const std::optional<NamedArray>& positions) {
  position_of(x, "input");
  auto queries = auto_sharded(a.q(x)), keys = auto_sharded(a.k(x)), values = auto_sharded(a.v(x));
  if (a.q_norm) queries = (*a.q_norm)(marked(queries, {kAttn}));
  if (a.k_norm) keys = (*a.k_norm)(marked(keys, {kAttn}));
  if (a.rotary) {
    queries = (*a.rotary)(queries, positions);
    keys = (*a.rotary)(keys, positions);
  }
  return {marked(queries, {kAttn, kQkv}), {marked(keys, {kAttn, kQkv}), marked(values, {kAttn, kQkv})}};
}
/// x's queries for keys that are already there.
template <bool c> static NamedArray queries_of(const BasicAttention<c>& a, const NamedArray& x) {
  position_of(x, "input");
  auto queries = auto_sharded(a.q(x));
  if (a.q_norm) queries = (*a.q_norm)(queries);
  return marked(a.rotary ? (*a.rotary)(queries, none) : queries, {kAttn, kQkv});
}
template <bool c> static NamedArray queries_of(const BasicAttention<c>& a, const NamedArray& x, const KeyValues& kv) {
  check<AxisError>(kv.keys.has_axis(kKeyPosition) && kv.values.has_axis(kKeyPosition), "Attention: keys ",
                   to_string(kv.keys.axes()), " and values ", to_string(kv.values.axes()), " need the axis '",
                   kKeyPosition, "'; make them with keys(sequence)");
  return queries_of(a, x);
}
}  // namespace bora::nn
