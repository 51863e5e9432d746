// unigram_train.h -- training of a unigram tokenizer by SentencePiece.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora::text {
/// The lines of texts, as SentencePiece takes them: none with more than 4000 bytes, none empty.
class Lines {
 public:
  void add(std::string_view text);
  const std::vector<std::string>& all() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};
struct UnigramTraining {                   // of train_unigram
  std::int64_t vocab = 0;                  // ids in all: <unk> <s> </s>, specials, 256 bytes, pieces
  std::vector<std::string> specials = {};  // found in texts as they are
};
/// The reason why a text cannot be a special token of a .model; empty: it can.
std::string problem_of_unigram_special(const std::string& token);
/// The bytes of a .model: pieces of characters, all others as bytes; texts come back as they were. Small vocabularies
/// leave rare characters to the bytes, so that half of the pieces may be longer. Depends on lines and options only, not
/// on the number of cores. Throws ConfigError, which says the largest possible vocabulary, if the lines have too few
/// pieces.
std::string train_unigram(const Lines& lines, const UnigramTraining& options);
}  // namespace bora::text
