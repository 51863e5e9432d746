// side_block.h -- blocks with layer norms whose attention and MLP are side by side, or one behind the other: those of
// GPT-NeoX, StableLM, Falcon and Cohere. Private.
#pragma once
#include <cmath>
#include "bora/config/config.h"
#include "bora/nn/mlp.h"
#include "models/families/weight_norm.h"
#include "models/hf/layers.h"
#include "models/lm/config_check.h"
#include "models/lm/decoder.h"

namespace bora::models {
struct SideOptions {
  Axis embed;
  std::int64_t heads, kv_heads, head_size, hidden;
  double theta;
  nn::RotaryOptions rotary = {};
  nn::Activation activation = nn::Activation::gelu;
  bool qkv_bias = true, out_bias = true, mlp_bias = true;
  bool gated = false;
  bool parallel = true;   // attention and MLP read the same vectors, else the MLP those behind attention
  bool one_norm = false;  // where they are parallel: both read vectors of the same norm
  double dropout = 0, attention_dropout = 0;
  bool drops_attention = true;  // dropout of attention's results too, not of the MLP's alone
  float eps = 1e-5F;
};
/// Its settings have block(), which are SideOptions.
template <class Norm = nn::LayerNorm> struct SideBlock {
  Norm norm_1;
  nn::Attention attn;
  std::optional<Norm> norm_2;
  nn::Mlp mlp;
  bool parallel, drops_attention;
  nn::Dropout dropout;
  template <class C> static SideBlock init(const C& c, const Array& key) { return of(c.block(), key); }
  static SideBlock of(const SideOptions& o, const Array& key) {
    auto keys = random::split<2>(key);
    auto linear = [](bool bias) { return nn::LinearOptions{.weight = nn::Init::normal(0.02), .use_bias = bias}; };
    Axis size{nn::kHeadSize, o.head_size}, hidden{nn::kMlp, o.hidden};
    nn::AttentionInit of_attention{.in = linear(o.qkv_bias), .out = linear(o.out_bias), .theta = o.theta,
                                   .dropout = o.attention_dropout, .rotary = o.rotary};
    if (o.heads > o.kv_heads) of_attention.group = Axis{nn::kHeadGroup, o.heads / o.kv_heads};
    auto norm = Norm::init(o.embed, o.eps);
    auto units = linear(o.mlp_bias);
    return {norm,
            nn::Attention::init(o.embed, {nn::kHeads, o.kv_heads}, size, keys[0], of_attention),
            o.one_norm ? none : std::optional(norm),
            o.gated ? nn::Mlp::gated(o.embed, hidden, keys[1], units, units, o.activation)
                    : nn::Mlp::init(o.embed, hidden, keys[1], units, units, o.activation),
            o.parallel,
            o.drops_attention,
            {static_cast<float>(o.dropout)}};
  }
  /// x with attention's result a and the MLP's added. normed: norm_1(x).
  NamedArray rest(const NamedArray& x, const NamedArray& normed, const NamedArray& a,
                  const std::optional<Array>& key) const {
    if (parallel) return auto_sharded(x + a + dropout(mlp(norm_2 ? (*norm_2)(x) : normed), key));
    auto y = auto_sharded(x + a);
    return auto_sharded(y + dropout(mlp((*norm_2)(y)), key));
  }
  NamedArray operator()(const NamedArray& x, const nn::AttentionMask& mask, const std::optional<Array>& key,
                        const std::optional<NamedArray>& positions) const {
    auto keys = split_keys<3>(key);
    auto normed = norm_1(x);
    auto a = attn(normed, mask, positions, keys[0]);
    return rest(x, normed, drops_attention ? dropout(a, keys[1]) : a, keys[2]);
  }
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& x, const nn::KeyValues& pages,
                                              const nn::PagePlaces& at) const {
    auto normed = norm_1(x);
    auto [a, kv] = attn.decode(normed, pages, at);
    return {rest(x, normed, a, none), kv};
  }
};
/// Throws ConfigError for a setting that these models have.
template <class C> void check_layer_norm_decoder(const C& c) {
  check_sizes({{"layers", c.layers}, {"embed", c.embed}, {"heads", c.heads}, {"positions", c.positions}});
  check_optional_sizes({{"hidden", c.hidden}});
  if constexpr (requires { c.rotary; }) {
    check_heads(c.embed, c.heads, c.rotary == 0);
    check_rotary(c.rotary, c.embed / c.heads);
  } else {
    check_heads(c.embed, c.heads, true);
  }
  if constexpr (requires { c.kv_heads; }) check_key_heads(c.heads, c.kv_heads);
  config::domain(std::isfinite(c.theta) && c.theta > 0, "theta", c.theta, "above 0");
  if constexpr (requires { c.dropout; }) check_rates({{"dropout", c.dropout}});
  if constexpr (requires { c.attention_dropout; }) check_rates({{"attention_dropout", c.attention_dropout}});
  check_eps(c.eps);
  check_checkpoint(c.checkpoint);
}
/// The output layer of a family: the table of the tokens' vectors where the settings are `tied`, else its own.
template <class C> struct TiedOrOwnHead {
  using Head = std::optional<nn::Linear>;
  static Head init_head(const C& c, const Axis& vocab, const Array& key) {
    if (c.tied) return none;
    return nn::Linear::init(c.embed_axis(), vocab, key, {.weight = nn::Init::normal(0.02), .use_bias = false});
  }
  static nn::Head head(const Head& own, const nn::Embedding& words) { return nn::Head::of(own, words); }
  /// tensor: its name in Hugging Face's files.
  static void hf_head(HfWeights& all, const C& c, const std::string& tensor) {
    if (c.tied) all.push_back({.leaf = "wte.weight", .tensor = tensor + ".weight", .copy = true});
    else hf_linear(all, "lm_head", tensor, false);
  }
};
}  // namespace bora::models
