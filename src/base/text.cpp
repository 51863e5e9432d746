#include "bora/base/text.h"
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include "bora/base/visible.h"

namespace bora {
std::string bytes_text(std::int64_t n) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto x = static_cast<double>(n);
  int unit = 0;
  while (x >= (unit < 2 ? 1024 : 10240) && unit < 4) x /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", x, units[unit]);
  return text;
}

std::string wrapped(const std::string& text, std::size_t columns) {
  std::string r;
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    auto line = text.substr(at, end - at);
    const std::string indent(std::min(line.find_first_not_of(' '), line.size()) + 4, ' ');
    while (line.size() > columns) {
      auto space = line.rfind(' ', columns);
      if (space == line.npos || space <= indent.size()) space = line.find(' ', columns);  // a word that is longer
      if (space == line.npos) break;
      r += line.substr(0, space) + "\n";
      line = indent + line.substr(space + 1);
    }
    r += line;
    if (end < text.size()) r += '\n';
  }
  return r;
}

namespace {
bool continues(char c) { return (c & 0xc0) == 0x80; }
bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// ASCII bytes that the text begins with, in steps of eight: what is left of fewer than eight is left.
std::size_t ascii_before(std::string_view s) {
  std::size_t n = 0;
  for (std::uint64_t word; n + sizeof word <= s.size(); n += sizeof word) {
    std::memcpy(&word, s.data() + n, sizeof word);
    if (word & 0x8080808080808080u) break;
  }
  return n;
}
/// Bytes of the UTF-8 character that begins here; 0 if none does.
std::size_t character(std::string_view s) {
  auto c = static_cast<unsigned char>(s[0]);
  std::size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (n == 0 || n > s.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if (!continues(s[i])) return 0;
  auto second = n > 1 ? static_cast<unsigned char>(s[1]) : 0;  // overlong forms, surrogates, above U+10FFFF
  bool none = (c == 0xe0 && second < 0xa0) || (c == 0xed && second >= 0xa0) || (c == 0xf0 && second < 0x90) ||
              (c == 0xf4 && second >= 0x90);
  return none ? 0 : n;
}
std::string escaped(std::string_view s, bool lines = false) {
  std::string r;
  for (std::size_t i = 0; i < s.size();) {
    auto n = character(s.substr(i));
    auto c = static_cast<unsigned char>(s[i]);
    bool control =
        n == 0 || c < 0x20 || c == 0x7f || (n == 2 && c == 0xc2 && static_cast<unsigned char>(s[i + 1]) < 0xa0);
    if (!control || (lines && (c == '\n' || c == '\t'))) r.append(s.substr(i, n));
    else if (c == '\n') r += "\\n";
    else if (c == '\t') r += "\\t";
    else if (c == '\r') r += "\\r";
    else
      for (std::size_t k = 0; k < std::max<std::size_t>(n, 1); ++k) {
        char text[8];
        std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned char>(s[i + k]));
        r += text;
      }
    i += std::max<std::size_t>(n, 1);
  }
  return r;
}
/// Keeps `most` bytes: two thirds before the gap.
std::string without_middle(std::string_view s, std::size_t most) {
  if (s.size() <= most) return std::string(s);
  auto head = most * 2 / 3, tail = s.size() - (most - head);
  while (continues(s[head])) --head;
  while (tail < s.size() && continues(s[tail])) ++tail;
  return std::string(s.substr(0, head)) + "..." + std::string(s.substr(tail));
}
}  // namespace

std::string Visible::next(std::string_view piece) {
  auto s = std::exchange(held_, {}).append(piece);
  std::size_t begun = 0;  // bytes at the end that may be a character with what follows
  while (begun < std::min<std::size_t>(s.size(), 3) && continues(s[s.size() - 1 - begun])) ++begun;
  auto lead = begun < s.size() ? static_cast<unsigned char>(s[s.size() - 1 - begun]) : 0U;
  bool open = lead >= 0xc2 && begun < (lead >= 0xf0 ? 3U : lead >= 0xe0 ? 2U : 1U);
  if (open) held_ = s.substr(s.size() - 1 - begun);
  return escaped(std::string_view(s).substr(0, s.size() - held_.size()), true);
}
std::string Visible::finish() { return escaped(std::exchange(held_, {}), true); }
std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    i += ascii_before(text.substr(i));
    if (i == text.size()) break;
    auto n = character(text.substr(i));
    if (n == 0) return i;
    i += n;
  }
  return std::string_view::npos;
}
std::string one_line(std::string_view message) {
  constexpr std::size_t most_of_word = 200, most = 2000;
  auto s = escaped(message);
  std::string r;
  // An opening quote does not follow a word character; a closing quote does not precede one.
  auto opens = [&](std::size_t i) { return s[i] == '\'' && (i == 0 || !is_word(s[i - 1])); };
  auto closing = s.size();  // no quote from here on has a closing quote
  for (std::size_t i = 0; i < s.size();) {
    auto end = i + 1;
    bool quoted = false;
    if (opens(i) && i < closing) {
      auto at = s.find('\'', i + 1);
      while (at != std::string::npos && at + 1 < s.size() && is_word(s[at + 1])) at = s.find('\'', at + 1);
      if (at == std::string::npos) closing = i;
      else end = at + 1, quoted = true;
    }
    if (!quoted)
      while (end < s.size() && s[end] != ' ' && s[i] != ' ' && !opens(end)) ++end;
    r += without_middle(std::string_view(s).substr(i, end - i), most_of_word);
    i = end;
  }
  return without_middle(r, most);
}
}  // namespace bora
