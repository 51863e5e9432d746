// model.h -- the model of a server, as far as requests and answers are about it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include "bora/generate/grammar.h"
#include "bora/text/chat.h"
#include "bora/text/tokenizer.h"

namespace bora::serve {
struct Model {
  std::string name;              // its id
  std::string fingerprint = {};  // of the weights, their format and this version
  std::int64_t created = 0;      // seconds since 1970
  std::shared_ptr<const text::Tokenizer> tokenizer;      // of texts in parts
  std::shared_ptr<const text::Tokenizer> around = {};    // also puts tokens around a text; none: the same
  std::set<std::int32_t> ends = {};                      // tokens that end an answer
  std::int64_t positions = 0;                            // of a prompt and its answer
  std::shared_ptr<const generate::Grammars> grammars = {};  // over the tokenizer; none: made for each request
  std::int64_t room = 0;  // tokens of which the cache has keys and values at most; 0: all positions
  std::optional<text::ChatTemplate> chat = {};
  std::string no_chat = "the model has no chat template";  // why there is none, and what to do
  std::string date = "now";                                // of chat templates that write one
  std::optional<std::int32_t> start = {};                  // of a decoder's text: the model has an encoder
  std::string bos = {}, eos = {}, pad = {}, chat_text = {};  // as the tokenizer's files have them; empty: none
  // Limits of a request.
  std::int64_t most_choices = 16, most_prompts = 64, most_tokens = 0;  // tokens of an answer; 0: what fits
};
/// A text's ids, with the tokens that stand around it where the model wants some.
struct Encoded {
  std::vector<std::int32_t> ids = {};
  std::int64_t before = 0;  // tokens in front of the text's own
};
Encoded encode(const Model&, const std::string& text, bool around);
}  // namespace bora::serve
