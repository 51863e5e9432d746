// schedule.h -- learning rates over the steps of a run, with Optax's names and numbers.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include "bora/array/array.h"

namespace bora::optim {
/// A number for each step: a constant, or a function of the step's number (an i32 scalar) that can be staged.
class Schedule {
 public:
  template <Number T> Schedule(T v)
      : at_([v](const Array&) { return constant_value(v); }), number_(static_cast<double>(v)) {}
  template <std::invocable<const Array&> F> Schedule(F f) : at_(std::move(f)) {}
  /// f32 scalar.
  Array operator()(const Array& step) const { return at_(step); }
  /// The number that it was made of; none: of a function.
  std::optional<double> number() const { return number_; }
 private:
  static Array constant_value(Scalar v);
  std::function<Array(const Array&)> at_;
  std::optional<double> number_ = std::nullopt;
};
Schedule constant_schedule(double value);  // the value at every step
/// From init to end in `steps` steps, then end; with 0 steps init, as in Optax.
Schedule linear_schedule(double init, double end, std::int64_t steps);
/// init * (alpha + (1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2), then init * alpha (Loshchilov & Hutter 2017).
/// exponent: of the term between the parentheses of 1 - alpha.
Schedule cosine_decay_schedule(double init, std::int64_t decay_steps, double alpha = 0, double exponent = 1);
/// Linear from init to peak in warmup_steps, then cosine to end at decay_steps (counted from the start, as in Optax).
Schedule warmup_cosine_decay_schedule(double init, double peak, std::int64_t warmup_steps, std::int64_t decay_steps,
                                      double end = 0, double exponent = 1);
/// From step `begin` on in `steps` steps, along (1 - done)^power.
Schedule polynomial_schedule(double init, double end, double power, std::int64_t steps, std::int64_t begin = 0);
struct ExponentialDecayOptions {     // of exponential_decay
  std::int64_t begin = 0;            // the last step with init
  bool staircase = false;            // only at multiples of the steps
  std::optional<double> end = none;  // where it stops
};
/// init * decay_rate^(step / steps).
Schedule exponential_decay(double init, std::int64_t steps, double decay_rate, ExponentialDecayOptions options = {});
// From each of these steps on times its scale.
using Scales = std::map<std::int64_t, double>;
Schedule piecewise_constant_schedule(double init, Scales boundaries_and_scales);
enum class Interpolation : std::uint8_t { linear, cosine };  // between two steps of a piecewise schedule
/// At each of these steps times its scale, interpolated between them.
Schedule piecewise_interpolate_schedule(Interpolation, double init, Scales boundaries_and_scales);
struct OneCycleOptions {             // of one-cycle schedules
  double start = 0.3, final = 0.85;  // shares of the steps: where the peak is, where linear comes back
  /// Peak over the first rate; linear: first over the last rate, cosine: the same.
  double div_factor = 25, final_div_factor = 1e4;
};
/// Smith & Topin 2018.
Schedule linear_onecycle_schedule(std::int64_t steps, double peak, OneCycleOptions options = {});
/// From peak / div_factor to peak, and down to the last rate, along cosines.
Schedule cosine_onecycle_schedule(std::int64_t steps, double peak, OneCycleOptions options = {});
/// Linear from init to peak, then peak.
Schedule warmup_constant_schedule(double init, double peak, std::int64_t warmup_steps);
/// Linear from init to peak in warmup_steps, then exponential_decay from there.
Schedule warmup_exponential_decay_schedule(double init, double peak, std::int64_t warmup_steps, std::int64_t steps,
                                           double decay_rate, ExponentialDecayOptions options = {});
/// schedules[i + 1] begins, at its own step 0, at boundaries[i].
Schedule join_schedules(std::vector<Schedule> schedules, std::vector<std::int64_t> boundaries);
struct WarmupCosine {  // the arguments of warmup_cosine_decay_schedule
  double init = 0, peak = 1;
  std::int64_t warmup_steps = 0, decay_steps = 1;
  double end = 0, exponent = 1;
};
/// Warm restarts (Loshchilov & Hutter 2017): each cycle lasts decay_steps.
Schedule sgdr_schedule(const std::vector<WarmupCosine>& cycles);
/// The way down of wsd_schedule, of the part `done` of its steps: 1 - done, (1 + cos(pi * done)) / 2, 1 - sqrt(done).
enum class Fall : std::uint8_t { linear, cosine, sqrt };
struct WsdOptions {                // of wsd_schedule
  std::int64_t warmup_steps = 0;   // linear from 0 to the peak
  std::int64_t decay_steps = 0;    // the last ones, from the peak down to `end`
  double end = 0;                  // from then on
  Fall fall = Fall::linear;        // of that way down
};
/// Warm-up, a flat middle, and a fall that ends at `steps` (Hu et al. 2024, arXiv:2404.06395; the fall by the root:
/// Haegele et al. 2024, arXiv:2405.18392). Throws ValueError if warm-up and fall take more than the steps.
Schedule wsd_schedule(double peak, std::int64_t steps, WsdOptions options = {});
/// Linear from 0 to peak in warmup_steps, then peak * min(1, sqrt(timescale / step)), at least `end`: Levanter's
/// inv_sqrt; with timescale = warmup_steps that of transformers and of Vaswani et al. 2017. Throws ValueError for a
/// timescale below 1.
Schedule inverse_sqrt_schedule(double peak, std::int64_t warmup_steps, std::int64_t timescale, double end = 0);
struct FactorsOptions {              // of factors_schedule
  double base = 0.5;                 // of the factors constant and linear_decay
  std::int64_t warmup_steps = 1000;  // where the warmup ends, and a decay by the root begins
  double decay_factor = 0.5;         // of linear_decay and decay_every
  /// Of decay_every, of cosine_decay; the step that counts as 0.
  std::int64_t steps_per_decay = 20000, steps_per_cycle = 100000, step_offset = 0;
  double min_learning_rate = 1e-8;  // the product is at least this
};
/// T5X's product of named factors, "constant * linear_warmup * rsqrt_decay", of constant, linear_warmup, linear_decay,
/// rsqrt_decay, rsqrt_normalized_decay, decay_every, cosine_decay. Throws ValueError for another word.
Schedule factors_schedule(std::string_view factors, FactorsOptions options = {});
}  // namespace bora::optim
