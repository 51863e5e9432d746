#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Adadelta {
  double rho = 0.9, eps = 1e-6;
  static constexpr std::string_view name = "adadelta";
  struct State {
    Arrays e_g = {}, e_x = {};
  };
  State init(const Leaves& p) const { return {zeros_beside(p), zeros_beside(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next;
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& g = next.e_g.emplace_back(update_moment(absolute_square(u[i]), s.e_g[i], rho));
      auto& step = r.emplace_back(sqrt(s.e_x[i] + eps) / sqrt(g + eps) * u[i]);
      next.e_x.push_back(update_moment(absolute_square(step), s.e_x[i], rho));
    }
    return {r, next};
  }
  static std::vector<Adadelta> samples() { return {{}, {0.5, 1e-3}}; }
};
}  // namespace
Transform scale_by_adadelta(double rho, double eps) { return Transform(Adadelta{rho, eps}); }
Transform adadelta(AdadeltaOptions o) {
  return chain(add_decayed_weights(o.weight_decay, o.mask), scale_by_adadelta(o.rho, o.eps),
               scale_by_learning_rate(o.learning_rate));
}
namespace {
struct AdadeltaConfig {
  static constexpr std::string_view type = "adadelta";
  double lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0, clip = 0;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {
      {"lr", settings::kLr},
      {"rho", "decay of the means of squared gradients and of squared updates"},
      {"eps", "added to those means"},
      {"weight_decay", settings::kDecayOfGradients},
      {"clip", settings::kClip},
      {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::clipped(clip, adadelta({rate, rho, eps, weight_decay, decays}));
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::AdadeltaConfig>>;
