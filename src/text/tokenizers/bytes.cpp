// bytes.cpp -- every byte is a token.
#include "bora/text/tokenizer.h"
#include "text/unicode.h"

namespace bora::text {
namespace {
/// Ids are any bytes: characters come whole, and what is no character as it is.
class ByteDecoder final : public Decoder {
 public:
  void add(std::int32_t id, std::string& text) override {
    check<ValueError>(id >= 0 && id < 256, "decode: id ", id, " is not a byte");
    pending_ += static_cast<char>(id);
    if (begins_character(pending_)) return;
    finish(text);
  }
  void finish(std::string& text) override {
    text += pending_;
    pending_.clear();
  }

 private:
  std::string pending_;
};
class ByteTokenizer final : public Tokenizer {
 public:
  std::int64_t size() const override { return 256; }
  bool bytes() const override { return true; }
  std::string identity() const override { return "bytes"; }
  std::vector<std::int32_t> encode(std::string_view text, EncodeOptions) const override {
    std::vector<std::int32_t> ids(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) ids[i] = static_cast<unsigned char>(text[i]);
    return ids;
  }
  std::unique_ptr<Decoder> decoder(DecodeOptions) const override { return std::make_unique<ByteDecoder>(); }
  std::string bytes_of(std::int32_t id) const override {
    check<ValueError>(id >= 0 && id < 256, "bytes_of: id ", id, " is not a byte");
    return std::string(1, static_cast<char>(id));
  }
  std::optional<std::int32_t> id_of(std::string_view token) const override {
    if (token.size() != 1) return {};
    return static_cast<unsigned char>(token[0]);
  }
};
struct Bytes {
  static constexpr std::string_view type = "bytes";
  std::shared_ptr<const Tokenizer> open() const { return std::make_shared<ByteTokenizer>(); }
};
}  // namespace
}  // namespace bora::text
template const bool bora::config::added<bora::text::TokenizerOf<bora::text::Bytes>>;
