#include "text/tokenizers/charsmap.h"
#include <cstring>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "text/unicode.h"

namespace bora::text {
namespace {
constexpr std::size_t kMostText = 256;  // that a prefix of a few characters becomes; NFKC's longest has 33
// Units of Darts-clone: a label, or a value; an offset to the children, and whether a value is among them.
std::uint32_t label(std::uint32_t unit) { return unit & 0x800000ffu; }
std::uint32_t value(std::uint32_t unit) { return unit & 0x7fffffffu; }
bool has_value(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::size_t offset(std::uint32_t unit) { return std::size_t{unit >> 10} << ((unit & 0x200) >> 6); }
}  // namespace

Charsmap::Charsmap(std::string_view table, const std::string& where) {
  std::uint32_t bytes = 0;
  check<IoError>(table.size() >= 4, where, ": the table has ", table.size(), " bytes");
  std::memcpy(&bytes, table.data(), 4);
  check<IoError>(bytes > 0 && bytes % 4 == 0 && bytes <= table.size() - 4, where, ": the table's trie has ", bytes,
                 " of ", table.size() - 4, " bytes");
  units_.resize(bytes / 4);
  std::memcpy(units_.data(), table.data() + 4, bytes);
  texts_ = table.substr(4 + bytes);
  check<IoError>(texts_.empty() || (texts_.back() == '\0' && first_not_utf8(texts_) == texts_.npos), where,
                 ": the table's texts are no UTF-8 that ends with 0");
  check_all(where);
}
void Charsmap::check_all(const std::string& where) const {
  std::vector<bool> seen(units_.size());
  std::vector<std::size_t> todo;
  auto visit = [&](std::size_t node) {  // its children are at node ^ byte
    check<IoError>((node | 0xff) < units_.size(), where, ": the table's trie points outside");
    if (!seen[node]) todo.push_back(node);
    seen[node] = true;
  };
  visit(offset(units_[0]));
  while (!todo.empty()) {
    auto node = todo.back();
    todo.pop_back();
    for (std::uint32_t c = 0; c < 256; ++c) {
      auto unit = units_[node ^ c];
      if (label(unit) != c) continue;
      auto next = node ^ c ^ offset(unit);
      visit(next);
      if (!has_value(unit)) continue;
      auto at = value(units_[next]);
      check<IoError>(at < texts_.size() && (texts_[at] & 0xc0) != 0x80, where, ": the table has no text at ", at);
      auto text = std::string_view(texts_).substr(at, kMostText + 1);
      check<IoError>(text.find('\0') != text.npos, where, ": the table has a text of more than ", kMostText,
                     " bytes, at ", at);
    }
  }
}
std::optional<std::string_view> Charsmap::of_prefix(std::string_view s) const {
  auto node = offset(units_[0]);
  for (char c : s) {
    auto byte = static_cast<unsigned char>(c);
    if (byte == 0) break;
    auto unit = units_[node ^ byte];
    if (label(unit) != byte) break;
    node ^= byte ^ offset(unit);
    if (has_value(unit)) return std::string_view(texts_.data() + value(units_[node]));
  }
  return {};
}
std::string Charsmap::normalize(std::string_view text, std::size_t most) const {
  std::string out;
  out.reserve(text.size());
  each_grapheme(text, [&](std::string_view grapheme) {
    if (out.size() > most) return;
    // A short cluster becomes the replacement of its prefix; of long ones each character is replaced.
    if (grapheme.size() < 6)
      if (auto whole = of_prefix(grapheme)) return void(out += *whole);
    for (std::size_t i = 0; i < grapheme.size();) {
      auto c = grapheme.substr(i, character_size(grapheme[i]));
      out += of_prefix(c).value_or(c);
      i += c.size();
    }
  });
  return out;
}
std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  int n = 0;
  for (char c : text) {
    auto digit = digits.find(c);
    if (digit == digits.npos) return {};
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    n += 6;
    if (n >= 8) out += static_cast<char>(bits >> (n -= 8) & 0xff);
  }
  return out;
}
}  // namespace bora::text
