#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Yogi {
  ScaleByYogi o;
  static constexpr std::string_view name = "yogi";
  using State = AdamMoments;
  State init(const Leaves& p) const {
    return {zero_count(), full_beside(p, o.initial_accumulator_value), full_beside(p, o.initial_accumulator_value)};
  }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.b1));
      auto square = absolute_square(u[i]);
      auto& nu = next.nu.emplace_back(s.nu[i] - (1 - o.b2) * sign(s.nu[i] - square) * square);
      r.push_back(corrected(mu, o.b1, next.count) /
                  (sqrt(corrected(nu, o.b2, next.count) + o.eps_root) + o.eps));
    }
    return {r, next};
  }
  static std::vector<Yogi> samples() { return {{{}}, {{.b1 = 0.8, .b2 = 0.9, .eps_root = 1e-3}}}; }
};
}  // namespace
Transform scale_by_yogi(ScaleByYogi o) { return Transform(Yogi{o}); }
Transform yogi(YogiOptions o) { return chain(scale_by_yogi(o.moments), scale_by_learning_rate(o.learning_rate)); }
namespace {
struct YogiConfig {
  static constexpr std::string_view type = "yogi";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-3, initial_accumulator_value = 1e-6, weight_decay = 0,
         clip = 1;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {{"lr", settings::kLr},
                                                 {"beta1", settings::kBeta1},
                                                 {"beta2", settings::kBeta2},
                                                 {"eps", settings::kEps},
                                                 {"initial_accumulator_value", "of both means"},
                                                 {"weight_decay", settings::kDecay},
                                                 {"clip", settings::kClip},
                                                 {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::made(*this, scale_by_yogi({beta1, beta2, eps, 0, initial_accumulator_value}), rate, decays);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::YogiConfig>>;
