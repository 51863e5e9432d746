// json_cursor.h -- a JSON text that is checked while it is passed over, without a tree of values: a corpus has long
// lines, and one or two fields of each are wanted. Strings may hold bytes that are no UTF-8.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace bora::data {
/// Thrown at the first byte that is no JSON.
struct JsonProblem {
  const char* what;
  std::size_t at;  // in the text
};
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}
  /// Passes an object; member(name, value) gets the texts of each member, the name without its quotes.
  template <class F> void object(const F& member) {
    expect('{', "expected '{'");
    if (take('}')) return;
    do {
      auto name = key();
      member(name, value());
    } while (take(','));
    expect('}', "expected ',' or '}'");
  }
  /// Passes a list; element(value) gets the text of each.
  template <class F> void list(const F& element) {
    expect('[', "expected '['");
    if (take(']')) return;
    do element(value());
    while (take(','));
    expect(']', "expected ',' or ']'");
  }
  /// Passes a value of any kind and depth; returns its text.
  std::string_view value();
  /// Nothing but space is left.
  void end();

 private:
  [[noreturn]] void failed(const char* what) const { throw JsonProblem{what, at_}; }
  /// The next character that is no space; 0 at the end.
  char next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    bool there = next() == c && at_ < text_.size();
    at_ += there;
    return there;
  }
  void expect(char c, const char* what) {
    if (!take(c)) failed(what);
  }
  /// A member's name and its colon.
  std::string_view key();
  void string();
  void digits();
  void number();
  void word(std::string_view w);
  std::string_view text_;
  std::size_t at_ = 0;
};
/// The text that a string of JSON stands for; `inside` is what lies between its quotes, and was passed by a cursor.
/// Half of a surrogate pair becomes U+FFFD, and `half`, if it is given, true.
std::string unescaped(std::string_view inside, bool* half = nullptr);
}  // namespace bora::data
