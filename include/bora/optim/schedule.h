// schedule.h -- learning rates over the steps of a run, with Optax's names and numbers.
#pragma once
#include <functional>
#include "bora/array/array.h"

namespace bora::optim {
/// A number for each step: a constant, or a function of the step's number (an i32 scalar) that can be staged.
class Schedule {
 public:
  template <Number T> Schedule(T v) : at_([v](const Array&) { return constant_value(v); }) {}
  template <std::invocable<const Array&> F> Schedule(F f) : at_(std::move(f)) {}
  /// f32 scalar.
  Array operator()(const Array& step) const { return at_(step); }
 private:
  static Array constant_value(Scalar v);
  std::function<Array(const Array&)> at_;
};
Schedule constant_schedule(double value);
/// From init to end in `steps` steps, then end.
Schedule linear_schedule(double init, double end, std::int64_t steps);
/// init * (alpha + (1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2), then init * alpha (Loshchilov & Hutter 2017).
Schedule cosine_decay_schedule(double init, std::int64_t decay_steps, double alpha = 0);
/// Linear from init to peak in warmup_steps, then cosine to end at decay_steps (counted from the start, as in Optax).
Schedule warmup_cosine_decay_schedule(double init, double peak, std::int64_t warmup_steps, std::int64_t decay_steps,
                                      double end = 0);
}  // namespace bora::optim
