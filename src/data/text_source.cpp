// Text files, or a folder of them: one stream of tokens.
#include "bora/data/windows.h"

namespace bora::data {
namespace {
struct TextSource {
  static constexpr std::string_view type = "text";
  std::string path = {};
  double hold_out = 0.05;
  static constexpr config::Meaning meanings[] = {{"path", "a text file, or a folder of text files; must be given"},
                                                 {"hold_out", "fraction of the text kept for evaluation"}};
  void check() const { config::domain(hold_out > 0 && hold_out < 1, "hold_out", hold_out, "between 0 and 1"); }
  void check_files(std::int64_t positions) const { check_text(path, hold_out, positions + 1); }
  Datasets open(std::shared_ptr<const text::Tokenizer> tokenizer, std::int64_t positions) const {
    auto text = open_text(path, hold_out, positions + 1);
    auto tokens = [&](const Stream& s) { return tokenizer->bytes() ? byte_tokens(s) : encoded_tokens(s, *tokenizer); };
    Datasets d{windows(tokens(text.train), positions, true), windows(tokens(text.held_out), positions, false),
               positions, path};
    for (auto& part : {d.train, d.held_out})
      bora::check<ConfigError>(part->size() > 0, "data: ", path, " has fewer tokens than a row of ", positions,
                               " (model.positions) needs, in the text to train on or in the text held out");
    return d;
  }
};
[[maybe_unused]] const bool added = config::add<SourceOf<TextSource>>();
}  // namespace
}  // namespace bora::data
