// tokenizer_json.h -- Hugging Face's tokenizer.json of byte-level BPE, as plain checked data.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
#include "text/pattern.h"

namespace bora::text {
/// A token that is found in the text itself, before anything else.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool lstrip = false, rstrip = false;  // whether it takes the white space before or after it
  bool normalized = false;              // whether it is found in the normalized text
  bool special = false;                 // whether options may leave it out
};
/// `left` and `right` side by side become `into`. Of two merges the earlier one has priority.
struct Merge {
  std::int32_t left, right, into;
};
/// One step of pre-tokenization, on each piece of the step before.
struct Stage {
  bool prefix_space = false;          // a space goes in front of pieces without one
  std::vector<Pattern> pattern = {};  // none or one: pieces are split into its matches and what lies between them
};
struct TokenizerJson {
  std::vector<std::string> tokens;         // by id, as bytes
  std::unordered_map<std::string, std::int32_t> ids;  // of the vocabulary, as the file writes it
  std::array<std::int32_t, 256> byte_ids;  // of the tokens of one byte
  std::vector<Merge> merges;
  std::int32_t words = 0;      // tokens of the vocabulary; the other added tokens follow
  bool ignore_merges = false;  // whether a word of the vocabulary is a token whatever the merges say
  bool nfc = false;
  std::vector<Stage> stages;
  std::vector<AddedToken> added;
  std::vector<std::int32_t> before, after;  // tokens that the post-processor puts around a text
};
/// Throws IoError "FILE: place: .." for broken JSON, contradictions, and for everything that changes results and is not
/// supported. The post-processor is read only if `post_processor`.
TokenizerJson parse_tokenizer_json(std::string_view json, const std::string& file, bool post_processor);
}  // namespace bora::text
