// pair_encoder.h -- pairs of a file, and their tokens. Private.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "bora/job/forward.h"

namespace bora::job {
struct TrainedRun;
struct Pair {
  std::string context = {}, continuation = {};
};
/// The pairs of a file, a line of JSON each: {"context": .., "continuation": ..}. Throws ConfigError "FILE: line N: .."
/// for a line that is none, IoError for a file that cannot be read.
std::vector<Pair> read_pairs(const std::string& file);
/// A pair as tokens.
struct EncodedPair {
  std::vector<std::int32_t> context = {}, continuation = {};
  std::int64_t bytes = 0;  // of the continuation's text
};
/// Makes tokens of pairs as lm-evaluation-harness 0.4.13 does it (HFLM): white space at the end of the context belongs
/// to the continuation; both are encoded as one text, with the tokens that a folder's tokenizer puts around it, and cut
/// behind the context's number of tokens. An empty context is `prefix`. A model with an encoder has its context and its
/// continuation encoded apart.
struct PairEncoder {
  std::shared_ptr<const text::Tokenizer> whole = {}, plain = {};  // with, without the tokens around a text
  std::optional<std::int32_t> prefix = {};                        // the token that begins texts, or ends them
  bool encoder = false;
  /// Throws ConfigError for an empty context without a prefix.
  EncodedPair operator()(const Pair&) const;
};
}  // namespace bora::job
