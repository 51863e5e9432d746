#include "bora/text/tokenizer.h"
#include <algorithm>
#include <filesystem>

namespace bora::text {
namespace {
/// The length without a last character whose bytes have not all come.
std::size_t whole_characters(std::string_view s) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(s.size(), 3); ++back) {
    auto c = static_cast<unsigned char>(s[s.size() - back]);
    if ((c & 0xc0) == 0x80) continue;
    std::size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    return n > back ? s.size() - back : s.size();
  }
  return s.size();
}
}  // namespace

std::string StreamDecoder::next(std::int32_t id) {
  window_.push_back(id);
  auto text = tokenizer_->decode(window_);
  auto end = std::max(given_, whole_characters(text));
  auto out = text.substr(given_, end - given_);
  given_ = end;
  if (given_ == text.size()) {
    window_ = {id};
    given_ = tokenizer_->decode(window_).size();
  }
  return out;
}
std::string StreamDecoder::finish() {
  auto out = tokenizer_->decode(window_).substr(given_);
  window_.clear();
  given_ = 0;
  return out;
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
