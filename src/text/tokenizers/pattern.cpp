#include "text/tokenizers/pattern.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>
#include "text/json_node.h"

namespace bora::text {
namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Oniguruma's \w: Unicode's; outside of sets, where it asks a table for Latin-1, its digits and fractions too.
constexpr std::string_view kWordSet = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view kWordLatin = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
/// Reads Oniguruma's syntax, writes PCRE2's.
class Translation {
 public:
  Translation(std::string_view in, const std::string& where) : in_(in), where_(where) {}
  std::string run() {
    std::vector<bool> outer;  // whether case was ignored outside of each open group
    while (at_ < in_.size()) {
      char c = in_[at_];
      if (!is_letter(c) && std::string_view("\\()?:*+{").find(c) == std::string_view::npos) word_.clear();
      if (c == '\\') escape(false);
      else if (c == '[') set();
      else if (c == '(') {
        outer.push_back(ignore_case_);
        open();
      } else if (c == ')') {
        refuse_unless(!outer.empty(), 1, "a ) without (");
        ignore_case_ = outer.back();
        outer.pop_back();
        copy(1);
      } else if (c == '{') interval();
      else if (c == '^' || c == '$') refuse(1);
      else literal();
    }
    return out_;
  }

 private:
  std::string_view rest(std::size_t n) const { return in_.substr(at_, n); }
  void copy(std::size_t n) {
    out_ += rest(n);
    at_ += n;
  }
  /// Writes `text` for n characters.
  void put(std::size_t n, std::string_view text) {
    out_ += text;
    at_ += n;
  }
  [[noreturn]] void refuse(std::size_t n, std::string_view why = "") const {
    fail<IoError>(where_, ": the regular expression has '", rest(n), "' at byte ", at_, why.empty() ? "" : ", ", why,
                  "; this is not supported: its meaning in PCRE2 and Oniguruma may differ");
  }
  void refuse_unless(bool ok, std::size_t n, std::string_view why) const {
    if (!ok) refuse(n, why);
  }
  void literal() {
    char c = in_[at_];
    if (ignore_case_) {  // Oniguruma also folds one character to several: (?i:ss) matches U+00DF
      refuse_unless((c & 0x80) == 0, 1, "where case is ignored");
      if (is_letter(c)) {
        word_ += static_cast<char>(c | 0x20);
        for (auto pair : {"ff", "fi", "fl", "ss", "st"})
          refuse_unless(!word_.ends_with(pair), 1, "the end of letters that one character may stand for");
      }
    }
    copy(1);
  }
  void open() {
    refuse_unless(rest(2) != "(*", 2, "a verb");
    if (rest(2) != "(?") return copy(1);
    for (std::string_view known : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"})
      if (rest(known.size()) == known) return copy(known.size());
    refuse_unless(rest(4) == "(?i:", 4, "");
    ignore_case_ = true;
    copy(4);
  }
  void interval() {
    auto end = at_ + 1;
    while (end < in_.size() && is_digit(in_[end])) ++end;
    bool ok = end > at_ + 1;
    if (end < in_.size() && in_[end] == ',') ++end;
    while (end < in_.size() && is_digit(in_[end])) ++end;
    ok = ok && end < in_.size() && in_[end] == '}';
    auto n = end + 1 - at_;
    refuse_unless(ok, n, "a { that counts nothing");
    refuse_unless(end + 1 == in_.size() || (in_[end + 1] != '+' && in_[end + 1] != '?'), n + 1, "");
    copy(n);
  }
  void set() {
    refuse_unless(!ignore_case_, 1, "where case is ignored");
    copy(rest(2) == "[^" ? 2 : 1);
    refuse_unless(rest(1) != "]", 1, "an empty set");
    while (rest(1) != "]") {
      refuse_unless(at_ < in_.size(), 0, "a set without ]");
      refuse_unless(in_[at_] != '[', 1, "a set in a set");
      refuse_unless(rest(2) != "&&", 2, "");
      if (in_[at_] == '\\') escape(true);
      else copy(1);
    }
    copy(1);
  }
  void escape(bool in_set) {
    refuse_unless(at_ + 1 < in_.size(), 1, "the end of the pattern");
    char c = in_[at_ + 1];
    bool letter = is_letter(c) || is_digit(c) || (c & 0x80) != 0;
    if (!letter || std::string_view("nrtfae").find(c) != std::string_view::npos) return copy(2);
    refuse_unless(!ignore_case_, 2, "where case is ignored");
    switch (c) {
      case 'v': return put(2, "\\x0b");
      case 's': return put(2, "\\p{White_Space}");  // PCRE2's \s has U+180E too
      case 'S': return put(2, "\\P{White_Space}");
      case 'd': return put(2, "\\p{Nd}");
      case 'D': return put(2, "\\P{Nd}");
      case 'w': return put(2, in_set ? std::string(kWordSet) : word_set("["));
      case 'W': refuse_unless(!in_set, 2, "in a set"); return put(2, word_set("[^"));
      case 'p':
      case 'P': return property();
      case 'x':
      case 'u': return code_point(c == 'u');
      default: refuse(2);
    }
  }
  static std::string word_set(std::string_view open) {
    return std::string(open) + std::string(kWordSet) + std::string(kWordLatin) + "]";
  }
  void property() {
    auto end = in_.find('}', at_);
    refuse_unless(rest(3).ends_with('{') && end != in_.npos, 2, "");
    auto name = in_.substr(at_ + 3, end - at_ - 3);
    bool plain =
        !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || c == '_'; });
    refuse_unless(plain, end + 1 - at_, "");
    out_ += rest(3);
    if (name.size() > 2) out_ += "sc:";  // PCRE2's \p{Han} is the extended script
    put(end + 1 - at_, std::string(name) + "}");
  }
  void code_point(bool of_four) {
    auto begin = at_ + 2;
    bool braces = !of_four && begin < in_.size() && in_[begin] == '{';
    begin += braces;
    auto end = begin, most = begin + (of_four ? 4 : braces ? 6 : 2);
    while (end < std::min(most, in_.size()) && is_hex(in_[end])) ++end;
    auto digits = in_.substr(begin, end - begin);
    bool ok = !digits.empty() && (!braces || (end < in_.size() && in_[end] == '}')) && (!of_four || digits.size() == 4);
    end += braces;
    refuse_unless(ok, end - at_, "");
    refuse_unless(of_four || braces || digits.size() < 2 || digits[0] < '8', end - at_, "a byte above 7f");
    put(end - at_, "\\x{" + std::string(digits) + "}");
  }
  std::string_view in_;
  const std::string& where_;
  std::string out_, word_;  // word_: the last letters, in lower case
  std::size_t at_ = 0;
  bool ignore_case_ = false;
};
std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}
struct Free {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};
}  // namespace

