#include "data/records/json_cursor.h"
#include <immintrin.h>
#include <bit>
#include <charconv>

namespace bora::data {
namespace {
/// The first position from `at` on that holds a quote, a backslash or a control character; s.size() if there is none.
std::size_t special(std::string_view s, std::size_t at) {
  const auto quote = _mm256_set1_epi8('"'), slash = _mm256_set1_epi8('\\'), control = _mm256_set1_epi8(0x1f);
  for (; at + 32 <= s.size(); at += 32) {
    auto v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s.data() + at));
    auto found = _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(v, quote), _mm256_cmpeq_epi8(v, slash)),
                                 _mm256_cmpeq_epi8(_mm256_min_epu8(v, control), v));
    if (auto bits = static_cast<unsigned>(_mm256_movemask_epi8(found)))
      return at + static_cast<std::size_t>(std::countr_zero(bits));
  }
  while (at < s.size() && s[at] != '"' && s[at] != '\\' && static_cast<unsigned char>(s[at]) >= 0x20) ++at;
  return at;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// The number of four hexadecimal digits at `at`; -1 if they are not there.
int hex4(std::string_view s, std::size_t at) {
  unsigned x = 0;
  if (at + 4 > s.size()) return -1;
  auto [end, error] = std::from_chars(s.data() + at, s.data() + at + 4, x, 16);
  return error == std::errc() && end == s.data() + at + 4 ? static_cast<int>(x) : -1;
}
void put_utf8(std::string& out, unsigned c) {
  auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xc0 | c >> 6), put(0x80 | (c & 63));
  if (c < 0x10000) return put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
  put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
}
}  // namespace

void JsonCursor::string() {
  auto begin = at_++;
  for (;;) {
    at_ = special(text_, at_);
    if (at_ == text_.size()) throw JsonProblem{"a string has no end", begin};
    auto c = text_[at_];
    if (c == '"') break;
    if (c != '\\') failed("a control character in a string");
    auto kind = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    bool unicode = kind == 'u' && hex4(text_, at_ + 2) >= 0;
    if (!unicode && (kind == '\0' || std::string_view("\"\\/bfnrt").find(kind) == std::string_view::npos))
      failed("no escape of JSON");
    at_ += unicode ? 6 : 2;
  }
  ++at_;
}
std::string_view JsonCursor::key() {
  if (next() != '"') failed("expected a name in quotes");
  auto begin = at_ + 1;
  string();
  auto name = text_.substr(begin, at_ - 1 - begin);
  expect(':', "expected ':'");
  return name;
}
void JsonCursor::digits() {
  if (at_ == text_.size() || !is_digit(text_[at_])) failed("expected a digit");
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
}
void JsonCursor::number() {
  auto here = [&] { return at_ < text_.size() ? text_[at_] : '\0'; };
  if (here() == '-') ++at_;
  if (here() == '0') ++at_;
  else digits();
  if (here() == '.') ++at_, digits();
  if (here() == 'e' || here() == 'E') {
    ++at_;
    if (here() == '+' || here() == '-') ++at_;
    digits();
  }
}
void JsonCursor::word(std::string_view w) {
  if (text_.substr(at_, w.size()) != w) failed("expected a value");
  at_ += w.size();
}
std::string_view JsonCursor::value() {
  next();
  auto begin = at_;
  std::string open;  // brackets, outermost first
  for (;;) {
    auto c = next();
    bool nested = c == '{' || c == '[';
    if (nested) {
      ++at_;
      if (next() != (c == '{' ? '}' : ']')) {
        open += c;
        if (c == '{') key();
        continue;
      }
      ++at_;
    } else if (c == '"') string();
    else if (c == '-' || is_digit(c)) number();
    else word(c == 't' ? "true" : c == 'f' ? "false" : "null");
    while (!open.empty() && !take(',')) {
      bool object = open.back() == '{';
      expect(object ? '}' : ']', object ? "expected ',' or '}'" : "expected ',' or ']'");
      open.pop_back();
    }
    if (open.empty()) return text_.substr(begin, at_ - begin);
    if (open.back() == '{') key();
  }
}
void JsonCursor::end() {
  next();
  if (at_ < text_.size()) failed("expected nothing more");
}

std::string unescaped(std::string_view inside, bool* half) {
  std::string out;
  out.reserve(inside.size());
  for (std::size_t at = 0;;) {
    auto slash = inside.find('\\', at);
    out += inside.substr(at, slash - at);
    if (slash == inside.npos) return out;
    auto kind = inside[slash + 1];
    at = slash + 2;
    if (kind != 'u') {
      constexpr std::string_view kinds = "bfnrt", meant = "\b\f\n\r\t";
      auto k = kinds.find(kind);
      out += k == kinds.npos ? kind : meant[k];
      continue;
    }
    auto c = static_cast<unsigned>(hex4(inside, at));
    at += 4;
    if (c >= 0xd800 && c < 0xe000) {
      auto low = c < 0xdc00 && inside.substr(at, 2) == "\\u" ? hex4(inside, at + 2) : -1;
      bool pair = low >= 0xdc00 && low < 0xe000;
      c = pair ? 0x10000 + ((c - 0xd800) << 10) + (static_cast<unsigned>(low) - 0xdc00) : 0xfffd;
      if (pair) at += 6;
      else if (half) *half = true;
    }
    put_utf8(out, c);
  }
}
}  // namespace bora::data
