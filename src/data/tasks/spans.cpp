// T5's span corruption: spans of the text are replaced by sentinels for the encoder, and are what the decoder learns.
#include "bora/data/spans.h"
#include "data/tasks/task.h"

namespace bora::data {
namespace {
struct SpanRows final : Dataset {
  SpanRows(std::shared_ptr<const Tokens> t, const SpanLengths& l, const SpanOptions& o, const SpanTokens& k,
           std::int32_t start_token)
      : tokens(std::move(t)), lengths(l), options(o), special(k), start(start_token) {}
  std::int64_t size() const override { return tokens->size() / lengths.tokens; }
  std::int64_t filled() const override { return size() * lengths.decoder; }
  void at(const Place& place, const Row& row) const override {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(lengths.tokens));
    tokens->read(place.index * lengths.tokens + pass_shift(place, lengths.tokens), lengths.tokens, ids.data());
    auto both = corrupt_spans(ids, options, special, draws_of(place));
    put_encoder(row, both.inputs);
    put_decoder(row, both.targets, start);
  }
  std::shared_ptr<const Tokens> tokens;
  SpanLengths lengths;
  SpanOptions options;
  SpanTokens special;
  std::int32_t start;
};
struct Spans {
  static constexpr std::string_view type = "spans";
  static constexpr std::size_t fields_stored = 1;
  std::int64_t inputs = 0;
  double noise_density = 0.15, mean_span = 3;
  std::string sentinel = {};
  static constexpr config::Meaning meanings[] = {
      {"inputs", "tokens of the encoder's rows; 0: model.positions"},
      {"noise_density", "share of the tokens that the decoder learns"},
      {"mean_span", "mean length of the spans, in tokens"},
      {"sentinel",
       "the token in the first span's place, the next ones count down from it; empty: <extra_id_0>, or the "
       "last token"}};

  void check() const {
    config::domain(inputs >= 0, "inputs", inputs, "0 or more tokens");
    config::domain(noise_density > 0 && noise_density < 1, "noise_density", noise_density, "between 0 and 1");
    config::domain(mean_span >= 1 && config::finite(mean_span), "mean_span", mean_span, "1 or more");
  }
  std::string encoding() const { return "text"; }
  void need(const Record& r, const std::string& field) const { (void)r.text(field); }
  std::vector<std::string> reads(const std::string& field) const { return {field}; }
  Encode encoder(const Materials& m, const std::string& field) const { return text_encoder(m, field); }
  SpanOptions options() const { return {noise_density, mean_span}; }
  SpanLengths lengths(std::int64_t positions) const { return span_lengths(inputs > 0 ? inputs : positions, options()); }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    (void)sharing_of(pack, Sharing::concat, {Sharing::concat}, type);
    auto l = lengths(positions);
    return {.positions = l.decoder, .inputs = l.encoder};
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    auto& t = *m.tokenizer;
    auto l = lengths(m.positions);
    auto end = t.end_of_text();
    bora::check<ConfigError>(end.has_value(), "data.task: spans needs a tokenizer with a token for the end of a text");
    auto first = sentinel.empty() ? t.id_of("<extra_id_0>").value_or(static_cast<std::int32_t>(t.size()) - 1) : -1;
    if (!sentinel.empty()) {
      auto found = t.id_of(sentinel);
      bora::check<ConfigError>(found.has_value(), "data.task.sentinel: the tokenizer has no token '", sentinel, "'");
      first = *found;
    }
    auto spans = span_counts(l.tokens, options()).spans;
    bora::check<ConfigError>(first + 1 >= spans, "data.task: spans needs ", spans, " sentinels for texts of ", l.tokens,
                             " tokens, counting down from token ", first);
    return std::make_shared<SpanRows>(stream_of(d), l, options(), SpanTokens{first, *end}, start_of(t));
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::Spans>>;
