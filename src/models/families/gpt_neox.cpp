// GPT-NeoX (Black et al. 2022), as Pythia (Biderman et al. 2023) has it: attention and MLP side by side behind norms of
// their own, or one behind the other; rotary positions turn a part of each head. The code mentions no mesh.
#include "models/families/side_block.h"
#include "models/hf/fields.h"
#include "models/hf/layers.h"
#include "models/hf/rope.h"

namespace bora::models {
namespace {
struct GptNeoXConfig {
  static constexpr std::string_view type = "gpt_neox";
  std::int64_t layers = 4, embed = 128, heads = 4, hidden = 0, positions = 128, rotary = 0;
  double theta = 10000;
  RopeScaling scaling = {};
  nn::Activation activation = nn::Activation::gelu;
  bool parallel = true, attention_bias = true, tied = false;
  double dropout = 0, attention_dropout = 0;
  float eps = 1e-5F;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      {"layers", "number of blocks"},
      {"embed", "size of the vectors between blocks"},
      {"heads", "of attention in a block; embed is cut into as many equal parts"},
      {"hidden", "hidden units of a block's MLP; 0: 4 * embed"},
      {"positions", "tokens that the model sees at once"},
      {"rotary", "numbers of each head that positions turn, in pairs; 0: all"},
      {"theta", "base of the rotary angles"},
      {"scaling", "frequencies of the rotary angles for more positions than pre-training had"},
      {"activation", "of the hidden units: relu, gelu (exact), gelu_new (its tanh form), silu ... (docs/models.md)"},
      {"parallel", "attention and MLP read the same vectors, else the MLP those behind attention"},
      {"attention_bias", "attention's layers have biases"},
      {"tied", "the output layer is the table of the tokens' vectors"},
      {"dropout", "fraction of the tokens' vectors and of attention's and the MLP's results dropped in training"},
      {"attention_dropout", "fraction of attention's weights dropped in training"},
      {"eps", "of layer norms"},
      {"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything, or values "
                     "by name: names(attn), everything_except(mlp) .. (docs/guide.md)"}};
  std::int64_t hidden_units() const { return hidden ? hidden : 4 * embed; }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  double words_dropout() const { return dropout; }
  bool draws() const { return dropout > 0 || attention_dropout > 0; }
  void check() const { check_layer_norm_decoder(*this); }
  std::vector<AxisSize> axes() const { return block_axes(heads, hidden_units(), embed); }
  SideOptions block() const {
    return {.embed = embed_axis(),
            .heads = heads,
            .kv_heads = heads,
            .head_size = embed / heads,
            .hidden = hidden_units(),
            .theta = theta,
            .rotary = {.dims = rotary, .scaling = scaling.options()},
            .activation = activation,
            .qkv_bias = attention_bias,
            .out_bias = attention_bias,
            .parallel = parallel,
            .dropout = dropout,
            .attention_dropout = attention_dropout,
            .eps = eps};
  }
};
struct GptNeoX : TiedOrOwnHead<GptNeoXConfig> {
  using Config = GptNeoXConfig;
  using Block = SideBlock<>;
  static constexpr std::string_view hf_types[] = {"gpt_neox"};
  static constexpr std::string_view hf_prefix = "gpt_neox.";
  static constexpr std::string_view hf_ignored[] = {"attention.bias", "attention.masked_bias", "rotary_emb.inv_freq"};
  static HfFields<GptNeoXConfig> hf_fields() {
    using C = GptNeoXConfig;
    return {{"num_hidden_layers", &C::layers, 44},
            {"hidden_size", &C::embed, 6144},
            {"num_attention_heads", &C::heads, 64},
            {"intermediate_size", &C::hidden, 24576, &C::hidden_units},
            {"max_position_embeddings", &C::positions, 2048},
            {"hidden_act", &C::activation, "gelu"},
            {"use_parallel_residual", &C::parallel, true},
            {"attention_bias", &C::attention_bias, true},
            {"tie_word_embeddings", &C::tied, false},
            {"hidden_dropout", &C::dropout, 0},
            {"attention_dropout", &C::attention_dropout, 0},
            {"layer_norm_eps", &C::eps, 1e-5}};
  }
  static GptNeoXConfig from_hf(HfConfig& c) {
    GptNeoXConfig r;
    read_fields(r, c, hf_fields());
    c.expect("attention_probs_dropout_prob", 0.0);  // of the first files, which transformers does not read
    c.expect("hidden_dropout_prob", 0.0);
    auto part = c.number("rotary_pct", 0.25);
    if (!(part > 0 && part <= 1)) c.refuse("rotary_pct", "a part above 0 and up to 1 is");
    auto rope = rope_from_hf(c, r.positions, c.number("rotary_emb_base", 10000), part);
    r.theta = rope.theta;
    r.scaling = rope.scaling;
    r.rotary = rotary_of_part(c, "rotary_pct", rope.part, r.embed / r.heads);
    return r;
  }
  static void to_hf(const GptNeoXConfig& m, HfConfig& c) {
    write_type(c, "GPTNeoXForCausalLM", "gpt_neox");
    write_fields(m, c, hf_fields());
    c.set("rotary_pct", part_of_rotary(m.rotary, m.embed / m.heads));
    c.set("rotary_emb_base", m.theta);
    rope_to_hf({m.theta, m.scaling}, c);
  }
  static std::vector<HfWeight> hf_weights(const GptNeoXConfig& c) {
    HfWeights all;
    const std::string layer = "gpt_neox.layers.{}.", attention = layer + "attention.", block = "blocks.layer.";
    hf_same(all, "wte", "gpt_neox.embed_in", {"weight"});
    hf_same(all, block + "norm_1", layer + "input_layernorm", {"weight", "bias"});
    hf_same(all, block + "norm_2", layer + "post_attention_layernorm", {"weight", "bias"});
    auto size = c.embed / c.heads;
    for (std::int64_t i = 0; i < 3; ++i) {  // a head's query, key and value lie beside each other
      auto leaf = block + "attn." + "qkv"[i];
      auto begin = i * size, end = begin + size;
      all.push_back({.leaf = leaf + ".weight",
                     .tensor = attention + "query_key_value.weight",
                     .view = Shape{c.heads, 3 * size, c.embed},
                     .begin = {0, begin, 0},
                     .end = {c.heads, end, c.embed},
                     .order = {2, 0, 1}});
      if (c.attention_bias)
        all.push_back({.leaf = leaf + ".bias",
                       .tensor = attention + "query_key_value.bias",
                       .view = Shape{c.heads, 3 * size},
                       .begin = {0, begin},
                       .end = {c.heads, end}});
    }
    all.push_back({.leaf = block + "attn.out.weight",
                   .tensor = attention + "dense.weight",
                   .view = Shape{c.embed, c.heads, size},
                   .order = {1, 2, 0}});
    if (c.attention_bias) hf_same(all, block + "attn.out", attention + "dense", {"bias"});
    hf_linear(all, block + "mlp.up", layer + "mlp.dense_h_to_4h", true);
    hf_linear(all, block + "mlp.down", layer + "mlp.dense_4h_to_h", true);
    hf_same(all, "norm", "gpt_neox.final_layer_norm", {"weight", "bias"});
    hf_head(all, c, "embed_out");
    return all;
  }
};
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::LayerNormDecoder<bora::models::GptNeoX>>>;
