// answer.h -- the text of an answer as its tokens come: the one place that decides what text may leave.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace bora::text {
class Tokenizer;
}  // namespace bora::text
namespace bora::generate {
/// No broken character, no beginning of a stop string, nothing lost at the end: all that next() and finish() give is
/// the text that the answer's tokens add to the prompt's, cut before the first stop string. The first one is that which
/// is complete first, of several that end at the same byte the longest: so it depends on the text alone, not on the
/// tokens that bring it.
class Answer {
 public:
  struct Ends {
    std::set<std::int32_t> ids = {};        // not in the text
    std::vector<std::string> texts = {};    // neither in the text; UTF-8
    bool special = false;                   // whether special tokens are in the text, but for the prompt's and `ids`
  };
  /// prompt: tokens before the answer, after which a decoder may drop a space. Throws ValueError for a stop string that
  /// is empty or no UTF-8.
  Answer(std::shared_ptr<const text::Tokenizer>, std::span<const std::int32_t> prompt, Ends);
  /// The text that may leave after this token; after an end, all that was held back. Throws ValueError for an id that
  /// is none of the tokenizer's, and after the end.
  std::string next(std::int32_t id);
  /// The rest, if nothing ended it. It may still end with a stop string, of characters that came to an end here.
  std::string finish();
  bool ended() const;               // by a token or a text of Ends
  const std::string& end() const;   // the stop string that ended it; empty: none

 private:
  struct State;
  std::shared_ptr<State> state_;
};
/// A token as log-probabilities name it.
struct TokenText {
  std::string text;   // UTF-8: bytes, or, where they are only parts of characters, "bytes:\xe2\x82"
  std::string bytes;  // what it adds to a text
};
/// The text of a token within a text, special ones too. Throws ValueError for an id that is none.
TokenText token_text(const text::Tokenizer&, std::int32_t id);
}  // namespace bora::generate
