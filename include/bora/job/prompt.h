// prompt.h -- what a model that generates is given to read, and where its text ends.
#pragma once
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
/// Tokens that end a text: the tokenizer's, and of a folder of Hugging Face's those of eos_token_id.
std::set<std::int32_t> end_ids(const TrainedRun&, const text::Tokenizer&);
/// The chat template that is named, else that of the run's data, else that of the tokenizer's folder. Throws
/// ConfigError if there is none.
text::ChatTemplate chat_template_for(const TrainedRun&, const Settings&, const std::string& named);
/// A conversation up to the place where the assistant answers.
struct Asked {
  std::vector<text::Piece> parts;  // each is encoded by itself, as in training
  std::string end;                 // of an answer; may be empty
};
/// Throws ConfigError where the next turn cannot be the assistant's.
Asked asked(const text::ChatTemplate&, std::vector<text::Turn>);

/// Gives a text as it comes, up to some words that end it.
class Until {
 public:
  explicit Until(std::string end) : end_(std::move(end)) {}
  /// The text that cannot belong to the end any more.
  std::string next(const std::string& text);
  /// The text that was held back.
  std::string finish();
  bool ended() const { return ended_; }

 private:
  std::string end_, held_;
  bool ended_ = false;
};
}  // namespace bora::job
