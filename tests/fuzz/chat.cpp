// A chat template, in Jinja and as lines. One that is accepted renders conversations as its pieces say.
#include <cstdint>
#include <cstdlib>
#include "bora/base/error.h"
#include "bora/text/chat.h"
#include "text/api/chat_layout.h"
#include "text/api/jinja.h"

using namespace bora;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string_view bytes(reinterpret_cast<const char*>(data), n);
  try {
    auto out = text::Jinja(bytes, "fuzz.jinja").render({{"x", text::jinja::Value(text::jinja::Marked("a b", 1))}});
    if (out.text.size() != out.marks.size()) std::abort();
  } catch (const ConfigError&) {}
  try {
    text::ChatTemplate t(text::parse_chat_file(bytes, "fuzz.chat", text::ChatTokens{"<s>", "</s>"}));
    std::vector<text::Turn> turns{{"user", "a"}, {"assistant", " b"}, {"user", ""}};
    std::string before;
    for (auto& piece : t.render(turns)) {
      if (piece.text.empty()) std::abort();
      if (piece.learnt && t.ask(std::span(turns).first(1)).text != before) std::abort();
      before += piece.text;
    }
    if (!t.ask(turns).text.starts_with(before)) std::abort();
  } catch (const ConfigError&) {}
  return 0;
}
