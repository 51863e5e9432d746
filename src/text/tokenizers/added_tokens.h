// added_tokens.h -- tokens that are found in a text itself, such as <|endoftext|>.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include "text/unicode.h"

namespace bora::text {
/// A token that is found in the text itself, before anything else.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool lstrip = false, rstrip = false;  // whether it takes the white space before or after it
  bool normalized = false;              // whether it is found in the normalized text
  bool special = false;                 // whether options may leave it out
  bool single_word = false;             // whether it is none beside a character of a word
};
/// Where tokens are looked for.
struct AddedSearch {
  bool special = true;                               // whether special tokens are found
  std::span<const TextRange> said = {};              // where neither they nor marks are
  const std::unordered_set<std::int32_t>* marks = nullptr;  // tokens of the text around what is said
};
/// Finds tokens from left to right, of those that begin at the same place the longest one.
class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);
  /// Calls text(part) for the parts between tokens, without empty ones, and token(id), in order.
  template <class Text, class Token>
  void split(std::string_view s, const AddedSearch& how, Text&& text, Token&& token) const {
    std::size_t given = 0;
    for (Match m; find(s, how, m); m.from = m.end) {
      if (m.within_word || (!how.special && m.special)) continue;
      // As `tokenizers` does it: white space that another token has taken already may be given once more, and a token
      // of which nothing is left is none.
      auto begin = m.lstrip ? std::max(given, m.begin - m.space_before) : m.begin, end = m.end + m.space_after;
      if (begin > given) text(s.substr(given, begin - given));
      if (begin >= end) continue;
      token(m.id);
      given = end;
    }
    if (given < s.size()) text(s.substr(given));
  }
  /// The tokens between what is said, but for white space and words.
  std::unordered_set<std::int32_t> marks(std::string_view s, std::span<const TextRange> said) const;
  bool empty() const { return tokens_.empty(); }

 private:
  struct Match {
    std::size_t from = 0, begin = 0, end = 0, space_before = 0, space_after = 0;
    std::int32_t id = 0;
    bool special = false, within_word = false, lstrip = false;
  };
  /// The first token at m.from or later.
  bool find(std::string_view s, const AddedSearch&, Match& m) const;
  std::vector<AddedToken> tokens_;
  std::array<bool, 256> begins_ = {};                      // whether a token begins with the byte
  std::unordered_map<std::uint64_t, std::uint32_t> next_;  // a trie: node * 256 + byte -> node; the root is 0
  std::vector<std::int32_t> ends_;                         // by node: the token that ends there, or -1
};
}  // namespace bora::text
