// decoding.h -- the text of ids by the "decoder" of a tokenizer.json.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "bora/text/tokenizer.h"
#include "text/tokenizers/pattern.h"

namespace bora::text {
/// The texts of all ids, which a decoder looks at.
struct TokenTexts {
  std::vector<std::string> texts;  // by id
  std::vector<bool> special;       // whether options may leave it out
};
struct DecodeStep {
  enum class Kind { join, byte_level, byte_fallback, metaspace, replace, strip, strip_all, word_piece };
  Kind kind;
  std::string content = {};  // a replacement, the character in question, or what continues a word
  std::int64_t count = 0;    // of characters that strip takes from the front
  bool first = true;         // whether Metaspace takes the first token's spaces away
  bool cleans = true;        // whether WordPiece takes the spaces before punctuation away
  std::optional<Pattern> pattern = {};
};
/// The steps of a "decoder"; without one tokens are joined by spaces. Throws IoError for those that are not supported.
std::vector<DecodeStep> read_decoder(const std::optional<Node>&);
/// The bytes of a token that the decoder takes as bytes.
std::optional<std::string> part_of_character(const TokenTexts&, const std::vector<DecodeStep>&, std::int32_t id);
/// The decoder refers to both arguments.
std::unique_ptr<Decoder> make_decoder(const TokenTexts&, const std::vector<DecodeStep>&, DecodeOptions);
}  // namespace bora::text
