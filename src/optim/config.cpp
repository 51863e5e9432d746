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
[[maybe_unused]] const bool added = config::add<KindOf<AdamWConfig>>() && config::add<KindOf<LionConfig>>();
}  // namespace

void ScheduleConfig::check() const {
  config::domain(warmup >= 0, "warmup", warmup, "0 or more");
  config::domain(final_lr >= 0 && final_lr <= 1, "final_lr", final_lr, "between 0 and 1");
}
Schedule ScheduleConfig::make(double lr, std::int64_t steps) const {
  steps = std::max(steps, warmup + 1);
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

Transform AdamWConfig::make(const Schedule& rate, const Mask& decays) const {
  return clipped(
      clip,
      adamw(
          {.learning_rate = rate, .b1 = beta1, .b2 = beta2, .eps = eps, .weight_decay = weight_decay, .mask = decays}));
}
Transform LionConfig::make(const Schedule& rate, const Mask& decays) const {
  return clipped(clip,
                 lion({.learning_rate = rate, .b1 = beta1, .b2 = beta2, .weight_decay = weight_decay, .mask = decays}));
}
}  // namespace bora::optim
