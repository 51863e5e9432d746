#include "bora/models/gpt2.h"
#include <cmath>
#include "models/lm/config_check.h"
#include "models/lm/decoder.h"
#include "models/hf/fields.h"
#include "bora/named/index.h"
#include "bora/ops/indexing.h"

namespace bora::models {
void Gpt2Config::check() const {
  check_sizes({{"layers", layers},
               {"embed", embed},
               {"heads", heads},
               {"positions", positions},
               {"mlp_ratio", mlp_ratio}});
  check_heads(embed, heads);
  check_optional_sizes({{"hidden", hidden}});
  check_rates({{"dropout", dropout}, {"embed_dropout", embed_dropout}, {"attention_dropout", attention_dropout}});
  check_eps(eps);
  check_checkpoint(checkpoint);
}
std::vector<AxisSize> Gpt2Config::axes() const {
  return block_axes(heads, mlp_axis().size, embed, hidden ? "model.hidden" : "model.embed");
}
Gpt2Block Gpt2Block::init(const Gpt2Config& c, const Array& key) {
  auto keys = random::split<2>(key);
  nn::LinearOptions in{gpt_weights}, out = in;
  out.weight.scale /= std::sqrt(2.0 * static_cast<double>(c.layers));  // residual paths, scaled as in GPT-2
  return {nn::LayerNorm::init(c.embed_axis(), c.eps),
          nn::Attention::init(c.embed_axis(), c.heads_axis(), c.head_size_axis(), keys[0],
                              {.in = in, .out = out, .dropout = c.attention_dropout}),
          nn::LayerNorm::init(c.embed_axis(), c.eps),
          nn::Mlp::init(c.embed_axis(), c.mlp_axis(), keys[1], in, out, c.activation),
          {static_cast<float>(c.dropout)}};
}
namespace {
/// Attention whose scores are multiplied by `scale`: its queries are.
nn::Attention scaled(nn::Attention a, const std::optional<Array>& scale) {
  if (!scale) return a;
  auto by_scale = [&](const NamedArray& x) { return x * NamedArray(scale->astype(x.dtype()), {}); };
  a.q.weight = by_scale(a.q.weight);
  if (a.q.bias) a.q.bias = by_scale(*a.q.bias);
  if (a.q.lora) a.q.lora->b = by_scale(a.q.lora->b);
  if (a.q.lora && a.q.lora->magnitude) a.q.lora->magnitude = by_scale(*a.q.lora->magnitude);
  return a;
}
}  // namespace
NamedArray Gpt2Block::operator()(const NamedArray& x, const nn::AttentionMask& mask, const std::optional<Array>& key,
                                 const std::optional<Array>& scale) const {
  auto [k1, k2] = split_keys<2>(key);
  std::optional<Array> k3;
  if (key && attn.dropout > 0) k3 = random::fold_in(*key, 2);
  auto y = auto_sharded(x + dropout(scaled(attn, scale)(ln_1(x), mask, none, k3), k1));
  return auto_sharded(y + dropout(mlp(ln_2(y)), k2));
}
std::pair<NamedArray, nn::KeyValues> Gpt2Block::decode(const NamedArray& x, const nn::KeyValues& pages,
                                                       const nn::PagePlaces& at,
                                                       const std::optional<Array>& scale) const {
  auto [a, kv] = scaled(attn, scale).decode(ln_1(x), pages, at);
  auto y = auto_sharded(x + a);
  return {auto_sharded(y + mlp(ln_2(y))), kv};
}
Gpt2 Gpt2::init(const Gpt2Config& c, std::int64_t vocabulary, const Array& key) {
  c.check();
  bora::check<ConfigError>(vocabulary >= 1, "Gpt2: the vocabulary must have 1 token or more, got ", vocabulary);
  auto keys = random::split<3>(key);
  Axis vocab{nn::kVocab, vocabulary};
  Gpt2 m{nn::Embedding::init(vocab, c.embed_axis(), keys[0], gpt_weights),
         gpt_weights(keys[1], {c.position_axis(), c.embed_axis()}, c.embed),
         nn::Stacked<Gpt2Block>::init(c.layers_axis(), c, nn::per_layer(random::split(keys[2], c.layers))),
         nn::LayerNorm::init(c.embed_axis(), c.eps),
         none,
         {static_cast<float>(c.embed_dropout)},
         c.scale_attention,
         c.scale_by_layer};
  if (!c.tied) m.lm_head = nn::Linear::init(c.embed_axis(), vocab, random::fold_in(key, 3), {gpt_weights, false});
  return m;
}
std::optional<Array> Gpt2::scales() const {
  if (scale_attention && !scale_by_layer) return none;
  auto n = blocks.axis.size;
  auto size = static_cast<double>(blocks.layer.attn.q.out.back().size);
  auto scale = full_of({{n}, f32}, scale_attention ? 1 : std::sqrt(size));
  return scale_by_layer ? scale / (arange(n) + 1).astype(f32) : scale;
}
NamedArray Gpt2::hidden(const training::Example& e, const std::optional<Array>& key, const nn::PipelineOptions& how,
                        const nn::RowsLoss& loss) const {
  auto& position = e.tokens.axis(nn::kPosition);
  auto& known = wpe.axis(nn::kPosition);
  check<AxisError>(position.size <= known.size, "Gpt2: ", position.size, " positions, but the model knows ",
                   known.size);
  auto places = e.positions ? rows_at(wpe, auto_sharded(*e.positions)) : auto_sharded(wpe);
  if (!e.positions && position.size < known.size) places = places[{known, range(0, position.size)}];
  auto x = auto_sharded(wte.embed(auto_sharded(e.tokens)) + places);
  if (key && embed_dropout.rate > 0) x = embed_dropout(x, random::fold_in(*key, blocks.axis.size));
  std::optional<Array> keys;
  if (key && (blocks.layer.dropout.rate > 0 || blocks.layer.attn.dropout > 0))
    keys = random::split(*key, blocks.axis.size);
  return through_blocks(blocks, e, x, keys, how, ln_f, loss, nn::per_layer(scales()));
}
nn::Head Gpt2::head() const { return nn::Head::of(lm_head, wte); }
nn::KeyValues Gpt2::pages(const nn::PageOptions& o) const { return pages_of(blocks, o); }
std::pair<NamedArray, nn::KeyValues> Gpt2::decode(const NamedArray& tokens, const nn::KeyValues& pages,
                                                  const StepPlaces& at) const {
  auto places = rows_at(wpe, positions_of(tokens, at));
  auto x = auto_sharded(wte.embed(auto_sharded(tokens)) + places);
  return decode_blocks(blocks, x, pages, at, ln_f, nn::per_layer(scales()));
}

// ---- Hugging Face's folders -----------------------------------------------------------------------------------------
namespace {
HfFields<Gpt2Config> gpt2_fields() {
  using C = Gpt2Config;
  return {{"n_layer", &C::layers, 12},
          {"n_embd", &C::embed, 768},
          {"n_head", &C::heads, 12},
          {"n_positions", &C::positions, 1024},
          {"n_inner", &C::hidden, 0, [](const C& c) { return c.mlp_axis().size; }},
          {"activation_function", &C::activation, "gelu_new"},
          {"layer_norm_epsilon", &C::eps, 1e-5},
          {"resid_pdrop", &C::dropout, 0.1},
          {"embd_pdrop", &C::embed_dropout, 0.1},
          {"attn_pdrop", &C::attention_dropout, 0.1},
          {"scale_attn_weights", &C::scale_attention, true},
          {"scale_attn_by_inverse_layer_idx", &C::scale_by_layer, false},
          {"tie_word_embeddings", &C::tied, true}};
}
}  // namespace
Gpt2Config Gpt2::from_hf(HfConfig& c) {
  Gpt2Config g;
  read_fields(g, c, gpt2_fields());
  (void)c.flag("reorder_and_upcast_attn", false);  // scores are f32 here in any case
  c.expect("add_cross_attention", false);
  c.ignore({"n_ctx", "n_special", "predict_special_tokens", "summary_type", "summary_use_proj", "summary_activation",
            "summary_proj_to_labels", "summary_first_dropout"});
  return g;
}
void Gpt2::to_hf(const Gpt2Config& g, HfConfig& c) {
  write_type(c, "GPT2LMHeadModel", "gpt2");
  write_fields(g, c, gpt2_fields());
}
std::vector<HfWeight> Gpt2::hf_weights(const Gpt2Config& g) {
  auto e = g.embed, h = g.heads, d = e / h;
  std::vector<HfWeight> all{{"wte.weight", "transformer.wte.weight"},
                            {"wpe", "transformer.wpe.weight"},
                            {"ln_f.weight", "transformer.ln_f.weight"},
                            {"ln_f.bias", "transformer.ln_f.bias"}};
  auto block = [&](const std::string& leaf, const std::string& tensor, const std::optional<Shape>& view = none) {
    all.push_back({"blocks.layer." + leaf, "transformer.h.{}." + tensor, view});
  };
  for (std::string norm : {"ln_1", "ln_2"})
    for (std::string part : {".weight", ".bias"}) block(norm + part, norm + part);
  for (std::int64_t i = 0; i < 3; ++i) {  // queries, keys and values lie beside each other
    auto leaf = "attn." + std::string(1, "qkv"[i]);
    block(leaf + ".weight", "attn.c_attn.weight", Shape{e, 3 * h, d});
    all.back().begin = {0, i * h, 0}, all.back().end = {e, (i + 1) * h, d};
    block(leaf + ".bias", "attn.c_attn.bias", Shape{3 * h, d});
    all.back().begin = {i * h, 0}, all.back().end = {(i + 1) * h, d};
  }
  block("attn.out.weight", "attn.c_proj.weight", Shape{h, d, e});
  block("attn.out.bias", "attn.c_proj.bias");
  for (auto [leaf, tensor] : {std::pair{"mlp.up", "mlp.c_fc"}, {"mlp.down", "mlp.c_proj"}})
    for (std::string part : {".weight", ".bias"}) block(leaf + part, tensor + part);
  if (g.tied) all.push_back({.leaf = "wte.weight", .tensor = "lm_head.weight", .copy = true});
  else all.push_back({.leaf = "lm_head.weight", .tensor = "lm_head.weight", .order = {1, 0}});
  return all;
}
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::Gpt2>>;
