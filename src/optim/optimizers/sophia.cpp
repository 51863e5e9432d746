#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
constexpr std::string_view kUntil = "sophia.until";
struct Sophia {
  ScaleBySophia o;
  static constexpr std::string_view name = "sophia";
  struct State {
    Array until = {};       // i32: updates until one takes an estimate
    Arrays mu = {}, h = {};
    Reduced estimate = {};  // of the next update alone
  };
  State init(const Leaves& p) const { return {zero_count(), zeros_beside(p), zeros_beside(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    auto due = s.until == 0;
    State next{where(due, constant(static_cast<std::int32_t>(o.every - 1), i32), s.until - 1)};
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& given = s.estimate.of[i];
      auto diagonal = given.defined() ? given.astype(u[i].dtype()) : absolute_square(u[i]);
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.b1));
      auto& h = next.h.emplace_back(where(due, update_moment(diagonal, s.h[i], o.b2), s.h[i]));
      r.push_back(bora::clip(mu / maximum(o.gamma * h, o.eps), -1, 1));
    }
    return {r, next};
  }
  static std::vector<Sophia> samples() { return {{{}}, {{.b1 = 0.8, .b2 = 0.5, .gamma = 1, .eps = 0.1, .every = 2}}}; }
};
}  // namespace
Transform scale_by_sophia(ScaleBySophia o) {
  check<ValueError>(o.every >= 1 && o.every <= 1 << 30, "scale_by_sophia: every must be from 1 to 2^30, got ", o.every);
  return Transform(Sophia{o});
}
std::optional<Array> wants_hessian(const State& s) {
  for (auto& [entry, value] : s.entries)
    if (entry == kUntil || entry.ends_with("." + std::string(kUntil))) return value == 0;
  return none;
}
State with_hessian(State s, const std::vector<std::string>& paths, const Arrays& estimate) {
  std::string before;
  for (auto& [entry, value] : s.entries)
    if (entry.ends_with(kUntil)) before = entry.substr(0, entry.size() - kUntil.size());
  for (std::size_t i = 0; i < paths.size(); ++i) s.entries[before + "sophia.estimate." + paths[i]] = estimate.at(i);
  return s;
}
Transform sophia(SophiaOptions o) {
  return chain(scale_by_sophia(o.moments), add_decayed_weights(o.weight_decay, o.mask),
               scale_by_learning_rate(o.learning_rate));
}
namespace {
struct SophiaConfig {
  static constexpr std::string_view type = "sophia";
  static constexpr bool estimates_hessian = true;
  double lr = 1e-3, beta1 = 0.96, beta2 = 0.99, gamma = 0.01, eps = 1e-12, weight_decay = 0.1, clip = 1;
  std::int64_t every = 10;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {
      {"lr", settings::kLr},
      {"beta1", settings::kBeta1},
      {"beta2", "decay of the mean of estimates of the Hessian's diagonal"},
      {"gamma", "the mean gradient is divided by gamma times that mean; larger: fewer numbers are clipped to 1"},
      {"eps", "least divisor"},
      {"weight_decay", settings::kDecay},
      {"clip", settings::kClip},
      {"every", "steps between two estimates, each of which costs about three gradients of a part of the batch"},
      {"schedule", ""}};
  void check() const {
    settings::check_numbers(*this);
    config::domain(gamma > 0, "gamma", gamma, "above 0");
    config::domain(every >= 1, "every", every, "1 or more steps");
    settings::check_steps("every", every);
  }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::made(*this, scale_by_sophia({beta1, beta2, gamma, eps, every}), rate, decays);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::SophiaConfig>>;
