// Qwen 3 with experts (Yang et al. 2025): norms of each query and key, and experts in place of the MLP.
#include "models/families/experts_block.h"

namespace bora::models {
namespace {
struct Qwen3MoeConfig {
  static constexpr std::string_view type = "qwen3_moe";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, head_size = 0, hidden = 0, positions = 128;
  std::int64_t experts = 8, chosen = 2, window = 0;
  bool renormalized = true;
  double router_loss = 1e-3, router_z_loss = 0;
  double theta = 1e6;
  RopeScaling scaling = {};
  float eps = 1e-6F;
  bool tied = false, attention_bias = false;
  nn::Activation activation = nn::Activation::silu;
  double attention_dropout = 0;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers, said::embed, said::heads, said::kv_heads, said::head_size,
      {"hidden", "hidden units of an expert; 0: 3/8 of embed"},
      said::positions, said::experts, said::chosen,
      {"window", "queries attend to so many positions, their own included; 0: to all before them"},
      {"renormalized", "the chosen experts' weights add up to 1; else they are the probabilities among all experts"},
      said::router_loss, said::router_z_loss, said::theta, said::scaling, said::eps, said::tied, said::attention_bias,
      said::activation, said::attention_dropout, said::checkpoint};
  static inline const std::vector<LayerType> layer_types = {LayerType::sliding};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return hidden ? hidden : std::max<std::int64_t>(embed * 3 / 8, 1); }
  bool draws() const { return attention_dropout > 0; }
  void check() const {
    check_decoder(*this);
    check_experts(*this);
  }
  std::vector<AxisSize> axes() const { return expert_axes(*this); }
  DecoderOptions options() const {
    auto o = decoder_options(*this);
    o.activation = activation;
    o.qkv_bias = o.out_bias = attention_bias;
    o.qk_norm = QkNorm::each;
    o.experts = experts;
    o.chosen = chosen;
    o.renormalized = renormalized;
    return o;
  }
  bool has_extra_loss() const { return has_router_loss(*this); }
  NamedArray extra_loss(const nn::RouterReport& report) const { return router_losses(*this, report); }
  static constexpr std::string_view hf_types[] = {"qwen3_moe"};
  static Qwen3MoeConfig from_hf(HfConfig& c) {
    Qwen3MoeConfig r;
    decoder_from_hf(r, c, {.kv_heads = c.is_null("num_key_value_heads") ? 0 : 4, .positions = 32768});
    r.hidden = hf_size(c, "moe_intermediate_size", 768);
    c.ignore({"intermediate_size"});  // of layers without experts, which are refused
    r.experts = hf_size(c, "num_local_experts", hf_size(c, "num_experts", 128));  // since transformers 5, and before
    c.expect("num_experts", r.experts);
    r.chosen = hf_size(c, "num_experts_per_tok", 8);
    r.renormalized = c.flag("norm_topk_prob", false);
    c.expect("decoder_sparse_step", std::int64_t{1});
    if (!c.integers("mlp_only_layers").empty()) c.refuse("mlp_only_layers", "experts in all layers are");
    router_loss_from_hf(r, c);
    r.activation = hf_activation(c, "hidden_act", "silu");
    r.attention_bias = c.flag("attention_bias", false);
    c.expect("mlp_bias", false);
    if (c.flag("use_sliding_window", false) && !c.is_null("sliding_window"))
      r.window = hf_size(c, "sliding_window", 4096);
    if (r.window > 0) expect_window(c, r.window, r.positions, r.layers);
    c.ignore({"sliding_window", "max_window_layers"});
    return r;
  }
  void to_hf(HfConfig& c) const {
    decoder_to_hf(*this, c, "Qwen3Moe", "qwen3_moe");
    c.set("moe_intermediate_size", hidden_units());
    c.set("num_experts", experts);
    c.set("num_experts_per_tok", chosen);
    c.set("norm_topk_prob", renormalized);
    router_loss_to_hf(*this, c);
    c.set("hidden_act", hf_word(activation));
    c.set("attention_bias", attention_bias);
    c.set("use_sliding_window", window > 0);
    if (window > 0) c.set("sliding_window", window);
  }
};
using Qwen3Moe = RotaryDecoder<Qwen3MoeConfig, ExpertsBlock>;
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::Qwen3Moe>>;
