// attention.h -- multi-head attention: to the vectors of the sequence itself, as Haliax and Levanter have it, or of
// another one, as torch, Flax, Equinox and T5 do.
#pragma once
#include "bora/nn/linear.h"
#include "bora/nn/norm.h"
#include "bora/nn/rotary.h"

namespace bora::nn {
/// The keys that a query may attend to: those that every field allows; and numbers added to the scores. A query without
/// any key gets 0 from all of them, so the output layer's bias.
struct AttentionMask {
  std::optional<bool> causal = none;  // the first query sees the first key only, and so on; default: Attention's
                                      // attention to its own sequence is causal, any other is not
  std::optional<NamedArray> explicit_mask = none;  // boolean over any axes of batch, heads, position and key_position;
                                                   // true: attend. [batch, key_position] hides padding
  std::optional<NamedArray> bias = none;           // over any of the same axes
  std::optional<std::int64_t> window = none;       // the last so many positions, its own included: at least 1
  std::optional<Array> window_value = none;        // i32 scalar: `window` as a value, where stacked layers differ
  std::optional<NamedArray> segments = none;       // i32 or u8 over position (and batch axes): only equal ones meet
  std::optional<NamedArray> key_segments = none;   // of keys, over key_position; default: `segments`
  std::int64_t zigzag = 1;  // above 1 positions are in the zigzag order of so many ranks: attention goes round a ring
};
/// The options of Attention::init.
struct AttentionInit {
  LinearOptions in = {};                                     // of q, k and v
  std::optional<Axis> key_embed = none, value_embed = none;  // of the vectors of keys and values; default: embed
  std::optional<Axis> out_embed = none;                      // of the results; default: embed
  std::optional<Axis> value_size = none;                     // of a head's values; default: head_size
  std::optional<LinearOptions> q = none, k = none, v = none;  // default: `in`
  LinearOptions out = {};                                     // of the output layer
  std::optional<Axis> group = none;      // each head has so many queries, which share its keys and values
  std::optional<double> theta = none;    // of a rotary position embedding of queries and keys
  bool learned_key = false;              // torch's add_bias_kv
  bool zero_key = false;                 // torch's add_zero_attn
  double dropout = 0;                    // of the weights, where there is a key
  bool drop_keys = false;                // dropout drops a key for all queries, by its value, as T5X does
  RotaryOptions rotary = {};             // how pairs of numbers turn
  std::optional<float> norm_eps = none;  // of RMS norms of queries and keys over head_size, before they turn
  std::optional<double> scale = none, soft_cap = none;  // of the scores; by default 1 / sqrt(head_size), no cap
  bool sinks = false;                    // each head of queries has one, 0 at first
};
/// Keys and values of the positions seen so far: [..., key_position, heads, head_size].
struct KeyValues {
  NamedArray keys, values;
  // Of pages with integers, f32 [.., page, heads, place, scale of size 1]: a key is its 8-bit numbers times its scale.
  std::optional<NamedArray> key_scales = none, value_scales = none;
};
/// Room for keys and values of sequences.
struct PageOptions {
  std::int64_t count = 0;  // pages of 32 positions
  bool int8 = false;       // 8-bit integers with a scale for each head of a position; else the parameters' dtype
};
/// Where the tokens of a step have their keys and values in pages, which bora::paged_attention describes: i32.
struct PagePlaces {
  Array first, positions, table;  // as bora::PagedTokens has them
  Array slots;                    // [tokens]: page * 32 + place of their own keys; a slot that there is not: nowhere
};
/// Multi-head attention (Vaswani et al. 2017): softmax(q k' / sqrt(D)) v; scores and softmax in f32 (f64 of f64), never
/// in memory as a whole (bora::attention). Queries may have axes of heads that keys and values lack: those share them
/// (Ainslie et al. 2023). causal: a sequence's attention to itself is, unless the mask says otherwise.
template <bool causal> struct BasicAttention {
  Linear q, k, v, out;
  std::optional<Rotary> rotary = none;
  double dropout = 0;
  std::optional<RmsNorm> q_norm = none, k_norm = none;
  std::optional<double> scale = none, soft_cap = none;
  std::optional<NamedArray> learned_key = none, learned_value = none;  // [heads, size]: one more, which no mask hides
  bool zero_key = false;                                               // one more, of zeros
  bool drop_keys = false;
  /// [heads..]: the score of one more key without a value, which takes a share of the weights (Xiao et al. 2024,
  /// "attention sinks", as numbers of the model).
  std::optional<NamedArray> sinks = none;
  static constexpr bool decays(std::string_view field) { return field != "sinks"; }
  static BasicAttention init(const Axis& embed, const Axis& heads, const Axis& head_size, const Array& key,
                             const AttentionInit& options = {});
  /// Attention to itself: x [..., position, embed] -> [..., position, out_embed], axes in x's order. positions: for the
  /// rotary embedding. key: for dropout; none: without.
  NamedArray operator()(const NamedArray& x, const AttentionMask& mask = {},
                        const std::optional<NamedArray>& positions = none,
                        const std::optional<Array>& key = none) const;
  NamedArray operator()(const NamedArray& x, const AttentionMask& mask, const std::optional<Array>& key) const {
    return (*this)(x, mask, std::optional<NamedArray>(), key);
  }
  /// Attention to keys(..) of any sequence, which have the batch axes of x, or lack them and are the same for all.
  NamedArray operator()(const NamedArray& x, const KeyValues& kv, const AttentionMask& mask = {},
                        const std::optional<Array>& key = none) const;
  /// Keys of one sequence [..., position, key_embed], values of another [..., position, value_embed], or of the same ->
  /// [..., key_position, heads, size]. A rotary embedding counts positions from 0.
  KeyValues keys(const NamedArray& sequence, const std::optional<NamedArray>& values = none) const;
  /// The weights without dropout, [..., heads, position, key_position]; learned and zero keys come last. They are in
  /// memory as a whole. Throws ValueError for a mask with more than `causal`, `explicit_mask` and `bias`, for a cap and
  /// for sinks.
  NamedArray weights(const NamedArray& x, const KeyValues& kv, const AttentionMask& mask = {}) const;
  /// Room for the keys and values of `length` positions, with the axes of `rows` first, in the parameters' dtype.
  KeyValues cache(const Axes& rows, std::int64_t length) const;
  /// Causal attention of x to itself, whose positions follow the first `seen` (i32 scalar) of the cache: {the result,
  /// the cache with x's keys and values}. The caller sees to it that they fit. limits: further ones over the whole
  /// cache: explicit_mask, bias, window, window_value.
  std::pair<NamedArray, KeyValues> decode(const NamedArray& x, const KeyValues& cache, const Array& seen,
                                          const AttentionMask& limits = {}) const;
  /// Room for keys and values in pages, with the axes of `rows` first: keys [rows.., page, heads, head_size, place],
  /// values [rows.., page, heads, place, size].
  KeyValues pages(const Axes& rows, const PageOptions&) const;
  /// Causal attention in pages: x [position, embed], tokens of many sequences, each to its own sequence up to its own
  /// place: {the result, the pages with x's keys and values}. A token's result has the same bits whatever other tokens
  /// there are. limits: window, window_value, and a bias over heads and `distance`, of keys so many positions before
  /// the token (the last one of all farther ones). Throws AxisError for other axes, ValueError for other limits.
  std::pair<NamedArray, KeyValues> decode(const NamedArray& x, const KeyValues& pages, const PagePlaces& at,
                                          const AttentionMask& limits = {}) const;
  /// Attention of x [position, embed] to the keys in pages up to at.positions, which are not x's own.
  NamedArray to_pages(const NamedArray& x, const KeyValues& pages, const PagePlaces& at) const;
};
/// Causal: in a sequence's attention to itself a position does not see later ones.
using Attention = BasicAttention<true>;
/// With the default of torch, Flax and Equinox: no mask.
using MultiheadAttention = BasicAttention<false>;
extern template struct BasicAttention<true>;
extern template struct BasicAttention<false>;
/// The cache with more keys and values behind the first `seen` (i32 scalar). The caller sees to it that they fit.
KeyValues appended(const KeyValues& cache, const KeyValues& more, const Array& seen);
/// The pages with keys(..) of a sequence at slots i32 [key_position].
KeyValues in_pages(const KeyValues& pages, const KeyValues& more, const Array& slots);
}  // namespace bora::nn
