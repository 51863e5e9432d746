// A SentencePiece .model. A file that is accepted gives ids in range, and a text for all of them.
#include "text/tokenizers/sentencepiece.h"
#include <cstdint>
#include <cstdlib>
#include "bora/base/error.h"

using namespace bora;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string_view bytes(reinterpret_cast<const char*>(data), n);
  try {
    auto tokenizer = text::make_sentencepiece(bytes, "fuzz.model");
    for (std::string_view s :
         {std::string_view("It's 12 345\n\n  caf\u00e9 \u8a9e\u0301\xff\xe2\x82</s><s> \u2460\u3000x"),
          bytes.substr(0, 200)}) {
      auto ids = tokenizer->encode(s);
      for (auto id : ids)
        if (id < 0 || id >= tokenizer->size()) std::abort();
      tokenizer->decode(ids);
      tokenizer->decode(tokenizer->encode(s, {.special = false}), {.special = false});
    }
    std::vector<std::int32_t> all;
    for (std::int32_t id = 0; id < tokenizer->size(); ++id) all.push_back(id);
    tokenizer->decode(all);
  } catch (const IoError&) {}
  return 0;
}
