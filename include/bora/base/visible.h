// visible.h -- texts of models, files and hosts as a terminal may get them.
#pragma once
#include <string>
#include <string_view>

namespace bora {
/// A text for a terminal, which would obey control characters: all but newlines and tabs, and bytes that are not UTF-8,
/// become \x1b. It comes in pieces, which may cut characters.
class Visible {
 public:
  std::string next(std::string_view piece);
  /// The beginning of a character that had no end.
  std::string finish();

 private:
  std::string held_ = {};
};
}  // namespace bora
