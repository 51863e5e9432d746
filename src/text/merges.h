// merges.h -- the BPE of one word.
#pragma once
#include <array>
#include <mutex>
#include <unordered_map>
#include "text/tokenizer_json.h"

namespace bora::text {
/// Merges the bytes of words, the earliest merge first, at the leftmost place; with `ignore_merges` a word that is a
/// token is that token. Results of short words are kept: texts repeat their words. For several threads at a time.
class Merges {
 public:
  explicit Merges(const TokenizerJson&);
  /// Appends a word's ids. Takes n log n for n bytes.
  void append(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  struct Step {
    std::int32_t rank = -1, into = -1;  // -1: there is no merge
  };
  struct Hash {
    using is_transparent = void;
    // It is not noexcept: only then does libstdc++ keep the hashes, instead of computing them for each comparison.
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  struct Known {
    std::mutex mutex;
    std::unordered_map<std::string, std::vector<std::int32_t>, Hash, std::equal_to<>> words;
  };
  Step step(std::int32_t left, std::int32_t right) const;
  void merge(std::string_view word, std::vector<std::int32_t>& ids) const;
  std::array<std::int32_t, 256> byte_ids_;
  std::unordered_map<std::uint64_t, Step> steps_;
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> words_;  // with ignore_merges
  mutable std::array<Known, 64> known_;  // by the word's hash, so that threads seldom meet
};
}  // namespace bora::text
