// GPT-NeoX (Black et al. 2022), as Pythia (Biderman et al. 2023) has it: attention and MLP side by side behind norms of
// their own, or one behind the other; rotary positions turn a part of each head. The code mentions no mesh.
#include <cmath>
#include "bora/nn/mlp.h"
#include "models/lm/config_check.h"
#include "models/lm/decoder.h"
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
  void check() const {
    check_sizes({{"layers", layers}, {"embed", embed}, {"heads", heads}, {"positions", positions}});
    check_optional_sizes({{"hidden", hidden}});
    check_heads(embed, heads, rotary == 0);
    check_rotary(rotary, embed / heads);
    config::domain(std::isfinite(theta) && theta > 0, "theta", theta, "above 0");
    check_rates({{"dropout", dropout}, {"attention_dropout", attention_dropout}});
    check_eps(eps);
    check_checkpoint(checkpoint);
  }
  std::vector<AxisSize> axes() const { return block_axes(heads, hidden_units(), embed); }
};
struct GptNeoXBlock {
  nn::LayerNorm norm_1;
  nn::Attention attn;
  nn::LayerNorm norm_2;
  nn::Mlp mlp;
  bool parallel;
  nn::Dropout dropout;
  static GptNeoXBlock init(const GptNeoXConfig& c, const Array& key) {
    auto keys = random::split<2>(key);
    nn::LinearOptions linear{.weight = nn::Init::normal(0.02)};
    auto of_attention = linear;
    of_attention.use_bias = c.attention_bias;
    Axis head_size{nn::kHeadSize, c.embed / c.heads};
    auto norm = nn::LayerNorm::init(c.embed_axis(), c.eps);
    auto attn = nn::Attention::init(c.embed_axis(), {nn::kHeads, c.heads}, head_size, keys[0],
                                    {.in = of_attention, .out = of_attention, .dropout = c.attention_dropout});
    attn.rotary = nn::Rotary::init(head_size, c.theta, {.dims = c.rotary, .scaling = c.scaling.options()});
    return {norm,
            attn,
            norm,
            nn::Mlp::init(c.embed_axis(), {nn::kMlp, c.hidden_units()}, keys[1], linear, linear, c.activation),
            c.parallel,
            {static_cast<float>(c.dropout)}};
  }
  /// x with attention's result a and the MLP's added.
  NamedArray rest(const NamedArray& x, const NamedArray& a, const std::optional<Array>& key) const {
    if (parallel) return auto_sharded(x + a + dropout(mlp(norm_2(x)), key));
    auto y = auto_sharded(x + a);
    return auto_sharded(y + dropout(mlp(norm_2(y)), key));
  }
  NamedArray operator()(const NamedArray& x, const nn::AttentionMask& mask, const std::optional<Array>& key,
                        const std::optional<NamedArray>& positions) const {
    auto keys = split_keys<3>(key);
    return rest(x, dropout(attn(norm_1(x), mask, positions, keys[0]), keys[1]), keys[2]);
  }
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& x, const nn::KeyValues& cache,
                                              const Array& seen) const {
    auto [a, kv] = attn.decode(norm_1(x), cache, seen);
    return {rest(x, a, none), kv};
  }
};
struct GptNeoX {
  using Config = GptNeoXConfig;
  using Block = GptNeoXBlock;
  using Head = std::optional<nn::Linear>;
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
    if (rope.part == 1) return r;
    auto size = r.embed / r.heads;
    r.rotary = static_cast<std::int64_t>(static_cast<double>(size) * rope.part);
    if (r.rotary == 0) c.refuse("rotary_pct", "heads of " + std::to_string(size) + " numbers need a larger part");
    return r;
  }
  static void to_hf(const GptNeoXConfig& m, HfConfig& c) {
    write_type(c, "GPTNeoXForCausalLM", "gpt_neox");
    write_fields(m, c, hf_fields());
    auto size = m.embed / m.heads, turned = m.rotary ? m.rotary : size;
    auto part = static_cast<double>(turned) / static_cast<double>(size);
    // Readers round the product down.
    if (static_cast<std::int64_t>(static_cast<double>(size) * part) < turned) part = std::nextafter(part, 1);
    c.set("rotary_pct", part);
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
    if (c.tied) all.push_back({.leaf = "wte.weight", .tensor = "embed_out.weight", .copy = true});
    else hf_linear(all, "lm_head", "embed_out", false);
    return all;
  }
  static Head init_head(const GptNeoXConfig& c, const Axis& vocab, const Array& key) {
    if (c.tied) return none;
    return nn::Linear::init(c.embed_axis(), vocab, key, {.weight = nn::Init::normal(0.02), .use_bias = false});
  }
  static nn::Head head(const Head& own, const nn::Embedding& words) {
    return {auto_sharded(own ? own->weight : words.weight)};
  }
};
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::LayerNormDecoder<bora::models::GptNeoX>>>;
