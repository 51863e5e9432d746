#include "models/families/t5.h"
#include <cmath>
#include "models/lm/config_check.h"
#include "models/lm/decoder.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"

namespace bora::models {
namespace {
using Key = std::optional<Array>;
double fan_in(std::int64_t n) { return 1 / std::sqrt(static_cast<double>(n)); }
nn::Attention attention(const T5Config& c, const Array& key) {
  auto in = nn::Init::normal(fan_in(c.embed)), q = in, out = nn::Init::normal(fan_in(c.heads * c.size_of_head()));
  q.scale *= fan_in(c.size_of_head());  // instead of a division of the scores
  auto bare = [](const nn::Init& weight) { return nn::LinearOptions{.weight = weight, .use_bias = false}; };
  return nn::Attention::init(
      c.embed_axis(), c.heads_axis(), {nn::kHeadSize, c.size_of_head()}, key,
      {.in = bare(in), .q = bare(q), .out = bare(out), .dropout = c.dropout, .drop_keys = true, .scale = 1.});
}
nn::RelativeBias relative(const T5Config& c, bool decoder, const Array& key) {
  return nn::RelativeBias::init(c.heads_axis(), key,
                                {.buckets = c.buckets, .max_distance = c.max_distance, .bidirectional = !decoder});
}
nn::LinearOptions bare() { return {.weight = nn::Init::lecun_normal(), .use_bias = false}; }
nn::Mlp feed_forward(const T5Config& c, const Array& key) {
  auto keys = random::split<3>(key);
  Axis hidden{nn::kMlp, c.hidden_units()};
  nn::Mlp m{none, nn::Linear::init(c.embed_axis(), hidden, keys[1], bare()),
            nn::Linear::init(hidden, c.embed_axis(), keys[2], bare()), c.activation, {static_cast<float>(c.dropout)}};
  if (c.gated) m.gate = nn::Linear::init(c.embed_axis(), hidden, keys[0], bare());
  return m;
}
/// Only the keys of the mask.
nn::AttentionMask seen_keys(const std::optional<NamedArray>& mask) {
  if (!mask) return {};
  return {.segments = NamedArray(full_of({{}, i32}, 1), {}), .key_segments = (*mask != 0).astype(i32)};
}
}  // namespace

void T5Config::check() const {
  check_sizes({{"layers", layers}, {"embed", embed}, {"heads", heads}, {"positions", positions}});
  check_optional_sizes({{"decoder_layers", decoder_layers}, {"head_size", head_size}, {"hidden", hidden}});
  bora::check<ConfigError>(head_size > 0 || embed % heads == 0, "heads: model.embed ", embed, " cannot be cut into ",
                           heads, " equal heads; set model.head_size");
  config::domain(buckets >= 4 && buckets % 2 == 0 && buckets <= 1 << 20, "buckets", buckets,
                 "an even number from 4 to 2^20");
  config::domain(max_distance > buckets / 2 && max_distance <= 1 << 20, "max_distance", max_distance,
                 "above half of the buckets, and at most 2^20");
  check_rates({{"dropout", dropout}});
  check_eps(eps);
  config::domain(decoder_start >= 0 && decoder_start < 1 << 30, "decoder_start", decoder_start, "a token");
  check_checkpoint(checkpoint);
}
std::vector<AxisSize> T5Config::axes() const { return block_axes(heads, hidden_units(), embed); }

T5Block T5Block::init(const T5Config& c, bool decoder, const Array& key) {
  auto keys = random::split<4>(key);
  T5Block b{nn::RmsNorm::init(c.embed_axis(), c.eps),
            attention(c, keys[0]),
            none,
            none,
            none,
            nn::RmsNorm::init(c.embed_axis(), c.eps),
            feed_forward(c, keys[1]),
            {static_cast<float>(c.dropout)}};
  if (decoder) {
    b.norm_2 = nn::RmsNorm::init(c.embed_axis(), c.eps);
    b.cross = attention(c, keys[2]);
  }
  if (c.bias == T5Config::Bias::per_layer) b.bias = relative(c, decoder, keys[3]);
  return b;
}
NamedArray T5Block::add_cross(const NamedArray& x, const nn::KeyValues& encoded, const nn::AttentionMask& mask,
                              const Key& key) const {
  auto keys = split_keys<2>(key);
  return auto_sharded(x + dropout.along((*cross)((*norm_2)(x), encoded, mask, keys[0]), nn::kPosition, keys[1]));
}
NamedArray T5Block::add_mlp(const NamedArray& x, const Key& key) const {
  auto keys = split_keys<2>(key);
  return auto_sharded(x + dropout.along(mlp(norm_3(x), keys[0]), nn::kPosition, keys[1]));
}
NamedArray T5Block::operator()(const NamedArray& x, const nn::AttentionMask& mask,
                               const std::optional<T5Encoded>& encoded, const Key& key) const {
  auto keys = split_keys<4>(key);
  auto seen = mask;
  if (bias) {
    auto places = arange(x.axis(nn::kPosition));
    seen.bias = (*bias)(places, rename(places, {{nn::kPosition, nn::kKeyPosition}}));
  }
  auto v = norm_1(x);
  auto y = auto_sharded(x + dropout.along(attn(v, attn.keys(v), seen, keys[0]), nn::kPosition, keys[1]));
  if (cross) y = add_cross(y, cross->keys(encoded->x), encoded->mask, keys[2]);
  return add_mlp(y, keys[3]);
}
std::pair<NamedArray, nn::KeyValues> T5Block::decode(const NamedArray& x, const nn::KeyValues& own,
                                                     const nn::KeyValues& inputs, const StepPlaces& at,
                                                     const std::optional<NamedArray>& shared) const {
  nn::AttentionMask limits{.bias = shared};
  if (bias) limits.bias = bias->before();
  auto [a, kv] = attn.decode(norm_1(x), own, at.own, limits);
  auto y = auto_sharded(x + a);
  return {add_mlp(auto_sharded(y + cross->to_pages((*norm_2)(y), inputs, *at.inputs)), none), kv};
}

T5Stack T5Stack::init(const T5Config& c, bool decoder, const Array& key) {
  auto keys = random::split<2>(key);
  Axis layers{nn::kLayers, decoder ? c.decoder_blocks() : c.layers};
  T5Stack s{nn::Stacked<T5Block>::init(layers, c, decoder, nn::per_layer(random::split(keys[0], layers.size))), none,
            nn::RmsNorm::init(c.embed_axis(), c.eps)};
  if (c.bias == T5Config::Bias::shared) s.bias = relative(c, decoder, keys[1]);
  return s;
}
NamedArray T5Stack::operator()(NamedArray x, nn::AttentionMask mask, const std::optional<T5Encoded>& encoded,
                               const Key& key, const remat::Policy& remat) const {
  auto keys = split_keys<3>(key);
  if (bias) {
    auto places = arange(x.axis(nn::kPosition));
    mask.bias = (*bias)(places, rename(places, {{nn::kPosition, nn::kKeyPosition}}));
  }
  auto& dropout = blocks.layer.dropout;
  x = dropout.along(x, nn::kPosition, keys[0]);
  auto each = keys[1];
  if (each) each = random::split(*each, blocks.axis.size);
  x = nn::fold(blocks, x, {.checkpoint = remat})(mask, encoded, nn::per_layer(each));
  return dropout.along(norm(x), nn::kPosition, keys[2]);
}

T5 T5::init(const T5Config& c, std::int64_t vocabulary, const Array& key) {
  c.check();
  bora::check<ConfigError>(c.decoder_start < vocabulary, "model.decoder_start: ", c.decoder_start,
                           " is no token of a vocabulary of ", vocabulary);
  auto keys = random::split<4>(key);
  Axis vocab{nn::kVocab, vocabulary};
  T5 m{nn::Embedding::init(vocab, c.embed_axis(), keys[0], nn::Init::normal(1)), T5Stack::init(c, false, keys[1]),
       T5Stack::init(c, true, keys[2]), none, static_cast<float>(c.scale_scores ? fan_in(c.embed) : 1)};
  if (!c.tied) m.lm_head = nn::Linear::init(c.embed_axis(), vocab, keys[3], bare());
  return m;
}
T5Encoded T5::encode(const NamedArray& inputs, const std::optional<NamedArray>& input_mask,
                     const std::optional<NamedArray>& segments, const Key& key, const remat::Policy& remat) const {
  auto of_positions = [](const NamedArray& x) { return rename(auto_sharded(x), {{nn::kInput, nn::kPosition}}); };
  auto of_keys = [](const NamedArray& x) { return rename(auto_sharded(x), {{nn::kInput, nn::kKeyPosition}}); };
  std::optional<NamedArray> mask;
  if (input_mask) mask = of_keys(*input_mask);
  auto seen = seen_keys(mask);
  if (segments) {
    auto documents = of_keys(*segments);
    seen.key_segments = mask ? where(*seen.key_segments != 0, documents, -1) : documents;
    seen.segments = of_positions(*segments);
  }
  auto x = auto_sharded(shared.embed(of_positions(inputs)));
  return {encoder(x, seen, none, key, remat), seen};
}
NamedArray T5::hidden(const training::Example& e, const Key& key, const nn::PipelineOptions& how) const {
  check<ValueError>(e.inputs.has_value(), "T5: the rows have no inputs for the encoder");
  check<ValueError>(!e.input_segments || e.segments, "T5: the inputs have segments, but the decoder's tokens none");
  auto keys = split_keys<2>(key);
  auto encoded = encode(*e.inputs, e.input_mask, e.input_segments, keys[0], how.checkpoint);
  if (e.input_segments) encoded.mask.segments = auto_sharded(*e.segments);
  nn::AttentionMask mask;
  auto of_keys = [](const NamedArray& x) { return rename(auto_sharded(x), {{nn::kPosition, nn::kKeyPosition}}); };
  if (e.mask) mask = seen_keys(of_keys(*e.mask));
  if (e.segments) {
    auto documents = of_keys(*e.segments);
    mask.key_segments = e.mask ? where(*mask.key_segments != 0, documents, -1) : documents;
    mask.segments = auto_sharded(*e.segments);
  }
  mask.causal = true;
  auto x = auto_sharded(shared.embed(auto_sharded(e.tokens)));
  return decoder(x, mask, encoded, keys[1], how.checkpoint) * score_scale;
}
T5Pages T5::pages(const nn::PageOptions& o) const {
  auto& blocks = decoder.blocks;
  return {blocks.layer.attn.pages({blocks.axis}, o), blocks.layer.cross->pages({blocks.axis}, o)};
}
T5Pages T5::read(const NamedArray& inputs, const NamedArray& mask, const T5Pages& pages, const Array& slots) const {
  auto encoded = encode(inputs, mask, none, none, remat::nothing);
  auto write = [](const T5Block& block, const NamedArray& x, const nn::KeyValues& kv, const Array& at) {
    return std::pair{x, nn::in_pages(kv, block.cross->keys(x), at)};
  };
  return {pages.own, nn::scan(decoder.blocks, write, encoded.x)(nn::per_layer(pages.inputs), slots).second};
}
std::pair<NamedArray, T5Pages> T5::decode(const NamedArray& tokens, const T5Pages& pages, const StepPlaces& at) const {
  std::optional<NamedArray> shared_bias;
  if (decoder.bias) shared_bias = decoder.bias->before();
  auto one = [](const T5Block& block, const NamedArray& x, const nn::KeyValues& own, const nn::KeyValues& inputs,
                const StepPlaces& places, const std::optional<NamedArray>& bias) {
    return block.decode(x, own, inputs, places, bias);
  };
  auto x = auto_sharded(shared.embed(auto_sharded(tokens)));
  auto [y, kv] =
      nn::scan(decoder.blocks, one, x)(nn::per_layer(pages.own), nn::per_layer(pages.inputs), at, shared_bias);
  return {decoder.norm(y) * score_scale, {kv, pages.inputs}};
}
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::T5>>;
