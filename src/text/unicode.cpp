#include "text/unicode.h"
#include <utf8proc.h>
#include <algorithm>
#include <array>
#include <new>
#include <vector>
#include "bora/base/text.h"

namespace bora::text {
namespace {
constexpr std::array<std::string_view, 25> kSpaces = {  // Unicode's White_Space
    "\t",     "\n",     "\v",     "\f",     "\r",     " ",      "\u0085", "\u00a0", "\u1680",
    "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
    "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
utf8proc_option_t options(int of) { return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | of); }
int combining_class(std::int32_t c) { return utf8proc_get_property(c)->combining_class; }
template <class F> void each_point(std::string_view text, F&& f) {
  auto at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (auto end = at + text.size(); at < end;) {
    utf8proc_int32_t c;
    at += utf8proc_iterate(at, end - at, &c);
    f(c);
  }
}
void append_point(std::int32_t c, std::string& out) {
  utf8proc_uint8_t bytes[4];
  auto n = utf8proc_encode_char(c, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
}
bool is_word(std::int32_t c) {
  auto category = utf8proc_category(c);
  bool letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
  bool number = category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL;
  bool circled = (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) ||
                 (c >= 0x1f170 && c <= 0x1f189);  // symbols that are alphabetic
  bool joiner = c == 0x200c || c == 0x200d;
  return letter || number || circled || joiner || is_mark(c) || category == UTF8PROC_CATEGORY_PC;
}
std::int32_t first_point(std::string_view text) {
  utf8proc_int32_t c = 0;
  utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &c);
  return c;
}
struct Prefix {
  std::size_t n;       // bytes of the longest prefix that is, or begins, a character; at least 1
  std::size_t wanted;  // bytes of the character; 0 if none begins so
};
Prefix prefix(std::string_view s) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  auto c = byte(0);
  if (c < 0x80) return {1, 1};
  std::size_t wanted = c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (wanted == 0) return {1, 0};
  // Overlong forms, surrogates and what is above U+10FFFF end at their second byte.
  unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80, high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
  std::size_t n = 1;
  while (n < wanted && n < s.size() && byte(n) >= low && byte(n) <= high) ++n, low = 0x80, high = 0xbf;
  return {n, wanted};
}
}  // namespace

std::size_t append_utf8(std::string_view bytes, bool more, std::string& out) {
  for (std::size_t i = 0; i < bytes.size();) {
    auto rest = bytes.substr(i);
    auto good = std::min(first_not_utf8(rest), rest.size());
    out += rest.substr(0, good);
    i += good;
    if (i == bytes.size()) break;
    auto [n, wanted] = prefix(bytes.substr(i));
    if (more && i + n == bytes.size() && n < wanted) return i;
    out += "\ufffd";
    i += n;
  }
  return bytes.size();
}
std::string_view valid_utf8(std::string_view text, std::string& copy) {
  auto good = first_not_utf8(text);
  if (good == text.npos) return text;
  copy.assign(text.substr(0, good));
  append_utf8(text.substr(good), false, copy);
  return copy;
}
std::vector<TextRange> in_valid(std::string_view text, std::string_view valid, std::span<const TextRange> ranges) {
  std::vector<TextRange> r(ranges.begin(), ranges.end());
  auto place = [&](std::size_t at) {
    if (text.data() == valid.data()) return at;
    std::string before;
    append_utf8(text.substr(0, at), false, before);
    return std::min(before.size(), valid.size());
  };
  auto within = [&](std::size_t at) { return at < valid.size() && (valid[at] & 0xc0) == 0x80; };  // a character
  for (auto& [first, second] : r) {
    for (first = place(first); within(first);) --first;
    for (second = place(second); within(second);) ++second;
  }
  return r;
}
bool begins_character(std::string_view bytes) {
  auto [n, wanted] = prefix(bytes);
  return n == bytes.size() && n < wanted;
}
std::string normal_form(std::string_view text, bool composed, bool compatible) {
  // Below U+0300 composition changes nothing; only ASCII is left by all forms.
  unsigned char changes = composed && !compatible ? 0xcc : 0x80;
  if (std::all_of(text.begin(), text.end(), [&](char c) { return static_cast<unsigned char>(c) < changes; }))
    return std::string(text);
  std::vector<std::int32_t> points;
  points.reserve(text.size());
  auto decompose = options(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  each_point(text, [&](std::int32_t c) {
    utf8proc_int32_t parts[32];
    int last = 0;
    auto n = utf8proc_decompose_char(c, parts, 32, decompose, &last);
    points.insert(points.end(), parts, parts + n);
  });
  // utf8proc's own sort takes the square of a run's length.
  for (auto i = points.begin(); i != points.end();) {
    auto end = std::find_if(i, points.end(), [](auto c) { return combining_class(c) == 0; });
    std::stable_sort(i, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    i = end == points.end() ? end : end + 1;
  }
  auto count = static_cast<utf8proc_ssize_t>(points.size());
  if (composed) count = utf8proc_normalize_utf32(points.data(), count, options(UTF8PROC_COMPOSE));
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < count; ++i) append_point(points[static_cast<std::size_t>(i)], out);
  return out;
}
std::string lower_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_point(text, [&](std::int32_t c) {
    if (c == 0x130) out += "i\u0307";  // the one character whose lower case is two, in every language
    else append_point(utf8proc_tolower(c), out);
  });
  return out;
}
void each_grapheme(std::string_view text, const std::function<void(std::string_view)>& f) {
  std::size_t begin = 0, at = 0;
  std::int32_t before = 0, state = 0;
  each_point(text, [&](std::int32_t c) {
    if (at > 0 && utf8proc_grapheme_break_stateful(before, c, &state)) {
      f(text.substr(begin, at - begin));
      begin = at;
    }
    before = c;
    at += character_size(text[at]);
  });
  if (begin < text.size()) f(text.substr(begin));
}

