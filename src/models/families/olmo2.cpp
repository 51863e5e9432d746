// OLMo 2 (OLMo Team 2024): Llama with norms behind attention and MLP in place of those before them, and norms of all
// queries and of all keys as one vector.
#include "models/families/rotary_decoder.h"

namespace bora::models {
namespace {
struct Olmo2Config {
  static constexpr std::string_view type = "olmo2";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, head_size = 0, hidden = 0, positions = 128;
  double theta = 500000;
  RopeScaling scaling = {};
  float eps = 1e-6F;
  bool tied = false, attention_bias = false;
  nn::Activation activation = nn::Activation::silu;
  double attention_dropout = 0;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers, said::embed,   said::heads, said::kv_heads, said::head_size,      said::hidden,     said::positions,
      said::theta,  said::scaling, said::eps,   said::tied,     said::attention_bias, said::activation,
      said::attention_dropout, said::checkpoint};
  static constexpr std::int64_t window = 0;
  static inline const std::vector<LayerType> layer_types = {LayerType::full};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return gated_units(*this); }
  bool draws() const { return attention_dropout > 0; }
  void check() const { check_decoder(*this); }
  std::vector<AxisSize> axes() const { return decoder_axes(*this); }
  DecoderOptions options() const {
    auto o = decoder_options(*this);
    o.activation = activation;
    o.qkv_bias = o.out_bias = attention_bias;
    o.qk_norm = QkNorm::all;
    o.pre_norms = false;
    o.post_norms = true;
    return o;
  }
  static constexpr std::string_view hf_types[] = {"olmo2"};
  static Olmo2Config from_hf(HfConfig& c) {
    Olmo2Config r;
    decoder_from_hf(r, c, {.positions = 2048, .eps = 1e-5});
    r.attention_bias = c.flag("attention_bias", false);
    r.activation = hf_activation(c, "hidden_act", "silu");
    return r;
  }
  void to_hf(HfConfig& c) const {
    decoder_to_hf(*this, c, "Olmo2", "olmo2");
    c.set("attention_bias", attention_bias);
    c.set("hidden_act", hf_word(activation));
  }
};
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::RotaryDecoder<bora::models::Olmo2Config>>>;
