// loss.h -- the loss that a language model is trained with: T5X's options as settings.
#pragma once
#include "bora/config/config.h"
#include "bora/nn/loss.h"
#include "bora/train/example.h"

namespace bora::models {
/// The number that a batch's sum of losses is divided by, T5X's SpecialLossNormalizingFactor: the sum of weights, the
/// number of positions, or the number of sequences after each has its mean loss. A document packed into a row is a
/// sequence of its own.
enum class Normalize : std::uint8_t { real_target_tokens, total_target_tokens, average_per_sequence };
struct LossSettings {
  double z_loss = 0, label_smoothing = 0;
  Normalize normalize = Normalize::real_target_tokens;
  static constexpr config::Meaning meanings[] = {
      {"z_loss", "times log(Z)^2 is added to a token's loss, Z being the scores' normaliser; T5X: 1e-4"},
      {"label_smoothing", "part of a target's probability that the other tokens share"},
      {"normalize",
       "a batch's loss is over real_target_tokens (the sum of their weights), total_target_tokens "
       "(positions), or average_per_sequence: the mean of each sequence's mean"}};
  void check() const;
  nn::CrossEntropyOptions terms() const { return {z_loss, label_smoothing}; }
  bool operator==(const LossSettings&) const = default;
};
/// The weights of an example's targets in the loss, [batch, position], f32.
NamedArray loss_weights(const training::Example&, Normalize);
/// Numbers whose sum over the batch divides its loss, [batch, position], f32. Both depend on an example's own rows
/// only, so parts of a batch add up exactly.
NamedArray loss_divisor(const training::Example&, Normalize);
}  // namespace bora::models
