// json_tokenizer.h -- the tokenizer of a parsed tokenizer.json.
#pragma once
#include "bora/text/tokenizer.h"
#include "text/tokenizers/tokenizer_json.h"

namespace bora::text {
/// `end_of_text`: an added token; empty: the usual one, if the file has it. Throws ConfigError if it is no added token.
std::shared_ptr<const Tokenizer> make_tokenizer(TokenizerJson, std::string identity,
                                                const std::string& end_of_text = {});
}  // namespace bora::text
