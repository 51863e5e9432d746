// GGUF files. A file that is accepted has each tensor's bytes within it, whose numbers can be read; its companions are
// texts or errors, and a SentencePiece model of it is one that the library takes.
#include <cstdlib>
#include "bora/base/error.h"
#include "gguf/api/companions.h"
#include "gguf/api/gguf.h"
#include "text/tokenizers/sentencepiece.h"

using namespace bora;
namespace {
template <class F> void expecting_errors(const F& f) {
  try {
    f();
  } catch (const IoError&) {}
}
void read_tensors(const gguf::File& f, std::string_view bytes) {
  for (auto& t : f.tensors()) {
    auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
    if (t.data < begin || t.bytes < 0 || t.data + t.bytes > begin + bytes.size()) std::abort();
    auto blocks = t.numbers / gguf::blocks_of(t.encoding).numbers;
    std::vector<float> numbers(static_cast<std::size_t>(t.numbers));
    gguf::decode(t, 0, blocks, numbers.data());
    if (t.encoding != gguf::Encoding::q8_0 && t.encoding != gguf::Encoding::q4_0) continue;
    std::vector<std::int16_t> q(numbers.size());
    std::vector<float> scales(static_cast<std::size_t>(blocks));
    gguf::decode_integers(t, 0, blocks, q.data(), scales.data());
    for (std::size_t i = 0; i < q.size(); ++i) {
      auto x = static_cast<float>(q[i]) * scales[i / 32];
      if (x != numbers[i] && x == x) std::abort();
    }
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string_view bytes(reinterpret_cast<const char*>(data), n);
  expecting_errors([&] {
    auto f = gguf::File::of(bytes, "fuzz.gguf");
    read_tensors(*f, bytes);
    for (auto make :
         {gguf::config_json, gguf::generation_config_json, gguf::tokenizer_config_json, gguf::tokenizer_json})
      expecting_errors([&] {
        if (make(*f).empty()) std::abort();
      });
    auto model = gguf::tokenizer_model(*f);
    auto t = text::make_sentencepiece(model, "fuzz.gguf/tokenizer.model");
    for (auto id : t->encode("It's 12 345\n caf\u00e9 \u8a9e <s>"))
      if (id < 0 || id >= t->size()) std::abort();
  });
  return 0;
}
