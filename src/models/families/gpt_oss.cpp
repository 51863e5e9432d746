// gpt-oss (OpenAI 2025): experts with biases and a clamped gate, a sink in each head of attention, windows in every
// other layer.
#include "models/families/experts_block.h"

namespace bora::models {
namespace {
struct GptOssConfig {
  static constexpr std::string_view type = "gpt_oss";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, head_size = 0, hidden = 0, positions = 128;
  std::int64_t experts = 8, chosen = 2, window = 0;
  std::vector<LayerType> layer_types = {LayerType::sliding, LayerType::full};
  double gate_slope = 1.702, gate_limit = 7;
  double router_loss = 1e-3, router_z_loss = 0;
  double theta = 150000;
  RopeScaling scaling = {};
  float eps = 1e-5F;
  bool tied = false, attention_bias = true;
  double attention_dropout = 0;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers, said::embed, said::heads, said::kv_heads, said::head_size,
      {"hidden", "hidden units of an expert; 0: 3/8 of embed"},
      said::positions, said::experts, said::chosen, said::window, said::layer_types,
      {"gate_slope", "an expert's gate g becomes g sigmoid(gate_slope g)"},
      {"gate_limit", "before that it is at most this, and what it is multiplied by from -gate_limit to it, plus 1"},
      said::router_loss, said::router_z_loss, said::theta, said::scaling, said::eps, said::tied, said::attention_bias,
      said::attention_dropout, said::checkpoint};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return hidden ? hidden : std::max<std::int64_t>(embed * 3 / 8, 1); }
  bool draws() const { return attention_dropout > 0; }
  void check() const {
    check_decoder(*this);
    check_experts(*this);
    config::domain(std::isfinite(gate_slope), "gate_slope", gate_slope, "finite");
    config::domain(std::isfinite(gate_limit) && gate_limit > 0, "gate_limit", gate_limit, "above 0");
  }
  std::vector<AxisSize> axes() const { return expert_axes(*this); }
  DecoderOptions options() const {
    auto o = decoder_options(*this);
    o.qkv_bias = o.out_bias = attention_bias;
    o.sinks = true;
    o.experts = experts;
    o.chosen = chosen;
    o.expert_bias = true;
    o.gate_slope = gate_slope;
    o.gate_limit = gate_limit;
    o.expert_files = ExpertFiles::stacked;
    return o;
  }
  bool has_extra_loss() const { return has_router_loss(*this); }
  NamedArray extra_loss(const nn::RouterReport& report) const { return router_losses(*this, report); }
  static constexpr std::string_view hf_types[] = {"gpt_oss"};
  static GptOssConfig from_hf(HfConfig& c) {
    GptOssConfig r;
    decoder_from_hf(r, c, {.kv_heads = c.is_null("num_key_value_heads") ? 0 : 8, .positions = 131072,
                           .head_size = c.is_null("head_dim") ? 0 : 64, .eps = 1e-5, .theta = 150000});
    if (!c.has("rope_scaling") && !c.has("rope_parameters")) {
      using Kind = nn::RotaryScaling::Kind;
      r.scaling = {.kind = Kind::yarn, .factor = 32, .low = 1, .high = 32, .original_positions = 4096,
                   .whole_pairs = false};
    }
    r.experts = hf_size(c, "num_local_experts", hf_size(c, "num_experts", 128));
    c.expect("num_experts", r.experts);
    r.chosen = hf_size(c, "num_experts_per_tok", 4);
    c.expect("experts_per_token", r.chosen);  // of OpenAI's files, which also have the next one
    c.ignore({"initial_context_length", "hidden_act"});  // the gate is the model's own
    router_loss_from_hf(r, c);
    r.gate_slope = c.number("swiglu_alpha", 1.702);
    r.gate_limit = c.number("swiglu_limit", 7);
    if (r.gate_limit <= 0) c.refuse("swiglu_limit", "numbers above 0 are");
    r.attention_bias = c.flag("attention_bias", true);
    c.expect("mlp_bias", true);
    std::vector<LayerType> types;
    for (std::int64_t i = 0; i < r.layers; ++i) types.push_back(i % 2 == 0 ? LayerType::sliding : LayerType::full);
    r.layer_types = layer_types_from_hf(c, r.layers, types);
    r.window = c.is_null("sliding_window") ? 0 : hf_size(c, "sliding_window", 128);
    if (r.window == 0 && r.layer_types != std::vector{LayerType::full})
      c.refuse("sliding_window", "sliding layers need one");
    c.expect("use_sliding_window", r.window > 0);
    return r;
  }
  void to_hf(HfConfig& c) const {
    decoder_to_hf(*this, c, "GptOss", "gpt_oss");
    if (scaling.kind == nn::RotaryScaling::Kind::none) {  // without the group it would be YaRN's
      auto group = c.group("rope_scaling");
      group.set("rope_type", "default");
    }
    c.set("num_local_experts", experts);
    c.set("num_experts_per_tok", chosen);
    router_loss_to_hf(*this, c);
    c.set("swiglu_alpha", gate_slope);
    c.set("swiglu_limit", gate_limit);
    c.set("attention_bias", attention_bias);
    c.set("sliding_window", window > 0 ? HfConfig::Value(window) : HfConfig::Value());
    layer_types_to_hf(window > 0 ? layer_types : std::vector{LayerType::full}, layers, c);
  }
};
using GptOss = RotaryDecoder<GptOssConfig, ExpertsBlock>;
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::GptOss>>;
