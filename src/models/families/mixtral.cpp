// Mixtral (Jiang et al. 2024): Mistral with experts in place of the MLP, of which each token passes a few.
#include "models/families/experts_block.h"

namespace bora::models {
namespace {
struct MixtralConfig {
  static constexpr std::string_view type = "mixtral";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, hidden = 0, positions = 128;
  std::int64_t experts = 8, chosen = 2;
  double router_loss = 1e-3, router_z_loss = 0;
  double theta = 10000;
  float eps = 1e-5F;
  bool tied = false;
  std::string checkpoint = "nothing";
  std::int64_t head_size = 0, window = 0;
  RopeScaling scaling = {};
  nn::Activation activation = nn::Activation::silu;
  double attention_dropout = 0;
  static constexpr config::Meaning meanings[] = {
      {"layers", "number of blocks"},
      {"embed", "size of the vectors between blocks"},
      {"heads", "of queries in a block; embed is cut into as many equal parts"},
      {"kv_heads", "of keys and values, each shared by heads / kv_heads queries; 0: as many as heads"},
      {"hidden", "hidden units of an expert; 0: 7/2 of embed"},
      {"positions", "tokens that the model sees at once"},
      {"experts", "in a block; a mapping may split them over ranks (axis experts)"},
      {"chosen", "experts that a token passes"},
      {"router_loss", "times the load-balancing loss of the routers is added to training's loss; 0: none"},
      {"router_z_loss", "times the mean of the routers' logsumexp(scores)^2 is added; ST-MoE: 1e-3"},
      {"theta", "base of the rotary angles"},
      {"eps", "of norms"},
      {"tied", "the output layer is the table of the tokens' vectors"},
      {"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything, or values "
                     "by name: names(attn), everything_except(mlp) .. (docs/guide.md)"},
      {"head_size", "numbers of a head; 0: embed / heads"},
      {"window", "queries attend to so many positions, their own included; 0: to all before them"},
      {"scaling", "frequencies of the rotary angles for more positions than pre-training had"},
      {"activation", "of an expert's gate: relu, gelu (exact), gelu_new (its tanh form), silu ... (docs/models.md)"},
      {"attention_dropout", "fraction of attention's weights dropped in training"}};
  static inline const std::vector<LayerType> layer_types = {LayerType::sliding};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return hidden ? hidden : embed * 7 / 2; }
  bool draws() const { return attention_dropout > 0; }
  void check() const {
    check_decoder(*this);
    check_experts(*this);
  }
  std::vector<AxisSize> axes() const { return expert_axes(*this); }
  DecoderOptions options() const {
    auto o = decoder_options(*this);
    o.activation = activation;
    o.experts = experts;
    o.chosen = chosen;
    o.expert_files = ExpertFiles::mixtral;
    return o;
  }
  bool has_extra_loss() const { return has_router_loss(*this); }
  NamedArray extra_loss(const nn::RouterReport& report) const { return router_losses(*this, report); }
  static constexpr std::string_view hf_types[] = {"mixtral"};
  static MixtralConfig from_hf(HfConfig& c);
  void to_hf(HfConfig& c) const;
};
MixtralConfig MixtralConfig::from_hf(HfConfig& c) {
  MixtralConfig r;
  decoder_from_hf(r, c, {.kv_heads = c.is_null("num_key_value_heads") ? 0 : 8, .positions = 131072, .eps = 1e-5,
                         .theta = 1e6});
  r.experts = hf_size(c, "num_local_experts", 8);
  r.chosen = hf_size(c, "num_experts_per_tok", 2);
  router_loss_from_hf(r, c);
  c.expect("router_jitter_noise", 0.0);
  r.activation = hf_activation(c, "hidden_act", "silu");
  r.window = hf_size(c, "sliding_window", 0);
  expect_window(c, r.window, r.positions, r.layers);
  c.expect("attention_bias", false);
  c.expect("mlp_bias", false);
  return r;
}
void MixtralConfig::to_hf(HfConfig& c) const {
  decoder_to_hf(*this, c, "Mixtral", "mixtral");
  c.set("num_local_experts", experts);
  c.set("num_experts_per_tok", chosen);
  router_loss_to_hf(*this, c);
  c.set("hidden_act", hf_word(activation));
  c.set("sliding_window", window > 0 ? HfConfig::Value(window) : HfConfig::Value());
}
using Mixtral = RotaryDecoder<MixtralConfig, ExpertsBlock>;
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::Mixtral>>;
