// OPT (Zhang et al. 2022): learned positions that count from 2, norms before or after each half of a block, tokens'
// vectors of another size than the blocks'. The code mentions no mesh.
#include "bora/nn/mlp.h"
#include "bora/ops/nn.h"
#include "models/lm/config_check.h"
#include "models/lm/decoder.h"
#include "models/hf/fields.h"
#include "models/hf/layers.h"
#include "bora/named/index.h"
#include "bora/ops/indexing.h"
#include "bora/ops/transform.h"
#include "bora/named/elementwise.h"

namespace bora::models {
namespace {
constexpr std::int64_t kOffset = 2;  // of a position in the table; row 1 is for padding, row 0 for nothing
constexpr const char* kWordEmbed = "word_embed";
constexpr float kEps = 1e-5F;
struct OptConfig {
  static constexpr std::string_view type = "opt";
  std::int64_t layers = 4, embed = 128, heads = 4, hidden = 0, positions = 128, word_embed = 0;
  nn::Activation activation = nn::Activation::relu;
  bool norm_first = true, norm_last = true, norm_weights = true, bias = true, tied = true;
  double dropout = 0, attention_dropout = 0, layer_dropout = 0;
  std::optional<std::int64_t> padding = {};
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      {"layers", "number of blocks"},
      {"embed", "size of the vectors between blocks"},
      {"heads", "of attention in a block; embed is cut into as many equal parts"},
      {"hidden", "hidden units of a block's feed-forward part; 0: 4 * embed"},
      {"positions", "tokens that the model sees at once"},
      {"word_embed", "size of the tokens' vectors, projected to embed and back where it differs; 0: embed"},
      {"activation", "of the hidden units: relu, gelu (exact), gelu_new (its tanh form), silu ... (docs/models.md)"},
      {"norm_first", "norms before attention and feed-forward part, else after each sum"},
      {"norm_last", "one more norm after the last block, if norms come first"},
      {"norm_weights", "norms have weights and biases"},
      {"bias", "attention and feed-forward part have biases"},
      {"tied", "the output layer is the table of the tokens' vectors"},
      {"dropout", "fraction of attention's and the feed-forward part's results dropped in training"},
      {"attention_dropout", "fraction of attention's weights dropped in training"},
      {"layer_dropout", "probability that a step of training leaves a block out (Fan et al. 2019)"},
      {"padding", "token whose vector learns nothing where it is an input; none: each learns"},
      {"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything, or values "
                     "by name: names(attn), everything_except(mlp) .. (docs/guide.md)"}};
  std::int64_t hidden_units() const { return hidden ? hidden : 4 * embed; }
  std::int64_t word_size() const { return word_embed ? word_embed : embed; }
  bool projected() const { return word_size() != embed; }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  bool draws() const { return dropout > 0 || attention_dropout > 0 || layer_dropout > 0; }
  void check() const {
    check_sizes({{"layers", layers}, {"embed", embed}, {"heads", heads}, {"positions", positions}});
    check_optional_sizes({{"hidden", hidden}, {"word_embed", word_embed}});
    check_heads(embed, heads);
    check_rates({{"dropout", dropout}, {"attention_dropout", attention_dropout}, {"layer_dropout", layer_dropout}});
    if (padding) config::domain(*padding >= 0, "padding", *padding, "0 or more");
    check_checkpoint(checkpoint);
  }
  std::vector<AxisSize> axes() const {
    auto all = block_axes(heads, hidden_units(), embed);
    all.push_back({nn::kEmbed, "model.word_embed", word_size(), "number", " of a token's vector"});
    return all;
  }
};
}  // namespace
/// A norm that may have no parameters. (In an unnamed namespace clang 14 could not count its fields.)
struct OptNorm {
  std::optional<nn::LayerNorm> affine;
  NamedArray operator()(const NamedArray& x) const {
    if (affine) return (*affine)(x);
    return named(layer_norm(x.array(), {.axes = x.position(nn::kEmbed), .eps = static_cast<double>(kEps)}), x.axes());
  }
};
namespace {
OptNorm init_norm(const OptConfig& c) {
  if (!c.norm_weights) return {};
  return {nn::LayerNorm::init(c.embed_axis(), kEps)};
}
struct OptBlock {
  OptNorm norm_1;
  nn::Attention attn;
  OptNorm norm_2;
  nn::Mlp mlp;
  bool norm_first;
  nn::Dropout dropout;
  double layer_dropout;
  static OptBlock init(const OptConfig& c, const Array& key) {
    auto keys = random::split<2>(key);
    nn::LinearOptions linear{.weight = nn::Init::normal(0.02), .use_bias = c.bias};
    return {init_norm(c),
            nn::Attention::init(c.embed_axis(), {nn::kHeads, c.heads}, {nn::kHeadSize, c.embed / c.heads}, keys[0],
                                {.in = linear, .out = linear, .dropout = c.attention_dropout}),
            init_norm(c),
            nn::Mlp::init(c.embed_axis(), {nn::kMlp, c.hidden_units()}, keys[1], linear, linear, c.activation),
            c.norm_first,
            {static_cast<float>(c.dropout)},
            c.layer_dropout};
  }
  /// x + f(x), with the norm before f or after the sum.
  template <class F>
  NamedArray residual(const NamedArray& x, const OptNorm& norm, const std::optional<Array>& key, const F& f) const {
    auto y = auto_sharded(x + dropout(f(norm_first ? norm(x) : x), key));
    return norm_first ? y : norm(y);
  }
  NamedArray operator()(const NamedArray& x, const nn::AttentionMask& mask, const std::optional<Array>& key) const {
    auto keys = split_keys<4>(key);
    auto y = residual(x, norm_1, keys[0], [&](const NamedArray& v) { return attn(v, mask, none, keys[1]); });
    y = residual(y, norm_2, keys[2], [&](const NamedArray& v) { return mlp(v); });
    if (!key || layer_dropout == 0) return y;
    return where(NamedArray(random::bernoulli(*keys[3], layer_dropout, {}), {}), x, y);
  }
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& x, const nn::KeyValues& pages,
                                              const nn::PagePlaces& at) const {
    nn::KeyValues grown;
    auto y = residual(x, norm_1, none, [&](const NamedArray& v) {
      auto [a, kv] = attn.decode(v, pages, at);
      grown = kv;
      return a;
    });
    return {residual(y, norm_2, none, [&](const NamedArray& v) { return mlp(v); }), grown};
  }
};
struct Opt {
  nn::Embedding wte;
  NamedArray wpe;  // [position, embed]
  std::optional<nn::Linear> project_in, project_out;
  nn::Stacked<OptBlock> blocks;
  std::optional<OptNorm> norm;
  std::optional<nn::Linear> lm_head;
  bool draws;
  std::optional<std::int64_t> padding;
  using Config = OptConfig;
  static constexpr bool in_stages = true;
  static constexpr std::string_view hf_types[] = {"opt"};
  static constexpr std::string_view hf_prefix = "model.";
  static HfFields<OptConfig> hf_fields() {
    using C = OptConfig;
    return {{"num_hidden_layers", &C::layers, 12},
            {"hidden_size", &C::embed, 768},
            {"num_attention_heads", &C::heads, 12},
            {"ffn_dim", &C::hidden, 3072, &C::hidden_units},
            {"max_position_embeddings", &C::positions, 2048},
            {"word_embed_proj_dim", &C::word_embed, 0, &C::word_size},
            {"activation_function", &C::activation, "relu"},
            {"do_layer_norm_before", &C::norm_first, true},
            {"layer_norm_elementwise_affine", &C::norm_weights, true},
            {"enable_bias", &C::bias, true},
            {"tie_word_embeddings", &C::tied, true},
            {"dropout", &C::dropout, 0.1},
            {"attention_dropout", &C::attention_dropout, 0},
            {"layerdrop", &C::layer_dropout, 0}};
  }
  static OptConfig from_hf(HfConfig& c) {
    OptConfig r;
    read_fields(r, c, hf_fields());
    r.norm_last = !c.flag("_remove_final_layer_norm", false);
    if (!c.is_null("pad_token_id")) r.padding = c.integer("pad_token_id", 1);
    c.ignore({"init_std", "activation_dropout"});
    return r;
  }
  static void to_hf(const OptConfig& m, HfConfig& c) {
    write_type(c, "OPTForCausalLM", "opt");
    write_fields(m, c, hf_fields());
    c.set("_remove_final_layer_norm", !m.norm_last);
    c.set("pad_token_id", m.padding ? HfConfig::Value(*m.padding) : HfConfig::Value());
  }
  static std::vector<HfWeight> hf_weights(const OptConfig& c) {
    HfWeights all;
    const std::string decoder = "model.decoder.", layer = decoder + "layers.{}.", block = "blocks.layer.";
    hf_same(all, "wte", decoder + "embed_tokens", {"weight"});
    all.push_back({.leaf = "wpe", .tensor = decoder + "embed_positions.weight"});
    if (c.projected()) {
      hf_linear(all, "project_in", decoder + "project_in", false);
      hf_linear(all, "project_out", decoder + "project_out", false);
    }
    hf_attention(all, block + "attn", layer + "self_attn", c.heads, c.embed, c.bias);
    hf_linear(all, block + "mlp.up", layer + "fc1", c.bias);
    hf_linear(all, block + "mlp.down", layer + "fc2", c.bias);
    if (c.norm_weights) {
      hf_same(all, block + "norm_1.affine", layer + "self_attn_layer_norm", {"weight", "bias"});
      hf_same(all, block + "norm_2.affine", layer + "final_layer_norm", {"weight", "bias"});
      if (c.norm_first && c.norm_last) hf_same(all, "norm.affine", decoder + "final_layer_norm", {"weight", "bias"});
    }
    if (c.tied) all.push_back({.leaf = "wte.weight", .tensor = "lm_head.weight", .copy = true});
    else hf_linear(all, "lm_head", "lm_head", false);
    return all;
  }
  static Opt init(const OptConfig& c, std::int64_t vocabulary, const Array& key) {
    c.check();
    bora::check<ConfigError>(!c.padding || *c.padding < vocabulary, "model.padding: ", c.padding.value_or(0),
                             " is no token: there are ", vocabulary);
    auto keys = random::split<6>(key);
    auto weights = nn::Init::normal(0.02);
    nn::LinearOptions bare{.weight = weights, .use_bias = false};
    Axis vocab{nn::kVocab, vocabulary}, word{nn::kEmbed, c.word_size()}, aside{kWordEmbed, c.word_size()};
    Opt m{nn::Embedding::init(vocab, word, keys[0], weights),
          weights(keys[1], {{nn::kPosition, c.positions + kOffset}, c.embed_axis()}, c.embed),
          none,
          none,
          nn::Stacked<OptBlock>::init({nn::kLayers, c.layers}, c, nn::per_layer(random::split(keys[2], c.layers))),
          none,
          none,
          c.draws(),
          c.padding};
    if (c.projected()) {
      m.project_in = nn::Linear::init(aside, c.embed_axis(), keys[3], bare);
      m.project_out = nn::Linear::init(c.embed_axis(), aside, keys[4], bare);
    }
    if (c.norm_first && c.norm_last) m.norm = init_norm(c);
    if (!c.tied) m.lm_head = nn::Linear::init(word, vocab, keys[5], bare);
    return m;
  }
  /// The first block's input. places: i32 [position] (and batch), -1: padding.
  NamedArray embedded(const NamedArray& tokens, const NamedArray& places) const {
    auto words = wte.embed(auto_sharded(tokens));
    if (padding) words = where(tokens == *padding, stop_gradient(words), words);
    if (project_in) words = (*project_in)(rename(words, {{nn::kEmbed, kWordEmbed}}));
    return auto_sharded(words + rows_at(wpe, auto_sharded(places + kOffset)));
  }
  auto before_head() const {
    return [this](const NamedArray& x) {
      auto y = norm ? (*norm)(x) : x;
      return project_out ? rename((*project_out)(y), {{kWordEmbed, nn::kEmbed}}) : y;
    };
  }
  NamedArray hidden(const training::Example& e, const std::optional<Array>& key, const nn::PipelineOptions& how,
                    const nn::RowsLoss& loss) const {
    auto& position = e.tokens.axis(nn::kPosition);
    auto known = wpe.axis(nn::kPosition).size - kOffset;
    bora::check<AxisError>(position.size <= known, "Opt: ", position.size, " positions, but the model knows ", known);
    auto places = e.positions ? *e.positions : e.mask ? cumsum(*e.mask, nn::kPosition) * *e.mask - 1 : arange(position);
    auto x = embedded(e.tokens, places);
    std::optional<Array> keys;
    if (key && draws) keys = random::split(*key, blocks.axis.size);
    return through_blocks(blocks, e, x, keys, how, before_head(), loss);
  }
  nn::Head head() const { return nn::Head::of(lm_head, wte); }
  nn::KeyValues pages(const nn::PageOptions& o) const { return pages_of(blocks, o); }
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& tokens, const nn::KeyValues& pages,
                                              const StepPlaces& at) const {
    return decode_blocks(blocks, embedded(tokens, positions_of(tokens, at)), pages, at, before_head());
  }
};
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::Opt>>;
