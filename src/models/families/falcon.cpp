// Falcon (Almazrouei et al. 2023) with rotary positions: attention and MLP side by side behind one norm or two, or one
// behind the other; few heads of keys, or one.
#include "models/families/settings.h"
#include "models/families/side_block.h"
#include "models/hf/fields.h"
#include "models/hf/layers.h"

namespace bora::models {
namespace {
struct FalconConfig {
  static constexpr std::string_view type = "falcon";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 1, hidden = 0, positions = 128;
  double theta = 10000;
  RopeScaling scaling = {};
  nn::Activation activation = nn::Activation::gelu;
  bool parallel = true, two_norms = false, bias = false, tied = true;
  float eps = 1e-5F;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers, said::embed, said::heads, said::kv_heads,
      {"hidden", "hidden units of a block's MLP; 0: 4 * embed"}, said::positions, said::theta, said::scaling,
      {"activation", "of the hidden units: relu, gelu (exact), gelu_new (its tanh form), silu ... (docs/models.md)"},
      {"parallel", "attention and MLP read the same vectors, else the MLP those behind attention"},
      {"two_norms", "where they are side by side, each has a norm of its own (as Falcon 40B)"},
      {"bias", "attention's and the MLP's layers have biases"}, said::tied, said::eps, said::checkpoint};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return hidden ? hidden : 4 * embed; }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  double words_dropout() const { return 0; }
  bool draws() const { return false; }
  bool one_norm() const { return parallel && !two_norms; }
  void check() const {
    check_layer_norm_decoder(*this);
    bora::check<ConfigError>(parallel || !two_norms, "two_norms: they are those of attention and MLP side by side; ",
                             "set model.parallel");
  }
  std::vector<AxisSize> axes() const { return decoder_axes(*this); }
  SideOptions block() const {
    return {.embed = embed_axis(),
            .heads = heads,
            .kv_heads = key_heads(),
            .head_size = embed / heads,
            .hidden = hidden_units(),
            .theta = theta,
            .rotary = {.scaling = scaling.options()},
            .activation = activation,
            .qkv_bias = bias,
            .out_bias = bias,
            .mlp_bias = bias,
            .parallel = parallel,
            .one_norm = one_norm(),
            .eps = eps};
  }
};
struct Falcon : TiedOrOwnHead<FalconConfig> {
  using Config = FalconConfig;
  using Block = SideBlock<>;
  static constexpr std::string_view hf_types[] = {"falcon"};
  static constexpr std::string_view hf_prefix = "transformer.";
  static constexpr std::string_view hf_ignored[] = {"rotary_emb.inv_freq"};
  static HfFields<Config> hf_fields() {
    using C = Config;
    return {{"hidden_size", &C::embed, 4544},
            {"num_attention_heads", &C::heads, 71},
            {"ffn_hidden_size", &C::hidden, [](const C& c) { return 4 * c.embed; }, &C::hidden_units},
            {"max_position_embeddings", &C::positions, 2048},
            {"activation", &C::activation, "gelu"},
            {"bias", &C::bias, false},
            {"tie_word_embeddings", &C::tied, true},
            {"layer_norm_epsilon", &C::eps, 1e-5}};
  }
  static Config from_hf(HfConfig& c) {
    Config r;
    r.layers = layers_from_hf(c);
    read_fields(r, c, hf_fields());
    c.expect("alibi", false);
    for (auto rate : {"hidden_dropout", "attention_dropout"}) c.expect(rate, 0.0);
    bool newer = c.flag("new_decoder_architecture", false);
    bool one = c.flag("multi_query", true) && !newer;
    auto given = hf_size(c, "num_kv_heads", r.heads);
    if (!newer && !one && given != r.heads) c.refuse("num_kv_heads", "fewer need new_decoder_architecture");
    r.kv_heads = one ? 1 : given;
    r.parallel = c.flag("parallel_attn", true);
    if (newer && !r.parallel) c.refuse("parallel_attn", "only true is with new_decoder_architecture");
    auto norms = c.integer("num_ln_in_parallel_attn", newer ? 2 : 1);
    if (norms != 1 && !(norms == 2 && newer))
      c.refuse("num_ln_in_parallel_attn", "1, and 2 with new_decoder_architecture, are");
    r.two_norms = norms == 2;
    auto rope = rope_from_hf(c, r.positions, 10000);
    r.theta = rope.theta;
    r.scaling = rope.scaling;
    return r;
  }
  static void to_hf(const Config& m, HfConfig& c) {
    bool groups = m.key_heads() != 1 && m.key_heads() != m.heads, newer = m.two_norms || groups;
    bora::check<ConfigError>(!newer || m.parallel, "model.parallel: Hugging Face's Falcon has ", m.key_heads(),
                             " heads of keys for ", m.heads, " of queries only beside it");
    write_type(c, "FalconForCausalLM", "falcon");
    c.set("num_hidden_layers", m.layers);
    write_fields(m, c, hf_fields());
    c.set("new_decoder_architecture", newer);
    c.set("multi_query", m.key_heads() == 1);
    c.set("num_kv_heads", m.key_heads() == 1 && !newer ? m.heads : m.key_heads());
    c.set("parallel_attn", m.parallel);
    if (newer) c.set("num_ln_in_parallel_attn", std::int64_t{m.two_norms ? 2 : 1});
    c.set("alibi", false);
    rope_to_hf({m.theta, m.scaling}, c);
  }
  static std::vector<HfWeight> hf_weights(const Config& c) {
    HfWeights all;
    const std::string layer = "transformer.h.{}.", block = "blocks.layer.";
    const auto qkv = layer + "self_attention.query_key_value";
    hf_same(all, "wte", "transformer.word_embeddings", {"weight"});
    auto norm = [&](const std::string& leaf, const std::string& tensor) {
      hf_same(all, block + leaf, layer + tensor, {"weight", "bias"});
    };
    norm("norm_1", c.two_norms ? "ln_attn" : "input_layernorm");
    if (!c.one_norm()) norm("norm_2", c.two_norms ? "ln_mlp" : "post_attention_layernorm");
    auto k = c.key_heads(), g = c.heads / k, d = c.embed / c.heads, e = c.embed;
    HfGroupedAttention attention{k, g, d, e, c.bias, c.bias};
    std::int64_t begin = 0;  // behind the queries of a group lie its key and its value
    for (auto [name, heads] : {std::pair{"q", attention.many()}, {"k", attention.few()}, {"v", attention.few()}}) {
      auto leaf = block + "attn." + name;
      auto end = begin + volume(heads) / k;
      all.push_back({.leaf = leaf + ".weight",
                     .tensor = qkv + ".weight",
                     .view = Shape{k, (g + 2) * d, e},
                     .begin = {0, begin, 0},
                     .end = {k, end, e},
                     .order = attention.in_order(heads),
                     .split = attention.and_more(heads, e)});
      if (c.bias)
        all.push_back({.leaf = leaf + ".bias",
                       .tensor = qkv + ".bias",
                       .view = Shape{k, (g + 2) * d},
                       .begin = {0, begin},
                       .end = {k, end},
                       .split = heads});
      begin = end;
    }
    attention.add_out(all, block + "attn.out", layer + "self_attention.dense");
    hf_linear(all, block + "mlp.up", layer + "mlp.dense_h_to_4h", c.bias);
    hf_linear(all, block + "mlp.down", layer + "mlp.dense_4h_to_h", c.bias);
    hf_same(all, "norm", "transformer.ln_f", {"weight", "bias"});
    hf_head(all, c, "lm_head");
    return all;
  }
};
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::LayerNormDecoder<bora::models::Falcon>>>;
