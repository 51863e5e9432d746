// rotary_decoder.h -- the model of which Llama, Gemma and their kin are configurations: RMS norms, rotary positions,
// heads of queries that share keys and values, gated MLP or experts. The code mentions no mesh.
#pragma once
#include <cmath>
#include "bora/models/contract.h"
#include "bora/nn/embedding.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/ring_attention.h"
#include "bora/ops/manipulation.h"
#include "models/families/settings.h"
#include "models/lm/decoder.h"
#include "models/hf/fields.h"
#include "models/hf/rope.h"

namespace bora::models {
/// RMS norms of queries and keys before they turn: of each, or of those of all heads as one vector.
enum class QkNorm : std::uint8_t { none, each, all };
/// Tensors of experts in the files: each expert's own, the same by Mixtral's names, or all experts' as one with gates
/// and ups in turn.
enum class ExpertFiles : std::uint8_t { each, mixtral, stacked };
struct DecoderOptions {
  std::int64_t layers, embed, heads, kv_heads, head_size, hidden;
  double theta;
  nn::RotaryScaling scaling = {};
  float eps;
  float norm_offset = 0;  // of the norms of vectors between blocks
  nn::Activation activation = nn::Activation::silu;
  bool qkv_bias = false, out_bias = false, mlp_bias = false;
  QkNorm qk_norm = QkNorm::none;
  bool pre_norms = true;    // attention and MLP read normed vectors
  bool post_norms = false;  // what they give passes a norm before it is added
  bool tied = false;
  double words_scale = 1, residual_scale = 1, score_scale = 1;  // of tokens' vectors, of what a block adds, of the head
  std::optional<double> scale = none, soft_cap = none;    // of attention's scores
  std::optional<double> final_soft_cap = none;            // of the head
  std::vector<std::int64_t> windows = {};                 // of each layer; none: all positions
  std::int64_t rotary = 0;                                // numbers of a head that positions turn; 0: all
  std::vector<double> speeds = {};  // radians per position of each layer's pairs; none: all layers' are theta's
  double attention_dropout = 0;
  bool sinks = false;  // of attention
  bool joined = false;  // the files have queries, keys and values as one tensor, gate and up as another
  std::int64_t experts = 0, chosen = 0;  // of a block's feed-forward layer; 0: it is one MLP
  bool renormalized = true;  // the chosen experts' weights add up to 1
  bool expert_bias = false;  // router and experts have biases
  double gate_slope = 0, gate_limit = 0;  // of experts' clamped gates; limit 0: they have the activation
  ExpertFiles expert_files = ExpertFiles::each;
  Axis embed_axis() const { return {nn::kEmbed, embed}; }
  /// Radians per position of the pairs of a head.
  std::vector<double> speeds_of(double base, const nn::RotaryScaling& s) const {
    return nn::Rotary::init({nn::kHeadSize, head_size}, base, {.dims = rotary, .scaling = s}).frequencies();
  }
  nn::RmsNorm norm() const { return nn::RmsNorm::init(embed_axis(), eps, norm_offset); }
};
/// The tensors of Hugging Face's folders that hold the model's leaves.
std::vector<HfWeight> decoder_weights(const DecoderOptions&);
template <class C> std::int64_t decoder_head_size(const C& c) { return c.head_size ? c.head_size : c.embed / c.heads; }
/// Throws ConfigError for a setting that all of these models have.
template <class C> void check_decoder(const C& c) {
  check_sizes({{"layers", c.layers}, {"embed", c.embed}, {"heads", c.heads}, {"positions", c.positions}});
  config::domain(c.head_size >= 0 && c.head_size <= 1 << 30 && c.head_size % 2 == 0, "head_size", c.head_size,
                 "even and from 2 to 2^30 (or 0)");
  if (c.head_size == 0) check_heads(c.embed, c.heads, true);
  check_key_heads(c.heads, c.kv_heads);
  check_optional_sizes({{"hidden", c.hidden}});
  config::domain(std::isfinite(c.theta) && c.theta > 0, "theta", c.theta, "above 0");
  check_eps(c.eps);
  check_windows(c.window, c.layer_types, c.layers);
  check_rates({{"attention_dropout", c.attention_dropout}});
  check_checkpoint(c.checkpoint);
}

/// The options that the fields of all of these models' settings say.
template <class C> DecoderOptions decoder_options(const C& c) {
  return {.layers = c.layers,
          .embed = c.embed,
          .heads = c.heads,
          .kv_heads = c.key_heads(),
          .head_size = decoder_head_size(c),
          .hidden = c.hidden_units(),
          .theta = c.theta,
          .scaling = c.scaling.options(),
          .eps = c.eps,
          .tied = c.tied,
          .windows = layer_windows(c.window, c.layer_types, c.layers),
          .attention_dropout = c.attention_dropout};
}
/// The options, and the fields, of models whose attention and MLP have biases or none, as Llama's.
template <class C> DecoderOptions llama_options(const C& c) {
  auto o = decoder_options(c);
  o.activation = c.activation;
  o.qkv_bias = o.out_bias = c.attention_bias;
  o.mlp_bias = c.mlp_bias;
  return o;
}
template <class C> HfFields<C> llama_fields() {
  return {{"attention_bias", &C::attention_bias, false},
          {"mlp_bias", &C::mlp_bias, false},
          {"hidden_act", &C::activation, "silu"}};
}
/// Numbers that a config.json may lack, as transformers fills them in; head_size of 0: embed / heads.
struct AbsentInHf {
  std::int64_t kv_heads = 0, positions = 0, head_size = 0;
  double eps = 1e-6;
  bool tied = false;
  double theta = 10000;
  std::optional<double> part = none;  // of a head that turns, of models with the setting `rotary`
};
/// The fields that all of these models have, in one file's layout.
template <class C> HfFields<C> decoder_fields(const AbsentInHf& absent) {
  return {{"hidden_size", &C::embed},
          {"num_attention_heads", &C::heads},
          {"num_key_value_heads", &C::kv_heads,
           [n = absent.kv_heads](const C& c) { return n > 0 ? n : c.heads; }, &C::key_heads},
          {"head_dim", &C::head_size, [n = absent.head_size](const C& c) { return n > 0 ? n : c.embed / c.heads; },
           [](const C& c) { return decoder_head_size(c); }},
          {"intermediate_size", &C::hidden, {}, &C::hidden_units},
          {"max_position_embeddings", &C::positions, absent.positions},
          {"rms_norm_eps", &C::eps, absent.eps},
          {"tie_word_embeddings", &C::tied, absent.tied},
          {"attention_dropout", &C::attention_dropout, 0}};
}
template <class C> void decoder_from_hf(C& r, HfConfig& c, const AbsentInHf& absent) {
  r.layers = layers_from_hf(c);
  read_fields(r, c, decoder_fields<C>(absent));
  LongRope* longer = nullptr;
  if constexpr (requires { r.longer; }) longer = &r.longer;
  auto rope = rope_from_hf(c, r.positions, absent.theta, absent.part, longer);
  r.theta = rope.theta;
  r.scaling = rope.scaling;
  if constexpr (requires { r.rotary; })
    r.rotary = rotary_of_part(c, "partial_rotary_factor", rope.part, decoder_head_size(r));
  if (r.head_size * r.heads == r.embed) r.head_size = 0;
}
/// And back. architecture: "Llama" of LlamaForCausalLM.
template <class C>
void decoder_to_hf(const C& m, HfConfig& c, const std::string& architecture, const std::string& kind) {
  write_type(c, architecture + "ForCausalLM", kind);
  c.set("num_hidden_layers", m.layers);
  write_fields(m, c, decoder_fields<C>({}));
  rope_to_hf({m.theta, m.scaling}, c);
  if constexpr (requires { m.rotary; })
    c.set("partial_rotary_factor", part_of_rotary(m.rotary, decoder_head_size(m)));
}

nn::Attention decoder_attention(const DecoderOptions&, const Array& key);
/// The values in which layers differ: the window of attention, and the frequencies of rotary pairs.
struct LayerValues {
  std::optional<Array> window = none, speeds = none;
  /// The layer's attention with its own frequencies.
  nn::Attention turning(nn::Attention a) const {
    if (speeds && a.rotary) a.rotary->speeds = speeds;
    return a;
  }
};

struct DecoderBlock {
  std::optional<nn::RmsNorm> norm_1;
  nn::Attention attn;
  std::optional<nn::RmsNorm> norm_2;
  nn::Mlp mlp;
  std::optional<nn::RmsNorm> post_1 = none, post_2 = none;
  double scale = 1;  // of what is added to x
  static DecoderBlock init(const DecoderOptions& c, const Array& key) {
    auto keys = random::split<2>(key);
    auto linear = [](bool bias) { return nn::LinearOptions{.weight = nn::Init::normal(0.02), .use_bias = bias}; };
    auto norm = c.pre_norms ? std::optional(c.norm()) : none;
    DecoderBlock b{norm, decoder_attention(c, keys[0]), norm,
                   nn::Mlp::gated(c.embed_axis(), {nn::kMlp, c.hidden}, keys[1], linear(c.mlp_bias),
                                  linear(c.mlp_bias), c.activation)};
    if (c.post_norms) b.post_1 = b.post_2 = c.norm();
    b.scale = c.residual_scale;
    return b;
  }
  static NamedArray normed(const std::optional<nn::RmsNorm>& norm, const NamedArray& x) {
    return norm ? (*norm)(x) : x;
  }
  /// x after attention, whose result is a.
  NamedArray rest(const NamedArray& x, const NamedArray& a) const {
    auto scaled = [&](const NamedArray& v) { return scale == 1 ? v : v * scale; };
    auto y = auto_sharded(x + scaled(normed(post_1, a)));
    return auto_sharded(y + scaled(normed(post_2, mlp(normed(norm_2, y)))));
  }
  NamedArray operator()(const NamedArray& x, nn::AttentionMask mask, const std::optional<Array>& key,
                        const std::optional<NamedArray>& positions, const LayerValues& own) const {
    mask.window_value = own.window;
    return rest(x, own.turning(attn)(normed(norm_1, x), mask, positions, key));
  }
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& x, const nn::KeyValues& pages, const nn::PagePlaces& at,
                                              const LayerValues& own) const {
    auto [a, kv] = own.turning(attn).decode(normed(norm_1, x), pages, at, {.window_value = own.window});
    return {rest(x, a), kv};
  }
};
/// The model of a Config, whose options() are its DecoderOptions.
template <class C, class Block = DecoderBlock> struct RotaryDecoder {
  nn::Embedding wte;
  nn::Stacked<Block> blocks;
  nn::RmsNorm norm;
  std::optional<nn::Linear> lm_head;
  std::vector<std::int64_t> windows;
  std::vector<double> speeds;
  double words_scale, score_scale;
  std::optional<double> final_soft_cap;
  using Config = C;
  static constexpr bool in_stages = true;
  static RotaryDecoder init(const C& config, std::int64_t vocabulary, const Array& key) {
    config.check();
    auto c = config.options();
    auto keys = random::split<3>(key);
    Axis vocab{nn::kVocab, vocabulary};
    auto weights = nn::Init::normal(0.02);
    RotaryDecoder m{
        nn::Embedding::init(vocab, c.embed_axis(), keys[0], weights),
        nn::Stacked<Block>::init({nn::kLayers, c.layers}, c, nn::per_layer(random::split(keys[1], c.layers))),
        c.norm(),
        none,
        c.windows,
        c.speeds,
        c.words_scale,
        c.score_scale,
        c.final_soft_cap};
    if (!c.tied) m.lm_head = nn::Linear::init(c.embed_axis(), vocab, keys[2], {.weight = weights, .use_bias = false});
    return m;
  }
  /// The first block's input.
  NamedArray embedded(const NamedArray& tokens) const {
    auto x = wte.embed(auto_sharded(tokens));
    if (words_scale != 1)  // rounded to x's dtype, as transformers does
      x = x * NamedArray(full_of({{}, f32}, words_scale).astype(x.dtype()), {});
    return auto_sharded(x);
  }
  LayerValues values() const {
    LayerValues r;
    if (!windows.empty()) r.window = asarray(windows).astype(i32);
    auto layers = blocks.axis.size;
    if (!speeds.empty())
      r.speeds = reshape(asarray(speeds), {layers, static_cast<std::int64_t>(speeds.size()) / layers});
    return r;
  }
  /// What the head reads, of the last block's result.
  auto last() const {
    return [norm = norm, scale = score_scale](const NamedArray& x) { return scale == 1 ? norm(x) : norm(x) * scale; };
  }
  NamedArray hidden(const training::Example& e, const std::optional<Array>& key, const nn::PipelineOptions& how,
                    const nn::RowsLoss& loss = {}) const {
    return through_blocks(blocks, e, embedded(e.tokens), layer_keys(key), how, last(), loss, e.positions,
                          nn::per_layer(values()));
  }
  /// hidden(), and each layer's report of its router on the tokens, along the layers; of blocks with experts.
  auto hidden_and_report(const training::Example& e, const std::optional<Array>& key,
                         const nn::PipelineOptions& how) const
  requires requires { typename Block::Report; } {
    // Reports are means over tokens: those of microbatches add up with the shares of the tokens.
    auto one = [rows = e.tokens.axis(nn::kBatch).size](
                   const Block& block, const NamedArray& v, const std::optional<Array>& part,
                   const nn::AttentionMask& mask, const std::optional<Array>& k,
                   const std::optional<NamedArray>& positions, const LayerValues& own,
                   const std::optional<NamedArray>& counts, const std::optional<NamedArray>& all) {
      auto [y, report] = block.reported(v, mask, nn::key_of_part(k, part), positions, own, counts);
      if (!part) return std::pair{y, report};
      auto share = static_cast<double>(v.axis(nn::kBatch).size) / static_cast<double>(rows);
      return std::pair{y, tree::map(
                              [&](const Array& mean) {
                                if (!counts) return mean * share;
                                auto mine = sum(counts->astype(mean.dtype())).array();
                                return mean * (mine / maximum(all->array().astype(mean.dtype()), 1.0));
                              },
                              report)};
    };
    std::optional<NamedArray> counts, all;
    if (e.mask) counts = auto_sharded(*e.mask) != 0;
    else if (e.segments) counts = auto_sharded(*e.segments) != 0;
    else if (e.filled) counts = broadcast_to(places(e), Axes(e.tokens.axes())) <
                                broadcast_to(auto_sharded(*e.filled), Axes(e.tokens.axes()));
    if (counts) all = sum(counts->astype(f32));
    auto [y, reports] = nn::through_reported(blocks, one, embedded(e.tokens), how)(
        causal_mask(e), nn::per_layer(layer_keys(key)), e.positions, nn::per_layer(values()), counts, all);
    return std::pair{last()(y), reports};
  }
  /// The places of the positions in their row.
  static NamedArray places(const training::Example& e) {
    auto all = arange(e.tokens.axis(nn::kPosition));
    return e.zigzag > 1 ? nn::zigzag(all, e.zigzag) : all;
  }
  std::optional<Array> layer_keys(const std::optional<Array>& key) const {
    if (!key || blocks.layer.attn.dropout <= 0) return none;
    return random::split(*key, blocks.axis.size);
  }
  nn::Head head() const { return nn::Head::of(lm_head, wte, final_soft_cap); }
  nn::KeyValues pages(const nn::PageOptions& o) const { return pages_of(blocks, o); }
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& tokens, const nn::KeyValues& pages,
                                              const StepPlaces& at) const {
    return decode_blocks(blocks, embedded(tokens), pages, at, last(), nn::per_layer(values()));
  }
  static constexpr auto& hf_types = C::hf_types;
  static constexpr std::string_view hf_prefix = "model.";
  static constexpr std::string_view hf_ignored[] = {"rotary_emb.inv_freq"};
  static C from_hf(HfConfig& c) { return C::from_hf(c); }
  static void to_hf(const C& config, HfConfig& c) { config.to_hf(c); }
  static std::vector<HfWeight> hf_weights(const C& config) { return decoder_weights(config.options()); }
};
}  // namespace bora::models
