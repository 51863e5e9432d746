#include "bora/models/gpt2.h"
#include <cmath>

namespace bora::models {
namespace {
constexpr nn::Init kWeights = nn::Init::normal(0.02);
}  // namespace
void Gpt2Config::check() const {
  for (auto [name, size] : {std::pair{"layers", layers},
                            {"embed", embed},
                            {"heads", heads},
                            {"positions", positions},
                            {"mlp_ratio", mlp_ratio}}) {
    config::domain(size >= 1, name, size, "1 or more");
    bora::check<ConfigError>(size <= 1 << 30, name, ": ", size, " is more than 2^30");
  }
  bora::check<ConfigError>(embed % heads == 0, "heads: model.embed ", embed, " cannot be cut into ", heads,
                           " equal heads");
  config::domain(dropout >= 0 && dropout < 1, "dropout", dropout, "at least 0 and below 1");
  config::domain(config::finite(eps) && eps > 0, "eps", eps, "above 0");
  try {
    (void)remat::parse(checkpoint);
  } catch (const ConfigError& e) { fail<ConfigError>("checkpoint: ", e.text()); }
}
std::vector<AxisSize> Gpt2Config::axes() const {
  return {{nn::kHeads, "model.heads", heads, "head"},
          {nn::kMlp, "model.embed", mlp_axis().size, "hidden unit"},
          {nn::kEmbed, "model.embed", embed, "number", " of a vector"}};
}
Gpt2Block Gpt2Block::init(const Gpt2Config& c, const Array& key) {
  auto keys = random::split<2>(key);
  nn::LinearOptions in{kWeights}, out = in;
  out.weight.scale /= std::sqrt(2.0 * static_cast<double>(c.layers));  // residual paths, scaled as in GPT-2
  return {nn::LayerNorm::init(c.embed_axis(), c.eps),
          nn::Attention::init(c.embed_axis(), c.heads_axis(), c.head_size_axis(), keys[0], {in, out}),
          nn::LayerNorm::init(c.embed_axis(), c.eps),
          nn::Mlp::init(c.embed_axis(), c.mlp_axis(), keys[1], in, out),
          {static_cast<float>(c.dropout)}};
}
NamedArray Gpt2Block::operator()(const NamedArray& x, const nn::AttentionMask& mask,
                                 const std::optional<Array>& key) const {
  std::optional<Array> k1, k2;
  if (key) {
    auto keys = random::split<2>(*key);
    k1 = keys[0];
    k2 = keys[1];
  }
  auto y = auto_sharded(x + dropout(attn(ln_1(x), mask), k1));
  return auto_sharded(y + dropout(mlp(ln_2(y)), k2));
}
std::pair<NamedArray, nn::KeyValues> Gpt2Block::decode(const NamedArray& x, const nn::KeyValues& cache,
                                                       const Array& seen) const {
  auto [a, kv] = attn.decode(ln_1(x), cache, seen);
  auto y = auto_sharded(x + a);
  return {auto_sharded(y + mlp(ln_2(y))), kv};
}
Gpt2 Gpt2::init(const Gpt2Config& c, std::int64_t vocabulary, const Array& key) {
  c.check();
  bora::check<ConfigError>(vocabulary >= 1, "Gpt2: the vocabulary must have 1 token or more, got ", vocabulary);
  auto keys = random::split<3>(key);
  return {nn::Embedding::init({nn::kVocab, vocabulary}, c.embed_axis(), keys[0], kWeights),
          kWeights(keys[1], {c.position_axis(), c.embed_axis()}, c.embed),
          nn::Stacked<Gpt2Block>::init(c.layers_axis(), c, nn::per_layer(random::split(keys[2], c.layers))),
          nn::LayerNorm::init(c.embed_axis(), c.eps)};
}
NamedArray Gpt2::hidden(const training::Example& e, const std::optional<Array>& key, const remat::Policy& remat) const {
  auto& position = e.tokens.axis(nn::kPosition);
  auto& known = wpe.axis(nn::kPosition);
  check<AxisError>(position.size <= known.size, "Gpt2: ", position.size, " positions, but the model knows ",
                   known.size);
  auto places = auto_sharded(wpe);
  if (e.positions) places = take(rename(places, {{nn::kPosition, "place"}}), "place", auto_sharded(*e.positions));
  else if (position.size < known.size) places = places[{known, range(0, position.size)}];
  auto x = auto_sharded(wte.embed(auto_sharded(e.tokens)) + places);
  auto layers = blocks.axis.size;
  auto mask = causal_mask(e);
  if (key && blocks.layer.dropout.rate > 0)
    x = nn::fold(blocks, x, {.checkpoint = remat})(mask,
                                                   nn::per_layer(std::optional<Array>(random::split(*key, layers))));
  else x = nn::fold(blocks, x, {.checkpoint = remat})(mask, std::optional<Array>());
  return ln_f(x);
}
nn::Head Gpt2::head() const { return {auto_sharded(wte.weight)}; }
Cache Gpt2::cache(const Axis& batch, std::int64_t length) const {
  auto& known = wpe.axis(nn::kPosition);
  check<AxisError>(length <= known.size, "Gpt2: a cache of ", length, " positions, but the model knows ", known.size);
  return {blocks.layer.attn.cache({blocks.axis, batch}, length), array(0)};
}
std::pair<NamedArray, Cache> Gpt2::decode(const NamedArray& tokens, const Cache& cache) const {
  auto places = take(rename(auto_sharded(wpe), {{nn::kPosition, "place"}}), "place", cache.next(tokens));
  auto x = auto_sharded(wte.embed(auto_sharded(tokens)) + places);
  auto one = [](const Gpt2Block& block, const NamedArray& x, const nn::KeyValues& kv, const Array& seen) {
    return block.decode(x, kv, seen);
  };
  auto [y, kv] = nn::scan(blocks, one, x)(nn::per_layer(cache.layers), cache.seen);
  return {ln_f(y), {kv, cache.seen + tokens.axis(nn::kPosition).size}};
}
namespace {
[[maybe_unused]] const bool added = config::add<ModelOf<Gpt2>>();
}
}  // namespace bora::models
