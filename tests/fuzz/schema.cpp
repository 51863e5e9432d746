// A JSON schema of a stranger: one that is taken leads to a text, by ways that depend on the bytes, and it is JSON.
#include <cstdint>
#include <cstdlib>
#include <string>
#include "bora/base/error.h"
#include "bora/generate/grammar.h"
#include "bora/text/tokenizer.h"
#include "generate/api/grammar_matcher.h"
#include "json/api/value.h"

using namespace bora;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  static const generate::Grammars grammars(text::open_tokenizer({"type=bytes"}));
  std::string_view bytes(reinterpret_cast<const char*>(data), n);
  try {
    generate::grammar::Matcher m(grammars.json_schema(bytes));
    std::string text;
    for (std::uint64_t h = n; text.size() < 400 && !m.over(); ++h) {
      h = (h ^ data[text.size() % n]) * 0x9E3779B97F4A7C15u;
      auto& mask = m.mask();
      std::int32_t some[256], count = 0;
      for (std::int32_t id = 0; id < 256; ++id)
        if (mask[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) some[count++] = id;
      if (count == 0) std::abort();  // it is not over, and nothing fits
      // Quotes and brackets first, so that a text ends.
      auto id = some[(h >> 32) % static_cast<std::uint64_t>(count)];
      for (auto k = 0; k < count && h % 3 == 0; ++k)
        if (some[k] == '"' || some[k] == ']' || some[k] == '}') id = some[k];
      m.take(id);
      text += static_cast<char>(id);
    }
    if (m.whole() && text != "null" && json::parse_or_null(text).is_null()) std::abort();
  } catch (const ValueError&) {}
  return 0;
}
