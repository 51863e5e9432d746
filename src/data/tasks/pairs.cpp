// Pairs of texts, whose vectors an encoder makes: alike as a score says, or the two of a pair more than any others.
#include <cmath>
#include "data/tasks/labelled.h"

namespace bora::data {
namespace {
/// A pair a row, a text in each half of the positions.
struct TextPairRows final : Dataset {
  TextPairRows(StoredDocuments d, Around a, std::int64_t p, bool s)
      : documents(std::move(d)), around(std::move(a)), positions(p), scored(s) {}
  std::int64_t size() const override { return documents.size(); }
  std::int64_t tokens_around() const { return std::ssize(around.before()) + std::ssize(around.after()); }
  std::int64_t length(std::int64_t document, std::size_t text) const {
    return std::min(documents.length(document, text), positions - tokens_around());
  }
  std::int64_t filled() const override {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < size(); ++i)
      for (std::size_t text : {0, 1}) n += length(i, text) + tokens_around();
    return n;
  }
  void at(const Place& place, const Row& row) const override {
    std::int64_t n = 0;
    for (std::size_t text : {0, 1}) {
      auto ids = documents.read(place.index, text);
      auto begin = static_cast<std::int64_t>(text) * positions;
      auto end = put_tokens(row, begin, around.before(), 0);
      end = put_tokens(row, end, std::span(ids).first(static_cast<std::size_t>(length(place.index, text))), 0);
      end = put_tokens(row, end, around.after(), 0);
      std::fill(row.weights + begin, row.weights + end, 1.0F);
      n += end - begin;
    }
    *row.filled = static_cast<std::int32_t>(n);
    if (scored) row.values[0] = number_of(documents.read(place.index, 2));
  }
  StoredDocuments documents;
  Around around;
  std::int64_t positions;  // of each text
  bool scored;
};
struct TextPairs {
  static constexpr std::string_view type = "pairs";
  static constexpr std::size_t fields_stored = 3, token_fields = 2;
  std::string first = "sentence1", second = "sentence2", score = "score";
  double highest = 1;
  static constexpr config::Meaning meanings[] = {
      {"first", "the field with a text"},
      {"second", "the field with the other text"},
      {"score", "the field with how alike they are, a number; empty: there is none, and a text goes with the other one "
                "of its pair, not with those of other pairs of the batch"},
      {"highest", "the score of texts that say the same: scores are divided by it"}};

  void check() const {
    config::domain(std::isfinite(highest) && highest > 0, "highest", highest, "above 0");
    config::domain(!score.empty() || highest == 1, "highest", highest, "1 without scores");
  }
  std::string encoding() const {
    return "pairs\t" + first + "\t" + second + "\t" + score + "\t" + std::to_string(highest);
  }
  void need(const Record& r, const std::string&) const {
    (void)r.text(first), (void)r.text(second);
    if (!score.empty()) (void)r.number(score);
  }
  std::vector<std::string> reads(const std::string&) const {
    return score.empty() ? std::vector{first, second} : std::vector{first, second, score};
  }
  Encode encoder(const Materials& m, const std::string&) const {
    return [*this, tokenizer = m.tokenizer, around = Around(*m.tokenizer)](const Record& r, Document& d) {
      bool bare = around.before().empty() && around.after().empty();
      for (auto [field, ids] : {std::pair(&first, &d[0]), {&second, &d[1]}}) {
        *ids = around.without_end(around.without_begin(tokenizer->encode(r.text(*field), {.special = false})));
        if (ids->empty() && bare) r.failed("the field '" + *field + "' has no token");
      }
      if (score.empty()) return;
      auto x = r.number(score) / highest;
      if (!std::isfinite(static_cast<float>(x))) r.failed("the field '" + score + "' is no finite number");
      put_number(d[2], x);
    };
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    (void)sharing_of(pack, Sharing::none, {Sharing::none}, type);
    return {.positions = 2 * positions,
            .in_place = true,
            .prediction = score.empty() ? Prediction::partners : Prediction::similarities,
            .pairs = true};
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    auto made = std::make_shared<TextPairRows>(d, Around(*m.tokenizer), m.positions, !score.empty());
    bora::check<ConfigError>(made->tokens_around() < m.positions, "model.positions: the ", made->tokens_around(),
                             " tokens around a text leave none of ", m.positions, " to it; raise it");
    return made;
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::TextPairs>>;
