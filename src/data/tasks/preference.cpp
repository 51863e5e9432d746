// Pairs of answers to a prompt, of which the chosen one is to become likelier than the rejected one.
#include "bora/data/around.h"
#include "data/tasks/chat_pieces.h"
#include "data/tasks/task.h"

namespace bora::data {
namespace {
/// Fields of a stored document.
enum Field : std::size_t { kChosen, kRejected, kChosenParts, kRejectedParts };

/// A pair a row: the chosen text with its prompt in the first half of the positions, the rejected one in the second.
struct AnswerRows final : Dataset {
  AnswerRows(StoredDocuments d, std::int64_t half) : documents(std::move(d)), positions(half) {}
  std::int64_t size() const override { return documents.size(); }
  std::int64_t filled() const override {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < size(); ++i)
      for (auto f : {kChosen, kRejected}) n += std::min(documents.length(i, f) - 1, positions);
    return n;
  }
  void at(const Place& place, const Row& row) const override {
    put(place.index, kChosen, kChosenParts, 0, row);
    put(place.index, kRejected, kRejectedParts, positions, row);
  }
  void put(std::int64_t document, Field of_ids, Field of_parts, std::int64_t offset, const Row& row) const {
    auto ids = documents.read(document, of_ids);
    auto n = std::min(std::ssize(ids) - 1, positions);
    std::size_t part = 0;
    auto parts = documents.read(document, of_parts);
    for (std::int64_t i = 0, end = parts.empty() ? 0 : parts[0]; i < n; ++i) {
      while (part + 1 < parts.size() && end <= i + 1) end += parts[++part];  // the part of token i + 1
      row.tokens[offset + i] = ids[static_cast<std::size_t>(i)];
      row.targets[offset + i] = ids[static_cast<std::size_t>(i + 1)];
      row.weights[offset + i] = part % 2 == 1 ? 1.0F : 0.0F;
    }
    *row.filled += static_cast<std::int32_t>(n);
  }
  StoredDocuments documents;
  std::int64_t positions;  // of each answer
};

struct Preference {
  static constexpr std::string_view type = "preference";
  static constexpr std::size_t fields_stored = 4, token_fields = 2;
  static constexpr Sharing unpacked = Sharing::none;
  std::string prompt = "prompt", chosen = "chosen", rejected = "rejected", chat_template = {}, date = {};
  TooLongRow too_long = TooLongRow::truncate;
  static constexpr config::Meaning meanings[] = {
      {"prompt", "the field with the prompt: a text, or turns {role, content}; of turns it may be missing, where both "
                 "answers begin with it"},
      {"chosen", "the field with the better answer: a text, or turns"},
      {"rejected", "the field with the other answer"},
      {"chat_template", "of turns: as in the task chat; empty: prompt and answers are texts"},
      {"date", "of turns: YYYY-MM-DD, the day for templates that write it"},
      {"too_long", "an answer that is longer than model.positions with its prompt: truncate (its end), drop the pair, "
                   "error"}};

