// Prompts with their completions, which alone are learnt.
#include "bora/data/around.h"
#include "data/tasks/task.h"

namespace bora::data {
namespace {
struct Completion {
  static constexpr std::string_view type = "completion";
  static constexpr std::size_t fields_stored = 2;
  std::string prompt = "prompt", completion = "completion", separator = {};
  bool learn_prompt = false;
  TooLongRow too_long = TooLongRow::truncate;
  static constexpr config::Meaning meanings[] = {
      {"prompt", "the field with a prompt"},
      {"completion", "the field with the text to learn after it"},
      {"separator", "text between the two, part of the prompt"},
      {"learn_prompt", "the prompt is learnt, too"},
      {"too_long", "a prompt with a completion that is longer than a row: truncate (its end), drop, error"}};

  std::string encoding() const {
    return "completion 2\t" + prompt + "\t" + completion + "\t" + separator + (learn_prompt ? "\tall" : "");
  }
  void need(const Record& r, const std::string&) const { (void)r.text(prompt), (void)r.text(completion); }
  std::vector<std::string> reads(const std::string&) const { return {prompt, completion}; }
  Encode encoder(const Materials& m, const std::string&) const {
    return [*this, tokenizer = m.tokenizer, around = Around(*m.tokenizer)](const Record& r, Document& d) {
      auto& ids = d[0] = around.without_end(tokenizer->encode(r.text(prompt) + separator));
      auto asked = learn_prompt ? 0 : static_cast<std::int64_t>(ids.size());
      auto answer = around.without_begin(tokenizer->encode(r.text(completion)));
      ids.insert(ids.end(), answer.begin(), answer.end());
      around.append_end(ids);
      add_part(d[1], asked, false);
      add_part(d[1], static_cast<std::int64_t>(ids.size()) - asked, true);
    };
  }
  static Sharing how(const PackSettings& pack) {
    using enum Sharing;
    return sharing_of(pack, none, {none, first_fit, best_fit, concat}, type);
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
template const bool bora::config::added<bora::data::TaskOf<bora::data::Completion>>;
