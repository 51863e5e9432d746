#include "models/families/bert.h"
#include "bora/named/elementwise.h"
#include "bora/named/index.h"
#include "bora/ops/indexing.h"
#include "bora/ops/transform.h"
#include "models/lm/decoder.h"
#include "models/lm/encoder.h"

namespace bora::models {
namespace {
constexpr const char* kTokenType = "token_type";
/// Rows of a table by ids, of which that of `padding` learns nothing.
NamedArray rows_but(const NamedArray& rows, const NamedArray& ids, const std::optional<std::int64_t>& padding) {
  return padding ? where(ids == *padding, stop_gradient(rows), rows) : rows;
}
/// As transformers' classes of each form have it.
EncoderHead head_of(const BertConfig& c, const Axis& vocab, const Array& key) {
  using Form = BertConfig::Form;
  auto keys = random::split<2>(key);
  nn::LinearOptions linear{.weight = gpt_weights};
  auto dense = nn::Linear::init(c.embed_axis(), Axis{nn::kMlp, c.embed}, keys[0], linear);
  if (c.head == EncoderTask::mlm)
    return {.dense = dense,
            .activation = c.form == Form::roberta ? nn::Activation::gelu : c.activation,
            .norm = nn::LayerNorm::init(c.embed_axis(), c.eps),
            .bias = zeros({vocab})};
  if (c.head == EncoderTask::embed) return {.pool = c.pool, .length = std::sqrt(c.scale)};
  EncoderHead h{.after = {static_cast<float>(c.head_dropout)}};
  h.classifier = nn::Linear::init(c.embed_axis(), Axis{kLabel, scores_of_head(c.head, c.labels)}, keys[1], linear);
  if (c.head == EncoderTask::tag || c.head == EncoderTask::qa) return h;
  h.dense = dense;
  h.activation = c.form == Form::distilbert ? nn::Activation::relu : nn::Activation::tanh;
  if (c.form == Form::roberta) h.before = h.after;
  return h;
}
}  // namespace

void BertConfig::check() const {
  check_encoder(*this, false);
  check_optional_sizes({{"types", types}});
  bora::check<ConfigError>(form != Form::roberta || padding, "padding: positions of the form roberta count from it; "
                           "give the tokenizer's token of padding");
}
std::vector<AxisSize> BertConfig::axes() const {
  auto all = encoder_axes(*this);
  if (types) all.push_back({kTokenType, "model.types", types, "type", " of tokens"});
  return all;
}

BertBlock BertBlock::init(const BertConfig& c, const Array& key) {
  auto keys = random::split<2>(key);
  nn::LinearOptions linear{.weight = gpt_weights};
  nn::Dropout dropout{static_cast<float>(c.dropout)};
  return {nn::MultiheadAttention::init(c.embed_axis(), {nn::kHeads, c.heads}, {nn::kHeadSize, c.embed / c.heads},
                                       keys[0], {.in = linear, .out = linear, .dropout = c.attention_dropout}),
          nn::LayerNorm::init(c.embed_axis(), c.eps),
          nn::Mlp::init(c.embed_axis(), {nn::kMlp, c.hidden_units()}, keys[1], linear, linear, c.activation),
          nn::LayerNorm::init(c.embed_axis(), c.eps),
          c.form == BertConfig::Form::distilbert ? nn::Dropout{} : dropout,
          dropout};
}
NamedArray BertBlock::operator()(const NamedArray& x, const nn::AttentionMask& mask,
                                 const std::optional<Array>& key) const {
  auto keys = split_keys<3>(key);
  auto y = norm_1(auto_sharded(x + attn_dropout(attn(x, mask, keys[0]), keys[1])));
  return norm_2(auto_sharded(y + dropout(mlp(y), keys[2])));
}
Bert Bert::init(const BertConfig& c, std::int64_t vocabulary, const Array& key) {
  c.check();
  check_padding(c, vocabulary);
  auto keys = random::split<5>(key);
  Axis vocab{nn::kVocab, vocabulary};
  Bert m{nn::Embedding::init(vocab, c.embed_axis(), keys[0], gpt_weights),
         gpt_weights(keys[1], {{nn::kPosition, c.positions + c.first_position()}, c.embed_axis()}, c.embed),
         none,
         nn::LayerNorm::init(c.embed_axis(), c.eps),
         {static_cast<float>(c.dropout)},
         nn::Stacked<BertBlock>::init({nn::kLayers, c.layers}, c, nn::per_layer(random::split(keys[2], c.layers))),
         head_of(c, vocab, keys[3]),
         c.draws(),
         c.form == BertConfig::Form::roberta,
         c.padding};
  if (c.types) m.types = nn::Embedding::init({kTokenType, c.types}, c.embed_axis(), keys[4], gpt_weights);
  return m;
}
NamedArray Bert::embedded(const training::Example& e, const std::optional<Array>& key) const {
  auto tokens = auto_sharded(e.tokens);
  auto& position = tokens.axis(nn::kPosition);
  std::int64_t first = counts_tokens ? *padding + 1 : 0, known = places.axis(nn::kPosition).size - first;
  bora::check<AxisError>(position.size <= known, "Bert: ", position.size, " positions, but the model knows ", known);
  auto at = e.positions ? auto_sharded(*e.positions) + first : arange(position);
  if (!e.positions && counts_tokens) {
    auto is_token = (tokens != *padding).astype(i32);
    at = auto_sharded(cumsum(is_token, nn::kPosition) * is_token + *padding);
  }
  auto place = rows_at(places, at);
  auto x = rows_but(words.embed(tokens), tokens, padding) +
           (counts_tokens ? rows_but(place, at, padding) : place);
  if (types) {
    bool one = types->weight.axes()[0].size == 1;
    x = x + types->embed(e.token_types && !one ? auto_sharded(*e.token_types) : zeros_like(tokens));
  }
  return dropout(norm(auto_sharded(x)), key);
}
template <class Last>
NamedArray Bert::through_blocks(const training::Example& e, const std::optional<Array>& key,
                                const nn::PipelineOptions& how, const Last& last, const nn::RowsLoss& loss) const {
  auto [first, layers] = split_keys<2>(key);
  if (layers) layers = random::split(*layers, blocks.axis.size);
  auto one = [](const BertBlock& block, const NamedArray& v, const std::optional<Array>& part,
                const nn::AttentionMask& mask, const std::optional<Array>& k) {
    return block(v, mask, nn::key_of_part(k, part));
  };
  return nn::through(blocks, one, embedded(e, first), how, last, loss)(encoder_mask(e), nn::per_layer(layers));
}
NamedArray Bert::hidden(const training::Example& e, const std::optional<Array>& key, const nn::PipelineOptions& how,
                        const nn::RowsLoss& loss) const {
  auto [below, of_top] = split_keys<2>(draws ? key : none);
  auto last = [&top = top, k = of_top](const NamedArray& x) { return top(x, k); };
  auto y = through_blocks(e, below, how, last, loss);
  return top.pool && !loss ? top.of_texts(y, e) : y;
}
NamedArray Bert::encode(const training::Example& e) const {
  return through_blocks(e, none, {.checkpoint = remat::nothing}, [](const NamedArray& x) { return x; }, {});
}
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::Bert>>;
