// A tokenizer.json. A file that is accepted gives ids in range, and any bytes back unless it asks for changes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include "bora/base/error.h"
#include "text/bpe.h"
#include "text/unicode.h"

using namespace bora;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string_view bytes(reinterpret_cast<const char*>(data), n);
  try {
    auto json = text::parse_tokenizer_json(bytes, "fuzz.json", true);
    bool changes = json.nfc || !json.before.empty() || !json.after.empty();
    for (auto& stage : json.stages) changes = changes || stage.prefix_space;
    for (auto& t : json.added) changes = changes || t.lstrip || t.rstrip;
    auto tokenizer = text::make_bpe(json, "fuzz");
    std::string words = "It's 12 345\n\n  caf\u00e9 \u8a9e\u0301\xff\xe2\x82<|x|>";
    for (auto& t : json.added) words += t.content.substr(0, 50);
    for (std::string_view s : {std::string_view(words), bytes.substr(0, 200)}) try {
        auto ids = tokenizer->encode(s);
        for (auto id : ids)
          if (id < 0 || id >= tokenizer->size()) std::abort();
        std::string copy;
        if (tokenizer->decode(ids) != text::valid_utf8(s, copy) && !changes) std::abort();
      } catch (const ValueError&) {}  // a regular expression of too many steps
  } catch (const IoError&) {}
  return 0;
}
