#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"

namespace bora::optim {
Transform lars(LarsOptions o) {
  return chain(add_decayed_weights(o.weight_decay, o.weight_decay_mask),
               masked(scale_by_trust_ratio(0, o.trust_coefficient, o.eps), o.trust_ratio_mask),
               scale_by_learning_rate(o.learning_rate), trace(o.momentum, o.nesterov));
}
namespace {
struct LarsConfig {
  static constexpr std::string_view type = "lars";
  double lr = 1e-3, momentum = 0.9, trust_coefficient = 1e-3, weight_decay = 0, clip = 0;
  bool nesterov = false;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {
      {"lr", settings::kLr},
      {"momentum", "decay of the sum of steps"},
      {"trust_coefficient", "norm of a parameter's update before lr, as a share of the parameter's"},
      {"weight_decay", settings::kDecayOfGradients},
      {"clip", settings::kClip},
      {"nesterov", "the step looks ahead by one more"},
      {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::clipped(clip, lars({.learning_rate = rate,
                                         .weight_decay = weight_decay,
                                         .weight_decay_mask = decays,
                                         .trust_coefficient = trust_coefficient,
                                         .momentum = momentum,
                                         .nesterov = nesterov}));
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::LarsConfig>>;
