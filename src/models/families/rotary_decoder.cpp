#include "models/families/rotary_decoder.h"

namespace bora::models {
nn::Attention decoder_attention(const DecoderOptions& c, const Array& key) {
  auto linear = [](bool bias) { return nn::LinearOptions{.weight = nn::Init::normal(0.02), .use_bias = bias}; };
  nn::AttentionInit o{.in = linear(c.qkv_bias),
                      .out = linear(c.out_bias),
                      .theta = c.theta,
                      .dropout = c.attention_dropout,
                      .rotary = {.scaling = c.scaling},
                      .scale = c.scale,
                      .soft_cap = c.soft_cap};
  if (c.heads > c.kv_heads) o.group = Axis{nn::kHeadGroup, c.heads / c.kv_heads};
  if (c.qk_norm) o.norm_eps = c.eps;
  return nn::Attention::init(c.embed_axis(), {nn::kHeads, c.kv_heads}, {nn::kHeadSize, c.head_size}, key, o);
}
std::vector<HfWeight> decoder_weights(const DecoderOptions& c) {
  std::vector<HfWeight> all{{"wte.weight", "model.embed_tokens.weight"}, {"norm.weight", "model.norm.weight"}};
  auto block = [&](const std::string& leaf, const std::string& tensor, const std::optional<Shape>& view = none,
                   const Dims& order = {}) {
    all.push_back({"blocks.layer." + leaf, "model.layers.{}." + tensor, view, {}, {}, order});
  };
  auto e = c.embed, k = c.kv_heads, g = c.heads / c.kv_heads, d = c.head_size;
  auto many = g > 1 ? Shape{k, g, d} : Shape{k, d}, few = Shape{k, d};
  auto joined = [](Shape a, const Shape& b) {
    a.append(b);
    return a;
  };
  for (auto [name, heads] : {std::pair{"q", many}, {"k", few}, {"v", few}}) {
    auto leaf = std::string("attn.") + name, tensor = std::string("self_attn.") + name + "_proj";
    auto last = static_cast<std::int64_t>(heads.size());
    Dims order{last};
    for (std::int64_t i = 0; i < last; ++i) order.push_back(i);
    block(leaf + ".weight", tensor + ".weight", joined(heads, Shape{e}), order);
    if (c.qkv_bias) block(leaf + ".bias", tensor + ".bias", heads);
  }
  Dims order;
  for (std::int64_t i = 1; i <= static_cast<std::int64_t>(many.size()); ++i) order.push_back(i);
  order.push_back(0);
  block("attn.out.weight", "self_attn.o_proj.weight", joined(Shape{e}, many), order);
  if (c.out_bias) block("attn.out.bias", "self_attn.o_proj.bias");
  if (c.qk_norm)
    for (std::string norm : {"q_norm", "k_norm"}) block("attn." + norm + ".weight", "self_attn." + norm + ".weight");
  if (c.experts > 0) {
    block("moe.router.weight", "block_sparse_moe.gate.weight", none, {1, 0});
    for (auto [part, name] : {std::pair{"gate", "w1"}, {"up", "w3"}, {"down", "w2"}})
      block(std::string("moe.") + part, "block_sparse_moe.experts.{}." + std::string(name) + ".weight", none, {1, 0});
  }
  for (std::string part : {"gate", "up", "down"}) {
    if (c.experts > 0) break;
    block("mlp." + part + ".weight", "mlp." + part + "_proj.weight", none, {1, 0});
    if (c.mlp_bias) block("mlp." + part + ".bias", "mlp." + part + "_proj.bias");
  }
  block("norm_1.weight", "input_layernorm.weight");
  block("norm_2.weight", c.post_norms ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight");
  if (c.post_norms) {
    block("post_1.weight", "post_attention_layernorm.weight");
    block("post_2.weight", "post_feedforward_layernorm.weight");
  }
  if (c.tied) all.push_back({.leaf = "wte.weight", .tensor = "lm_head.weight", .copy = true});
  else all.push_back({.leaf = "lm_head.weight", .tensor = "lm_head.weight", .order = {1, 0}});
  return all;
}
}  // namespace bora::models
