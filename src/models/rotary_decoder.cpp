#include "models/rotary_decoder.h"

namespace bora::models {
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
  for (std::string part : {"gate", "up", "down"}) {
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
