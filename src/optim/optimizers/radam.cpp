#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Radam {
  ScaleByRadam o;
  static constexpr std::string_view name = "radam";
  using State = AdamMoments;
  State init(const Leaves& p) const { return zero_moments(p); }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    auto longest = 2 / (1 - o.b2) - 1;
    auto n = next.count.astype(f64), power = pow(constant(o.b2, f64), n);  // f32 would lose a hundredth of 1999 - 1997
    auto length = longest - 2 * n * power / (1 - power);
    auto known = length >= o.threshold;
    auto safe = where(known, length, longest);  // the root of a negative number would spoil derivatives
    auto factor = sqrt((safe - 4) * (safe - 2) * longest / ((longest - 4) * (longest - 2) * safe));
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.b1));
      auto& nu = next.nu.emplace_back(update_moment(absolute_square(u[i]), s.nu[i], o.b2));
      auto mean = mean_gradient(mu, u[i], o.b1, next.count, o.nesterov);
      auto scaled = factor.astype(mean.dtype()) * mean / (sqrt(corrected(nu, o.b2, next.count) + o.eps_root) + o.eps);
      r.push_back(where(known, scaled, mean));
    }
    return {r, next};
  }
  static std::vector<Radam> samples() {
    return {{{}}, {{.b1 = 0.8, .b2 = 0.9, .eps_root = 1e-3, .nesterov = true}}};
  }
};
}  // namespace
Transform scale_by_radam(ScaleByRadam o) {
  check<ValueError>(o.threshold >= 4, "scale_by_radam: threshold must be 4 or more, got ", o.threshold,
                    ": below it the variance is not known");
  return Transform(Radam{o});
}
Transform radam(RadamOptions o) { return chain(scale_by_radam(o.moments), scale_by_learning_rate(o.learning_rate)); }
namespace {
struct RadamConfig {
  static constexpr std::string_view type = "radam";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, threshold = 5, weight_decay = 0, clip = 1;
  bool nesterov = false;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {
      {"lr", settings::kLr},
      {"beta1", settings::kBeta1},
      {"beta2", settings::kBeta2},
      {"eps", settings::kEps},
      {"threshold", "length of the mean of squares, in steps, from which on gradients are divided by its root"},
      {"weight_decay", settings::kDecay},
      {"clip", settings::kClip},
      {"nesterov", settings::kNesterov},
      {"schedule", ""}};
  void check() const {
    settings::check_numbers(*this);
    config::domain(threshold >= 4, "threshold", threshold, "4 or more");
  }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::made(*this, scale_by_radam({beta1, beta2, eps, 0, threshold, nesterov}), rate, decays);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::RadamConfig>>;
