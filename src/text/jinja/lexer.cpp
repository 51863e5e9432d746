#include "text/jinja/lexer.h"
#include <algorithm>
#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::text::jinja {
namespace {
constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool digit(char c) { return c >= '0' && c <= '9'; }
void append_utf8(std::uint32_t c, std::string& out) {
  if (c < 0x80) out += static_cast<char>(c);
  else {
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    constexpr int lead[] = {0, 0xc0, 0xe0, 0xf0};
    out += static_cast<char>(lead[more] | static_cast<int>(c >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (c >> (6 * i) & 0x3f));
  }
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) {
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r') source_ += i + 1 < source.size() && source[i + 1] == '\n' ? "" : "\n";
      else source_ += source[i];
    }
    if (source_.ends_with('\n')) source_.pop_back();
    in_ = source_;
  }
  std::vector<Token> run() {
    for (;;) {
      auto open = next_tag();
      data(text_before(open));
      if (open == in_.npos) break;
      go_to(open);
      const char kind = in_[open + 1];
      const auto behind = open + 2 + (sign(open) != 0);
      if (kind == '#') comment(behind);
      else if (auto raw = raw_end(open, "raw"); raw != in_.npos && kind == '%') raw_text(raw);
      else tag(kind, behind);
      starts_line_ = at_ > 0 && in_[at_ - 1] == '\n';
    }
    add(TokenKind::end);
    return std::move(tokens_);
  }

