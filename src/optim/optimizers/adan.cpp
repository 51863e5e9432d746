#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Adan {
  ScaleByAdan o;
  static constexpr std::string_view name = "adan";
  struct State {
    Array count = {};
    Arrays mu = {}, delta = {}, nu = {}, gradient = {};  // gradient: of the step before
  };
  State init(const Leaves& p) const {
    return {zero_count(), zeros_beside(p), zeros_beside(p), zeros_beside(p), zeros_beside(p)};
  }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto difference = where(s.count == 0, zeros_like(u[i]), u[i] - s.gradient[i]);
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.b1));
      auto& delta = next.delta.emplace_back(update_moment(difference, s.delta[i], o.b2));
      auto& nu = next.nu.emplace_back(update_moment(absolute_square(u[i] + (1 - o.b2) * difference), s.nu[i], o.b3));
      next.gradient.push_back(u[i]);
      auto mean = corrected(mu, o.b1, next.count) + (1 - o.b2) * corrected(delta, o.b2, next.count);
      r.push_back(mean / (sqrt(corrected(nu, o.b3, next.count) + o.eps_root) + o.eps));
    }
    return {r, next};
  }
  static std::vector<Adan> samples() { return {{{}}, {{.b1 = 0.8, .b2 = 0.5, .b3 = 0.9, .eps_root = 1e-3}}}; }
};
}  // namespace
Transform scale_by_adan(ScaleByAdan o) { return Transform(Adan{o}); }
Transform adan(AdanOptions o) {
  return chain(scale_by_adan(o.moments), add_decayed_weights(o.weight_decay, o.mask),
               scale_by_learning_rate(o.learning_rate));
}
namespace {
struct AdanConfig {
  static constexpr std::string_view type = "adan";
  double lr = 1e-3, beta1 = 0.98, beta2 = 0.92, beta3 = 0.99, eps = 1e-8, eps_root = 1e-8, weight_decay = 0, clip = 1;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {
      {"lr", settings::kLr},
      {"beta1", settings::kBeta1},
      {"beta2", "decay of the mean of differences between a gradient and the one before"},
      {"beta3", "decay of the mean of squares of gradients that look ahead by a difference"},
      {"eps", settings::kEps},
      {"eps_root", "added to that mean"},
      {"weight_decay", settings::kDecay},
      {"clip", settings::kClip},
      {"schedule", ""}};
  void check() const {
    settings::check_numbers(*this);
    config::domain(beta3 >= 0 && beta3 < 1, "beta3", beta3, "at least 0 and below 1");
  }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::made(*this, scale_by_adan({beta1, beta2, beta3, eps, eps_root}), rate, decays);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::AdanConfig>>;
