#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct ScheduleFree {
  Transform base;
  Schedule learning_rate;
  ScheduleFreeOptions o;
  static constexpr std::string_view name = "schedule_free";
  struct State {
    Array b1 = {}, weight_sum = {}, step_count = {}, max_lr = {};
    optim::State base = {};
    Arrays z = {};
  };
  State init(const Leaves& p) const {
    return {constant(o.b1, f32), zeros({}), zero_count() + 1, zeros({}), base.init_flat(p), p.arrays};
  }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    State next{s.b1, {}, safe_increment(s.step_count), maximum(s.max_lr, learning_rate(s.step_count).astype(f32))};
    auto weight = pow(next.max_lr, constant(o.weight_lr_power, f32));
    next.weight_sum = s.weight_sum + weight;
    // 0 while no step has weight; a rate that is NaN is not hidden.
    auto part = where(next.weight_sum == 0, 0, weight / where(next.weight_sum == 0, 1, next.weight_sum));
    auto [updates, after] = base.update_flat(u, s.base, p);
    next.base = after;
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& z = next.z.emplace_back(s.z[i] + updates[i]);
      auto mean = (p.arrays[i] - (1 - o.b1) * s.z[i]) / o.b1, c = part.astype(mean.dtype());
      mean = (1 - c) * mean + c * z;
      r.push_back(o.b1 * mean + (1 - o.b1) * z - p.arrays[i]);
    }
    return {r, next};
  }
  static std::vector<ScheduleFree> samples() {
    return {{sgd({.learning_rate = 0.1}), 0.1, {}},
            {adam({.learning_rate = linear_schedule(0, 0.1, 3), .b1 = 0}), linear_schedule(0, 0.1, 3), {0.8, 1}}};
  }
};
}  // namespace
Transform schedule_free(const Transform& base, Schedule learning_rate, ScheduleFreeOptions o) {
  check<ValueError>(o.b1 > 0 && o.b1 <= 1, "schedule_free: b1 must be in (0, 1], got ", o.b1);
  return Transform(ScheduleFree{base, std::move(learning_rate), o});
}
Arrays schedule_free_eval_flat(const State& state, const std::vector<std::string>& paths, const Arrays& params) {
  auto entry = [&](const std::string& name) {
    auto found = state.entries.find("schedule_free." + name);
    check<ValueError>(found != state.entries.end(), "schedule_free_eval_params: the state has no entry 'schedule_free.",
                      name, "'; give the state that schedule_free's init and update return for these parameters");
    return found->second;
  };
  auto b1 = entry("b1");
  Arrays r;
  for (std::size_t i = 0; i < params.size(); ++i) {
    auto z = entry("z." + paths[i]), b = b1.astype(z.dtype());
    r.push_back(((params[i] - (1 - b) * z) / b).astype(params[i].dtype()));
  }
  return r;
}
namespace {
struct ScheduleFreeConfig {
  static constexpr std::string_view type = "schedule_free";
  double lr = 2.5e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_lr_power = 2, weight_decay = 0, clip = 1;
  ScheduleConfig schedule = {.shape = ScheduleConfig::Shape::constant};
  static constexpr config::Meaning meanings[] = {
      {"lr", settings::kLr},
      {"beta1", "share of the mean of iterates in the parameters that gradients are taken at; above 0"},
      {"beta2", "decay of the mean of squared gradients"},
      {"eps", settings::kEps},
      {"weight_lr_power", "an iterate's weight in that mean is the largest rate so far to this power"},
      {"weight_decay", settings::kDecay},
      {"clip", settings::kClip},
      {"schedule", ""}};
  void check() const {
    settings::check_numbers(*this);
    config::domain(beta1 > 0, "beta1", beta1, "above 0 and below 1");
  }
  /// Optax's schedule_free_adamw: AdamW without a mean of gradients is the base.
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    auto squares = scale_by_rms({.decay = beta2, .eps = eps, .eps_in_sqrt = false, .bias_correction = true});
    auto base = chain(squares, add_decayed_weights(weight_decay, decays), scale_by_learning_rate(rate));
    return settings::clipped(clip, schedule_free(base, rate, {beta1, weight_lr_power}));
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::ScheduleFreeConfig>>;
