// Granite (IBM 2024): Llama with numbers by which tokens' vectors, the results of attention and MLP, attention's scores
// and the scores of tokens are multiplied.
#include "models/families/rotary_decoder.h"

namespace bora::models {
namespace {
struct GraniteConfig {
  static constexpr std::string_view type = "granite";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, head_size = 0, hidden = 0, positions = 128;
  double words_scale = 1, residual_scale = 1, attention_scale = 0, score_divisor = 1;
  double theta = 10000;
  RopeScaling scaling = {};
  float eps = 1e-6F;
  bool tied = false, attention_bias = false, mlp_bias = false;
  nn::Activation activation = nn::Activation::silu;
  double attention_dropout = 0;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers, said::embed, said::heads, said::kv_heads, said::head_size, said::hidden, said::positions,
      {"words_scale", "tokens' vectors are multiplied by it"},
      {"residual_scale", "what attention and MLP add is multiplied by it"},
      {"attention_scale", "attention's scores are products of queries and keys times it; 0: 1 / sqrt(head's size)"},
      {"score_divisor", "the scores of tokens are divided by it"},
      said::theta, said::scaling, said::eps, said::tied, said::attention_bias,
      {"mlp_bias", "the MLP's layers have biases"},
      said::activation, said::attention_dropout, said::checkpoint};
  static constexpr std::int64_t window = 0;
  static inline const std::vector<LayerType> layer_types = {LayerType::full};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return gated_units(*this); }
  bool draws() const { return attention_dropout > 0; }
  void check() const {
    check_decoder(*this);
    for (auto [name, x] : {std::pair{"words_scale", words_scale}, {"residual_scale", residual_scale},
                           {"attention_scale", attention_scale}, {"score_divisor", score_divisor}})
      config::domain(std::isfinite(x), name, x, "finite");
    config::domain(score_divisor != 0, "score_divisor", score_divisor, "other than 0");
  }
  std::vector<AxisSize> axes() const { return decoder_axes(*this); }
  DecoderOptions options() const {
    auto o = llama_options(*this);
    o.words_scale = words_scale;
    o.residual_scale = residual_scale;
    if (attention_scale != 0) o.scale = attention_scale;
    o.score_scale = 1 / score_divisor;
    return o;
  }
  static constexpr std::string_view hf_types[] = {"granite"};
  static GraniteConfig from_hf(HfConfig& c) {
    GraniteConfig r;
    decoder_from_hf(r, c, {.positions = 2048});
    r.words_scale = c.number("embedding_multiplier", 1);
    r.residual_scale = c.number("residual_multiplier", 1);
    r.attention_scale = c.number("attention_multiplier", 1);
    if (r.attention_scale == 0) c.refuse("attention_multiplier", "numbers other than 0 are");
    r.score_divisor = c.number("logits_scaling", 1);
    if (r.score_divisor == 0) c.refuse("logits_scaling", "numbers other than 0 are");
    read_fields(r, c, llama_fields<GraniteConfig>());
    return r;
  }
  void to_hf(HfConfig& c) const {
    decoder_to_hf(*this, c, "Granite", "granite");
    c.set("embedding_multiplier", words_scale);
    c.set("residual_multiplier", residual_scale);
    auto size = static_cast<double>(decoder_head_size(*this));
    c.set("attention_multiplier", attention_scale != 0 ? attention_scale : 1 / std::sqrt(size));
    c.set("logits_scaling", score_divisor);
    write_fields(*this, c, llama_fields<GraniteConfig>());
  }
};
using Granite = RotaryDecoder<GraniteConfig>;
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::Granite>>;
