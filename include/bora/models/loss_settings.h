// loss_settings.h -- the loss that a language model is trained with, as settings: the group `loss`, T5X's options.
#pragma once
#include "bora/config/config.h"

namespace bora::nn {
struct CrossEntropyOptions;
}  // namespace bora::nn
namespace bora::models {
/// The number that a batch's sum of losses is divided by, T5X's SpecialLossNormalizingFactor: the sum of weights, the
/// number of positions, or the number of sequences after each has its mean loss. A document packed into a row is a
/// sequence of its own.
enum class Normalize : std::uint8_t { real_target_tokens, total_target_tokens, average_per_sequence };
struct LossSettings {  // the group loss
  double z_loss = 0, label_smoothing = 0;
  Normalize normalize = Normalize::real_target_tokens;
  static constexpr config::Meaning meanings[] = {
      {"z_loss", "times log(Z)^2 is added to a token's loss, Z being the scores' normaliser; T5X: 1e-4"},
      {"label_smoothing", "part of a target's probability that the other tokens share"},
      {"normalize",
       "a batch's loss is over real_target_tokens (the sum of their weights), total_target_tokens "
       "(positions), or average_per_sequence: the mean of each sequence's mean"}};
  void check() const;
  nn::CrossEntropyOptions terms() const;
  bool operator==(const LossSettings&) const = default;
};
}  // namespace bora::models
