// bpe_train.h -- training of a byte-level BPE tokenizer: counts of words, merges, and the tokenizer.json of them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bora::text {
class Pattern;
/// The regular expression that cuts texts into words: gpt2, llama3, qwen2; nothing for other names.
std::string_view word_pattern(std::string_view name);

/// The last place at which a text can be cut without a change of its words: behind an ASCII letter, before a newline.
/// Without such a place it is at another newline, at a blank, or else at a character. 0: only for an empty text.
std::size_t last_cut(std::string_view text);

/// How often each word stands in texts.
class WordCounts {
 public:
  explicit WordCounts(std::string_view pattern);
  /// Counts the words of texts, on all threads. Bytes that are no UTF-8 become U+FFFD.
  void add(const std::vector<std::string_view>& texts);
  struct Hash {
    using is_transparent = void;
    // It is not noexcept: only then does libstdc++ keep the hashes, instead of computing them for each comparison.
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  using Map = std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>>;
  const Map& words() const { return words_; }

 private:
  std::shared_ptr<const Pattern> pattern_;
  Map words_;
};

struct BpeTraining {                       // of train_bpe
  std::int64_t vocab = 0;                  // tokens in all: specials, bytes, merges; fewer if no pair is left
  std::vector<std::string> specials = {};  // ids 0 .. in this order
  std::int64_t min_count = 0;              // a pair that stands less often in the texts is not merged
};
struct TrainedBpe {                 // and the pairs of ids that become one, in order
  std::vector<std::string> tokens;  // by id: specials as they are, the others as bytes
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;
};
/// Byte-pair encoding: the most frequent pair of neighbours becomes a token, until there are enough; of equally
/// frequent ones that with the smaller ids. The tokens and merges are those of the BpeTrainer of Hugging Face's
/// `tokenizers` (whose initial alphabet is that of its ByteLevel), and depend on nothing but the words and options.
TrainedBpe train_bpe(const WordCounts::Map& words, const BpeTraining& options);
/// The reason why a text cannot be a special token of a tokenizer.json; empty: it can.
std::string problem_of_bpe_special(const std::string& token);
/// The tokenizer.json, which Bora and `tokenizers` read.
std::string tokenizer_json_of(const TrainedBpe& bpe, std::size_t specials, std::string_view pattern_name);
}  // namespace bora::text
