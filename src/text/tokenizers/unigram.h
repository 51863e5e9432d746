// unigram.h -- the most probable pieces of a word.
#pragma once
#include "text/tokenizers/words.h"

namespace bora::text {
struct UnigramModel {
  std::vector<std::string> pieces;  // by id
  std::vector<double> scores;       // by id: logarithms of probabilities
  std::int32_t unknown = 0;
  bool byte_fallback = false;              // whether unknown characters are their bytes, if they have tokens
  std::array<std::int32_t, 256> byte_ids;  // -1 where there is none
};
/// Viterbi's algorithm with the sums, the ties and the penalty of Hugging Face's library. Unknown characters side by
/// side are one token.
class Unigram final : public Model {
 public:
  explicit Unigram(UnigramModel);
  void append(std::string_view word, WordCache&, std::vector<std::int32_t>& ids) const override;

 private:
  void best(std::string_view word, std::vector<std::int32_t>& ids) const;
  void unknown(std::string_view part, std::vector<std::int32_t>& ids) const;
  std::int32_t find(std::string_view piece) const;
  UnigramModel model_;
  double unknown_score_ = 0;
  std::vector<std::int32_t> ends_;  // a trie: by node, the piece that ends there, or -1; the root is 0
  NumberMap<std::uint32_t> next_;   // node * 256 + byte -> node
};
}  // namespace bora::text
