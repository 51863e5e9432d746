// choosing.h -- how the next token is chosen from scores. Each function is a row of one table, in one order
// (src/generate/choosing_steps.cpp), which the documents print.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bora::generate {
class Grammar;
/// As `transformers` 5 defines them; presence and frequency penalties as vLLM and OpenAI do. The order: grammar, logit
/// bias, repetition penalty, presence and frequency penalties, minimum length; then, where a token is drawn,
/// temperature, top-k, top-p, min-p, typical.
struct Choosing {
  double temperature = 1;  // 0: the most likely token; the first of several
  std::int64_t top_k = 0;  // among the k likeliest, and those as likely as the last of them; 0: all
  double top_p = 1;        // among the fewest that have this part of the probability
  double min_p = 0;        // among those at least so likely, as a part of the likeliest one's probability
  double typical_p = 1;    // among those nearest to the expected information that have this part of the probability;
                           // Meister et al. 2023, arXiv:2202.00666
  double repetition_penalty = 1;                           // of tokens in prompt and answer; above 1: fewer of them
  double presence_penalty = 0, frequency_penalty = 0;      // of tokens in the answer: once, and for each time
  std::vector<std::pair<std::int32_t, float>> logit_bias = {};  // of tokens, added to their scores
  std::int64_t min_tokens = 0;                             // no end token before so many
  std::shared_ptr<const Grammar> grammar = {};             // of the answer's text; an end token where it is whole
};
/// Throws ValueError, naming the field, for values outside their domain.
void check(const Choosing&);
struct Chosen {  // a token, and its probability
  std::int32_t id = 0;
  float logprob = 0;                                        // of the model's own scores, before all of the above
  std::vector<std::pair<std::int32_t, float>> top = {};     // the most likely tokens, and theirs
};
/// The log-probabilities of a token and of the `top` most likely ones, which come first: of ties the smaller ids. A
/// token has the same number in both places. Throws ValueError for an id that is none of the scores', and where the
/// largest score is not finite.
Chosen logprobs(std::span<const float> scores, std::int32_t id, std::int64_t top);
/// Chooses the tokens of one answer. Draws depend on (seed, choice, position of the token in prompt and answer) alone:
/// they are numbers of Philox, by the scores' exponentials in the order of ids. The same bits on every CPU.
class Chooser {
 public:
  /// ends: tokens that end the answer. tokens: those of the tokenizer, where the model has more scores; 0: all. Throws
  /// ValueError as check() does, and for a bias of a token that is none.
  Chooser(const Choosing&, std::span<const std::int32_t> prompt, std::vector<std::int32_t> ends, std::int64_t tokens,
          std::uint64_t seed, std::int64_t choice);
  ~Chooser();
  Chooser(Chooser&&) noexcept;
  Chooser& operator=(Chooser&&) noexcept;
  /// From the scores after all tokens so far; the token counts as given. none: the largest score is not finite, no
  /// token may be chosen, or the grammar has too many ways to go on.
  std::optional<std::int32_t> next(std::span<const float> scores);
  /// The grammar allows no other token: the answer is whole.
  bool over() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace bora::generate
