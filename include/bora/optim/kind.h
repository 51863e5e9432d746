// kind.h -- a kind of optimizer in the settings, and the settings of every optimizer beside its own.
#pragma once
#include "bora/config/choice.h"
#include "bora/optim/schedule.h"
#include "bora/optim/transform_base.h"

namespace bora::optim {
/// The learning rate over the steps of a run, as a group of settings.
struct ScheduleConfig {
  enum class Shape : std::uint8_t { cosine, linear, constant, exponential, factors, wsd, inverse_sqrt, cycles };
  Shape shape = Shape::cosine;
  std::int64_t warmup = 100;
  double final_lr = 0.1;
  std::string factors = "constant * linear_warmup * rsqrt_normalized_decay";
  std::int64_t decay = 0;
  Fall fall = Fall::linear;
  std::int64_t timescale = 0, cycles = 1, rewarmup = 0;
  static constexpr std::string_view named = "shape";
  static constexpr config::Meaning meanings[] = {
      {"shape", "of the rate: cosine, linear, constant, exponential, factors; wsd: warm-up, flat, a fall at the end; "
                "inverse_sqrt: by the root of the step; cycles: cosines one after another"},
      {"warmup", "steps until lr is reached, whatever `steps` is"},
      {"final_lr", "all but constant and factors end at final_lr * lr; inverse_sqrt stays there"},
      {"factors", "for that shape: T5X's product, of which constant is lr"},
      {"decay", "of wsd: steps of the fall; 0: a tenth of all"},
      {"fall", "of wsd: its form, linear, cosine or sqrt (1 - the root of the part that is done)"},
      {"timescale", "of inverse_sqrt: from this step on the rate is lr * sqrt(timescale / step); 0: warmup"},
      {"cycles", "of that shape: how many, of equal length"},
      {"rewarmup", "of cycles: steps of the warm-up of each after the first"}};
  void check() const;
  /// From 0 to lr in `warmup` steps, then down until `steps`; a short run may end inside of its warm-up.
  Schedule make(double lr, std::int64_t steps) const;
};
/// The settings of every optimizer beside its own.
struct CommonConfig {
  enum class Moments : std::uint8_t { f32, bf16 } moments = Moments::f32;
  std::vector<std::string> decay = {}, no_decay = {};
  double clip_value = 0, clip_rms = 0, ema = 0;
  std::int64_t multi_steps = 1, skip_not_finite = 0;
  static constexpr config::Meaning meanings[] = {
      {"moments", "dtype of means of gradients in memory: f32, bf16; means of squares stay f32"},
      {"decay", "regular expressions of paths: exactly these parameters decay; empty: as the layers say"},
      {"no_decay", "regular expressions of paths: these parameters do not decay"},
      {"clip_value", "largest number in a gradient; 0: not clipped"},
      {"clip_rms", "largest root mean square of a parameter's gradient; 0: not clipped"},
      {"ema", "decay of a mean of the parameters, kept in checkpoints; 0: none is kept"},
      {"multi_steps", "steps whose mean gradient makes one update; schedules count updates"},
      {"skip_not_finite", "steps in a row that may be left out because a gradient is not finite"}};
  void check() const;
  /// Which parameters decay.
  Mask decays() const;
  /// The updates in so many steps.
  std::int64_t updates(std::int64_t steps) const { return (steps + multi_steps - 1) / multi_steps; }
  /// A schedule over updates as one over steps.
  Schedule of_steps(const Schedule& of_updates) const;
  /// `inner` with all this around it. Its init throws ConfigError for a pattern that matches no parameter.
  Transform around(Transform inner) const;
};
struct Built {  // what settings choose: a transformation, and its learning rate
  Transform transform;
  Schedule learning_rate;  // of a step
};
/// A kind of optimizer in the settings.
struct Kind : config::Chosen {
  static constexpr std::string_view initial = "adamw";
  CommonConfig common = {};
  /// For a run of this many steps.
  virtual Built build(std::int64_t steps) const = 0;
  /// Whether its updates need estimates of the Hessian's diagonal over the whole batch.
  virtual bool estimates_hessian() const = 0;
};
/// The kind whose settings are T's fields.
template <class T> struct KindOf final : config::Of<T, Kind> {
  using config::Of<T, Kind>::Of;
  Built build(std::int64_t steps) const override {
    auto rate = this->fields.schedule.make(this->fields.lr, this->common.updates(steps));
    return {this->common.around(this->fields.make(rate, this->common.decays())), this->common.of_steps(rate)};
  }
  bool estimates_hessian() const override { return requires { T::estimates_hessian; }; }
};
}  // namespace bora::optim
