#include "bora/optim/config.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
AdamMoments ScaleByAdam::init(const Leaves& p) const { return zero_moments(p); }
std::pair<Arrays, AdamMoments> ScaleByAdam::update(const Arrays& u, const State& s, const Leaves&) const {
  State next{safe_increment(s.count)};
  auto correction1 = bias_correction(b1, next.count), correction2 = bias_correction(b2, next.count);
  auto ahead = nesterov ? bias_correction(b1, safe_increment(next.count)) : Array();
  Arrays r;
  for (std::size_t i = 0; i < u.size(); ++i) {
    auto& g = u[i];
    auto &mu = next.mu.emplace_back(update_moment(g, s.mu[i], b1)),
         &nu = next.nu.emplace_back(update_moment(absolute_square(g), s.nu[i], b2));
    auto mu_hat = nesterov ? b1 * (mu / ahead.astype(mu.dtype())) + (1 - b1) * (g / correction1.astype(g.dtype()))
                           : mu / correction1.astype(mu.dtype());
    auto nu_hat = nu / correction2.astype(nu.dtype());
    r.push_back(mu_hat / (sqrt(eps_root == 0 ? nu_hat : nu_hat + eps_root) + eps));
  }
  return {r, next};
}
std::vector<ScaleByAdam> ScaleByAdam::samples() {
  return {{}, {.b1 = 0.8, .b2 = 0.95, .eps = 1e-4, .eps_root = 1e-3}, {.nesterov = true}};
}

Transform scale_by_adam(ScaleByAdam o) { return Transform(o); }
Transform adamw(AdamWOptions o) {
  return chain(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root, o.nesterov}), add_decayed_weights(o.weight_decay, o.mask),
               scale_by_learning_rate(o.learning_rate));
}
Transform adam(AdamOptions o) {
  return chain(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root, o.nesterov}), scale_by_learning_rate(o.learning_rate));
}
namespace {
struct NAdamWConfig {
  static constexpr std::string_view type = "nadamw";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1, clip = 1;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {
      {"lr", settings::kLr},   {"beta1", settings::kBeta1},        {"beta2", settings::kBeta2},
      {"eps", settings::kEps}, {"weight_decay", settings::kDecay}, {"clip", settings::kClip},
      {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::made(*this, scale_by_adam({beta1, beta2, eps, 0, true}), rate, decays);
  }
};
}  // namespace
void AdamWConfig::check() const { settings::check_numbers(*this); }
Transform AdamWConfig::make(const Schedule& rate, const Mask& decays) const {
  return settings::clipped(
      clip,
      adamw(
          {.learning_rate = rate, .b1 = beta1, .b2 = beta2, .eps = eps, .weight_decay = weight_decay, .mask = decays}));
}
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::AdamWConfig>>;
template const bool bora::config::added<bora::optim::KindOf<bora::optim::NAdamWConfig>>;
