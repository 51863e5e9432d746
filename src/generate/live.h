// live.h -- a request that is being answered: its choices, what its listener has been told, and what it waits for.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include "bora/generate/answer.h"
#include "bora/generate/engine.h"

namespace bora::generate::engine {
/// The model and its limits, as far as requests depend on them.
struct Model {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::set<std::int32_t> ends = {};
  std::int64_t positions = 0, vocabulary = 0, window = 0, pages = 0, step_tokens = 0;
  bool encoder = false;
};
/// Throws ValueError, naming the field, for a request that can never be answered.
void check_request(const Request&, const Model&);

class Live {
 public:
  Live(Request, Listener, const Model&);
  const Request& request() const { return request_; }
  std::int64_t choices() const { return static_cast<std::int64_t>(choices_.size()); }
  /// The tokens that the model reads for a choice before it chooses; none: there is nothing to compute.
  std::vector<std::int32_t> tokens() const;
  /// The first token after which scores are wanted.
  std::int64_t scored() const;
  /// Whether this position's scores are those of the prompt's next token.
  bool of_prompt(std::int64_t position) const;
  /// The prompt's token after `position`, with its log-probability; none: the scores are not finite.
  std::optional<Chosen> of_prompt(std::int64_t position, std::span<const float> scores) const;
  /// Chooses a token of a choice; none: the scores are not finite. Choices may be asked at the same time.
  std::optional<Chosen> choose(std::int64_t choice, std::span<const float> scores);
  /// What of_prompt() gave of each position in turn.
  void read(std::optional<Chosen>);
  /// Whether what choose() gave leaves no other token to a choice.
  bool over(std::int64_t choice) const { return choices_[static_cast<std::size_t>(choice)].chooser.over(); }
  /// Tells what choose() gave; newest: it was asked no further. false: it was the choice's last one.
  bool tell(std::int64_t choice, std::optional<Chosen>, bool newest);
  bool ended(std::int64_t choice) const { return choices_[static_cast<std::size_t>(choice)].ended; }
  /// Ends those that have not ended.
  void end(Finish, const std::string& error = {});
  /// Whether all choices have ended; then done() may be called.
  bool ended() const { return ended_ == choices(); }
  /// Tells what could only be told together, and that it is over.
  void done();
  /// Tokens of prompt and answer at most.
  std::int64_t most() const { return static_cast<std::int64_t>(request_.prompt.size()) + request_.max_tokens; }
  /// The tokens of a choice so far.
  std::int64_t given(std::int64_t choice) const { return choices_[static_cast<std::size_t>(choice)].tokens; }
  Engine::Id id = 0;
  bool begun = false;
  std::int64_t inputs = -1, cached = 0, replica = 0;

 private:
  struct Choice {
    Chooser chooser;
    Answer answer;
    std::int64_t tokens = 0;
    double logprob = 0;  // of all tokens, where several are compared
    bool ended = false;
    std::vector<std::pair<Chosen, std::string>> told = {};  // later
    Listener::End end = {};
  };
  bool compares() const { return request_.best_of > request_.n; }
  void tell_prompt();
  void end(std::int64_t choice, Listener::End);
  Request request_;
  Listener listener_;
  std::size_t tokens_;  // that have a text, of all scores
  std::vector<Choice> choices_ = {};
  std::vector<std::optional<Chosen>> prompt_ = {};
  bool prompt_told_ = false;
  std::int64_t ended_ = 0;
};
}  // namespace bora::generate::engine
