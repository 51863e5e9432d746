#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Belief {
  ScaleByBelief o;
  static constexpr std::string_view name = "belief";
  using State = AdamMoments;
  State init(const Leaves& p) const { return zero_moments(p); }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.b1));
      auto& nu = next.nu.emplace_back(update_moment(absolute_square(u[i] - mu), s.nu[i], o.b2) + o.eps_root);
      auto mean = mean_gradient(mu, u[i], o.b1, next.count, o.nesterov);
      r.push_back(mean / (sqrt(corrected(nu, o.b2, next.count)) + o.eps));
    }
    return {r, next};
  }
  static std::vector<Belief> samples() {  // the error of a first step is rounding unless eps is larger
    return {{{.eps = 1e-3, .eps_root = 1e-4}}, {{.b1 = 0.8, .b2 = 0.95, .eps = 1e-2, .nesterov = true}}};
  }
};
}  // namespace
Transform scale_by_belief(ScaleByBelief o) { return Transform(Belief{o}); }
Transform adabelief(AdabeliefOptions o) {
  return chain(scale_by_belief(o.moments), scale_by_learning_rate(o.learning_rate));
}
namespace {
struct AdabeliefConfig {
  static constexpr std::string_view type = "adabelief";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-16, eps_root = 1e-16, weight_decay = 0, clip = 1;
  bool nesterov = false;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {{"lr", settings::kLr},
                                                 {"beta1", settings::kBeta1},
                                                 {"beta2", "decay of the mean of squares around that mean"},
                                                 {"eps", settings::kEps},
                                                 {"eps_root", "added to that mean in each step"},
                                                 {"weight_decay", settings::kDecay},
                                                 {"clip", settings::kClip},
                                                 {"nesterov", settings::kNesterov},
                                                 {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::made(*this, scale_by_belief({beta1, beta2, eps, eps_root, nesterov}), rate, decays);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::AdabeliefConfig>>;
