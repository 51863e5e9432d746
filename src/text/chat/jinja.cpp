// jinja.cpp -- Jinja's lexical structure, as far as it takes to see that two templates are the same one.
#include "bora/base/text.h"
#include "text/api/chat_layout.h"

namespace bora::text {
namespace {
constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";
bool in_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
/// Reads with the settings of `transformers`: trim_blocks, lstrip_blocks.
class Canonical {
 public:
  explicit Canonical(std::string_view source) {
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r') source_ += i + 1 < source.size() && source[i + 1] == '\n' ? "" : "\n";
      else source_ += source[i];
    }
    if (source_.ends_with('\n')) source_.pop_back();
    in_ = source_;
  }
  /// The canonical text; empty if a tag does not end.
  std::string run() {
    for (;;) {
      auto open = next_tag();
      text_ += data(open);
      if (open == in_.npos) break;
      kind_ = in_[open + 1];
      at_ = open + 2 + (sign(open) != 0);
      if (kind_ == '#' ? !comment() : !tag()) return {};
      starts_line_ = in_[at_ - 1] == '\n';
    }
    flush();
    return out_;
  }

 private:
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
  /// The text from here to a tag.
  std::string_view data(std::size_t open) const {
    auto s = in_.substr(at_, open == in_.npos ? in_.npos : open - at_);
    if (open == in_.npos) return s;
    if (sign(open) == '-') return s.substr(0, s.find_last_not_of(kWhiteSpace) + 1);
    if (sign(open) == '+' || in_[open + 1] == '{') return s;
    auto line = s.rfind('\n') + 1;  // 0 without a newline
    bool blank = s.find_first_not_of(kWhiteSpace, line) == s.npos;
    return blank && (line > 0 || starts_line_) ? s.substr(0, line) : s;
  }
  bool comment() {
    auto end = in_.find("#}", at_);
    if (end == in_.npos) return false;
    close(end > at_ && in_[end - 1] == '-' ? '-' : end > at_ && in_[end - 1] == '+' ? '+' : 0, end + 2);
    return true;
  }
  /// Goes behind a tag's end, and over the white space that its sign takes.
  void close(char sign, std::size_t behind) {
    at_ = behind;
    if (sign == '-') at_ = std::min(in_.find_first_not_of(kWhiteSpace, at_), in_.size());
    else if (sign == 0 && kind_ != '{' && at_ < in_.size() && in_[at_] == '\n') ++at_;
  }
  bool tag() {
    flush();
    out_ += kind_;
    const std::string_view ends = kind_ == '{' ? "}}" : "%}";
    for (;;) {
      at_ = in_.find_first_not_of(kWhiteSpace, at_);
      if (at_ == in_.npos) return false;
      auto rest = in_.substr(at_);
      if (rest.starts_with(ends)) return close(0, at_ + 2), out_ += '\x01', true;
      if ((rest[0] == '-' || (rest[0] == '+' && kind_ == '%')) && rest.substr(1).starts_with(ends))
        return close(rest[0], at_ + 3), out_ += '\x01', true;
      out_ += ' ';
      if (rest[0] == '\'' || rest[0] == '"') {
        if (!string()) return false;
        continue;
      }
      std::size_t n = 1;
      if (in_name(rest[0])) {
        while (n < rest.size() && in_name(rest[n])) ++n;
      } else {
        for (auto two : {"==", "!=", "<=", ">=", "//", "**"})
          if (rest.starts_with(two)) n = 2;
      }
      out_ += rest.substr(0, n);
      at_ += n;
    }
  }
  bool string() {
    char quote = in_[at_++];
    out_ += '\x02';
    for (; at_ < in_.size() && in_[at_] != quote; ++at_) {
      if (in_[at_] != '\\') {
        out_ += in_[at_];
        continue;
      }
      if (++at_ == in_.size()) return false;
      switch (char c = in_[at_]) {
        case 'n': out_ += '\n'; break;
        case 't': out_ += '\t'; break;
        case '\\':
        case '\'':
        case '"': out_ += c; break;
        default: return false;  // no known template has others
      }
    }
    out_ += '\x02';
    return at_++ < in_.size();
  }
  void flush() {
    if (!text_.empty()) out_ += "T" + text_ + '\x01';
    text_.clear();
  }
  std::string source_, out_, text_;
  std::string_view in_;
  std::size_t at_ = 0;
  char kind_ = 0;            // of the tag: { % #
  bool starts_line_ = true;  // whether `at_` begins a line
};
}  // namespace

std::string canonical_jinja(std::string_view source) {
  // The marks of the canonical text must be none of the source's.
  return source.find_first_of("\x01\x02") == source.npos ? Canonical(source).run() : std::string();
}
}  // namespace bora::text
