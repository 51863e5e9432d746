// expression.h -- the texts of einsum and rearrange: "B (H: h1 H) ... -> H", "{B H} -> H". Private.
#pragma once
#include <map>
#include "bora/named/contract.h"

namespace bora::named_text {
/// B, (H: h1 H), (b c) or "..." of one side.
struct Capture {
  bool dots = false;
  std::string name = {};                // of the whole; empty: (b c)
  std::vector<std::string> parts = {};  // of a word: the word itself
  bool group = false;
  std::size_t column = 0;
};
struct TextSide {
  std::vector<Capture> captures;
  bool ordered = true;  // false: in braces
  bool has_dots() const;
};
struct Expression {
  std::string_view what, text;
  std::vector<TextSide> left;
  TextSide right;
  /// Throws ValueError "what: message, at column 3 of 'text'".
  [[noreturn]] void error(const std::string& message, std::size_t column) const;
};
Expression parse(std::string_view what, std::string_view text);

/// The words that are bound beside the text.
class Words {
 public:
  Words(std::string_view what, const AxisBindings& bindings);
  const AxisBinding* find(const std::string& word);  // and marks it as used
  /// The name of the axis that a word stands for.
  std::string name(const std::string& word);
  /// Throws ValueError for words that the text does not use.
  void check_used() const;
 private:
  std::string_view what_;
  std::map<std::string, std::pair<AxisBinding, bool>> words_;
};
/// The dimension of `axes` for each capture of an ordered side, "..." has -1.
std::vector<std::int64_t> by_position(const Expression& e, const TextSide& side, const std::vector<Axis>& axes);
}  // namespace bora::named_text
