// multihead_attention.h -- attention of the vectors of one sequence to those of any other, as torch, Flax and Equinox
// have it.
#pragma once
#include "bora/nn/cross_attention.h"

namespace bora::nn {
/// The options of MultiheadAttention::init.
struct MultiheadAttentionInit {
  std::optional<Axis> key_embed = none, value_embed = none;  // of the vectors of keys and values; default: embed
  std::optional<Axis> out_embed = none;                      // of the results; default: embed
  std::optional<Axis> value_size = none;                     // of a head's values; default: head_size
  LinearOptions q = {}, k = {}, v = {}, out = {};
  bool learned_key = false;  // torch's add_bias_kv
  bool zero_key = false;     // torch's add_zero_attn
  double dropout = 0;        // of the weights, where there is a key
};
/// The keys that a query sees: those that every field allows. The arrays have any of the axes of the batch, heads,
/// position and key_position: [batch, key_position] hides padding, [position, key_position] pairs.
struct MultiheadMask {
  bool causal = false;                    // the first query sees the first key only, and so on
  std::optional<NamedArray> mask = none;  // boolean; true: attend
  std::optional<NamedArray> bias = none;  // added to the scores
};
/// Multi-head attention (Vaswani et al. 2017): softmax(q k' / sqrt(D)) v; scores and softmax in f32 (f64 of f64), never
/// in memory as a whole (bora::attention). A query without any key gives the output layer's bias.
struct MultiheadAttention {
  Linear q, k, v, out;
  std::optional<NamedArray> learned_key = none, learned_value = none;  // [heads, size]: one more, which no mask hides
  bool zero_key = false;                                               // one more, of zeros
  double dropout = 0;
  static MultiheadAttention init(const Axis& embed, const Axis& heads, const Axis& head_size, const Array& key,
                                 const MultiheadAttentionInit& options = {});
  /// Keys of one sequence [..., position, key_embed], values of another [..., position, value_embed], or of the same ->
  /// [..., key_position, heads, size].
  KeyValues keys(const NamedArray& sequence, const std::optional<NamedArray>& values = none) const;
  /// Self-attention: x [..., position, embed] -> [..., position, out_embed], axes in x's order. key: of dropout.
  NamedArray operator()(const NamedArray& x, const MultiheadMask& mask = {},
                        const std::optional<Array>& key = none) const;
  /// Attention to keys(..) of another sequence, which have the batch axes of x, or lack them and are the same for all.
  NamedArray operator()(const NamedArray& x, const KeyValues& kv, const MultiheadMask& mask = {},
                        const std::optional<Array>& key = none) const;
  /// The weights without dropout, [..., heads, position, key_position]; learned and zero keys come last. They are in
  /// memory as a whole.
  NamedArray weights(const NamedArray& x, const KeyValues& kv, const MultiheadMask& mask = {}) const;
  /// Room for the keys and values of `length` positions, with the axes of `rows` first, in the parameters' dtype.
  KeyValues cache(const Axes& rows, std::int64_t length) const;
  /// Causal self-attention of x, whose positions follow the first `seen` (i32 scalar) of the cache: {the result, the
  /// cache with x's keys and values}. The caller sees to it that they fit. mask: further limits, over the whole cache.
  std::pair<NamedArray, KeyValues> decode(const NamedArray& x, const KeyValues& cache, const Array& seen,
                                          const MultiheadMask& mask = {}) const;
};
}  // namespace bora::nn
