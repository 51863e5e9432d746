#include "bora/optim/schedule.h"
#include <numbers>
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/ufuncs.h"

namespace bora::optim {
Array Schedule::constant_value(Scalar v) { return constant(v, f32); }
Schedule constant_schedule(double value) { return Schedule(value); }
Schedule linear_schedule(double init, double end, std::int64_t steps) {
  check<ValueError>(steps >= 0, "linear_schedule: steps must not be negative, got ", steps);
  if (steps == 0) return Schedule(init);  // as in Optax: there is no transition
  return Schedule([=](const Array& step) {
    auto done = clip(step.astype(f32), 0, static_cast<double>(steps)) / static_cast<double>(steps);
    return (init - end) * (1 - done) + end;
  });
}
Schedule cosine_decay_schedule(double init, std::int64_t decay_steps, double alpha, double exponent) {
  check<ValueError>(decay_steps > 0, "cosine_decay_schedule: decay_steps must be positive, got ", decay_steps);
  return Schedule([=](const Array& step) {
    auto done = minimum(step.astype(f32), static_cast<double>(decay_steps)) / static_cast<double>(decay_steps);
    auto falling = 0.5 * (1 + cos(std::numbers::pi * done));
    return init * ((1 - alpha) * (exponent == 1 ? falling : pow(falling, exponent)) + alpha);
  });
}
Schedule warmup_cosine_decay_schedule(double init, double peak, std::int64_t warmup_steps, std::int64_t decay_steps,
                                      double end, double exponent) {
  check<ValueError>(0 <= warmup_steps && warmup_steps < decay_steps,
                    "warmup_cosine_decay_schedule: needs 0 <= warmup_steps < decay_steps, got ", warmup_steps, " and ",
                    decay_steps);
  auto warmup = linear_schedule(init, peak, warmup_steps),
       decay = cosine_decay_schedule(peak, decay_steps - warmup_steps, peak == 0 ? 0 : end / peak, exponent);
  return Schedule([=](const Array& step) {
    return where(step < warmup_steps, warmup(step), decay(maximum(step - warmup_steps, 0)));
  });
}
}  // namespace bora::optim
