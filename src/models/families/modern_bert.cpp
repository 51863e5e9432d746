// ModernBERT (Warner et al. 2024): an encoder with rotary positions, layers that see all positions between layers that
// see those around, a gated MLP, and norms without biases in front.
#include "bora/nn/mlp.h"
#include "bora/nn/stacked.h"
#include "bora/ops/manipulation.h"
#include "models/families/encoder_head_fields.h"
#include "models/hf/fields.h"
#include "models/hf/layers.h"
#include "models/lm/decoder.h"

namespace bora::models {
namespace {
constexpr std::int64_t kEverywhere = 1 << 30;
constexpr const char* kLaterLayers = "later_layers";
/// ModernBERT base is {.layers = 22, .embed = 768, .heads = 12, .positions = 8192}.
struct ModernBertConfig {
  static constexpr std::string_view type = "modernbert";
  std::int64_t layers = 4, embed = 128, heads = 4, hidden = 0, positions = 128, window = 128;
  std::vector<LayerType> layer_types = {LayerType::full, LayerType::sliding, LayerType::sliding};
  double theta = 160000, local_theta = 10000;
  nn::Activation activation = nn::Activation::gelu, head_activation = nn::Activation::gelu;
  double dropout = 0, attention_dropout = 0;
  float eps = 1e-5F;
  std::optional<std::int64_t> padding = {};
  EncoderTask head = EncoderTask::mlm;
  std::vector<std::string> labels = {};
  double head_dropout = 0;
  TextPool pool = TextPool::mean;
  double scale = 20;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers,
      said::embed,
      kEncoderHeadsMeaning,
      {"hidden", "hidden units of a block's gated MLP; 0: 3/2 of embed"},
      said::positions,
      {"window", "even: a sliding layer's tokens see half as many on either side, and themselves"},
      {"layer_types", "attention of the layers in turn, repeated: full, or sliding, which sees a window"},
      {"theta", "base of the rotary angles of layers that see all positions"},
      {"local_theta", "base of sliding layers' angles"},
      {"activation", "of the MLP's gate: gelu (exact), gelu_new (its tanh form), relu, silu ... (docs/models.md)"},
      {"head_activation", "of the head's hidden layer"},
      {"dropout", "fraction of the first vectors dropped in training"},
      {"attention_dropout", "fraction of attention's weights, and of its results, dropped in training"},
      said::eps,
      kPaddingMeaning,
      kHeadMeaning,
      kLabelsMeaning,
      kHeadDropoutMeaning,
      {"pool", "of the heads embed, classify and regress: a text's vector is the mean of its tokens' vectors, or that "
               "of the first one"},
      kScaleMeaning,
      said::checkpoint};
  bool draws() const { return encoder_draws(*this); }
  data::Prediction prediction() const { return predicted_by(head); }
  bool of_words() const { return head == EncoderTask::tag; }
  bool of_texts() const { return head == EncoderTask::classify || head == EncoderTask::regress; }
  std::int64_t hidden_units() const { return hidden ? hidden : embed * 3 / 2; }
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  bool slides(std::int64_t layer) const {
    return layer_types[static_cast<std::size_t>(layer) % layer_types.size()] == LayerType::sliding;
  }
  void check() const {
    check_encoder(*this, true);
    check_sizes({{"window", window}});
    config::domain(window % 2 == 0, "window", window, "even");
    config::domain(!layer_types.empty(), "layer_types", "[]", "one or more");
    for (auto [name, x] : {std::pair{"theta", theta}, {"local_theta", local_theta}})
      config::domain(std::isfinite(x) && x > 0, name, x, "above 0");
  }
  std::vector<AxisSize> axes() const {
    auto all = encoder_axes(*this);
    if (layers > 1) all.push_back({kLaterLayers, "model.layers", layers - 1, "later layer"});
    return all;
  }
};
/// In what layers differ: the norm in front, which the first one lacks; how far a token sees; radians per position.
struct LayerOwn {
  Array norm, has_norm, speeds;
  std::optional<Array> reach;
};
struct ModernBlock {
  nn::MultiheadAttention attn;
  WeightNorm norm_2;
  nn::Mlp mlp;
  nn::Dropout attn_dropout;
  static ModernBlock init(const ModernBertConfig& c, const Array& key) {
    auto keys = random::split<2>(key);
    nn::LinearOptions linear{.weight = gpt_weights, .use_bias = false};
    return {nn::MultiheadAttention::init(
                c.embed_axis(), {nn::kHeads, c.heads}, {nn::kHeadSize, c.embed / c.heads}, keys[0],
                {.in = linear, .out = linear, .theta = c.theta, .dropout = c.attention_dropout}),
            WeightNorm::init(c.embed_axis(), c.eps),
            nn::Mlp::gated(c.embed_axis(), {nn::kMlp, c.hidden_units()}, keys[1], linear, linear, c.activation),
            {static_cast<float>(c.attention_dropout)}};
  }
  /// x [batch, position, embed]; key: for dropout.
  NamedArray operator()(const NamedArray& x, nn::AttentionMask mask, const std::optional<Array>& key,
                        const std::optional<NamedArray>& positions, const LayerOwn& own) const {
    auto keys = split_keys<2>(key);
    WeightNorm norm{{own.norm, norm_2.weight.axes()}, norm_2.eps};
    auto normed = where(broadcast_to(NamedArray(own.has_norm, {}), x.axes()), norm(x), x);
    if (own.reach) {
      auto places = arange(x.axis(nn::kPosition)), others = rename(places, {{nn::kPosition, nn::kKeyPosition}});
      std::vector<Axis> pairs{places.axes()[0], others.axes()[0]};
      auto apart = abs(broadcast_to(others, pairs) - broadcast_to(places, pairs));
      mask.explicit_mask = apart <= NamedArray(*own.reach, {});
    }
    auto turning = attn;
    turning.rotary->speeds = own.speeds;
    auto y = auto_sharded(x + attn_dropout(turning(normed, mask, positions, keys[0]), keys[1]));
    return auto_sharded(y + mlp(norm_2(y)));
  }
};
struct ModernBert {
  nn::Embedding words;
  WeightNorm norm;
  nn::Dropout dropout;
  nn::Stacked<ModernBlock> blocks;
  std::optional<NamedArray> norms;  // [later_layers, embed]: in front of each layer but the first one
  WeightNorm last_norm;
  EncoderHead top;
  bool draws;
  std::optional<std::int64_t> padding;
  std::optional<TextPool> of_texts;  // a text's class or number is that of this vector
  std::vector<std::int64_t> reach;   // of each layer, if some slide
  std::vector<double> speeds;        // of each layer's pairs
  using Config = ModernBertConfig;
  static constexpr bool decays(std::string_view field) { return field != "norms"; }
  static EncoderHead head_of(const Config& c, const Axis& vocab, const Array& key) {
    if (c.head == EncoderTask::embed) return {.pool = c.pool, .length = std::sqrt(c.scale)};
    auto keys = random::split<2>(key);
    nn::LinearOptions dense{.weight = gpt_weights, .use_bias = false};
    EncoderHead h{.dense = nn::Linear::init(c.embed_axis(), Axis{nn::kMlp, c.embed}, keys[0], dense),
                  .activation = c.head_activation,
                  .bare_norm = WeightNorm::init(c.embed_axis(), c.eps)};
    if (c.head == EncoderTask::mlm) {
      h.bias = zeros({vocab});
      return h;
    }
    h.after = {static_cast<float>(c.head_dropout)};
    h.classifier = nn::Linear::init(c.embed_axis(), Axis{kLabel, scores_of_head(c.head, c.labels)}, keys[1],
                                    {.weight = gpt_weights});
    return h;
  }
  static ModernBert init(const Config& c, std::int64_t vocabulary, const Array& key) {
    c.check();
    check_padding(c, vocabulary);
    auto keys = random::split<3>(key);
    Axis vocab{nn::kVocab, vocabulary}, size{nn::kHeadSize, c.embed / c.heads};
    ModernBert m{nn::Embedding::init(vocab, c.embed_axis(), keys[0], gpt_weights),
                 WeightNorm::init(c.embed_axis(), c.eps),
                 {static_cast<float>(c.dropout)},
                 nn::Stacked<ModernBlock>::init({nn::kLayers, c.layers}, c,
                                                nn::per_layer(random::split(keys[1], c.layers))),
                 none,
                 WeightNorm::init(c.embed_axis(), c.eps),
                 head_of(c, vocab, keys[2]),
                 c.draws(),
                 c.padding,
                 c.of_texts() ? std::optional(c.pool) : none,
                 {},
                 {}};
    if (c.layers > 1) m.norms = ones({Axis{kLaterLayers, c.layers - 1}, c.embed_axis()});
    for (std::int64_t i = 0; i < c.layers; ++i) {
      m.reach.push_back(c.slides(i) ? c.window / 2 : kEverywhere);
      auto turns = nn::Rotary::init(size, c.slides(i) ? c.local_theta : c.theta).frequencies();
      m.speeds.insert(m.speeds.end(), turns.begin(), turns.end());
    }
    if (std::ranges::count(m.reach, kEverywhere) == c.layers) m.reach.clear();
    return m;
  }
  LayerOwn own() const {
    auto layers = blocks.axis.size;
    auto& weight = last_norm.weight;
    auto all = reshape(ones(weight.axes()).array().astype(weight.dtype()), {1, weight.axes()[0].size});
    if (norms) all = concatenate({all, norms->array()}, 0);
    LayerOwn r{all, arange(layers) > 0,
               reshape(asarray(speeds), {layers, static_cast<std::int64_t>(speeds.size()) / layers}), none};
    if (!reach.empty()) r.reach = asarray(reach).astype(i32);
    return r;
  }
  /// Tokens see those of their own document, and no padding: as a bias, beside the mask of sliding layers.
  static nn::AttentionMask mask_of(const training::Example& e, Dtype dtype) {
    auto mask = encoder_mask(e);
    if (auto real = std::exchange(mask.explicit_mask, none)) mask.bias = where(*real, 0.0, -3e4).astype(dtype);
    return mask;
  }
  NamedArray through_blocks(const training::Example& e, const std::optional<Array>& key,
                            const nn::PipelineOptions& how) const {
    auto [first, layers] = split_keys<2>(key);
    if (layers) layers = random::split(*layers, blocks.axis.size);
    auto tokens = auto_sharded(e.tokens);
    auto vectors = words.embed(tokens);
    if (padding) vectors = where(broadcast_to(tokens == *padding, vectors.axes()), stop_gradient(vectors), vectors);
    auto x = dropout(norm(auto_sharded(vectors)), first);
    auto one = [](const ModernBlock& block, const NamedArray& v, const std::optional<Array>& part,
                  const nn::AttentionMask& mask, const std::optional<Array>& k,
                  const std::optional<NamedArray>& positions, const LayerOwn& own) {
      return block(v, mask, nn::key_of_part(k, part), positions, own);
    };
    auto last = [&](const NamedArray& v) { return last_norm(v); };
    return nn::through(blocks, one, x, how, last, {})(mask_of(e, x.dtype()), nn::per_layer(layers), e.positions,
                                                      nn::per_layer(own()));
  }
  NamedArray hidden(const training::Example& e, const std::optional<Array>& key, const nn::PipelineOptions& how) const {
    auto [below, of_top] = split_keys<2>(draws ? key : none);
    auto x = through_blocks(e, below, how);
    if (of_texts) return broadcast_to(top(EncoderHead::pooled(x, e, *of_texts).astype(x.dtype()), of_top), x.axes());
    auto y = top(x, of_top);
    return top.pool ? top.of_texts(y, e) : y;
  }
  nn::Head head() const { return top.head(words); }
  NamedArray encode(const training::Example& e) const {
    return through_blocks(e, none, {.checkpoint = remat::nothing});
  }

