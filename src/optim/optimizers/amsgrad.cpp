#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Amsgrad {
  ScaleByAmsgrad o;
  static constexpr std::string_view name = "amsgrad";
  struct State {
    Array count = {};
    Arrays mu = {}, nu = {}, nu_max = {};
  };
  State init(const Leaves& p) const { return {zero_count(), zeros_beside(p), zeros_beside(p), zeros_beside(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.b1));
      auto& nu = next.nu.emplace_back(update_moment(absolute_square(u[i]), s.nu[i], o.b2));
      auto& most = next.nu_max.emplace_back(maximum(s.nu_max[i], corrected(nu, o.b2, next.count)));
      r.push_back(corrected(mu, o.b1, next.count) / (sqrt(most + o.eps_root) + o.eps));
    }
    return {r, next};
  }
  static std::vector<Amsgrad> samples() { return {{{}}, {{.b1 = 0.8, .b2 = 0.5, .eps = 1e-4, .eps_root = 1e-3}}}; }
};
}  // namespace
Transform scale_by_amsgrad(ScaleByAmsgrad o) { return Transform(Amsgrad{o}); }
Transform amsgrad(AmsgradOptions o) {
  return chain(scale_by_amsgrad(o.moments), scale_by_learning_rate(o.learning_rate));
}
namespace {
struct AmsgradConfig {
  static constexpr std::string_view type = "amsgrad";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0, clip = 1;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {{"lr", settings::kLr},
                                                 {"beta1", settings::kBeta1},
                                                 {"beta2", settings::kBeta2},
                                                 {"eps", "added to the root of the largest such mean"},
                                                 {"weight_decay", settings::kDecay},
                                                 {"clip", settings::kClip},
                                                 {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::made(*this, scale_by_amsgrad({beta1, beta2, eps}), rate, decays);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::AmsgradConfig>>;
