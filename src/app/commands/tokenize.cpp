// The ids of lines.
#include "app/commands.h"
#include "base/api/json.h"
#include "bora/text/line_filter.h"
#include "bora/text/tokenizer.h"

namespace bora::app {
namespace {
struct Tokenize {
  static constexpr std::string_view name = "tokenize",
                                    help = "ids of each line of stdin, a JSON array a line: tokenize TOKENIZER < TEXT";
  static constexpr Row row{.place = 63};
  std::string tokenizer = {};
  bool json = false, special = false;

  void declare(Flags& flags) {
    flags.add("TOKENIZER", tokenizer, "a tokenizer's file or its folder, or bytes")
        .required()
        .names(Names::input);
    flags.add("--json", json, "each line is a JSON string, so that any text can be given");
    flags.add("--special", special, "adds the tokens that the tokenizer's post-processor puts around a text");
  }
  int run() const {
    auto t = text::tokenizer_at(tokenizer, special);
    text::change_lines(name, [&](const std::string& line) {
      JsonWriter w;
      w.list();
      for (auto id : t->encode(json ? text::text_of_json(line) : line)) w.add(id);
      auto ids = w.end().take();
      ids.pop_back();  // its newline
      return ids;
    });
    return 0;
  }
};
}  // namespace
template const bool added<Tokenize>;
}  // namespace bora::app
