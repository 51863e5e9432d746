#include "bora/optim/config.h"
#include <algorithm>

namespace bora::optim {
namespace {
Transform clipped(double max_norm, const Transform& t) {
  return max_norm > 0 ? chain(clip_by_global_norm(max_norm), t) : t;
}
template <class T> void check_common(const T& o) {
  using config::domain, config::finite;
  domain(finite(o.lr) && o.lr > 0, "lr", o.lr, "above 0");
  domain(o.beta1 >= 0 && o.beta1 < 1, "beta1", o.beta1, "at least 0 and below 1");
  domain(o.beta2 >= 0 && o.beta2 < 1, "beta2", o.beta2, "at least 0 and below 1");
  domain(finite(o.weight_decay) && o.weight_decay >= 0, "weight_decay", o.weight_decay, "0 or more");
  domain(finite(o.clip) && o.clip >= 0, "clip", o.clip, "0 or more");
}
[[maybe_unused]] const bool added =
    config::add<KindOf<AdamWConfig>>() && config::add<KindOf<LionConfig>>() && config::add<KindOf<AdafactorConfig>>();
}  // namespace

void ScheduleConfig::check() const {
  config::domain(warmup >= 0, "warmup", warmup, "0 or more");
  config::domain(final_lr >= 0 && final_lr <= 1, "final_lr", final_lr, "between 0 and 1");
  config::domain(shape != Shape::exponential || final_lr > 0, "final_lr", final_lr, "above 0 for shape exponential");
  config::domain(warmup > 0 || shape != Shape::factors, "warmup", warmup, "above 0 for shape factors");
  if (shape != Shape::factors) return;
  try {
    (void)factors_schedule(factors);
  } catch (const ValueError& e) {
    config::domain(false, "factors", factors, "known words (" + std::string(e.text()) + ")");
  }
}
Schedule ScheduleConfig::make(double lr, std::int64_t steps) const {
  if (shape == Shape::factors)
    return factors_schedule(factors,
                            {.base = lr, .warmup_steps = warmup, .steps_per_cycle = std::max<std::int64_t>(steps, 1)});
  steps = std::max(steps, warmup + 1);
  if (shape == Shape::exponential)
    return warmup_exponential_decay_schedule(0, lr, warmup, steps - warmup, final_lr, {.end = lr * final_lr});
  if (shape == Shape::cosine) return warmup_cosine_decay_schedule(0, lr, warmup, steps, lr * final_lr);
  auto up = linear_schedule(0, lr, warmup),
       down = linear_schedule(lr, shape == Shape::linear ? lr * final_lr : lr, steps - warmup);
  return Schedule([up, down, n = warmup](const Array& step) {
    return where(step < n, up(step), down(maximum(step - n, 0)));
  });
}
void AdamWConfig::check() const {
  check_common(*this);
  config::domain(config::finite(eps) && static_cast<float>(eps) > 0, "eps", eps, "above 0");
}
void LionConfig::check() const { check_common(*this); }

void AdafactorConfig::check() const {
  using config::domain, config::finite;
  domain(finite(lr) && lr > 0, "lr", lr, "above 0");
  domain(beta1 >= 0 && beta1 < 1, "beta1", beta1, "at least 0 and below 1");
  domain(finite(decay_rate) && decay_rate > 0, "decay_rate", decay_rate, "above 0");
  domain(finite(clipping_threshold) && clipping_threshold >= 0, "clipping_threshold", clipping_threshold, "0 or more");
  domain(finite(weight_decay) && weight_decay >= 0, "weight_decay", weight_decay, "0 or more");
  domain(finite(clip) && clip >= 0, "clip", clip, "0 or more");
  domain(step_offset >= 0, "step_offset", step_offset, "0 or more");
  domain(min_dim_size_to_factor > 0, "min_dim_size_to_factor", min_dim_size_to_factor, "above 0");
}

Transform AdamWConfig::make(const Schedule& rate, const Mask& decays) const {
  return clipped(
      clip,
      adamw(
          {.learning_rate = rate, .b1 = beta1, .b2 = beta2, .eps = eps, .weight_decay = weight_decay, .mask = decays}));
}
Transform AdafactorConfig::make(const Schedule& rate, const Mask& decays) const {
  auto if_positive = [](double x) { return x > 0 ? std::optional(x) : none; };
  return clipped(clip, adafactor({.learning_rate = rate,
                                  .min_dim_size_to_factor = min_dim_size_to_factor,
                                  .decay_rate = decay_rate,
                                  .decay_offset = step_offset,
                                  .multiply_by_parameter_scale = multiply_by_parameter_scale,
                                  .clipping_threshold = if_positive(clipping_threshold),
                                  .momentum = if_positive(beta1),
                                  .weight_decay_rate = if_positive(weight_decay),
                                  .mask = decays,
                                  .rules = factor_by_axes ? standard_factor_rules() : FactorRules()}));
}
Transform LionConfig::make(const Schedule& rate, const Mask& decays) const {
  return clipped(clip,
                 lion({.learning_rate = rate, .b1 = beta1, .b2 = beta2, .weight_decay = weight_decay, .mask = decays}));
}
}  // namespace bora::optim
