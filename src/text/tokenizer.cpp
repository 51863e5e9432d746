#include "bora/text/tokenizer.h"
#include <filesystem>

namespace bora::text {
std::string Tokenizer::decode(std::span<const std::int32_t> ids, DecodeOptions options) const {
  std::string text;
  auto d = decoder(options);
  for (auto id : ids) d->add(id, text);
  d->finish(text);
  return text;
}
std::string StreamDecoder::next(std::int32_t id) {
  std::string text;
  decoder_->add(id, text);
  return text;
}
std::string StreamDecoder::finish() {
  std::string text;
  decoder_->finish(text);
  return text;
}

std::shared_ptr<const Tokenizer> open_tokenizer(const std::vector<std::string>& settings) {
  config::Choice<TokenizerKind> kind;
  config::read(config::parse_items(settings), kind, "", config::schema(kind));
  config::check_all(kind);
  return kind->open();
}
std::shared_ptr<const Tokenizer> tokenizer_at(const std::string& place, bool special) {
  namespace fs = std::filesystem;
  std::error_code error;
  auto file = fs::is_directory(place, error) ? (fs::path(place) / "tokenizer.json").string() : place;
  for (auto& row : config::rows<TokenizerKind>()) {
    auto kind = row.make(nullptr);
    if (row.type != place) {
      if (!kind->reads(file)) continue;
      auto fields = config::parse_items({"path=", std::string("add_special_tokens=") + (special ? "true" : "false")});
      fields.at("path") = config::scalar(file);
      kind->read_fields(fields, "", kind->explain_fields());
    }
    kind->check_fields("");
    return kind->open();
  }
  fail<ConfigError>("there is no tokenizer '", place, "': give its file, a folder with a tokenizer.json, or bytes");
}
}  // namespace bora::text
