#include "named/expression.h"
#include <algorithm>
#include <cctype>

namespace bora::named_text {
namespace {
class Parser {
 public:
  Parser(Expression& e) : e_(e), text_(e.text) {}
  void run() {
    for (;;) {
      e_.left.push_back(side());
      if (!skip(',')) break;
    }
    if (!text_.substr(at_).starts_with("->")) e_.error("-> is missing", at_);
    at_ += 2;
    e_.right = side();
    if (at_ < text_.size()) e_.error("nothing may follow here", at_);
    if (!e_.right.ordered) e_.error("the right side has an order: no braces", at_);
  }

 private:
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool skip(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  static bool letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  std::string word() {
    auto c = peek();
    auto from = at_;
    if (c == '"' || c == '\'') {
      std::string r;
      for (++at_; at_ < text_.size() && text_[at_] != c; ++at_) {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        r += text_[at_];
      }
      if (at_ == text_.size()) e_.error("the closing quote is missing", from);
      ++at_;
      if (r.empty()) e_.error("a name cannot be empty", from);
      return r;
    }
    if (!letter(c)) e_.error("a name is expected", at_);
    if (std::isdigit(static_cast<unsigned char>(c))) e_.error("a name cannot begin with a digit", at_);
    while (at_ < text_.size() && letter(text_[at_])) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }
  Capture group() {
    Capture c{.group = true, .column = at_};
    ++at_;
    while (peek() != ')') {
      if (peek() == '\0' || text_.substr(at_).starts_with("->")) e_.error("a ) is missing", c.column);
      if (peek() == '(') e_.error("parentheses cannot be nested", at_);
      if (peek() == ':') {
        if (!c.name.empty()) e_.error("a group has one name", at_);
        if (c.parts.size() != 1) e_.error("the name of a group stands before its axes", at_);
        c.name = c.parts[0];
        c.parts.clear();
        ++at_;
        continue;
      }
      c.parts.push_back(word());
    }
    ++at_;
    if (c.parts.empty()) e_.error("a group needs an axis", c.column);
    return c;
  }
  TextSide side() {
    TextSide s;
    bool closed = false;
    for (;;) {
      auto c = peek();
      if (c == '\0' || c == '-') break;
      if (c == ',' && (s.ordered || closed)) break;
      auto column = at_;
      if (closed) e_.error("nothing may follow }", column);
      if (c == '{') {
        if (!s.captures.empty() || !s.ordered) e_.error("{ stands at the beginning of a side", column);
        s.ordered = false;
        ++at_;
      } else if (c == '}') {
        if (s.ordered) e_.error("there is no { before this }", column);
        closed = true;
        ++at_;
      } else if (c == ',') {
        ++at_;
      } else if (c == '(') {
        s.captures.push_back(group());
      } else if (text_.substr(at_).starts_with("...")) {
        s.captures.push_back({.dots = true, .column = column});
        at_ += 3;
      } else {
        auto w = word();
        s.captures.push_back({.name = w, .parts = {w}, .column = column});
      }
    }
    if (!s.ordered && !closed) e_.error("a } is missing", at_);
    return s;
  }
  Expression& e_;
  std::string_view text_;
  std::size_t at_ = 0;
};
}  // namespace

bool TextSide::has_dots() const {
  return std::any_of(captures.begin(), captures.end(), [](auto& c) { return c.dots; });
}
void Expression::error(const std::string& message, std::size_t column) const {
  fail<ValueError>(what, ": ", message, ", at column ", column + 1, " of '", text, "'");
}
Expression parse(std::string_view what, std::string_view text) {
  Expression e{what, text, {}, {}};
  Parser(e).run();
  return e;
}

Words::Words(std::string_view what, const AxisBindings& bindings) : what_(what) {
  for (auto& b : bindings)
    check<ValueError>(words_.emplace(b.word, std::pair{b, false}).second, what, ": the word '", b.word,
                      "' is bound twice");
}
const AxisBinding* Words::find(const std::string& word) {
  auto it = words_.find(word);
  if (it == words_.end()) return nullptr;
  it->second.second = true;
  return &it->second.first;
}
std::string Words::name(const std::string& word) {
  auto* b = find(word);
  return b && b->axis ? *b->axis : word;
}
void Words::check_used() const {
  for (auto& [word, b] : words_)
    check<ValueError>(b.second, what_, ": the word '", word, "' is bound but not in the text");
}

std::vector<std::int64_t> by_position(const Expression& e, const TextSide& side, const std::vector<Axis>& axes) {
  auto& c = side.captures;
  auto dots = std::count_if(c.begin(), c.end(), [](auto& x) { return x.dots; });
  auto named = static_cast<std::int64_t>(c.size()) - dots, n = static_cast<std::int64_t>(axes.size());
  if (dots > 1) e.error("only one ... stands for axes by position", c.back().column);
  if (named > n) e.error("too many axes: the array has " + to_string(axes), c.back().column);
  if (dots == 0 && named < n)
    e.error("not all axes are bound: the array has " + to_string(axes) + "; ... skips the others",
            c.empty() ? 0 : c.back().column);
  std::vector<std::int64_t> r;
  std::int64_t next = 0;
  for (auto& x : c) {
    r.push_back(x.dots ? -1 : next++);
    if (x.dots) next = n - (named - static_cast<std::int64_t>(r.size()) + 1);
  }
  return r;
}
}  // namespace bora::named_text