std::size_t space_at_end(std::string_view text) {
  auto rest = text;
  auto ends = [&](auto space) {
    if (!rest.ends_with(space)) return false;
    rest.remove_suffix(space.size());
    return true;
  };
  while (std::any_of(kSpaces.begin(), kSpaces.end(), ends)) {}
  return text.size() - rest.size();
}
std::size_t space_at_begin(std::string_view text) {
  auto rest = text;
  auto begins = [&](auto space) {
    if (!rest.starts_with(space)) return false;
    rest.remove_prefix(space.size());
    return true;
  };
  while (std::any_of(kSpaces.begin(), kSpaces.end(), begins)) {}
  return text.size() - rest.size();
}
bool begins_with_word(std::string_view text) { return !text.empty() && is_word(first_point(text)); }
bool ends_with_word(std::string_view text) {
  auto at = text.size();
  while (at > 0 && (text[--at] & 0xc0) == 0x80) {}
  return begins_with_word(text.substr(at));
}
bool is_mark(std::int32_t c) {
  auto category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}
std::string without(std::string_view text, bool (*drop)(std::int32_t)) {
  std::string out;
  out.reserve(text.size());
  each_point(text, [&](std::int32_t c) {
    if (!drop(c)) append_point(c, out);
  });
  return out;
}
bool is_nonspacing_mark(std::int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_MN; }
std::string printed_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_point(text, [&](std::int32_t c) {
    auto category = utf8proc_category(c);
    bool space = c == '\t' || c == '\n' || c == '\r' || category == UTF8PROC_CATEGORY_ZS ||
                 category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
    bool gone = c == 0xfffd || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
                category == UTF8PROC_CATEGORY_CO;
    if (space) out += ' ';
    else if (!gone) append_point(c, out);
  });
  return out;
}
std::string with_ideographs_apart(std::string_view text) {
  constexpr std::pair<std::int32_t, std::int32_t> kRanges[] = {
      {0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
      {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  std::string out;
  out.reserve(text.size());
  each_point(text, [&](std::int32_t c) {
    bool apart = std::any_of(std::begin(kRanges), std::end(kRanges),
                             [&](auto& range) { return c >= range.first && c <= range.second; });
    if (apart) out += ' ';
    append_point(c, out);
    if (apart) out += ' ';
  });
  return out;
}
std::string clean_text(std::string_view text) {
  auto control = [](std::int32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
  };
  auto space = [](std::int32_t c) {
    return c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 || (c >= 0x200b && c <= 0x200f) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
  };
  std::string out;
  each_point(without(text, control), [&](std::int32_t c) { append_point(space(c) ? ' ' : c, out); });
  return out;
}
}  // namespace bora::text