  bool is_chat() const { return !chat_template.empty(); }
  void check() const {
    config::domain(date != "now", "date", date, "a day, YYYY-MM-DD, so that every run has the same rows");
    config::domain(date.empty() || is_chat(), "date", date, "empty without chat_template");
    config::domain(!prompt.empty() || is_chat(), "prompt", prompt, "the name of a field without chat_template");
  }
  text::ChatTemplate open() const { return open_template(chat_template, date); }
  std::string encoding() const {
    return "preference 1\t" + prompt + "\t" + chosen + "\t" + rejected + "\t" +
           (is_chat() ? hash_of(open().identity()) : std::string());
  }
  /// The turns of the prompt, and those of each answer behind them.
  struct Turns {
    std::vector<text::Turn> prompt, chosen, rejected;
  };
  Turns turns(const Record& r) const {
    auto of = [&](const std::string& field) {
      std::vector<text::Turn> all;
      for (auto& [role, content] : r.turns(field)) all.push_back({role, content});
      return all;
    };
    Turns t{{}, of(chosen), of(rejected)};
    if (!prompt.empty() && r.has(prompt)) t.prompt = of(prompt);
    auto same = [](const text::Turn& a, const text::Turn& b) { return a.role == b.role && a.content == b.content; };
    while (!t.chosen.empty() && !t.rejected.empty() && same(t.chosen[0], t.rejected[0])) {
      t.prompt.push_back(t.chosen[0]);
      t.chosen.erase(t.chosen.begin()), t.rejected.erase(t.rejected.begin());
    }
    if (t.chosen.empty() || t.rejected.empty()) r.failed("chosen and rejected are the same, or one begins the other");
    return t;
  }
  void need(const Record& r, const std::string&) const {
    if (is_chat()) {
      auto t = turns(r);
      for (auto* answer : {&t.chosen, &t.rejected}) (void)pieces_of(open(), joined(t.prompt, *answer), r);
    } else {
      for (auto* field : {&prompt, &chosen, &rejected}) (void)r.text(*field);
    }
  }
  std::vector<std::string> reads(const std::string&) const {
    return prompt.empty() ? std::vector{chosen, rejected} : std::vector{prompt, chosen, rejected};
  }
  static std::vector<text::Turn> joined(std::vector<text::Turn> a, const std::vector<text::Turn>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  Encode encoder(const Materials& m, const std::string&) const {
    if (!is_chat())
      return [*this, tokenizer = m.tokenizer, around = Around(*m.tokenizer)](const Record& r, Document& d) {
        auto asked = around.without_end(tokenizer->encode(r.text(prompt)));
        for (auto [field, ids, parts] : {std::tuple(&chosen, kChosen, kChosenParts),
                                         std::tuple(&rejected, kRejected, kRejectedParts)}) {
          auto answer = around.without_begin(tokenizer->encode(r.text(*field)));
          around.append_end(answer);
          add_part(d[parts], std::ssize(asked), false);
          add_part(d[parts], std::ssize(answer), true);
          d[ids] = asked;
          d[ids].insert(d[ids].end(), answer.begin(), answer.end());
        }
      };
    return [*this, tokenizer = m.tokenizer, around = Around(*m.tokenizer), layout = open()](const Record& r,
                                                                                            Document& d) {
      auto t = turns(r);
      auto said = std::count_if(t.prompt.begin(), t.prompt.end(), [](auto& turn) { return turn.role == "assistant"; });
      auto encode = [&](const std::vector<text::Turn>& answer, std::vector<std::int32_t>& ids,
                        std::vector<std::int32_t>& parts) {
        std::int64_t runs = 0;  // of what is learnt; the first ones are the prompt's
        bool before = false;
        for (auto& p : pieces_of(layout, joined(t.prompt, answer), r)) {
          auto part = around.without_begin(around.without_end(tokenizer->encode(p.text, {.said = p.said})));
          ids.insert(ids.end(), part.begin(), part.end());
          runs += p.learnt && !before;
          before = p.learnt;
          add_part(parts, std::ssize(part), p.learnt && runs > said);
        }
      };
      encode(t.chosen, d[kChosen], d[kChosenParts]);
      encode(t.rejected, d[kRejected], d[kRejectedParts]);
    };
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    (void)sharing_of(pack, Sharing::none, {Sharing::none}, type);
    return {.positions = 2 * positions, .pairs = true};
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    StoredDocuments kept{d.store, {}, d.name};
    auto most = m.positions;
    for (std::int64_t i = 0; i < d.size(); ++i) {
      auto number = d.numbers[static_cast<std::size_t>(i)];
      auto name = "data: document " + std::to_string(number + 1) + " of " + d.name;
      auto longest = std::max(d.length(i, kChosen), d.length(i, kRejected)) - 1;
      bora::check<ConfigError>(longest <= most || too_long != TooLongRow::error, name, " has ", longest + 1,
                               " tokens, more than model.positions, ", most,
                               "; raise it, or set data.task.too_long to truncate or drop");
      if (longest > most && too_long == TooLongRow::drop) continue;
      for (auto parts : {kChosenParts, kRejectedParts}) {
        auto before = tokens_given(d.read(i, parts));
        bora::check<ConfigError>(before <= most, name, ": its prompt has ", before,
                                 " tokens and leaves none of model.positions, ", most,
                                 ", to an answer; raise it, or set data.task.too_long=drop");
      }
      kept.numbers.push_back(number);
    }
    return std::make_shared<AnswerRows>(std::move(kept), most);
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::Preference>>;
