// sentencepiece.h -- the tokenizer of a SentencePiece .model.
#pragma once
#include "bora/text/tokenizer.h"

namespace bora::text {
/// The tokens around each text. Without a word: the model's token for the beginning before it, or, if there is none,
/// the one for the end after it.
struct Around {
  std::optional<bool> first, last;
};
/// Throws IoError "FILE: ...".
std::shared_ptr<const Tokenizer> make_sentencepiece(std::string_view bytes, const std::string& file,
                                                    std::optional<Around> around = {});
}  // namespace bora::text
