// layers.h -- layers: plain aggregates of NamedArrays with a static init and a call. Axes: B batch, S sequence
// (position), T key position, E embed, H heads, D head size.
#pragma once
#include "bora/named/mapping.h"
#include "bora/named/random.h"
#include "bora/named/transforms.h"

namespace bora::nn {
/// y = dot(x, weight, in) + bias. Weights are drawn from a normal distribution.
struct Linear {
  NamedArray weight;               // [in..., out...]
  std::optional<NamedArray> bias;  // [out...]
  struct Init {
    double stddev = 0.02;
    bool use_bias = true;
  };
  static Linear init(const Axes& in, const Axes& out, const Array& key, const Init& options);
  static Linear init(const Axes& in, const Axes& out, const Array& key) { return init(in, out, key, Init{}); }
  /// x [..., in...] -> [..., out...]; contracts the axes that weight and x share and bias has not.
  NamedArray operator()(const NamedArray& x) const;
};
/// A table of vectors: lookup, and the product with all of them (a tied output layer).
struct Embedding {
  NamedArray weight;  // [vocab, embed]
  static Embedding init(const Axis& vocab, const Axis& embed, const Array& key, double stddev = 0.02);
  /// indices [...] -> [..., embed].
  NamedArray embed(const NamedArray& indices) const;
  /// x [..., embed] -> scores [..., vocab].
  NamedArray unembed(const NamedArray& x) const;
};
/// (x - mean) / sqrt(var + eps) * weight + bias over the axes of weight, computed in f32 and rounded once (Ba, Kiros,
/// Hinton 2016).
struct LayerNorm {
  NamedArray weight, bias;  // [embed]
  float eps = 1e-5F;
  static LayerNorm init(const Axis& embed, float eps = 1e-5F);
  NamedArray operator()(const NamedArray& x) const;
};
/// x with elements zeroed with probability `rate` and the others scaled by 1 / (1 - rate); x itself without a key
/// (evaluation).
struct Dropout {
  float rate = 0;
  NamedArray operator()(const NamedArray& x, const std::optional<Array>& key) const;
};
/// up, activation, down.
struct Mlp {
  Linear up, down;
  static Mlp init(const Axis& embed, const Axis& hidden, const Array& key, double down_stddev = 0.02);
  NamedArray operator()(const NamedArray& x) const;  // tanh-GELU (Hendrycks & Gimpel 2016)
};
/// The keys that a position may attend to: those that every field allows. A position without any gets 0.
struct AttentionMask {
  bool causal = true;
  std::optional<NamedArray> explicit_mask = none;  // boolean over position and key position axes: true = attend
  std::optional<std::int64_t> window = none;       // the last so many positions, its own included: at least 1
  std::optional<NamedArray> segments = none;       // i32 or u8 over position (and batch axes): only equal ones meet
};
/// Multi-head attention (Vaswani et al. 2017): softmax(q k' / sqrt(D)) v over the `position` axis; scores and softmax
/// in f32, never in memory as a whole (bora::attention). Keys and values may lack axes of heads that queries have:
/// those share them (Ainslie et al. 2023).
struct Attention {
  Linear q, k, v, out;
  static Attention init(const Axis& embed, const Axis& heads, const Axis& head_size, const Array& key,
                        double out_stddev = 0.02);
  /// x [..., position, embed] -> the same axes.
  NamedArray operator()(const NamedArray& x, const AttentionMask& mask = {}) const;
};
/// Name of the sequence axis that attention works along, and of its twin for keys.
inline constexpr std::string_view kPosition = "position", kKeyPosition = "key_position";
}  // namespace bora::nn
