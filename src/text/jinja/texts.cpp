// texts.cpp -- operations on marked texts, by characters.
#include <utf8proc.h>
#include <algorithm>
#include "text/jinja/run.h"
#include "text/unicode.h"

namespace bora::text::jinja {
namespace {
std::size_t size_at(std::string_view s, std::size_t i) { return std::min(character_size(s[i]), s.size() - i); }
std::int32_t point_at(std::string_view s) {
  utf8proc_int32_t c = 0;
  utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(s.data()), static_cast<utf8proc_ssize_t>(s.size()), &c);
  return c;
}
/// Whether Python's str.strip drops a character.
bool is_space(std::string_view c) { return (c.size() == 1 && c[0] >= 0x1c && c[0] <= 0x1f) || space_at_end(c) > 0; }
}  // namespace

std::size_t characters(std::string_view s) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < s.size(); i += size_at(s, i)) ++n;
  return n;
}
std::vector<Marked> each_character(const Marked& s) {
  std::vector<Marked> r;
  for (std::size_t i = 0; i < s.size();) {
    auto n = size_at(s.text, i);
    r.push_back(s.part(i, n));
    i += n;
  }
  return r;
}
Marked stripped(const Marked& s, bool left, bool right, const Value& set) {
  const bool any = !set.is(Kind::text);
  if (any && !set.is(Kind::none) && !set.is(Kind::undefined)) problem("strip takes a text, got ", set.type());
  auto drops = [&](std::string_view c) { return any ? is_space(c) : set.text().text.find(c) != std::string::npos; };
  std::size_t begin = 0, end = s.size();
  while (left && begin < end && drops(std::string_view(s.text).substr(begin, size_at(s.text, begin))))
    begin += size_at(s.text, begin);
  while (right && begin < end) {
    auto last = end - 1;
    while (last > begin && (s.text[last] & 0xc0) == 0x80) --last;
    if (!drops(std::string_view(s.text).substr(last, end - last))) break;
    end = last;
  }
  return s.part(begin, end - begin);
}
Marked joined(Run& run, const Values& items, const Marked& between) {
  Marked r;
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto next = string_of(run, items[i]);
    run.more_bytes(r.size(), between.size() + next.size());
    if (i > 0) r.add(between);
    r.add(next);
  }
  return r;
}
Marked replaced(Run& run, const Marked& s, const Marked& from, const Marked& to, std::int64_t most) {
  Marked r;
  std::size_t at = 0;
  if (from.empty()) {  // Python puts it before each character and at the end
    auto all = each_character(s);
    for (std::size_t i = 0; i <= all.size(); ++i) {
      run.more_bytes(r.size(), to.size() + 1);
      if (most < 0 || static_cast<std::int64_t>(i) < most) r.add(to);
      if (i < all.size()) r.add(all[i]);
    }
    return r;
  }
  for (std::int64_t n = 0; most < 0 || n < most; ++n) {
    auto found = s.text.find(from.text, at);
    if (found == s.text.npos) break;
    run.more_bytes(r.size(), found - at + to.size());
    run.step();
    r.add(s.part(at, found - at)).add(to);
    at = found + from.size();
  }
  run.more_bytes(r.size(), s.size() - at);
  return r.add(s.part(at));
}
Marked in_case(const Marked& s, Case how) {
  Marked r;
  bool begins = true, first = true;
  for (std::size_t i = 0; i < s.size();) {
    auto n = size_at(s.text, i);
    auto c = point_at(std::string_view(s.text).substr(i, n));
    const bool up = how == Case::upper || (how == Case::title ? begins : how == Case::capitalize && first);
    auto into = !up ? utf8proc_tolower(c) : how == Case::upper ? utf8proc_toupper(c) : utf8proc_totitle(c);
    utf8proc_uint8_t bytes[4];
    auto size = utf8proc_encode_char(into, bytes);
    if (up && c == 0xdf) r.add(how == Case::upper ? "SS" : "Ss", s.marks[i]);  // the sharp s
    else r.add({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)}, s.marks[i]);
    auto category = utf8proc_category(c);
    begins = category < UTF8PROC_CATEGORY_LU || category > UTF8PROC_CATEGORY_LT;
    if (category == UTF8PROC_CATEGORY_LM || category == UTF8PROC_CATEGORY_LO) begins = false;
    first = false;
    i += n;
  }
  return r;
}
bool all_of_category(const Marked& s, std::string_view what) {
  bool cased = false;
  for (auto& c : each_character(s)) {
    auto point = point_at(c.text);
    auto k = utf8proc_category(point);
    const bool letter = k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
    const bool lower = k == UTF8PROC_CATEGORY_LL, upper = k == UTF8PROC_CATEGORY_LU || k == UTF8PROC_CATEGORY_LT;
    cased = cased || lower || upper;
    if (what == "isdigit" && k != UTF8PROC_CATEGORY_ND) return false;
    if (what == "isalpha" && !letter) return false;
    if (what == "isalnum" && !letter && k != UTF8PROC_CATEGORY_ND) return false;
    if (what == "isspace" && !is_space(c.text)) return false;
    if ((what == "islower" && upper) || (what == "isupper" && lower)) return false;
  }
  return what == "islower" || what == "isupper" ? cased : !s.empty();
}
}  // namespace bora::text::jinja
