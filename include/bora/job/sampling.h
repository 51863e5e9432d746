// sampling.h -- how a model that generates chooses a token: Generator::Choose.
#pragma once
#include <cstdint>

namespace bora {
class Array;
}  // namespace bora
namespace bora::job {
/// How the next token is chosen by the scores of all.
struct Sampling {
  double temperature = 1;   // 0: the most likely token each time
  double top_p = 1;         // among the fewest that have this part of the probability
  std::int64_t top_k = 0;   // among the k most likely; 0: all
  std::int64_t tokens = 0;  // among the first ones, of a model with more scores than its tokenizer has tokens; 0: all
  static constexpr std::int32_t kNotFinite = -1;  // in place of a token where the scores are NaN or infinite
  /// Scores of the next token, f32 [vocab] -> a token, i32.
  Array operator()(const Array& scores, const Array& key) const;
};
/// The key of a draw: the number of those before it, and the position of the token that it follows.
Array draw_key(std::int64_t seed, std::int64_t drawn, std::int64_t position);
}  // namespace bora::job
