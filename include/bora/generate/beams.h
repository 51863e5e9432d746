// beams.h -- the likeliest continuations of a prompt, by beam search.
#pragma once
#include <cstdint>
#include <span>
#include <vector>
#include "bora/generate/choosing.h"

namespace bora::models {
class Stepper;
}  // namespace bora::models
namespace bora::generate {
struct BeamOptions {  // of beams
  /// When the search may end before max_tokens. no: once no beam of its present length is better than the worst of as
  /// many ended ones as there are beams; yes: once so many have ended; never: once none can become better, whatever its
  /// length.
  enum class Early : std::uint8_t { no, yes, never };
  std::int64_t beams = 4;               // that are followed at the same time
  std::int64_t returned = 1;            // of the beams, the best ones
  std::int64_t max_tokens = 16;         // of a continuation
  double length_penalty = 1;            // a score is divided by the number of its tokens to this power
  Early early_stopping = Early::no;     // see Early
  Choosing choosing = {};               // what does not draw: bias, penalties, minimum length; of log-probabilities
  std::vector<std::int32_t> ends = {};  // tokens that end a continuation
  std::int64_t tokens = 0;              // those of the tokenizer, where the model has more scores; 0: all
  std::int64_t inputs = -1;             // of a model with an encoder: Stepper::read
  std::int64_t step_tokens = 256;       // of the prompt in one step
};
struct Beam {                             // a continuation
  std::vector<std::int32_t> tokens = {};  // behind the prompt; the last one may be an end
  double score = 0;                       // the sum of its tokens' log-probabilities / their number^length_penalty
  bool ended = false;                     // by a token of `ends`, not by max_tokens
};
/// Throws ValueError, naming the field, for values outside their domain, and for those of `choosing` that draw.
void check(const BeamOptions&);
/// Pages that beams() needs at most after a prompt of so many tokens.
std::int64_t beam_pages(std::int64_t prompt, const BeamOptions&);
/// The best `returned` continuations, the best one first. The search is that of `transformers` 5 (generate with
/// num_beams); of equal scores the earlier beam's, then the smaller id's. Beams share the full pages of what they have
/// in common; all of `pages` may be written. On a mesh every rank calls it, with the same arguments. Throws ValueError
/// for a prompt that is empty or, with max_tokens, exceeds the positions, for too few pages, and for scores that are
/// not finite.
std::vector<Beam> beams(models::Stepper&, std::span<const std::int32_t> prompt, const BeamOptions&,
                        std::vector<std::int32_t> pages);
}  // namespace bora::generate
