// preference_settings.h -- training on preferences as settings: the group `preference`.
#pragma once
#include "bora/config/config.h"

namespace bora::models {
/// The loss of a pair of answers. With d the difference, of the chosen and the rejected answer, of log-probabilities
/// minus those of the reference model:
///   dpo    -log sigmoid(beta d), of labels smoothed by label_smoothing (Rafailov et al. 2023, arXiv:2305.18290);
///   ipo    (d - 1 / (2 beta))^2, with means over an answer's tokens in place of sums (Azar et al. 2023, as TRL does);
///   hinge  max(0, 1 - beta d) (Zhao et al. 2023);
///   orpo   without a reference: the mean cross-entropy of the chosen answer's tokens, minus beta times log sigmoid of
///          the logarithm of the ratio of odds of both answers' mean probabilities (Hong et al. 2024,
///          arXiv:2403.07691).
enum class PreferenceLoss : std::uint8_t { dpo, ipo, hinge, orpo };
struct PreferenceSettings {  // the group preference
  PreferenceLoss loss = PreferenceLoss::dpo;
  double beta = 0.1, label_smoothing = 0;
  bool ahead = false;
  static constexpr std::string_view named = "loss";
  static constexpr config::Meaning meanings[] = {
      {"loss", "of the task preference: dpo, ipo, hinge, orpo; all but orpo measure beside the model that a run begins "
               "with"},
      {"beta", "how much the difference to that model weighs; of orpo: the weight of the odds"},
      {"label_smoothing", "of dpo: the part of the pairs whose labels are taken to be wrong"},
      {"ahead", "compute what that model says of all pairs before the first step, and do not hold it in training; with "
                "data.cache for later runs as well"}};
  void check() const;
  /// Whether the model that a run begins with is part of the loss.
  bool has_reference() const { return loss != PreferenceLoss::orpo; }
  bool operator==(const PreferenceSettings&) const = default;
};
}  // namespace bora::models
