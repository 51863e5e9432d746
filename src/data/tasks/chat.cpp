// Conversations, of which the assistant's turns are learnt.
#include "bora/data/around.h"
#include "data/tasks/chat_pieces.h"
#include "data/tasks/task.h"

namespace bora::data {
namespace {
struct Chat {
  static constexpr std::string_view type = "chat";
  static constexpr std::size_t fields_stored = 2;
  static constexpr Sharing unpacked = Sharing::none;
  std::string messages = "messages", chat_template = {}, date = {};
  TooLongRow too_long = TooLongRow::truncate;
  static constexpr config::Meaning meanings[] = {
      {"messages", "the field with the turns: a list of {role, content}"},
      {"chat_template",
       "chatml, qwen-2, llama-2, llama-3, alpaca, mistral, gemma or zephyr; a file (of lines, or .jinja); or a folder "
       "with a Hugging Face tokenizer; must be given"},
      {"date", "YYYY-MM-DD: the day for templates that write it (strftime_now)"},
      {"too_long", "a conversation that is longer than a row: truncate (its end), drop, error"}};

  void check() const {
    std::string names;
    for (auto& n : text::chat_template_names()) names += (names.empty() ? "" : ", ") + n;
    config::domain(!chat_template.empty(), "chat_template", "''", "one of " + names + ", or a file or folder");
    config::domain(date != "now", "date", date, "a day, YYYY-MM-DD, so that every run has the same rows");
  }
  text::ChatTemplate open() const { return open_template(chat_template, date); }
  std::vector<text::Piece> pieces(const text::ChatTemplate& t, const Record& r) const {
    std::vector<text::Turn> turns;
    for (auto& [role, content] : r.turns(messages)) turns.push_back({role, content});
    return pieces_of(t, turns, r);
  }
  std::string encoding() const {
    return "chat 3\t" + messages + "\t" + hash_of(open().identity());  // whatever its file is called
  }
  void need(const Record& r, const std::string&) const { (void)pieces(open(), r); }
  std::vector<std::string> reads(const std::string&) const { return {messages}; }
  Encode encoder(const Materials& m, const std::string&) const {
    // The template has the tokens of begin and end.
    return [*this, tokenizer = m.tokenizer, around = Around(*m.tokenizer), layout = open()](const Record& r,
                                                                                            Document& d) {
      auto &ids = d[0], &parts = d[1];
      for (auto& p : pieces(layout, r)) {
        auto part = around.without_begin(around.without_end(tokenizer->encode(p.text, {.said = p.said})));
        ids.insert(ids.end(), part.begin(), part.end());
        add_part(parts, static_cast<std::int64_t>(part.size()), p.learnt);
      }
    };
  }
  static Sharing how(const PackSettings& pack) {
    using enum Sharing;
    return sharing_of(pack, first_fit, {first_fit, best_fit, none, concat}, type);
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    return learnt_shape(positions, pack, how(pack));
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    return learnt_rows(d, m, how(m.pack), true, too_long);
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::Chat>>;
