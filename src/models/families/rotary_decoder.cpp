#include "models/families/rotary_decoder.h"
#include "models/hf/layers.h"

namespace bora::models {
nn::Attention decoder_attention(const DecoderOptions& c, const Array& key) {
  auto linear = [](bool bias) { return nn::LinearOptions{.weight = nn::Init::normal(0.02), .use_bias = bias}; };
  nn::AttentionInit o{.in = linear(c.qkv_bias),
                      .out = linear(c.out_bias),
                      .theta = c.theta,
                      .dropout = c.attention_dropout,
                      .rotary = {.dims = c.rotary, .scaling = c.scaling},
                      .scale = c.scale,
                      .soft_cap = c.soft_cap,
                      .sinks = c.sinks};
  if (c.heads > c.kv_heads) o.group = Axis{nn::kHeadGroup, c.heads / c.kv_heads};
  Axis size{nn::kHeadSize, c.head_size};
  auto a = nn::Attention::init(c.embed_axis(), {nn::kHeads, c.kv_heads}, size, key, o);
  auto norm = [&](const Axes& of) { return nn::RmsNorm::init(of, c.eps, c.norm_offset); };
  if (c.qk_norm == QkNorm::each) a.q_norm = a.k_norm = norm(size);
  if (c.qk_norm == QkNorm::all) a.q_norm = norm(Axes(a.q.out)), a.k_norm = norm(Axes(a.k.out));
  return a;
}
namespace {
/// gate_up_proj [experts, inputs, 2 * hidden units], of which each has its gate and then its up; down_proj; biases.
void add_stacked_experts(std::vector<HfWeight>& all, const DecoderOptions& c) {
  const std::string leaf = "blocks.layer.moe.", mlp = "model.layers.{}.mlp.", experts = mlp + "experts.";
  hf_linear(all, leaf + "router", mlp + "router", c.expert_bias);
  auto add = [&](const std::string& end, const Shape& before) {
    for (auto part : {0, 1}) {
      auto view = before, to = before;
      view.push_back(2), to.push_back(part + 1);
      Dims begin(before.size(), 0);
      begin.push_back(part);
      all.push_back({.leaf = leaf + (part == 0 ? "gate" : "up") + end,
                     .tensor = experts + "gate_up_proj" + end,
                     .view = view,
                     .begin = begin,
                     .end = Dims(to.begin(), to.end()),
                     .split = before});
    }
    all.push_back({.leaf = leaf + "down" + end, .tensor = experts + "down_proj" + end});
  };
  add("", {c.experts, c.embed, c.hidden});
  if (c.expert_bias) add("_bias", {c.experts, c.hidden});
}
}  // namespace
std::vector<HfWeight> decoder_weights(const DecoderOptions& c) {
  std::vector<HfWeight> all{{"wte.weight", "model.embed_tokens.weight"}, {"norm.weight", "model.norm.weight"}};
  auto block = [&](const std::string& leaf, const std::string& tensor, const std::optional<Shape>& view = none,
                   const Dims& order = {}) {
    all.push_back({"blocks.layer." + leaf, "model.layers.{}." + tensor, view, {}, {}, order});
  };
  auto e = c.embed, k = c.kv_heads, g = c.heads / c.kv_heads, d = c.head_size;
  HfGroupedAttention attention{k, g, d, e, c.qkv_bias, c.out_bias};
  std::string attn = "blocks.layer.attn", own = "model.layers.{}.self_attn";
  auto many = attention.many(), few = attention.few();
  std::int64_t before = 0;  // rows of a joined tensor
  for (auto [name, heads] : {std::pair{"q", many}, {"k", few}, {"v", few}}) {
    if (!c.joined) break;
    auto rows = volume(heads) / d;
    all.push_back({.leaf = attn + "." + name + ".weight",
                   .tensor = own + ".qkv_proj.weight",
                   .view = Shape{k * (g + 2), d, e},
                   .begin = {before, 0, 0},
                   .end = {before + rows, d, e},
                   .order = attention.in_order(heads),
                   .split = attention.and_more(heads, e)});
    before += rows;
  }
  if (c.joined) attention.add_out(all, attn + ".out", own + ".o_proj");
  else attention.add(all, attn, own);
  for (auto [norm, heads] : {std::pair{"q_norm.weight", many}, {"k_norm.weight", few}}) {
    if (c.qk_norm == QkNorm::none) break;
    std::optional<Shape> view;
    if (c.qk_norm == QkNorm::all) view = heads;
    block(std::string("attn.") + norm, std::string("self_attn.") + norm, view);
  }
  if (c.sinks) block("attn.sinks", "self_attn.sinks", g > 1 ? Shape{k, g} : Shape{k});
  if (c.experts > 0 && c.expert_files == ExpertFiles::stacked) add_stacked_experts(all, c);
  else if (c.experts > 0) {
    bool mixtral = c.expert_files == ExpertFiles::mixtral;
    std::string moe = mixtral ? "block_sparse_moe." : "mlp.";
    block("moe.router.weight", moe + "gate.weight", none, {1, 0});
    for (auto [part, theirs] : {std::pair{"gate", "w1"}, {"up", "w3"}, {"down", "w2"}}) {
      auto name = mixtral ? theirs : std::string(part) + "_proj";
      block(std::string("moe.") + part, moe + "experts.{}." + name + ".weight", none, {1, 0});
    }
  }
  for (std::string part : {"gate", "up", "down"}) {
    if (c.experts > 0) break;
    if (c.joined && part != "down") {
      auto first = part == "gate" ? 0 : c.hidden;
      all.push_back({.leaf = "blocks.layer.mlp." + part + ".weight",
                     .tensor = "model.layers.{}.mlp.gate_up_proj.weight",
                     .view = Shape{2 * c.hidden, e},
                     .begin = {first, 0},
                     .end = {first + c.hidden, e},
                     .order = {1, 0}});
      continue;
    }
    block("mlp." + part + ".weight", "mlp." + part + "_proj.weight", none, {1, 0});
    if (c.mlp_bias) block("mlp." + part + ".bias", "mlp." + part + "_proj.bias");
  }
  if (c.pre_norms) block("norm_1.weight", "input_layernorm.weight");
  if (c.pre_norms)
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
