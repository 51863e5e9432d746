#include "bora/text/tokenizer.h"
#include <algorithm>
#include "text/api/files.h"

namespace bora::text {
std::string Tokenizer::decode(std::span<const std::int32_t> ids, DecodeOptions options) const {
  std::string text;
  auto d = decoder(options);
  for (auto id : ids) d->add(id, text);
  d->finish(text);
  return text;
}
std::string Tokenizer::bytes_of(std::int32_t id) const {
  std::int32_t twice[] = {id, id};  // the first one may lose a space
  return decode(twice).substr(decode({twice, 1}).size());
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
  auto& rows = config::rows<TokenizerKind>();
  bool is_type = std::any_of(rows.begin(), rows.end(), [&](auto& row) { return row.type == place; });
  auto kind = is_type ? config::Choice<TokenizerKind>(std::string_view(place)) : tokenizer_kind_at(place, special);
  kind.check("");
  return kind->open();
}
config::Choice<TokenizerKind> tokenizer_kind_at(const std::string& place, bool special) {
  auto file = file_at(place, FileForm::any);
  for (auto& row : config::rows<TokenizerKind>()) {
    config::Choice<TokenizerKind> kind(row.type);
    if (!kind->reads(file)) continue;
    auto fields = config::parse_items({"path=", std::string("add_special_tokens=") + (special ? "true" : "false")});
    fields.at("path") = config::scalar(file);
    kind.read(fields, "", config::schema(kind));
    return kind;
  }
  fail<ConfigError>("there is no tokenizer '", place,
                    "': give a tokenizer.json, a *.model, a folder with a tokenizer, or bytes");
}
}  // namespace bora::text
