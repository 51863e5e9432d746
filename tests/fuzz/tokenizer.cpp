// A tokenizer.json. A file that is accepted gives ids in range, and any text back unless it asks for changes; a text
// that comes id by id is the whole text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include "bora/base/error.h"
#include "text/tokenizers/json_tokenizer.h"
#include "text/unicode.h"

using namespace bora;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string_view bytes(reinterpret_cast<const char*>(data), n);
  try {
    auto json = text::parse_tokenizer_json(bytes, "fuzz.json", true);
    bool changes = !json.normalizer.empty() || !json.pre_tokenizer.keeps_text() || !json.before.empty() ||
                   !json.after.empty() || !json.bpe || !json.bpe->byte_level || json.decoder.size() != 1 ||
                   json.decoder[0].kind != text::DecodeStep::Kind::byte_level;
    for (auto& t : json.added) changes = changes || t.lstrip || t.rstrip;
    std::string words = "It's 12 345\n\n  caf\u00e9 \u8a9e\u0301\xff\xe2\x82<|x|>";
    for (auto& t : json.added) words += t.content.substr(0, 50);
    auto tokenizer = text::make_tokenizer(std::move(json), "fuzz");
    for (std::string_view s : {std::string_view(words), bytes.substr(0, 200)}) try {
        auto ids = tokenizer->encode(s);
        for (auto id : ids)
          if (id < 0 || id >= tokenizer->size()) std::abort();
        std::string copy;
        if (tokenizer->decode(ids) != text::valid_utf8(s, copy) && !changes) std::abort();
        tokenizer->decode(tokenizer->encode(s, {.special = false}), {.special = false});
      } catch (const ValueError&) {}  // a regular expression of too many steps
  } catch (const IoError&) {}
  return 0;
}
