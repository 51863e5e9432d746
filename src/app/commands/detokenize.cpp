// The text of ids.
#include "app/commands.h"
#include "bora/text/line_filter.h"
#include "bora/text/tokenizer.h"

namespace bora::app {
namespace {
struct Detokenize {
  static constexpr std::string_view name = "detokenize",
                                    help = "the text of each line of stdin, a JSON array of ids: tokenize's way back";
  static constexpr Row row{.place = 66};
  std::string tokenizer = {};
  bool json = false;

  void declare(Flags& flags) {
    flags.add("TOKENIZER", tokenizer, "a tokenizer's file or its folder, or bytes")
        .required()
        .names(Names::input);
    flags.add("--json", json, "prints JSON strings, so that a text of several lines is one line");
  }
  int run() const {
    auto t = text::tokenizer_at(tokenizer, false);
    text::change_lines(name, [&](const std::string& line) {
      auto text = t->decode(text::ids_of_json(line));
      return json ? text::json_of_text(text) : text;
    });
    return 0;
  }
};
}  // namespace
template const bool added<Detokenize>;
}  // namespace bora::app