  static constexpr std::string_view hf_types[] = {"modernbert"};
  static constexpr std::string_view hf_prefix = "model.";
  static HfFields<Config> fields() {
    using C = Config;
    return {{"num_hidden_layers", &C::layers, 22},
            {"hidden_size", &C::embed, 768},
            {"num_attention_heads", &C::heads, 12},
            {"intermediate_size", &C::hidden, 1152, &C::hidden_units},
            {"max_position_embeddings", &C::positions, 8192},
            {"local_attention", &C::window, 128},
            {"hidden_activation", &C::activation, "gelu"},
            {"classifier_activation", &C::head_activation, "gelu"},
            {"embedding_dropout", &C::dropout, 0.0},
            {"attention_dropout", &C::attention_dropout, 0.0},
            {"norm_eps", &C::eps, 1e-5}};
  }
  static Config from_hf(HfConfig& c) {
    Config r;
    r.layers = layers_from_hf(c);
    read_fields(r, c, fields());
    if (r.window % 2 != 0) r.window -= 1;  // transformers halves it
    if (r.window < 2) c.refuse("local_attention", "2 or more is");
    auto period = hf_size(c, "global_attn_every_n_layers", 3);
    std::vector<LayerType> types;
    for (std::int64_t i = 0; i < r.layers; ++i)
      types.push_back(i % period == 0 ? LayerType::full : LayerType::sliding);
    r.layer_types = layer_types_from_hf(c, r.layers, types);
    r.theta = c.number("global_rope_theta", 160000);
    r.local_theta = c.number("local_rope_theta", 10000);
    if (c.has("rope_parameters")) {
      auto parameters = c.group("rope_parameters");
      for (auto [name, theta] : {std::pair{"full_attention", &r.theta}, {"sliding_attention", &r.local_theta}}) {
        if (!parameters.has(name)) continue;
        auto group = parameters.group(name);
        *theta = rope_from_group(group, r.positions, *theta).theta;
        group.expect("rope_type", "default");
      }
    }
    c.expect("rope_scaling", HfConfig::Value());
    for (auto name : {"norm_bias", "attention_bias", "mlp_bias", "classifier_bias", "sparse_prediction"})
      c.expect(name, false);
    c.expect("decoder_bias", true);
    c.expect("tie_word_embeddings", true);
    c.expect("mlp_dropout", 0.0);
    c.ignore({"initializer_cutoff_factor", "deterministic_flash_attn", "sparse_pred_ignore_index", "reference_compile",
              "position_embedding_type", "layer_norm_eps", "gradient_checkpointing", "repad_logits_with_grad",
              "cls_token_id", "sep_token_id"});
    if (!c.is_null("pad_token_id")) r.padding = c.integer("pad_token_id", 50283);
    r.head = read_head(c);
    r.labels = read_labels(c, r.head);
    auto pool = c.word("classifier_pooling", "cls");
    if (pool != "cls" && pool != "mean") c.refuse("classifier_pooling", "cls and mean are");
    if (r.of_texts()) r.pool = pool == "cls" ? TextPool::first : TextPool::mean;
    auto rate = c.number("classifier_dropout", 0.0);
    if (r.head != EncoderTask::mlm && r.head != EncoderTask::embed) r.head_dropout = rate;
    return r;
  }
  static void to_hf(const Config& m, HfConfig& c) {
    write_type(c, "ModernBert" + std::string(architecture_of(m.head)), "modernbert");
    write_fields(m, c, fields());
    layer_types_to_hf(m.layer_types, m.layers, c);
    c.set("global_rope_theta", m.theta);
    c.set("local_rope_theta", m.local_theta);
    write_labels(c, m.head, m.labels);
    c.set("classifier_pooling", std::string(m.pool == TextPool::first ? "cls" : "mean"));
    c.set("classifier_dropout", m.head_dropout);
    c.set("tie_word_embeddings", true);
    c.set("pad_token_id", m.padding ? HfConfig::Value(*m.padding) : HfConfig::Value());
  }
  static std::vector<HfWeight> hf_weights(const Config& c) {
    auto e = c.embed, h = c.heads, d = e / h, n = c.hidden_units();
    const std::string layer = "model.layers.{}.", block = "blocks.layer.";
    HfWeights all{{.leaf = "words.weight", .tensor = "model.embeddings.tok_embeddings.weight"},
                  {.leaf = "norm.weight", .tensor = "model.embeddings.norm.weight"},
                  {.leaf = "last_norm.weight", .tensor = "model.final_norm.weight"},
                  {.leaf = block + "norm_2.weight", .tensor = layer + "mlp_norm.weight"}};
    if (c.layers > 1) all.push_back({.leaf = "norms", .tensor = "model.layers.{+1}.attn_norm.weight"});
    std::int64_t before = 0;
    for (auto name : {"q", "k", "v"}) {
      all.push_back({.leaf = block + "attn." + name + ".weight", .tensor = layer + "attn.Wqkv.weight",
                     .view = Shape{3 * h, d, e}, .begin = {before, 0, 0}, .end = {before + h, d, e},
                     .order = {2, 0, 1}});
      before += h;
    }
    all.push_back({.leaf = block + "attn.out.weight", .tensor = layer + "attn.Wo.weight", .view = Shape{e, h, d},
                   .order = {1, 2, 0}});
    for (std::int64_t part : {0, 1})
      all.push_back({.leaf = block + (part == 0 ? "mlp.gate.weight" : "mlp.up.weight"),
                     .tensor = layer + "mlp.Wi.weight", .view = Shape{2 * n, e}, .begin = {part * n, 0},
                     .end = {(part + 1) * n, e}, .order = {1, 0}});
    hf_linear(all, block + "mlp.down", layer + "mlp.Wo", false);
    if (c.head == EncoderTask::embed) return all;
    hf_linear(all, "top.dense", "head.dense", false);
    all.push_back({.leaf = "top.bare_norm.weight", .tensor = "head.norm.weight"});
    if (c.head != EncoderTask::mlm) hf_linear(all, "top.classifier", "classifier", true);
    else all.push_back({.leaf = "top.bias", .tensor = "decoder.bias"});
    if (c.head == EncoderTask::mlm)
      all.push_back({.leaf = "words.weight", .tensor = "decoder.weight", .copy = true});
    return all;
  }
};
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::ModernBert>>;
