// Cohere's Command R (2024): attention and a gated MLP side by side behind one norm without biases, angles of pairs of
// neighbours, and scores of tokens that are multiplied.
#include "models/families/settings.h"
#include "models/families/side_block.h"
#include "models/hf/fields.h"
#include "models/hf/layers.h"

namespace bora::models {
namespace {
struct CohereConfig {
  static constexpr std::string_view type = "cohere";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, hidden = 0, positions = 128;
  double theta = 10000, score_factor = 0.0625;
  RopeScaling scaling = {};
  nn::Activation activation = nn::Activation::silu;
  bool attention_bias = false, tied = true;
  double attention_dropout = 0;
  float eps = 1e-5F;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers, said::embed, said::heads, said::kv_heads, said::hidden, said::positions, said::theta,
      {"score_factor", "the scores of tokens are multiplied by it"}, said::scaling, said::activation,
      said::attention_bias, said::tied, said::attention_dropout, said::eps, said::checkpoint};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return gated_units(*this); }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  double words_dropout() const { return 0; }
  double score_scale() const { return score_factor; }
  bool draws() const { return attention_dropout > 0; }
  void check() const {
    check_layer_norm_decoder(*this);
    config::domain(std::isfinite(score_factor), "score_factor", score_factor, "finite");
  }
  std::vector<AxisSize> axes() const { return decoder_axes(*this); }
  SideOptions block() const {
    return {.embed = embed_axis(),
            .heads = heads,
            .kv_heads = key_heads(),
            .head_size = embed / heads,
            .hidden = hidden_units(),
            .theta = theta,
            .rotary = {.interleaved = true, .scaling = scaling.options()},
            .activation = activation,
            .qkv_bias = attention_bias,
            .out_bias = attention_bias,
            .mlp_bias = false,
            .gated = true,
            .one_norm = true,
            .attention_dropout = attention_dropout,
            .eps = eps};
  }
};
struct Cohere : TiedOrOwnHead<CohereConfig> {
  using Config = CohereConfig;
  using Block = SideBlock<WeightNorm>;
  static constexpr std::string_view hf_types[] = {"cohere"};
  static constexpr std::string_view hf_prefix = "model.";
  static constexpr std::string_view hf_ignored[] = {"rotary_emb.inv_freq"};
  static HfFields<Config> hf_fields() {
    using C = Config;
    return {{"hidden_size", &C::embed, 8192},
            {"num_attention_heads", &C::heads, 64},
            {"num_key_value_heads", &C::kv_heads, [](const C& c) { return c.heads; }, &C::key_heads},
            {"intermediate_size", &C::hidden, 22528, &C::hidden_units},
            {"max_position_embeddings", &C::positions, 8192},
            {"hidden_act", &C::activation, "silu"},
            {"logit_scale", &C::score_factor, 0.0625},
            {"attention_bias", &C::attention_bias, false},
            {"tie_word_embeddings", &C::tied, true},
            {"attention_dropout", &C::attention_dropout, 0},
            {"layer_norm_eps", &C::eps, 1e-5}};
  }
  static Config from_hf(HfConfig& c) {
    Config r;
    r.layers = layers_from_hf(c);
    read_fields(r, c, hf_fields());
    c.expect("use_qk_norm", false);
    auto rope = rope_from_hf(c, r.positions, 500000);
    r.theta = rope.theta;
    r.scaling = rope.scaling;
    return r;
  }
  static void to_hf(const Config& m, HfConfig& c) {
    write_type(c, "CohereForCausalLM", "cohere");
    c.set("num_hidden_layers", m.layers);
    write_fields(m, c, hf_fields());
    rope_to_hf({m.theta, m.scaling}, c);
  }
  static std::vector<HfWeight> hf_weights(const Config& c) {
    HfWeights all;
    const std::string layer = "model.layers.{}.", block = "blocks.layer.";
    hf_same(all, "wte", "model.embed_tokens", {"weight"});
    hf_same(all, block + "norm_1", layer + "input_layernorm", {"weight"});
    HfGroupedAttention{c.key_heads(),     c.heads / c.key_heads(), c.embed / c.heads, c.embed,
                       c.attention_bias, c.attention_bias}
        .add(all, block + "attn", layer + "self_attn");
    for (std::string part : {"gate", "up", "down"})
      hf_linear(all, block + "mlp." + part, layer + "mlp." + part + "_proj", false);
    hf_same(all, "norm", "model.norm", {"weight"});
    hf_head(all, c, "lm_head");
    return all;
  }
};
using CohereDecoder = LayerNormDecoder<Cohere, WeightNorm>;
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::CohereDecoder>>;
