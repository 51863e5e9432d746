// Answers that stand in texts.
#include <algorithm>
#include <cmath>
#include "bora/data/around.h"
#include "bora/data/dataset.h"
#include "bora/job/texts.h"
#include "bora/job/trained_run.h"
#include "bora/text/tokenizer.h"
#include "data/api/answer_parts.h"
#include "json/api/value.h"
#include "job/text_rows.h"

namespace bora::job {
namespace {
using Encode = std::function<TokenIds(std::string_view)>;
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

/// Where the tokens of a text stand in it. Tokens have no places: of a text's beginnings, the shortest one that begins
/// with n of its tokens ends where the last of these does.
class TokenPlaces {
 public:
  TokenPlaces(std::string_view text, const TokenIds& ids, const Encode& encode)
      : text_(text), ids_(ids), encode_(encode) {}
  /// Bytes before the end of the first n tokens.
  std::size_t end_of(std::size_t n) const {
    if (n == 0) return 0;
    auto ends_word = [&](std::size_t i) {
      return !is_blank(text_[i - 1]) && (i == text_.size() || is_blank(text_[i]));
    };
    auto words = ends(ends_word, 1, text_.size());
    if (words.empty()) return text_.size();
    auto word = first_with(words, n, 0);
    auto inside = ends([&](std::size_t i) { return i == text_.size() || begins_character(text_[i]); },
                       word == 0 ? 1 : words[word - 1] + 1, words[word]);
    return inside[first_with(inside, n, 32)];
  }
  /// Bytes before token n.
  std::size_t begin_of(std::size_t n) const {
    auto at = end_of(n);
    if (n > 0 && shared(at) > n) {  // a character has more tokens than one
      do --at;
      while (at > 0 && !begins_character(text_[at]));
    }
    while (at < text_.size() && is_blank(text_[at])) ++at;
    return at;
  }

