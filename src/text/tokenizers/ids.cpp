// ids.cpp -- texts that are ids: "17 4 4". For models whose tokenizer is elsewhere.
#include "bora/base/text.h"
#include "bora/text/tokenizer_files.h"

namespace bora::text {
namespace {
class IdDecoder final : public Decoder {
 public:
  explicit IdDecoder(std::int64_t size) : size_(size) {}
  void add(std::int32_t id, std::string& text) override {
    check<ValueError>(id >= 0 && id < size_, "decode: id ", id, " is not from 0 to ", size_ - 1);
    text += (first_ ? "" : " ") + std::to_string(id);
    first_ = false;
  }
  void finish(std::string&) override { first_ = true; }

 private:
  std::int64_t size_;
  bool first_ = true;
};
class IdTokenizer final : public Tokenizer {
 public:
  explicit IdTokenizer(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  std::string identity() const override { return "ids " + std::to_string(size_); }
  std::vector<std::int32_t> encode(std::string_view text, EncodeOptions) const override {
    constexpr std::string_view space = " \t\r\n";
    std::vector<std::int32_t> ids;
    for (auto at = text.find_first_not_of(space); at != text.npos; at = text.find_first_not_of(space, at)) {
      auto end = std::min(text.find_first_of(space, at), text.size());
      auto id = id_of(text.substr(at, end - at));
      check<ValueError>(id.has_value(), "'", text.substr(at, end - at), "' is no id from 0 to ", size_ - 1,
                        ": texts of the tokenizer 'ids' are ids, such as '17 4'; choose a tokenizer for other texts");
      ids.push_back(*id);
      at = end;
    }
    return ids;
  }
  std::unique_ptr<Decoder> decoder(DecodeOptions) const override { return std::make_unique<IdDecoder>(size_); }
  std::optional<std::int32_t> id_of(std::string_view token) const override {
    auto id = parse_as<std::int32_t>(token);
    return id && *id >= 0 && *id < size_ ? id : std::nullopt;
  }

 private:
  std::int64_t size_;
};
struct Ids {
  static constexpr std::string_view type = "ids";
  std::int64_t size = 0;
  static constexpr config::Meaning meanings[] = {{"size", "number of ids"}};
  void check() const { config::domain(size >= 1 && size <= INT32_MAX, "size", size, "from 1 to 2^31 - 1"); }
  std::shared_ptr<const Tokenizer> open() const { return std::make_shared<IdTokenizer>(size); }
};
}  // namespace
config::Choice<TokenizerKind> ids_tokenizer_kind(std::int64_t size) { return Ids{size}; }
}  // namespace bora::text
template const bool bora::config::added<bora::text::TokenizerOf<bora::text::Ids>>;
