// StableLM (Bellagente et al. 2024): Llama with layer norms, angles for a quarter of each head, and, by option,
// attention and MLP side by side.
#include "models/families/settings.h"
#include "models/families/side_block.h"
#include "models/hf/fields.h"
#include "models/hf/layers.h"

namespace bora::models {
namespace {
struct StableLmConfig {
  static constexpr std::string_view type = "stablelm";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, hidden = 0, positions = 128, rotary = 0;
  double theta = 10000;
  RopeScaling scaling = {};
  nn::Activation activation = nn::Activation::silu;
  bool parallel = false, qkv_bias = false, tied = false;
  double dropout = 0, attention_dropout = 0;
  float eps = 1e-5F;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers, said::embed, said::heads, said::kv_heads, said::hidden, said::positions, said::rotary, said::theta,
      said::scaling, said::activation,
      {"parallel", "attention and MLP read the same normed vectors, else the MLP those behind attention"},
      {"qkv_bias", "attention's layers before its scores have biases"},
      said::tied, {"dropout", "fraction of the MLP's results dropped in training"}, said::attention_dropout, said::eps,
      said::checkpoint};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return gated_units(*this); }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  double words_dropout() const { return 0; }
  bool draws() const { return dropout > 0 || attention_dropout > 0; }
  void check() const { check_layer_norm_decoder(*this); }
  std::vector<AxisSize> axes() const { return decoder_axes(*this); }
  SideOptions block() const {
    return {.embed = embed_axis(),
            .heads = heads,
            .kv_heads = key_heads(),
            .head_size = embed / heads,
            .hidden = hidden_units(),
            .theta = theta,
            .rotary = {.dims = rotary, .scaling = scaling.options()},
            .activation = activation,
            .qkv_bias = qkv_bias,
            .out_bias = false,
            .mlp_bias = false,
            .gated = true,
            .parallel = parallel,
            .one_norm = parallel,
            .dropout = dropout,
            .attention_dropout = attention_dropout,
            .drops_attention = false,
            .eps = eps};
  }
};
struct StableLm : TiedOrOwnHead<StableLmConfig> {
  using Config = StableLmConfig;
  using Block = SideBlock<>;
  static constexpr std::string_view hf_types[] = {"stablelm"};
  static constexpr std::string_view hf_prefix = "model.";
  static constexpr std::string_view hf_ignored[] = {"rotary_emb.inv_freq"};
  static HfFields<Config> hf_fields(std::int64_t kv_heads = 32) {
    using C = Config;
    return {{"hidden_size", &C::embed, 2560},
            {"num_attention_heads", &C::heads, 32},
            {"num_key_value_heads", &C::kv_heads,
             [kv_heads](const C& c) { return kv_heads > 0 ? kv_heads : c.heads; }, &C::key_heads},
            {"intermediate_size", &C::hidden, 6912, &C::hidden_units},
            {"max_position_embeddings", &C::positions, 4096},
            {"hidden_act", &C::activation, "silu"},
            {"use_parallel_residual", &C::parallel, false},
            {"use_qkv_bias", &C::qkv_bias, false},
            {"tie_word_embeddings", &C::tied, false},
            {"hidden_dropout", &C::dropout, 0},
            {"attention_dropout", &C::attention_dropout, 0},
            {"layer_norm_eps", &C::eps, 1e-5}};
  }
  static Config from_hf(HfConfig& c) {
    Config r;
    r.layers = layers_from_hf(c);
    read_fields(r, c, hf_fields(c.is_null("num_key_value_heads") ? 0 : 32));
    c.expect("qk_layernorm", false);
    auto rope = rope_from_hf(c, r.positions, 10000, 0.25);
    r.theta = rope.theta;
    r.scaling = rope.scaling;
    if (r.heads <= r.embed) r.rotary = rotary_of_part(c, "partial_rotary_factor", rope.part, r.embed / r.heads);
    return r;
  }
  static void to_hf(const Config& m, HfConfig& c) {
    write_type(c, "StableLmForCausalLM", "stablelm");
    c.set("num_hidden_layers", m.layers);
    write_fields(m, c, hf_fields());
    c.set("partial_rotary_factor", part_of_rotary(m.rotary, m.embed / m.heads));
    rope_to_hf({m.theta, m.scaling}, c);
  }
  static std::vector<HfWeight> hf_weights(const Config& c) {
    HfWeights all;
    const std::string layer = "model.layers.{}.", block = "blocks.layer.";
    hf_same(all, "wte", "model.embed_tokens", {"weight"});
    hf_same(all, block + "norm_1", layer + "input_layernorm", {"weight", "bias"});
    if (!c.parallel) hf_same(all, block + "norm_2", layer + "post_attention_layernorm", {"weight", "bias"});
    HfGroupedAttention{c.key_heads(), c.heads / c.key_heads(), c.embed / c.heads, c.embed, c.qkv_bias}.add(
        all, block + "attn", layer + "self_attn");
    for (std::string part : {"gate", "up", "down"})
      hf_linear(all, block + "mlp." + part, layer + "mlp." + part + "_proj", false);
    hf_same(all, "norm", "model.norm", {"weight", "bias"});
    hf_head(all, c, "lm_head");
    return all;
  }
};
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::LayerNormDecoder<bora::models::StableLm>>>;
