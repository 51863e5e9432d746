// json.h -- JSON as text. Every part is appended to one string, so that a report of a failure can be written without a
// tree of values and without a locale. The layer json reads JSON.
#pragma once
#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bora {
/// The shortest decimal text that reads back as the same number (as f32 if x is one); "null" if it is not finite.
inline std::string number_text(double x) {
  if (!std::isfinite(x)) return "null";
  char text[64];
  auto f = static_cast<float>(x);
  auto end = static_cast<double>(f) == x ? std::to_chars(text, text + sizeof text, f).ptr
                                         : std::to_chars(text, text + sizeof text, x).ptr;
  return {text, end};
}

/// Writes JSON texts, each of which ends with a newline. Members are written by calls:
///   JsonWriter w;
///   w.object()("rank", 3)("name", "a")("peers").list().add(0).add(1).end().end();
///   w.take();   // {"rank":3,"name":"a","peers":[0,1]}\n
class JsonWriter {
 public:
  enum class Style { compact, spaced };
  /// How a list is laid out: its elements follow each other, or each begins a line.
  enum class Elements { beside, lines };
  /// A value that is JSON already.
  struct Json {
    std::string_view text;
  };
  explicit JsonWriter(Style style = Style::compact) : spaced_(style == Style::spaced) {}

  JsonWriter& object() { return open('{', '}', Elements::beside); }
  JsonWriter& list(Elements elements = Elements::beside) { return open('[', ']', elements); }
  /// Ends the innermost object or list.
  JsonWriter& end() {
    auto x = open_.back();
    open_.pop_back();
    if (x.lines && !x.empty) text_ += '\n';
    text_ += x.close;
    if (open_.empty()) text_ += '\n';
    return *this;
  }
  /// An element of a list, or the value behind a name.
  template <class T> JsonWriter& add(const T& x) {
    separate();
    if constexpr (std::same_as<T, Json>) text_ += x.text;
    else if constexpr (std::same_as<T, bool>) text_ += x ? "true" : "false";
    else if constexpr (std::same_as<T, std::nullptr_t>) text_ += "null";
    else if constexpr (std::integral<T>) text_ += std::to_string(x);
    else if constexpr (std::floating_point<T>) text_ += number_text(x);
    else string(x);
    return *this;
  }
  /// A member's name; its value follows.
  JsonWriter& operator()(std::string_view name) {
    separate();
    string(name);
    text_ += spaced_ ? ": " : ":";
    named_ = true;
    return *this;
  }
  template <class T> JsonWriter& operator()(std::string_view name, const T& value) { return (*this)(name).add(value); }
  /// Takes the text so far; what is open stays open.
  std::string take() { return std::exchange(text_, {}); }

 private:
  struct Open {
    char close;
    bool lines, empty = true;
  };
  JsonWriter& open(char begin, char close, Elements elements) {
    separate();
    text_ += begin;
    open_.push_back({close, elements == Elements::lines});
    return *this;
  }
  void separate() {
    if (open_.empty() || std::exchange(named_, false)) return;
    auto& x = open_.back();
    if (!x.empty) text_ += ',';
    if (x.lines) text_ += '\n';
    else if (!x.empty && spaced_) text_ += ' ';
    x.empty = false;
  }
  /// Bytes above 127 pass as they are (UTF-8).
  void string(std::string_view s) {
    text_ += '"';
    for (char ch : s) {
      auto u = static_cast<unsigned char>(ch);
      constexpr auto digits = "0123456789abcdef";
      if (ch == '"' || ch == '\\') text_ += '\\', text_ += ch;
      else if (u >= 32) text_ += ch;
      else text_ += "\\u00", text_ += digits[u / 16], text_ += digits[u % 16];
    }
    text_ += '"';
  }
  std::string text_ = {};
  std::vector<Open> open_ = {};
  bool spaced_, named_ = false;
};
}  // namespace bora
