#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Rms {
  ScaleByRms o;
  static constexpr std::string_view name = "rms";
  struct State {
    Array count = {};
    Arrays nu = {};
  };
  State init(const Leaves& p) const { return {zero_count(), full_beside(p, o.initial_scale)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    auto correction = bias_correction(o.decay, next.count);
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& nu = next.nu.emplace_back(update_moment(absolute_square(u[i]), s.nu[i], o.decay));
      auto hat = o.bias_correction ? nu / correction.astype(nu.dtype()) : nu;
      r.push_back(u[i] * (o.eps_in_sqrt ? rsqrt(hat + o.eps) : 1 / (sqrt(hat) + o.eps)));
    }
    return {r, next};
  }
  static std::vector<Rms> samples() {
    return {{{}}, {{.decay = 0.8, .eps = 1e-4, .initial_scale = 0.1, .eps_in_sqrt = false, .bias_correction = true}}};
  }
};
struct Stddev {
  ScaleByRms o;
  static constexpr std::string_view name = "stddev";
  struct State {
    Array count = {};
    Arrays mu = {}, nu = {};
  };
  State init(const Leaves& p) const { return {zero_count(), zeros_beside(p), full_beside(p, o.initial_scale)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    auto correction = bias_correction(o.decay, next.count);
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.decay));
      auto& nu = next.nu.emplace_back(update_moment(absolute_square(u[i]), s.nu[i], o.decay));
      auto hat = [&](const Array& m) { return o.bias_correction ? m / correction.astype(m.dtype()) : m; };
      auto variance = hat(nu) - absolute_square(hat(mu));
      r.push_back(u[i] * (o.eps_in_sqrt ? rsqrt(variance + o.eps) : 1 / (sqrt(variance) + o.eps)));
    }
    return {r, next};
  }
  static std::vector<Stddev> samples() {
    return {{{.eps = 1e-3}}, {{.decay = 0.8, .eps = 1e-2, .initial_scale = 0.1, .eps_in_sqrt = false}}};
  }
};
struct Rss {
  double initial_accumulator_value = 0.1, eps = 1e-7;
  static constexpr std::string_view name = "rss";
  struct State {
    Arrays sum_of_squares = {};
  };
  State init(const Leaves& p) const { return {full_beside(p, initial_accumulator_value)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next;
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& total = next.sum_of_squares.emplace_back(absolute_square(u[i]) + s.sum_of_squares[i]);
      r.push_back(where(total > 0, rsqrt(total + eps), 0) * u[i]);
    }
    return {r, next};
  }
  static std::vector<Rss> samples() { return {{}, {0.5, 1e-3}}; }
};
}  // namespace
Transform scale_by_rms(ScaleByRms o) { return Transform(Rms{o}); }
Transform scale_by_stddev(ScaleByRms o) { return Transform(Stddev{o}); }
Transform scale_by_rss(double initial_accumulator_value, double eps) {
  return Transform(Rss{initial_accumulator_value, eps});
}
Transform rmsprop(RmspropOptions o) {
  auto scaled =
      chain(o.centered ? scale_by_stddev(o.rms) : scale_by_rms(o.rms), scale_by_learning_rate(o.learning_rate));
  return o.momentum ? chain(scaled, trace(*o.momentum, o.nesterov)) : scaled;
}
Transform adagrad(AdagradOptions o) {
  return chain(scale_by_rss(o.initial_accumulator_value, o.eps), scale_by_learning_rate(o.learning_rate));
}
namespace {
struct RmspropConfig {
  static constexpr std::string_view type = "rmsprop";
  double lr = 1e-2, decay_rate = 0.9, eps = 1e-8, momentum = 0, weight_decay = 0, clip = 0;
  bool centered = false, nesterov = false;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {{"lr", settings::kLr},
                                                 {"decay_rate", "decay of the mean of squared gradients"},
                                                 {"eps", settings::kEps},
                                                 {"momentum", "decay of the sum of steps; 0: none is kept"},
                                                 {"weight_decay", settings::kDecay},
                                                 {"clip", settings::kClip},
                                                 {"centered", "squares around the mean gradient"},
                                                 {"nesterov", "the step looks ahead by one more"},
                                                 {"schedule", ""}};
  void check() const {
    settings::check_numbers(*this);
    config::domain(decay_rate < 1, "decay_rate", decay_rate, "above 0 and below 1");
  }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    ScaleByRms options{.decay = decay_rate, .eps = eps};
    auto steps = settings::made(*this, centered ? scale_by_stddev(options) : scale_by_rms(options), rate, decays);
    return momentum > 0 ? chain(steps, trace(momentum, nesterov)) : steps;
  }
};
struct AdagradConfig {
  static constexpr std::string_view type = "adagrad";
  double lr = 1e-2, initial_accumulator_value = 0.1, eps = 1e-7, weight_decay = 0, clip = 0;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {
      {"lr", settings::kLr},          {"initial_accumulator_value", "of the sums of squared gradients"},
      {"eps", "added to those sums"}, {"weight_decay", settings::kDecay},
      {"clip", settings::kClip},      {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::made(*this, scale_by_rss(initial_accumulator_value, eps), rate, decays);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::RmspropConfig>>;
template const bool bora::config::added<bora::optim::KindOf<bora::optim::AdagradConfig>>;
