// merges.h -- the BPE of one word.
#pragma once
#include <unordered_map>
#include "text/tokenizers/words.h"

namespace bora::text {
/// Two ids as one number; numbers are ordered as the pairs are.
inline std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}
/// `left` and `right` side by side become `into`. Of two merges the earlier one has priority.
struct Merge {
  std::int32_t left, right, into;
};
struct BpeModel {
  std::vector<Merge> merges;
  std::array<std::int32_t, 256> byte_ids;  // of the tokens of bytes, -1 where there is none
  bool byte_level = false;                 // whether a word's symbols are its bytes; else its characters
  bool byte_fallback = false;              // whether an unknown character is its bytes, if they have tokens
  bool fuse_unknown = false;               // whether unknown characters side by side are one token
  bool ignore_merges = false;              // whether a word of the vocabulary is a token whatever the merges say
  std::optional<std::int32_t> unknown;     // else an unknown character is nothing
  std::vector<std::string> words;          // the vocabulary, by id, as bytes of a text; empty: no text can be it
};
/// Merges the symbols of words, the earliest merge first, at the leftmost place.
class Merges final : public Model {
 public:
  explicit Merges(BpeModel);
  /// Takes n log n for n bytes.
  void append(std::string_view word, WordCache&, std::vector<std::int32_t>& ids) const override;

 private:
  struct Step {
    std::int32_t rank = -1, into = -1;  // -1: there is no merge
  };
  Step step(std::int32_t left, std::int32_t right) const;
  /// The id of a word of the vocabulary, or -1.
  std::int32_t find(std::string_view word) const;
  void symbols(std::string_view word, std::vector<std::int32_t>& ids) const;
  void merge(std::string_view word, std::vector<std::int32_t>& ids) const;
  void merge_few(std::vector<std::int32_t>& ids, std::size_t begin) const;
  void merge_many(std::vector<std::int32_t>& ids, std::size_t begin) const;
  BpeModel model_;
  NumberMap<Step> steps_;
  NumberMap<std::int32_t> characters_;  // ids of characters, by their bytes as a number
  NumberMap<std::int32_t> words_;       // with ignore_merges: 1 + the last id of a word with this hash
  std::unordered_map<std::int32_t, std::int32_t> before_ = {};  // the id before it with the same hash
  bool cut_ = false;                    // whether no token spans the place before a U+2581 after another character
};
}  // namespace bora::text
