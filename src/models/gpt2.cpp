#include "bora/models/gpt2.h"
#include <cmath>

namespace bora::models {
namespace {
constexpr nn::Init kWeights = nn::Init::normal(0.02);
}  // namespace
void Gpt2Config::validate() const {
  auto positive = [](std::string_view name, std::int64_t n) {
    check<ConfigError>(n >= 1, "model.", name, " must be at least 1, got ", n);
  };
  positive("layers", layers);
  positive("embed", embed);
  positive("heads", heads);
  positive("positions", positions);
  positive("vocab", vocab);
  positive("mlp_ratio", mlp_ratio);
  check<ConfigError>(embed % heads == 0, "model.embed (", embed, ") must be a multiple of model.heads (", heads, ")");
  check<ConfigError>(0 <= dropout && dropout < 1, "model.dropout must be in [0, 1), got ", dropout);
}
Gpt2Block Gpt2Block::init(const Gpt2Config& c, const Array& key) {
  auto keys = random::split<2>(key);
  nn::LinearOptions in{kWeights}, out = in;
  out.weight.scale /= std::sqrt(2.0 * static_cast<double>(c.layers));  // residual paths, scaled as in GPT-2
  return {nn::LayerNorm::init(c.embed_axis(), c.eps),
          nn::Attention::init(c.embed_axis(), c.heads_axis(), c.head_size_axis(), keys[0], {in, out}),
          nn::LayerNorm::init(c.embed_axis(), c.eps),
          nn::Mlp::init(c.embed_axis(), c.mlp_axis(), keys[1], in, out),
          {c.dropout}};
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
Gpt2 Gpt2::init(const Gpt2Config& c, const Array& key) {
  c.validate();
  auto keys = random::split<3>(key);
  return {nn::Embedding::init(c.vocab_axis(), c.embed_axis(), keys[0], kWeights),
          kWeights(keys[1], {c.position_axis(), c.embed_axis()}, c.embed),
          nn::Stacked<Gpt2Block>::init(c.layers_axis(), c, nn::per_layer(random::split(keys[2], c.layers))),
          nn::LayerNorm::init(c.embed_axis(), c.eps)};
}
NamedArray Gpt2::operator()(const NamedArray& tokens, const std::optional<Array>& dropout_key,
                            const remat::Policy& remat) const {
  auto& position = tokens.axis(nn::kPosition);
  auto& known = wpe.axis(nn::kPosition);
  check<AxisError>(position.size <= known.size, "Gpt2: ", position.size, " positions, but the model knows ",
                   known.size);
  auto places = auto_sharded(wpe);
  if (position.size < known.size) places = places[{known, range(0, position.size)}];
  auto x = auto_sharded(wte.embed(auto_sharded(tokens)) + places);
  std::optional<Array> keys;
  auto layers = blocks.axis.size;
  nn::AttentionMask mask{.causal = true};
  if (dropout_key && blocks.layer.dropout.rate > 0)
    x = nn::fold(blocks, x, {.checkpoint = remat})(
        mask, nn::per_layer(std::optional<Array>(random::split(*dropout_key, layers))));
  else x = nn::fold(blocks, x, {.checkpoint = remat})(mask, std::optional<Array>());
  return auto_sharded(wte.unembed(ln_f(x))).astype(f32);
}
}  // namespace bora::models
