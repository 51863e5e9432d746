// tokenizer_json.h -- Hugging Face's tokenizer.json, as plain checked data.
#pragma once
#include <optional>
#include <unordered_map>
#include "text/tokenizers/added_tokens.h"
#include "text/tokenizers/decoding.h"
#include "text/tokenizers/merges.h"
#include "text/tokenizers/normalizer.h"
#include "text/tokenizers/pre_tokenizer.h"
#include "text/tokenizers/unigram.h"
#include "text/tokenizers/word_piece.h"

namespace bora::text {
struct TokenizerJson {
  std::unordered_map<std::string, std::int32_t> ids;  // of the vocabulary, as the file writes it
  TokenTexts tokens;                                  // as the decoder takes them
  std::optional<BpeModel> bpe;                        // one of three
  std::optional<UnigramModel> unigram;
  std::optional<WordPieceModel> word_piece;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::vector<DecodeStep> decoder;
  std::vector<AddedToken> added;
  std::vector<std::int32_t> before, after;  // tokens that the post-processor puts around a text
  std::vector<std::int32_t> between;        // and between two texts
};
/// Throws IoError "FILE: place: .." for broken JSON, contradictions, and for everything that changes results and is not
/// supported. The post-processor is read only if `post_processor`.
TokenizerJson parse_tokenizer_json(std::string_view json, const std::string& file, bool post_processor);
/// The same, of a document that is parsed.
TokenizerJson read_tokenizer_json(const Node&, bool post_processor);
}  // namespace bora::text