std::string to_pcre2(std::string_view pattern, const std::string& where) { return Translation(pattern, where).run(); }
std::string literal_pattern(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (!is_letter(c) && !is_digit(c) && (c & 0x80) == 0) out += '\\';
    out += c;
  }
  return out;
}

Pattern::Pattern(std::string_view pattern, const std::string& where)
    : Pattern(of_pcre2(to_pcre2(pattern, where), where, pattern)) {}
Pattern Pattern::of_pcre2(std::string_view text, const std::string& where, std::string_view shown) {
  int error = 0;
  PCRE2_SIZE place = 0;
  std::shared_ptr<pcre2_compile_context> lines(pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(lines.get(), PCRE2_NEWLINE_LF);
  auto code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF | PCRE2_UCP, &error,
                            &place, lines.get());
  check<IoError>(code != nullptr, where, ": broken regular expression '", shown,
                 "': ", [&] { return message_of(error); });
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without success the interpreter matches
  Pattern p;
  p.code_.reset(code, pcre2_code_free);
  return p;
}

Pattern Pattern::read(const Node& node, const char* not_empty) {
  node.only({"Regex", "String"});
  auto regex = node.find("Regex"), literal = node.find("String");
  node.need(regex.has_value() != literal.has_value(), "expected Regex or String");
  if (literal) literal->need(!literal->text().empty(), "is empty");
  Pattern pattern(regex ? regex->text() : literal_pattern(literal->text()), node.place);
  std::uint32_t empty = 0;
  pcre2_pattern_info(pattern.code_.get(), PCRE2_INFO_MATCHEMPTY, &empty);
  node.need(!not_empty || empty == 0, not_empty, " is not supported");
  return pattern;
}
void Pattern::split(std::string_view text, const std::function<void(std::string_view, bool)>& f) const {
  std::unique_ptr<pcre2_match_data, Free> data(pcre2_match_data_create(1, nullptr));
  std::unique_ptr<pcre2_match_context, Free> context(pcre2_match_context_create(nullptr));
  if (!data || !context) throw std::bad_alloc();
  // A pattern that goes back over a whole run of characters takes some steps for each of them.
  pcre2_set_match_limit(context.get(),
                        static_cast<std::uint32_t>(std::min<std::size_t>(100'000 + 16 * text.size(), UINT32_MAX)));
  auto bounds = pcre2_get_ovector_pointer(data.get());
  auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  std::size_t from = 0, given = 0;
  while (from <= text.size()) {
    std::uint32_t options = PCRE2_NO_UTF_CHECK;
    int n = pcre2_match(code_.get(), subject, text.size(), from, options, data.get(), context.get());
    if (n == PCRE2_ERROR_JIT_STACKLIMIT)
      n = pcre2_match(code_.get(), subject, text.size(), from, options | PCRE2_NO_JIT, data.get(), context.get());
    if (n == PCRE2_ERROR_NOMATCH) break;
    check<ValueError>(n >= 0, "encode: the pre-tokenizer's regular expression fails at byte ", from, " of ",
                      text.size(), ": ", [&] { return message_of(n); });
    auto begin = bounds[0], end = bounds[1];
    if (begin == end && end == given) {  // it cuts nothing
      do ++from;
      while (from < text.size() && (text[from] & 0xc0) == 0x80);
      continue;
    }
    if (begin > given) f(text.substr(given, begin - given), false);
    if (end > begin) f(text.substr(begin, end - begin), true);
    from = given = end;
  }
  if (given < text.size()) f(text.substr(given), false);
}
}  // namespace bora::text
#undef PCRE2_CODE_UNIT_WIDTH