 private:
  template <class... Parts> [[noreturn]] void bad(const Parts&... parts) const {
    fail<ValueError>(line_, ": ", parts...);
  }
  Token& add(TokenKind kind, std::string text = {}) {
    tokens_.push_back({kind, std::move(text), line_});
    return tokens_.back();
  }
  void data(std::string_view s) {
    if (!s.empty()) add(TokenKind::data, std::string(s));
  }
  void go_to(std::size_t at) {
    line_ += static_cast<int>(std::count(in_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         in_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    at_ = at;
  }
  std::size_t next_tag() const {
    for (auto i = in_.find('{', at_); i != in_.npos; i = in_.find('{', i + 1))
      if (i + 1 < in_.size() && (in_[i + 1] == '{' || in_[i + 1] == '%' || in_[i + 1] == '#')) return i;
    return in_.npos;
  }
  /// '-' or '+' behind a tag's opening, or 0.
  char sign(std::size_t open) const {
    char c = open + 2 < in_.size() ? in_[open + 2] : 0;
    return c == '-' || c == '+' ? c : 0;
  }
  /// The text from here to a tag, without the white space that the tag takes.
  std::string_view text_before(std::size_t open) const {
    auto s = in_.substr(at_, open == in_.npos ? in_.npos : open - at_);
    if (open == in_.npos) return s;
    if (sign(open) == '-') return s.substr(0, s.find_last_not_of(kWhiteSpace) + 1);
    if (sign(open) == '+' || in_[open + 1] == '{') return s;
    auto line = s.rfind('\n') + 1;  // 0 without a newline
    bool blank = s.find_first_not_of(kWhiteSpace, line) == s.npos;
    return blank && (line > 0 || starts_line_) ? s.substr(0, line) : s;
  }
  /// Goes behind a tag's end, and over the white space that its sign takes.
  void close(char sign, bool block, std::size_t behind) {
    auto to = behind;
    if (sign == '-') to = std::min(in_.find_first_not_of(kWhiteSpace, to), in_.size());
    else if (sign == 0 && block && to < in_.size() && in_[to] == '\n') ++to;
    go_to(to);
  }
  void comment(std::size_t from) {
    auto end = in_.find("#}", from);
    if (end == in_.npos) bad("a comment {# does not end");
    close(end > from && in_[end - 1] == '-' ? '-' : end > from && in_[end - 1] == '+' ? '+' : 0, true, end + 2);
  }
  /// Where the tag {% word %} at `open` ends; npos for another tag.
  std::size_t raw_end(std::size_t open, std::string_view word) const {
    auto at = in_.find_first_not_of(kWhiteSpace, open + 2 + (sign(open) != 0));
    if (at == in_.npos || !in_.substr(at).starts_with(word)) return in_.npos;
    at = in_.find_first_not_of(kWhiteSpace, at + word.size());
    if (at == in_.npos) return at;
    if (in_[at] == '-' || in_[at] == '+') ++at;
    return in_.substr(at).starts_with("%}") ? at + 2 : in_.npos;
  }
  void raw_text(std::size_t from) {
    close(in_[from - 3] == '-' ? '-' : '+', true, from);  // no newline goes but for a minus
    for (auto open = in_.find("{%", at_); open != in_.npos; open = in_.find("{%", open + 1)) {
      auto end = raw_end(open, "endraw");
      if (end == in_.npos) continue;
      starts_line_ = false;
      data(text_before(open));
      char s = in_[end - 3];
      return close(s == '-' || s == '+' ? s : 0, true, end);
    }
    bad("{% raw %} has no {% endraw %}");
  }
  void tag(char kind, std::size_t from) {
    add(kind == '{' ? TokenKind::output : TokenKind::block);
    go_to(from);
    const std::string_view ends = kind == '{' ? "}}" : "%}";
    std::string open;  // brackets
    for (;;) {
      auto next = in_.find_first_not_of(kWhiteSpace, at_);
      if (next == in_.npos) bad("a tag has no ", ends);
      go_to(next);
      auto rest = in_.substr(at_);
      if (open.empty()) {
        char s = rest[0] == '-' || (rest[0] == '+' && kind == '%') ? rest[0] : 0;
        if (rest.substr(s != 0).starts_with(ends)) {
          add(TokenKind::close);
          return close(s, kind == '%', at_ + 2 + (s != 0));
        }
      }
      if (begins_name(rest[0])) {
        std::size_t n = 1;
        while (n < rest.size() && (begins_name(rest[n]) || digit(rest[n]))) ++n;
        add(TokenKind::name, std::string(rest.substr(0, n)));
        at_ += n;
      } else if (digit(rest[0])) number(rest);
      else if (rest[0] == '\'' || rest[0] == '"') text(rest);
      else mark(rest, open);
    }
  }
  void number(std::string_view rest) {
    std::string digits;
    std::size_t n = 0;
    bool real = false;
    auto take = [&] {
      for (; n < rest.size() && (digit(rest[n]) || (rest[n] == '_' && n + 1 < rest.size() && digit(rest[n + 1]))); ++n)
        if (rest[n] != '_') digits += rest[n];
    };
    take();
    if (n + 1 < rest.size() && rest[n] == '.' && digit(rest[n + 1])) {
      real = true;
      digits += rest[n++];
      take();
    }
    if (n < rest.size() && (rest[n] == 'e' || rest[n] == 'E')) {
      auto sign = n + 1 < rest.size() && (rest[n + 1] == '-' || rest[n + 1] == '+');
      if (n + 1 + sign < rest.size() && digit(rest[n + 1 + sign])) {
        real = true;
        digits += rest.substr(n, 1 + sign);
        n += 1 + sign;
        take();
      }
    }
    auto& token = add(real ? TokenKind::real : TokenKind::integer, digits);
    auto i = real ? std::nullopt : parse_as<std::int64_t>(digits);
    auto x = real ? parse_as<double>(digits) : std::nullopt;
    if (!i && !x) bad("the number ", digits, " is too large");
    token.integer = i.value_or(0);
    token.real = x.value_or(0);
    at_ += n;
  }
  void text(std::string_view rest) {
    std::string s;
    std::size_t i = 1;
    for (; i < rest.size() && rest[i] != rest[0]; ++i) {
      if (rest[i] != '\\') s += rest[i];
      else i += escape(rest.substr(i), s) - 1;
    }
    if (i >= rest.size()) bad("a text ", rest[0], " does not end");
    add(TokenKind::text, s);
    go_to(at_ + i + 1);
  }
  /// The bytes of an escape of Python's, whose character is appended.
  std::size_t escape(std::string_view s, std::string& out) const {
    if (s.size() < 2) return 1;
    constexpr std::string_view from = "ntr\\'\"abfv", into = "\n\t\r\\'\"\a\b\f\v";
    if (auto k = from.find(s[1]); k != from.npos) return out += into[k], 2;
    if (s[1] == '\n') return 2;
    const std::size_t hex = s[1] == 'x' ? 2 : s[1] == 'u' ? 4 : s[1] == 'U' ? 8 : 0;
    std::uint32_t code = 0;
    if (hex > 0) {
      auto digits = s.substr(2, hex);
      auto end = digits.data() + digits.size();
      auto [stop, error] = std::from_chars(digits.data(), end, code, 16);
      if (digits.size() < hex || stop != end || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        bad("\\", s[1], " needs ", hex, " digits of a character");
      return append_utf8(code, out), 2 + hex;
    }
    std::size_t n = 1;
    for (; n < 4 && n < s.size() && s[n] >= '0' && s[n] <= '7'; ++n)
      code = code * 8 + static_cast<std::uint32_t>(s[n] - '0');
    if (n > 1) return append_utf8(code, out), n;
    return out += s.substr(0, 2), 2;
  }
  void mark(std::string_view rest, std::string& open) {
    std::size_t n = 1;
    for (auto two : {"==", "!=", "<=", ">=", "//", "**"})
      if (rest.starts_with(two)) n = 2;
    const char c = rest[0];
    if (std::string_view("+-*/%~[](){}<>=!.:|,").find(c) == std::string_view::npos || rest.substr(0, n) == "!")
      bad("unexpected '", rest.substr(0, 1), "'");
    constexpr std::string_view opening = "([{", closing = ")]}";
    if (opening.find(c) != opening.npos) open += c;
    else if (auto k = closing.find(c); k != closing.npos) {
      if (open.empty() || open.back() != opening[k]) bad("'", c, "' closes nothing");
      open.pop_back();
    }
    add(TokenKind::sign, std::string(rest.substr(0, n)));
    at_ += n;
  }
  std::string source_;
  std::string_view in_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool starts_line_ = true;  // whether `at_` begins a line
  std::vector<Token> tokens_;
};
}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).run(); }
}  // namespace bora::text::jinja
