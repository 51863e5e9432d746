// bytes.cpp -- every byte is a token.
#include "bora/text/tokenizer.h"

namespace bora::text {
namespace {
class ByteTokenizer final : public Tokenizer {
 public:
  std::int64_t size() const override { return 256; }
  bool bytes() const override { return true; }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) ids[i] = static_cast<unsigned char>(text[i]);
    return ids;
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text(ids.size(), 0);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      check<ValueError>(ids[i] >= 0 && ids[i] < 256, "decode: id ", ids[i], " is not a byte");
      text[i] = static_cast<char>(ids[i]);
    }
    return text;
  }
};
struct Bytes {
  static constexpr std::string_view type = "bytes";
  std::shared_ptr<const Tokenizer> open() const { return std::make_shared<ByteTokenizer>(); }
};
[[maybe_unused]] const bool added = config::add<TokenizerOf<Bytes>>();
}  // namespace
}  // namespace bora::text
