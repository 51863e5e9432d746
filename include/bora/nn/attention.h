// attention.h -- multi-head attention.
#pragma once
#include "bora/nn/linear.h"
#include "bora/nn/mask.h"
#include "bora/nn/rms_norm.h"
#include "bora/nn/rotary.h"

namespace bora::nn {
/// The options of Attention::init.
struct AttentionInit {
  LinearOptions in = {}, out = {};     // of q, k and v; of the output layer
  std::optional<Axis> group = none;    // each head has so many queries, which share its keys and values
  std::optional<double> theta = none;  // of a rotary position embedding of queries and keys
  double dropout = 0;                  // of the weights, where there is a key
  RotaryOptions rotary = {};
  std::optional<float> norm_eps = none;  // of RMS norms of queries and keys over head_size, before they turn
  std::optional<double> scale = none, soft_cap = none;  // of the scores; by default 1 / sqrt(head_size), no cap
};
/// Keys and values of the positions seen so far: [..., key_position, heads, head_size].
struct KeyValues {
  NamedArray keys, values;
};
/// Multi-head attention (Vaswani et al. 2017): softmax(q k' / sqrt(D)) v over the `position` axis; scores and softmax
/// in f32, never in memory as a whole (bora::attention). Queries may have axes of heads that keys and values lack:
/// those share them (Ainslie et al. 2023).
struct Attention {
  Linear q, k, v, out;
  std::optional<Rotary> rotary = none;
  double dropout = 0;
  std::optional<RmsNorm> q_norm = none, k_norm = none;
  std::optional<double> scale = none, soft_cap = none;
  static Attention init(const Axis& embed, const Axis& heads, const Axis& head_size, const Array& key,
                        const AttentionInit& options = {});
  /// x [..., position, embed] -> the same axes. positions: for the rotary embedding. key: for dropout; none: without.
  NamedArray operator()(const NamedArray& x, const AttentionMask& mask = {},
                        const std::optional<NamedArray>& positions = none,
                        const std::optional<Array>& key = none) const;
  /// Room for the keys and values of `length` positions, with the axes of `rows` first, in the parameters' dtype.
  KeyValues cache(const Axes& rows, std::int64_t length) const;
  /// Causal attention of x, whose positions follow the first `seen` (i32 scalar) of the cache: {the result, the cache
  /// with x's keys and values}. The caller sees to it that they fit. window: as AttentionMask's window_value.
  std::pair<NamedArray, KeyValues> decode(const NamedArray& x, const KeyValues& cache, const Array& seen,
                                          const std::optional<Array>& window = none) const;
};
}  // namespace bora::nn
