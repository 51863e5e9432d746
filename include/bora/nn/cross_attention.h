// cross_attention.h -- attention to the vectors of any sequence, as T5 has it.
#pragma once
#include "bora/nn/attention.h"
#include "bora/nn/dropout.h"

namespace bora::nn {
/// What queries see of keys: those that every field allows; and what is added to their scores.
struct CrossMask {
  bool causal = false;
  std::optional<NamedArray> mask = none;                              // boolean [position, key_position]; true: attend
  std::optional<NamedArray> bias = none;                              // [heads, position, key_position]
  std::optional<NamedArray> query_segments = none, key_segments = none;  // i32 [batch.., position], [.., key_position]:
                                                                         // only equal ones meet
};
struct CrossAttentionInit {
  Init q = Init::fan_in(), k = Init::fan_in(), v = Init::fan_in(), out = Init::fan_in();
  float dropout = 0;
};
/// Multi-head attention without biases and without 1 / sqrt(D), which T5 has in the queries' first values:
/// softmax(q k' + bias) v. Keys come from x itself or from another sequence. Dropout keeps or drops a key for all
/// queries, as T5X does, by its value.
struct CrossAttention {
  Linear q, k, v, out;
  Dropout dropout;
  static CrossAttention init(const Axis& embed, const Axis& heads, const Axis& head_size, const Array& key,
                             const CrossAttentionInit& options = {});
  /// [..., position, embed] -> [..., key_position, heads, head_size].
  KeyValues keys(const NamedArray& sequence) const;
  /// x [..., position, embed] -> the same axes. key: of dropout.
  NamedArray operator()(const NamedArray& x, const KeyValues& kv, const CrossMask& mask = {},
                        const std::optional<Array>& key = none) const;
  /// Room for the keys and values of `length` positions, with the axes of `rows` first, in the parameters' dtype.
  KeyValues cache(const Axes& rows, std::int64_t length) const;
};
/// The cache with more keys and values behind the first `seen` (i32 scalar). The caller sees to it that they fit.
KeyValues appended(const KeyValues& cache, const KeyValues& more, const Array& seen);
}  // namespace bora::nn
