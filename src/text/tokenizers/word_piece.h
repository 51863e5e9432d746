// word_piece.h -- the longest pieces of a word, from its begin on: BERT's tokenizer (Wu et al. 2016).
#pragma once
#include <unordered_map>
#include "text/tokenizers/words.h"

namespace bora::text {
struct WordPieceModel {
  std::unordered_map<std::string, std::int32_t> pieces;
  std::string prefix = "##";  // of pieces that do not begin a word
  std::int32_t unknown = 0;   // a word that has no pieces
  std::size_t most_characters = 100;  // of a word: longer ones are unknown
};
/// A word is one unknown token as soon as a part of it is no piece.
class WordPiece final : public Model {
 public:
  explicit WordPiece(WordPieceModel);
  void append(std::string_view word, WordCache&, std::vector<std::int32_t>& ids) const override;

 private:
  void longest(std::string_view word, std::vector<std::int32_t>& ids) const;
  WordPieceModel model_;
  std::size_t most_bytes_ = 0;  // of a piece
};
}  // namespace bora::text
