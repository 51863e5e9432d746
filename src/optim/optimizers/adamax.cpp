#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Adamax {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8;
  static constexpr std::string_view name = "adamax";
  using State = AdamMoments;
  State init(const Leaves& p) const { return zero_moments(p); }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    auto correction = bias_correction(b1, next.count);
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], b1));
      auto& nu = next.nu.emplace_back(maximum(abs(u[i]) + eps, b2 * s.nu[i]));
      r.push_back(mu / correction.astype(mu.dtype()) / nu);
    }
    return {r, next};
  }
  static std::vector<Adamax> samples() { return {{}, {.b1 = 0.8, .b2 = 0.5, .eps = 1e-3}}; }
};
}  // namespace
Transform scale_by_adamax(double b1, double b2, double eps) { return Transform(Adamax{b1, b2, eps}); }
Transform adamax(AdamaxOptions o) {
  return chain(scale_by_adamax(o.b1, o.b2, o.eps), scale_by_learning_rate(o.learning_rate));
}
namespace {
struct AdamaxConfig {
  static constexpr std::string_view type = "adamax";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0, clip = 1;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {{"lr", settings::kLr},
                                                 {"beta1", settings::kBeta1},
                                                 {"beta2", "decay of the largest gradient"},
                                                 {"eps", "added to gradients before the largest is taken"},
                                                 {"weight_decay", settings::kDecay},
                                                 {"clip", settings::kClip},
                                                 {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::made(*this, scale_by_adamax(beta1, beta2, eps), rate, decays);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::AdamaxConfig>>;
