// pattern.h -- regular expressions of pre-tokenizers, which Hugging Face's library gives to Oniguruma (Ruby's syntax).
// PCRE2 matches them here: what the two understand differently is rewritten, or refused by name.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
namespace bora::text {
struct Node;
/// Oniguruma's pattern as one of PCRE2. Throws IoError "WHERE: ..." for a construct that is not supported.
std::string to_pcre2(std::string_view pattern, const std::string& where);
/// A pattern that matches these characters.
std::string literal_pattern(std::string_view text);

class Pattern {
 public:
  /// From Oniguruma's syntax. Throws IoError "WHERE: ...".
  Pattern(std::string_view pattern, const std::string& where);
  /// From PCRE2's syntax; errors show `shown`. Throws as the constructor does.
  static Pattern of_pcre2(std::string_view pattern, const std::string& where, std::string_view shown);
  /// From {"Regex": ..} or {"String": ..}. A pattern that may match nothing is refused if `not_empty` says for what.
  static Pattern read(const Node&, const char* not_empty = nullptr);
  /// Calls f with each match (true) and each text between matches (false), in order, without empty ones. `text` is
  /// UTF-8. Throws ValueError if a match takes too many steps.
  void split(std::string_view text, const std::function<void(std::string_view, bool)>& f) const;

 private:
  Pattern() = default;
  std::shared_ptr<pcre2_real_code_8> code_;
};
}  // namespace bora::text
