// long_rope.h -- factors of rotary angles, one for each pair, for more positions than pre-training had (LongRoPE; Ding
// et al. 2024). Private.
#pragma once
#include "bora/config/config.h"
#include "bora/models/hugging_face.h"

namespace bora::models {
/// Settings; read by rope_from_hf.
struct LongRope {
  std::int64_t positions = 0, pretrained_positions = 0;
  std::vector<double> short_factors = {}, long_factors = {};
  std::optional<double> amplitude = {};
  static constexpr config::Meaning meanings[] = {
      {"positions", "that model.positions may be at most; 0: there are no factors"},
      {"pretrained_positions", "positions of pre-training"},
      {"short_factors", "divide the angle of each pair where model.positions are at most pretrained_positions"},
      {"long_factors", "divide them where there are more, in rows of any length"},
      {"amplitude", "of cosines and sines; by default sqrt(1 + ln(positions / pretrained) / ln(pretrained))"}};
  bool given() const { return positions > 0; }
  /// Throws ConfigError.
  void check() const;
  double amplitude_or_default() const;
  const std::vector<double>& factors(std::int64_t model_positions) const {
    return model_positions > pretrained_positions ? long_factors : short_factors;
  }
};
/// Writes its positions and rope_scaling.
void long_rope_to_hf(const LongRope&, HfConfig&);
}  // namespace bora::models
