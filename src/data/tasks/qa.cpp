// Questions whose answers stand in a text: an encoder says where they begin and end.
#include "data/api/answer_parts.h"
#include "data/tasks/labelled.h"

namespace bora::data {
namespace {
/// Fields of a stored document; kPlace: the answer's first and last token in the text, each as two numbers, or nothing.
enum QaField : std::size_t { kQuestion, kContext, kPlace };
void put_place(std::vector<std::int32_t>& field, std::int64_t token) {
  field.push_back(static_cast<std::int32_t>(token >> 16));
  field.push_back(static_cast<std::int32_t>(token & 0xffff));
}
std::int64_t place_at(const std::vector<std::int32_t>& field, std::size_t i) {
  return static_cast<std::int64_t>(field.at(i)) << 16 | field.at(i + 1);
}
/// Bytes of a text before its character number `n`; none if it has fewer characters.
std::optional<std::size_t> bytes_before(std::string_view text, std::int64_t n) {
  for (std::size_t at = 0;; ++at) {
    bool begins = at == text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (begins && n-- == 0) return at;
    if (at == text.size()) return {};
  }
}
std::int64_t same_at_begin(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

/// A part of a text a row, behind the question; parts share tokens. An answer that a part cuts is none in it.
struct QaRows final : Dataset {
  struct Part {
    std::int32_t document;
    std::int64_t begin;
  };
  QaRows(StoredDocuments d, Around a, std::int64_t positions, std::int64_t overlap)
      : documents(std::move(d)), around(std::move(a)), rows(around, positions, overlap) {
    for (std::int64_t i = 0; i < documents.size(); ++i)
      for (auto begin : rows.begins(documents.length(i, kQuestion), documents.length(i, kContext)))
        parts.push_back({static_cast<std::int32_t>(i), begin});
  }
  std::int64_t question_length(std::int64_t document) const {
    return rows.question_length(documents.length(document, kQuestion));
  }
  std::int64_t size() const override { return std::ssize(parts); }
  std::int64_t text_length(const Part& p) const {
    return std::min(documents.length(p.document, kContext) - p.begin,
                    rows.text_room(documents.length(p.document, kQuestion)));
  }
  std::int64_t filled() const override {
    std::int64_t n = 0;
    for (auto& p : parts) n += rows.around + question_length(p.document) + text_length(p);
    return n;
  }
  void at(const Place& place, const Row& row) const override {
    auto& p = parts[static_cast<std::size_t>(place.index)];
    auto question = documents.read(p.document, kQuestion), text = documents.read(p.document, kContext),
         answer = documents.read(p.document, kPlace);
    auto asked = static_cast<std::size_t>(question_length(p.document));
    auto length = text_length(p);
    auto n = put_tokens(row, 0, around.before(), 0);
    n = put_tokens(row, n, std::span(question).first(asked), 0);
    auto first = put_tokens(row, n, around.between(), 0);
    n = put_tokens(row, first, std::span(text).subspan(static_cast<std::size_t>(p.begin),
                                                       static_cast<std::size_t>(length)), 1);
    put_tokens(row, n, around.after(), 1);
    row.weights[0] = row.weights[1] = 0.5F;
    if (answer.empty()) return;
    auto begin = place_at(answer, 0) - p.begin, end = place_at(answer, 2) - p.begin;
    if (begin < 0 || end >= length) return;
    row.targets[0] = static_cast<std::int32_t>(first + begin);
    row.targets[1] = static_cast<std::int32_t>(first + end);
  }
  StoredDocuments documents;
  Around around;
  AnswerParts rows;
  std::vector<Part> parts = {};
};
struct Qa {
  static constexpr std::string_view type = "qa";
  static constexpr std::size_t fields_stored = 3, token_fields = 2;
  std::string question = "question", context = "context", answers = "answers", answer_start = {};
  std::int64_t overlap = 128;
  static constexpr config::Meaning meanings[] = {
      {"question", "the field with a question"},
      {"context", "the field with the text that answers it; a longer one than a row has room for becomes several rows"},
      {"answers", "the field with the answers as SQuAD has them, {text: [..], answer_start: [..]}, of which the first "
                  "one is learnt; without one the first token is the answer. With answer_start: the answer's text"},
      {"answer_start", "the field with the characters of the context before the answer; empty: `answers` has them"},
      {"overlap", "tokens of a text that two neighbouring rows share, at most half of a row"}};

  void check() const { config::domain(overlap >= 0, "overlap", overlap, "0 or more tokens"); }
  std::string encoding() const { return "qa\t" + question + "\t" + context + "\t" + answers + "\t" + answer_start; }
  std::vector<std::string> reads(const std::string&) const {
    if (answer_start.empty()) return {question, context, answers};
    return {question, context, answers, answer_start};
  }
  std::optional<Answer> answer(const Record& r) const {
    if (answer_start.empty()) {
      auto all = r.answers(answers);
      return all.empty() ? std::nullopt : std::optional(all[0]);
    }
    Answer a{r.has(answers) ? r.text(answers) : ""};
    if (a.text.empty()) return {};
    auto start = r.number(answer_start);
    if (!(start >= 0 && start < 1e9)) r.failed("the field '" + answer_start + "' is no number of characters");
    a.start = static_cast<std::int64_t>(start);
    return a;
  }
  void need(const Record& r, const std::string&) const {
    (void)r.text(question), (void)r.text(context), (void)answer(r);
  }
  Encode encoder(const Materials& m, const std::string&) const {
    return [*this, tokenizer = m.tokenizer, around = Around(*m.tokenizer)](const Record& r, Document& d) {
      auto encoded = [&](std::string_view text) {
        return around.without_end(around.without_begin(tokenizer->encode(text, {.special = false})));
      };
      auto text = r.text(context);
      d[kQuestion] = encoded(r.text(question));
      auto& ids = d[kContext] = encoded(text);
      auto known = answer(r);
      if (!known || known->text.empty() || ids.empty()) return;
      auto begin = bytes_before(text, known->start);
      if (!begin || text.compare(*begin, known->text.size(), known->text) != 0)
        r.failed("the answer '" + known->text.substr(0, 60) + "' does not stand at character " +
                 std::to_string(known->start) + " of the field '" + context + "'");
      // Tokens have no places in the text: those with which the text up to there begins, too, are before it.
      auto before = encoded(std::string_view(text).substr(0, *begin));
      auto to_end = encoded(std::string_view(text).substr(0, *begin + known->text.size()));
      auto last = std::ssize(ids) - 1;
      auto first = std::min(same_at_begin(before, ids), last);
      auto same = same_at_begin(to_end, ids);
      put_place(d[kPlace], first);
      put_place(d[kPlace], std::clamp(same == std::ssize(to_end) ? same - 1 : same, first, last));
    };
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    (void)sharing_of(pack, Sharing::none, {Sharing::none}, type);
    return {.positions = positions,
            .padded = true,
            .in_place = true,
            .token_types = true,
            .prediction = Prediction::spans};
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    AnswerParts(Around(*m.tokenizer), m.positions, overlap).check();
    return std::make_shared<QaRows>(d, Around(*m.tokenizer), m.positions, overlap);
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::Qa>>;
