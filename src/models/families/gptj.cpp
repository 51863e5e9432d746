// GPT-J (Wang & Komatsuzaki 2021): attention and MLP side by side behind one norm, rotary positions that turn
// neighbouring numbers of a part of each head, a bias of the output layer. The code mentions no mesh.
#include "bora/nn/mlp.h"
#include "models/lm/config_check.h"
#include "models/lm/decoder.h"
#include "models/hf/fields.h"
#include "models/hf/layers.h"

namespace bora::models {
namespace {
struct GptJConfig {
  static constexpr std::string_view type = "gptj";
  std::int64_t layers = 4, embed = 128, heads = 4, hidden = 0, positions = 128, rotary = 0;
  nn::Activation activation = nn::Activation::gelu_new;
  bool tied = false;
  double dropout = 0, embed_dropout = 0, attention_dropout = 0;
  float eps = 1e-5F;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      {"layers", "number of blocks"},
      {"embed", "size of the vectors between blocks"},
      {"heads", "of attention in a block; embed is cut into as many equal parts"},
      {"hidden", "hidden units of a block's MLP; 0: 4 * embed"},
      {"positions", "tokens that the model sees at once"},
      {"rotary", "numbers of each head that positions turn, in pairs; 0: all"},
      {"activation", "of the hidden units: relu, gelu (exact), gelu_new (its tanh form), silu ... (docs/models.md)"},
      {"tied", "the output layer is the table of the tokens' vectors"},
      {"dropout", "fraction of attention's and the MLP's results dropped in training"},
      {"embed_dropout", "fraction of the tokens' vectors dropped in training"},
      {"attention_dropout", "fraction of attention's weights dropped in training"},
      {"eps", "of layer norms"},
      {"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything, or values "
                     "by name: names(attn), everything_except(mlp) .. (docs/guide.md)"}};
  std::int64_t hidden_units() const { return hidden ? hidden : 4 * embed; }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  double words_dropout() const { return embed_dropout; }
  bool draws() const { return dropout > 0 || embed_dropout > 0 || attention_dropout > 0; }
  void check() const {
    check_sizes({{"layers", layers}, {"embed", embed}, {"heads", heads}, {"positions", positions}});
    check_optional_sizes({{"hidden", hidden}});
    check_heads(embed, heads, true);
    check_rotary(rotary, embed / heads);
    check_rates({{"dropout", dropout}, {"embed_dropout", embed_dropout}, {"attention_dropout", attention_dropout}});
    check_eps(eps);
    check_checkpoint(checkpoint);
  }
  std::vector<AxisSize> axes() const { return block_axes(heads, hidden_units(), embed); }
};
struct GptJBlock {
  nn::LayerNorm norm;
  nn::Attention attn;
  nn::Mlp mlp;
  nn::Dropout dropout;
  static GptJBlock init(const GptJConfig& c, const Array& key) {
    auto keys = random::split<2>(key);
    nn::LinearOptions linear{.weight = nn::Init::normal(0.02)}, bare{.weight = linear.weight, .use_bias = false};
    Axis head_size{nn::kHeadSize, c.embed / c.heads};
    auto attn = nn::Attention::init(c.embed_axis(), {nn::kHeads, c.heads}, head_size, keys[0],
                                    {.in = bare, .out = bare, .dropout = c.attention_dropout});
    attn.rotary = nn::Rotary::init(head_size, 10000, {.dims = c.rotary, .interleaved = true});
    return {nn::LayerNorm::init(c.embed_axis(), c.eps),
            attn,
            nn::Mlp::init(c.embed_axis(), {nn::kMlp, c.hidden_units()}, keys[1], linear, linear, c.activation),
            {static_cast<float>(c.dropout)}};
  }
  NamedArray operator()(const NamedArray& x, const nn::AttentionMask& mask, const std::optional<Array>& key,
                        const std::optional<NamedArray>& positions) const {
    auto y = norm(x);
    auto keys = split_keys<3>(key);
    return auto_sharded(x + dropout(attn(y, mask, positions, keys[0]), keys[1]) + dropout(mlp(y), keys[2]));
  }
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& x, const nn::KeyValues& pages,
                                              const nn::PagePlaces& at) const {
    auto y = norm(x);
    auto [a, kv] = attn.decode(y, pages, at);
    return {auto_sharded(x + a + mlp(y)), kv};
  }
};
struct GptJHead {
  std::optional<NamedArray> weight;  // [vocab, embed]; none: tied
  NamedArray bias;                   // [vocab]
  static constexpr bool decays(std::string_view field) { return field != "bias"; }
};
struct GptJ {
  using Config = GptJConfig;
  using Block = GptJBlock;
  using Head = GptJHead;
  static constexpr std::string_view hf_types[] = {"gptj"};
  static constexpr std::string_view hf_prefix = "transformer.";
  static constexpr std::string_view hf_ignored[] = {"attn.bias", "attn.masked_bias"};
  static HfFields<GptJConfig> hf_fields() {
    using C = GptJConfig;
    return {{"n_layer", &C::layers, 28},
            {"n_embd", &C::embed, 4096},
            {"n_head", &C::heads, 16},
            {"n_inner", &C::hidden, 0,
             [](const C& c) { return c.hidden ? HfConfig::Value(c.hidden) : HfConfig::Value(); }},
            {"n_positions", &C::positions, 2048},
            {"activation_function", &C::activation, "gelu_new"},
            {"tie_word_embeddings", &C::tied, false},
            {"resid_pdrop", &C::dropout, 0},
            {"embd_pdrop", &C::embed_dropout, 0},
            {"attn_pdrop", &C::attention_dropout, 0},
            {"layer_norm_epsilon", &C::eps, 1e-5}};
  }
  static GptJConfig from_hf(HfConfig& c) {
    GptJConfig r;
    read_fields(r, c, hf_fields());
    r.rotary = c.integer("rotary_dim", 64);
    if (r.rotary == 0 || c.is_null("rotary_dim")) c.refuse("rotary_dim", "it must be a number of dimensions, above 0");
    c.expect("rotary", true);
    c.expect("scale_attn_weights", true);
    c.ignore({"n_ctx", "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
              "summary_use_proj"});
    return r;
  }
  static void to_hf(const GptJConfig& m, HfConfig& c) {
    write_type(c, "GPTJForCausalLM", "gptj");
    write_fields(m, c, hf_fields());
    c.set("rotary_dim", m.rotary ? m.rotary : m.embed / m.heads);
  }
  static std::vector<HfWeight> hf_weights(const GptJConfig& c) {
    HfWeights all;
    const std::string layer = "transformer.h.{}.", block = "blocks.layer.";
    hf_same(all, "wte", "transformer.wte", {"weight"});
    hf_same(all, block + "norm", layer + "ln_1", {"weight", "bias"});
    hf_attention(all, block + "attn", layer + "attn", c.heads, c.embed, false);
    hf_linear(all, block + "mlp.up", layer + "mlp.fc_in", true);
    hf_linear(all, block + "mlp.down", layer + "mlp.fc_out", true);
    hf_same(all, "norm", "transformer.ln_f", {"weight", "bias"});
    hf_same(all, "lm_head", "lm_head", {"bias"});
    all.push_back({.leaf = c.tied ? "wte.weight" : "lm_head.weight", .tensor = "lm_head.weight", .copy = c.tied});
    return all;
  }
  static GptJHead init_head(const GptJConfig& c, const Axis& vocab, const Array& key) {
    GptJHead head{none, zeros(vocab)};
    if (!c.tied) head.weight = nn::Init::normal(0.02)(key, {vocab, c.embed_axis()}, c.embed);
    return head;
  }
  static nn::Head head(const GptJHead& own, const nn::Embedding& words) {
    auto head = nn::Head::of(none, words);
    if (own.weight) head.weight = auto_sharded(*own.weight), head.packed = none;
    head.bias = auto_sharded(own.bias);
    return head;
  }
};
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::LayerNormDecoder<bora::models::GptJ>>>;
