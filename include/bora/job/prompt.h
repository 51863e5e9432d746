// prompt.h -- what a model that generates is given to read, and where its text ends.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include "bora/job/forward.h"
#include "bora/text/chat.h"

namespace bora::job {
struct TrainedRun;
/// The ids of a prompt; of a folder of Hugging Face's, if `special_too`, with the tokens that its tokenizer puts around
/// a text, as `transformers` gives them. An empty prompt is those tokens, or a newline where there are none.
std::vector<std::int32_t> prompt_ids(const TrainedRun&, const Settings&, const text::Tokenizer&,
                                     const std::string& prompt, bool special_too);
/// The tokenizer as `transformers` uses it on a prompt: of a folder of Hugging Face's, with the tokens that it puts
/// around a text; else `own`.
std::shared_ptr<const text::Tokenizer> prompt_tokenizer(const TrainedRun&, const Settings&,
                                                        std::shared_ptr<const text::Tokenizer> own);
/// The token that stands before a text of which all tokens are predicted: bos_token of tokenizer_config.json, else its
/// eos_token, else the tokenizer's end of text, else a newline; none where it has none of them. Throws ConfigError for
/// a file that cannot be used.
std::optional<std::int32_t> prefix_id(const TrainedRun&, const text::Tokenizer&);
/// Tokens that end a text: the tokenizer's, and of a folder of Hugging Face's those of eos_token_id.
std::set<std::int32_t> end_ids(const TrainedRun&, const text::Tokenizer&);
/// The chat template that is named, else that of the run's data, else that of the tokenizer's folder. Throws
/// ConfigError if there is none.
text::ChatTemplate chat_template_for(const TrainedRun&, const Settings&, const std::string& named);
/// A conversation up to the place where the assistant answers.
struct Asked {
  text::Piece prompt;
  std::string end;  // of an answer; may be empty
};
/// Throws ConfigError where the next turn cannot be the assistant's.
Asked asked(const text::ChatTemplate&, std::vector<text::Turn>);
/// The ids of a prompt in a chat template, as `transformers`' apply_chat_template gives them, but for what is said: no
/// special token comes from there, and none is put around the text.
std::vector<std::int32_t> prompt_ids(const text::Piece& prompt, const text::Tokenizer&);
}  // namespace bora::job
