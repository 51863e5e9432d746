// Texts, or pairs of texts, with a class each, or a number: an encoder predicts it at the first token.
#include <cmath>
#include "data/tasks/labelled.h"

namespace bora::data {
namespace {
struct LabelledRows final : Dataset {
  LabelledRows(StoredDocuments d, Around a, std::int64_t p, bool number)
      : documents(std::move(d)), around(std::move(a)), positions(p), numbers(number) {}
  std::int64_t size() const override { return documents.size(); }
  /// How many tokens of both texts have room: the longer one loses its end first.
  std::pair<std::int64_t, std::int64_t> lengths(std::int64_t i) const {
    auto a = documents.length(i, 0), b = documents.length(i, 1);
    auto room = positions - around_tokens(b > 0);
    auto over = std::max<std::int64_t>(0, a + b - room), of_longer = std::min(over, std::abs(a - b));
    (a > b ? a : b) -= of_longer;
    over -= of_longer;
    return {a - (over + 1) / 2, b - over / 2};
  }
  std::int64_t around_tokens(bool pair) const {
    return std::ssize(around.before()) + std::ssize(around.after()) + (pair ? std::ssize(around.between()) : 0);
  }
  std::int64_t filled() const override {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < size(); ++i) {
      auto [a, b] = lengths(i);
      n += a + b + around_tokens(b > 0);
    }
    return n;
  }
  void at(const Place& place, const Row& row) const override {
    auto [a, b] = lengths(place.index);
    auto first = documents.read(place.index, 0), second = documents.read(place.index, 1),
         label = documents.read(place.index, 2);
    auto n = put_tokens(row, 0, around.before(), 0);
    n = put_tokens(row, n, std::span(first).first(static_cast<std::size_t>(a)), 0);
    if (b > 0) {
      n = put_tokens(row, n, around.between(), 0);
      n = put_tokens(row, n, std::span(second).first(static_cast<std::size_t>(b)), 1);
    }
    put_tokens(row, n, around.after(), b > 0);
    if (numbers) row.values[0] = number_of(label);
    else row.targets[0] = label.at(0);
    row.weights[0] = 1;
  }
  StoredDocuments documents;
  Around around;
  std::int64_t positions;
  bool numbers;
};
struct Classify {
  static constexpr std::string_view type = "classify";
  static constexpr std::size_t fields_stored = 3, token_fields = 2;
  std::string text = "text", pair = {}, label = "label";
  bool number = false;
  static constexpr config::Meaning meanings[] = {
      {"text", "the field with a text"},
      {"pair", "the field with a second text, which stands behind the first; empty: there is none"},
      {"label", "the field with the class: a word of model.labels, or its number from 0 on"},
      {"number", "the label is a number to predict (model.head: regress)"}};

  std::string encoding() const {
    return "classify\t" + text + "\t" + pair + "\t" + label + (number ? "\tnumber" : "");
  }
  void need(const Record& r, const std::string&) const {
    (void)r.text(text);
    if (!pair.empty()) (void)r.text(pair);
    if (number) (void)r.number(label);
    else (void)r.word(label);
  }
  std::vector<std::string> reads(const std::string&) const {
    return pair.empty() ? std::vector{text, label} : std::vector{text, pair, label};
  }
  Encode encoder(const Materials& m, const std::string&) const {
    return [*this, labels = m.labels, tokenizer = m.tokenizer, around = Around(*m.tokenizer)](const Record& r,
                                                                                              Document& d) {
      auto encoded = [&](const std::string& field) {
        return around.without_end(around.without_begin(tokenizer->encode(r.text(field))));
      };
      d[0] = encoded(text);
      if (!pair.empty()) d[1] = encoded(pair);
      if (d[0].empty() && d[1].empty() && around.before().empty() && around.after().empty())
        r.failed("the field '" + text + "' has no token");
      if (!number) return d[2].push_back(class_of(r.word(label), labels, r));
      auto x = r.number(label);
      if (!std::isfinite(static_cast<float>(x))) r.failed("the field '" + label + "' is no finite number");
      put_number(d[2], x);
    };
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    (void)sharing_of(pack, Sharing::none, {Sharing::none}, type);
    return {.positions = positions,
            .padded = true,
            .in_place = true,
            .token_types = !pair.empty(),
            .prediction = number ? Prediction::numbers : Prediction::classes};
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    auto made = std::make_shared<LabelledRows>(d, Around(*m.tokenizer), m.positions, number);
    auto taken = made->around_tokens(!pair.empty());
    bora::check<ConfigError>(taken < m.positions, "model.positions: the ", taken, " tokens around texts leave none of ",
                             m.positions, " to them; raise it");
    return made;
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::Classify>>;
