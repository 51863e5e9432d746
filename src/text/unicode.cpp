#include "text/unicode.h"
#include <utf8proc.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <vector>

namespace bora::text {
namespace {
constexpr std::array<std::string_view, 25> kSpaces = {  // Unicode's White_Space
    "\t",     "\n",     "\v",     "\f",     "\r",     " ",      "\u0085", "\u00a0", "\u1680",
    "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
    "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
utf8proc_option_t options(int of) { return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | of); }
int combining_class(std::int32_t c) { return utf8proc_get_property(c)->combining_class; }
}  // namespace

std::string nfc(std::string_view text) {
  // Below U+0300 there are only characters that NFC leaves as they are.
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0xcc; }))
    return std::string(text);
  std::vector<std::int32_t> points;
  points.reserve(text.size());
  auto at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (auto end = at + text.size(); at < end;) {
    utf8proc_int32_t c, parts[32];
    int last = 0;
    at += utf8proc_iterate(at, end - at, &c);
    auto n = utf8proc_decompose_char(c, parts, 32, options(UTF8PROC_DECOMPOSE), &last);
    points.insert(points.end(), parts, parts + n);
  }
  // utf8proc's own sort takes the square of a run's length.
  for (auto i = points.begin(); i != points.end();) {
    auto end = std::find_if(i, points.end(), [](auto c) { return combining_class(c) == 0; });
    std::stable_sort(i, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    i = end == points.end() ? end : end + 1;
  }
  auto count =
      utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()), options(UTF8PROC_COMPOSE));
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8proc_uint8_t bytes[4];
    auto n = utf8proc_encode_char(points[static_cast<std::size_t>(i)], bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
  }
  return out;
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
}  // namespace bora::text
