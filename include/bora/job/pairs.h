// pairs.h -- log-likelihoods of continuations, as lm-evaluation-harness asks for them: bora score.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora::job {
struct TrainedRun;
struct PairScore {          // of one continuation
  double logprob = 0;       // the sum over the continuation's tokens
  std::int64_t tokens = 0;  // their number
  bool greedy = true;       // each of them is the likeliest one; of several the one with the smallest id
  double bits_per_byte = 0;
};
struct PairScores {            // of score_pairs
  std::vector<PairScore> all;  // in the order of the pairs
  int rank = 0;                // of this process
};
/// Scores all pairs of a file, a line {"context": .., "continuation": ..} each, with a run, or a folder of Hugging
/// Face's, on the job's mesh; the layout is that of settings_to_generate. White space at the end of a context belongs
/// to the continuation; both are encoded as one text. A context that exceeds the model's positions loses its begin.
/// Throws ConfigError, before the job begins, for a bad line, which is named by its number, and for a continuation of
/// no token or of more than there are positions; IoError for a file that cannot be read; ValueError for results that
/// are not finite.
PairScores score_pairs(const TrainedRun&, const std::string& file, std::string_view command);
}  // namespace bora::job