 private:
  /// Tokens with which the first bytes of the text begin, and the text too.
  std::size_t shared(std::size_t bytes) const {
    auto before = encode_(text_.substr(0, bytes));
    return static_cast<std::size_t>(std::mismatch(before.begin(), before.end(), ids_.begin(), ids_.end()).first -
                                    before.begin());
  }
  template <class Ends> static std::vector<std::size_t> ends(const Ends& is_end, std::size_t from, std::size_t to) {
    std::vector<std::size_t> all;
    for (auto i = from; i <= to; ++i)
      if (is_end(i)) all.push_back(i);
    return all;
  }
  /// The first of these beginnings with n tokens, else the last one. Between two with fewer and with n tokens in words,
  /// some may have fewer: a cut word may have other tokens. So the last `each` are tried one by one.
  std::size_t first_with(const std::vector<std::size_t>& all, std::size_t n, std::size_t each) const {
    std::size_t low = 0, high = all.size() - 1;
    while (high - low > each) {
      auto middle = low + (high - low) / 2;
      if (shared(all[middle]) >= n) high = middle;
      else low = middle + 1;
    }
    while (low < high && shared(all[low]) < n) ++low;
    return low;
  }
  std::string_view text_;
  const TokenIds& ids_;
  const Encode& encode_;
};
/// A part of a context as a row.
struct Part {
  std::size_t question, text;  // the row's place of its first token
  std::int64_t begin, length;  // in the context's tokens
};
/// The likeliest piece of a context so far: tokens [first, last], and that it has no answer.
struct Likeliest {
  double score = -1, none = 2;
  std::int64_t first = 0, last = 0;
};
/// Takes what the scores of a part say.
void consider(Likeliest& best, const Part& part, const RowNumbers& numbers) {
  auto n = static_cast<std::size_t>(part.length) + 1;  // with the row's first token, which comes first
  auto of = [&](std::size_t i, std::size_t end) {
    return static_cast<double>(numbers.at(i == 0 ? 0 : part.text + i - 1)[end]);
  };
  double total[2];
  for (std::size_t end : {0, 1}) {
    double top = of(0, end), sum = 0;
    for (std::size_t i = 1; i < n; ++i) top = std::max(top, of(i, end));
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(of(i, end) - top);
    total[end] = top + std::log(sum);
  }
  auto chance = [&](std::size_t first, std::size_t last) {
    return std::exp(of(first, 0) - total[0] + of(last, 1) - total[1]);
  };
  best.none = std::min(best.none, chance(0, 0));
  for (std::size_t last = 1, first = 1; last < n; ++last) {
    if (of(last, 0) > of(first, 0)) first = last;
    if (auto score = chance(first, last); score > best.score)
      best.score = score, best.first = part.begin + static_cast<std::int64_t>(first) - 1,
      best.last = part.begin + static_cast<std::int64_t>(last) - 1;
  }
}
FoundAnswer answer_of(std::string_view context, const TokenPlaces& places, const Likeliest& best) {
  if (best.none > best.score) return {.score = best.none};
  auto end = places.end_of(static_cast<std::size_t>(best.last) + 1);
  auto begin = std::min(places.begin_of(static_cast<std::size_t>(best.first)), end);
  auto characters = [&](std::size_t bytes) {
    return std::count_if(context.begin(), context.begin() + static_cast<std::ptrdiff_t>(bytes), begins_character);
  };
  return {std::string(context.substr(begin, end - begin)), characters(begin), characters(end), best.score};
}
}  // namespace

std::vector<Question> read_questions(const std::vector<std::string>& lines, std::string_view command) {
  std::vector<Question> all;
  std::size_t number = 0;
  for (auto& line : lines) {
    auto where = std::string(command) + ": line " + std::to_string(++number);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    json::Value j;
    try {
      j = json::parse(line, where);
    } catch (const IoError& e) { throw ConfigError(e.text()); }
    auto text = [&](std::string_view field) {
      auto v = j.find(field);
      check<ConfigError>(v && v->is_text(), where, ": expected an object with the texts question and context; ",
                         v ? "no text is " : "there is no ", "'", field, "'");
      return v->text();
    };
    all.push_back({text("question"), text("context")});
  }
  return all;
}
std::vector<FoundAnswer> find_answers(const TrainedRun& run, const std::vector<Question>& questions,
                                      std::int64_t overlap, std::string_view command) {
  TextRows encoder(run, command);
  auto& model = encoder.model();
  check<ConfigError>(model.prediction() == data::Prediction::spans, command, ": the model ", model.type(),
                     " says not where answers stand (model.head); train it with the head qa");
  auto tokenizer = encoder.tokenizer();
  data::Around around(*tokenizer);
  data::AnswerParts rows_of(around, model.positions(), overlap);
  rows_of.check();
  Encode encode = [&](std::string_view text) {
    return around.without_end(around.without_begin(tokenizer->encode(text, {.special = false})));
  };
  std::vector<TokenIds> contexts;
  std::vector<TextRow> rows;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    auto asked = encode(questions[i].question);
    auto& ids = contexts.emplace_back(encode(questions[i].context));
    auto n = std::ssize(asked), room = rows_of.text_room(n);
    for (auto begin : rows_of.begins(n, std::ssize(ids))) {
      TextRow row{.line = i, .ids = around.before()};
      auto put = [&](const TokenIds& from, std::int64_t first, std::int64_t length) {
        row.ids.insert(row.ids.end(), from.begin() + first, from.begin() + first + length);
      };
      put(asked, 0, rows_of.question_length(n));
      put(around.between(), 0, std::ssize(around.between()));
      row.second = std::ssize(row.ids);
      parts.push_back({i, row.ids.size(), begin, std::min(room, std::ssize(ids) - begin)});
      put(ids, begin, parts.back().length);
      put(around.after(), 0, std::ssize(around.after()));
      if (row.ids.empty()) row.ids = {tokenizer->padding().value_or(0)};
      rows.push_back(std::move(row));
    }
  }
  std::vector<Likeliest> best(questions.size());
  encoder.run(rows, TextRows::scores, [&](std::size_t row, const RowNumbers& numbers) {
    consider(best[parts[row].question], parts[row], numbers);
  });
  std::vector<FoundAnswer> all;
  for (std::size_t i = 0; i < questions.size(); ++i)
    all.push_back(answer_of(questions[i].context, {questions[i].context, contexts[i], encode}, best[i]));
  return all;
}
}  // namespace bora::job
