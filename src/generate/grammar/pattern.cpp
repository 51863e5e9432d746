#include "generate/grammar/pattern.h"
#include <algorithm>
#include <cstdlib>
#include <optional>
#include "bora/base/error.h"
#include "json/api/value.h"

namespace bora::generate::grammar {
namespace {
constexpr int kMostRepeats = 10'000, kMostDepth = 100;
/// A text may stand at all of them at once, and each byte looks at all.
constexpr std::int64_t kMostPatternStates = 2'000;
const Characters kDigits{{'0', '9'}}, kWord{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
    kSpace{{'\t', '\r'},       {' ', ' '},         {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
           {0x2028, 0x2029},   {0x202F, 0x202F},   {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}},
    kLineEnds{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

/// A part of a pattern: one of these characters, or parts one after another, or one of them, or one several times.
struct Part {
  enum class Kind : std::uint8_t { one_of, all, either, times } kind = Kind::all;
  Characters set = {};
  std::vector<Part> parts = {};
  int least = 0, most = 0;  // -1: any number
};
struct Alternative {
  Part part = {};
  bool begins = false, ends = false;  // with ^, with $
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& where) : text_(text), where_(where) {}
  std::vector<Alternative> all() {
    std::vector<Alternative> r;
    do r.push_back(alternative(0));
    while (take('|'));
    if (at_ < text_.size()) bad("there is a ) without its (");
    return r;
  }

 private:
  template <class... Words> [[noreturn]] void bad(const Words&... words) const {
    fail<ValueError>(where_, ": ", words..., ", at byte ", at_, " of ", json::quoted(std::string(text_.substr(0, 80))));
  }
  bool more() const { return at_ < text_.size(); }
  bool take(char c) {
    if (!more() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  char32_t character() {
    auto lead = static_cast<std::uint8_t>(text_[at_++]);
    if (lead < 0x80) return lead;
    int tails = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    char32_t c = lead & (0x3F >> tails);
    for (; tails > 0 && more(); --tails) c = c << 6 | (static_cast<std::uint8_t>(text_[at_++]) & 0x3F);
    return c;
  }
  Alternative alternative(int depth) {
    if (depth > kMostDepth) bad("groups are more than ", kMostDepth, " deep");
    Alternative r;
    if (depth == 0) r.begins = take('^');
    while (more() && text_[at_] != '|' && text_[at_] != ')') {
      if (depth == 0 && text_[at_] == '$' && (at_ + 1 == text_.size() || text_[at_ + 1] == '|')) {
        r.ends = take('$');
        break;
      }
      r.part.parts.push_back(repeated(depth));
    }
    return r;
  }
  Part repeated(int depth) {
    auto p = single(depth);
    for (bool first = true; more(); first = false) {
      int least = 0, most = -1;
      if (take('+')) least = 1;
      else if (take('?')) most = 1;
      else if (text_[at_] == '{') {
        ++at_;
        least = number();
        most = take(',') ? (more() && text_[at_] == '}' ? -1 : number()) : least;
        if (!take('}')) bad("a { has no }");
        if (most >= 0 && most < least) bad("no number is from ", least, " to ", most);
      } else if (!take('*')) break;
      if (!first) bad("a repetition follows a repetition");
      (void)take('?');  // which changes no string, only the order in which it would be looked for
      Part times{.kind = Part::Kind::times, .least = least, .most = most};
      times.parts.push_back(std::move(p));
      p = std::move(times);
    }
    return p;
  }
  int number() {
    int n = 0;
    auto from = at_;
    for (; more() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      n = n * 10 + (text_[at_] - '0');
      if (n > kMostRepeats) bad("more than ", kMostRepeats, " repetitions");
    }
    if (at_ == from) bad("a number is missing behind {");
    return n;
  }
  Part single(int depth) {
    if (take('(')) {
      if (take('?') && !take(':')) bad("of the groups that begin with (? only (?: is known");
      Part p{.kind = Part::Kind::either};
      do p.parts.push_back(alternative(depth + 1).part);
      while (take('|'));
      if (!take(')')) bad("a ( has no )");
      return p;
    }
    auto c = text_[at_];
    if (c == '^' || c == '$') bad(c, " is known at the ends of the pattern alone");
    if (c == '*' || c == '+' || c == '?' || c == '{') bad(c, " repeats nothing");
    if (c == '.') return ++at_, one_of(others(kLineEnds));
    if (c == '[') return one_of(set());
    if (c == '\\') return one_of(escape(false));
    auto plain = character();
    return one_of({{plain, plain}});
  }
  static Part one_of(Characters set) { return {.kind = Part::Kind::one_of, .set = sorted(std::move(set))}; }
  Characters escape(bool in_set) {
    ++at_;
    if (!more()) bad("a \\ ends it");
    auto c = text_[at_];
    auto set = [&](Characters s) { return ++at_, s; };
    auto one = [&](char32_t x) { return set({{x, x}}); };
    switch (c) {
      case 'd': return set(kDigits);
      case 'D': return set(others(kDigits));
      case 'w': return set(kWord);
      case 'W': return set(others(kWord));
      case 's': return set(kSpace);
      case 'S': return set(others(kSpace));
      case 't': return one('\t');
      case 'n': return one('\n');
      case 'r': return one('\r');
      case 'f': return one('\f');
      case 'v': return one('\v');
      case 'u': return hex(4);
      case 'x': return hex(2);
      default: break;
    }
    if (c == 'b' && in_set) return one('\b');
    bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) bad("\\", c, " is not known");
    auto plain = character();
    return {{plain, plain}};
  }
  Characters hex(std::size_t digits) {
    auto text = std::string(text_.substr(++at_, digits));
    if (text.size() != digits || text.find_first_not_of("0123456789abcdefABCDEF") != text.npos)
      bad("there must be ", digits, " hexadecimal digits");
    at_ += digits;
    auto c = static_cast<char32_t>(std::strtoul(text.c_str(), nullptr, 16));
    if (c >= 0xD800 && c < 0xE000) bad("half of a pair is no character; write the character itself");
    return {{c, c}};
  }
  Characters set() {
    ++at_;
    bool none_of = take('^');
    Characters all;
    auto next = [&] {
      if (!more()) bad("a [ has no ]");
      if (text_[at_] == '\\') return escape(true);
      auto c = character();
      return Characters{{c, c}};
    };
    while (!take(']')) {
      auto low = next();
      bool range = at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']';
      if (range) {
        ++at_;
        auto high = next();
        bool single = low.size() == 1 && low[0].first == low[0].second && high.size() == 1 &&
                      high[0].first == high[0].second && low[0].first <= high[0].first;
        if (!single) bad("a range in [] goes from a character to one that is not before it");
        low[0].second = high[0].first;
      }
      all.insert(all.end(), low.begin(), low.end());
    }
    return none_of ? others(sorted(all)) : sorted(all);
  }
  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};
void add(Automaton& a, std::int32_t from, const Part& p, std::int32_t to, std::int64_t most) {
  switch (p.kind) {
    case Part::Kind::one_of: return a.character(from, p.set, to);
    case Part::Kind::either:
      for (auto& part : p.parts) add(a, from, part, to, most);
      return;
    case Part::Kind::all:
      for (auto& part : p.parts) {
        auto next = a.state();
        add(a, from, part, next, most);
        from = next;
      }
      return a.skip(from, to);
    case Part::Kind::times: break;
  }
  auto once = [&] {
    bora::check<ValueError>(a.size() < most, "it is too large: it takes more than ", kMostPatternStates, " states");
    auto next = a.state();
    add(a, from, p.parts[0], next, most);
    from = next;
  };
  for (int i = 0; i < p.least; ++i) once();
  if (p.most < 0) {
    auto loop = a.state();
    a.skip(from, loop);
    add(a, loop, p.parts[0], loop, most);
    return a.skip(loop, to);
  }
  for (int i = p.least; i < p.most; ++i) {
    a.skip(from, to);
    once();
  }
  a.skip(from, to);
}
}  // namespace
void add_pattern(Automaton& a, std::int32_t from, std::string_view pattern, std::int32_t to, const std::string& where) {
  auto most = a.size() + kMostPatternStates;
  for (auto& alternative : Reader(pattern, where).all()) {
    auto begin = a.state(), end = a.state();
    a.skip(from, begin);
    if (!alternative.begins) a.character(begin, all_characters(), begin);
    // A loop at the beginning must not be reached again from within.
    auto inner = a.state();
    a.skip(begin, inner);
    try {
      add(a, inner, alternative.part, end, most);
    } catch (const ValueError& e) { fail<ValueError>(where, ": ", e.text()); }
    if (!alternative.ends) a.character(end, all_characters(), end);
    a.skip(end, to);
  }
}
}  // namespace bora::generate::grammar
