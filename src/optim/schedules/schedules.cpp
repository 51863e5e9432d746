// The schedules beyond a ramp and a cosine.
#include <algorithm>
#include <cmath>
#include <numbers>
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"
#include "bora/optim/schedule.h"

namespace bora::optim {
namespace {
using Step = const Array&;
void check_steps(std::string_view what, std::int64_t steps) {
  check<ValueError>(steps > 0, what, ": steps must be positive, got ", steps);
}
void check_scales(std::string_view what, const Scales& scales) {
  for (auto& [step, scale] : scales)
    check<ValueError>(scale >= 0, what, ": scales must not be negative, got ", scale, " at step ", step);
}
}  // namespace

Schedule polynomial_schedule(double init, double end, double power, std::int64_t steps, std::int64_t begin) {
  check_steps("polynomial_schedule", steps);
  begin = std::max<std::int64_t>(begin, 0);
  return Schedule([=](Step step) {
    auto n = static_cast<double>(steps);
    return (init - end) * pow(1 - clip((step - begin).astype(f32), 0, n) / n, power) + end;
  });
}
Schedule exponential_decay(double init, std::int64_t steps, double decay_rate, ExponentialDecayOptions o) {
  check_steps("exponential_decay", steps);
  check<ValueError>(decay_rate > 0, "exponential_decay: decay_rate must be positive, got ", decay_rate);
  return Schedule([=](Step step) {
    auto since = step - std::max<std::int64_t>(o.begin, 0);
    auto done = since.astype(f32) / static_cast<double>(steps);
    auto value = where(since <= 0, init, init * pow(decay_rate, o.staircase ? floor(done) : done));
    if (!o.end) return value;
    return decay_rate < 1 ? maximum(value, *o.end) : minimum(value, *o.end);
  });
}
Schedule piecewise_constant_schedule(double init, Scales scales) {
  check_scales("piecewise_constant_schedule", scales);
  return Schedule([=](Step step) {
    auto value = constant(init, f32);
    for (auto& [from, scale] : scales) value = where(step < from, value, value * scale);
    return value;
  });
}
Schedule piecewise_interpolate_schedule(Interpolation kind, double init, Scales scales) {
  check_scales("piecewise_interpolate_schedule", scales);
  return Schedule([=](Step step) {
    auto value = constant(0.0, f32);
    auto from = std::int64_t{0};
    auto start = init;
    for (auto& [to, scale] : scales) {
      auto end = start * scale;
      auto done = (step - from).astype(f32) / static_cast<double>(std::max<std::int64_t>(to - from, 1));
      auto between = kind == Interpolation::linear ? (end - start) * done + start
                                                   : end + (start - end) / 2 * (cos(std::numbers::pi * done) + 1);
      value = where(logical_and(step >= from, step < to), between, value);
      from = to;
      start = end;
    }
    return where(step >= from, start, value);
  });
}
Schedule linear_onecycle_schedule(std::int64_t steps, double peak, OneCycleOptions o) {
  check_steps("linear_onecycle_schedule", steps);
  auto n = static_cast<double>(steps);
  return piecewise_interpolate_schedule(Interpolation::linear, peak / o.div_factor,
                                        {{static_cast<std::int64_t>(o.start * n), o.div_factor},
                                         {static_cast<std::int64_t>(o.final * n), 1 / o.div_factor},
                                         {steps, 1 / o.final_div_factor}});
}
Schedule cosine_onecycle_schedule(std::int64_t steps, double peak, OneCycleOptions o) {
  check_steps("cosine_onecycle_schedule", steps);
  return piecewise_interpolate_schedule(
      Interpolation::cosine, peak / o.div_factor,
      {{static_cast<std::int64_t>(o.start * static_cast<double>(steps)), o.div_factor},
       {steps, 1 / (o.div_factor * o.final_div_factor)}});
}
Schedule warmup_constant_schedule(double init, double peak, std::int64_t warmup_steps) {
  return linear_schedule(init, peak, warmup_steps);
}
Schedule warmup_exponential_decay_schedule(double init, double peak, std::int64_t warmup_steps, std::int64_t steps,
                                           double decay_rate, ExponentialDecayOptions o) {
  return join_schedules({linear_schedule(init, peak, warmup_steps), exponential_decay(peak, steps, decay_rate, o)},
                        {warmup_steps});
}
Schedule join_schedules(std::vector<Schedule> schedules, std::vector<std::int64_t> boundaries) {
  check<ValueError>(schedules.size() == boundaries.size() + 1, "join_schedules: ", schedules.size(),
                    " schedules need one boundary less, got ", boundaries.size());
  return Schedule([=](Step step) {
    auto value = schedules[0](step);
    for (std::size_t i = 0; i < boundaries.size(); ++i)
      value = where(step < boundaries[i], value, schedules[i + 1](step - boundaries[i]));
    return value;
  });
}
Schedule sgdr_schedule(const std::vector<WarmupCosine>& cycles) {
  check<ValueError>(!cycles.empty(), "sgdr_schedule: no cycle");
  std::vector<Schedule> parts;
  std::vector<std::int64_t> boundaries;
  std::int64_t at = 0;
  for (auto& c : cycles) {
    parts.push_back(warmup_cosine_decay_schedule(c.init, c.peak, c.warmup_steps, c.decay_steps, c.end, c.exponent));
    boundaries.push_back(at += c.decay_steps);
  }
  boundaries.pop_back();
  return join_schedules(std::move(parts), std::move(boundaries));
}
Schedule wsd_schedule(double peak, std::int64_t steps, WsdOptions o) {
  auto begin = steps - o.decay_steps;
  check<ValueError>(o.warmup_steps >= 0 && o.decay_steps >= 0 && o.warmup_steps <= begin,
                    "wsd_schedule: a warm-up of ", o.warmup_steps, " steps and a fall of ", o.decay_steps,
                    " do not fit into ", steps, " steps");
  auto up = linear_schedule(0, peak, o.warmup_steps);
  auto n = static_cast<double>(std::max<std::int64_t>(o.decay_steps, 1));
  return Schedule([=](Step step) {
    auto done = clip((step - begin).astype(f32) / n, 0, 1);
    auto left = o.fall == Fall::linear   ? 1 - done
                : o.fall == Fall::cosine ? 0.5 * (1 + cos(std::numbers::pi * done))
                                         : 1 - sqrt(done);
    auto down = (peak - o.end) * left + o.end;
    return where(step < o.warmup_steps, up(step), o.decay_steps > 0 ? down : constant(peak, f32));
  });
}
Schedule inverse_sqrt_schedule(double peak, std::int64_t warmup_steps, std::int64_t timescale, double end) {
  check<ValueError>(warmup_steps >= 0 && timescale > 0, "inverse_sqrt_schedule: warmup_steps must not be negative and ",
                    "timescale must be positive, got ", warmup_steps, " and ", timescale);
  auto up = linear_schedule(0, peak, warmup_steps);
  return Schedule([=](Step step) {
    auto falling = minimum(sqrt(static_cast<double>(timescale) / maximum(step, 1).astype(f32)), 1);
    return where(step < warmup_steps, up(step), maximum(peak * falling, end));
  });
}

namespace {
using Factor = Array (*)(const Array& step, const FactorsOptions&);
const std::map<std::string, Factor, std::less<>>& factors() {
  static const auto rsqrt_from = [](const Array& t, const FactorsOptions& o) {
    return sqrt(maximum(t, static_cast<double>(o.warmup_steps)));
  };
  static const std::map<std::string, Factor, std::less<>> all{
      {"constant", [](Step, const FactorsOptions& o) { return constant(o.base, f32); }},
      {"linear_warmup",
       [](Step t, const FactorsOptions& o) { return minimum(t / static_cast<double>(o.warmup_steps), 1); }},
      {"linear_decay",
       [](Step t, const FactorsOptions& o) {
         auto n = static_cast<double>(o.warmup_steps);
         return o.base * minimum(t / n, 1 + o.decay_factor * (n - t));
       }},
      {"rsqrt_decay", [](Step t, const FactorsOptions& o) { return 1 / rsqrt_from(t, o); }},
      {"rsqrt_normalized_decay",
       [](Step t, const FactorsOptions& o) {
         return std::sqrt(static_cast<double>(o.warmup_steps)) / rsqrt_from(t, o);
       }},
      {"decay_every",
       [](Step t, const FactorsOptions& o) {
         return pow(o.decay_factor, floor(t / static_cast<double>(o.steps_per_decay)));
       }},
      {"cosine_decay", [](Step t, const FactorsOptions& o) {
         auto done = maximum((t - static_cast<double>(o.warmup_steps)) / static_cast<double>(o.steps_per_cycle), 0);
         return maximum(0.5 * (1 + cos(std::numbers::pi * (done - floor(done)))), 0);
       }}};
  return all;
}
}  // namespace
Schedule factors_schedule(std::string_view words, FactorsOptions o) {
  check<ValueError>(o.warmup_steps > 0 && o.steps_per_decay > 0 && o.steps_per_cycle > 0,
                    "factors_schedule: warmup_steps, steps_per_decay and steps_per_cycle must be positive");
  std::vector<Factor> product;
  for (auto rest = words;;) {
    auto star = rest.find('*');
    auto word = rest.substr(0, star);
    auto first = word.find_first_not_of(' '), last = word.find_last_not_of(' ');
    word = first == word.npos ? std::string_view() : word.substr(first, last - first + 1);
    auto it = factors().find(word);
    if (it == factors().end()) {
      std::string known;
      for (auto& [name, f] : factors()) known += (known.empty() ? "" : ", ") + name;
      fail<ValueError>("factors_schedule: '", words, "' has the factor '", word, "'; known are ", known);
    }
    product.push_back(it->second);
    if (star == rest.npos) break;
    rest.remove_prefix(star + 1);
  }
  return Schedule([=](Step step) {
    auto t = maximum(step - o.step_offset, 0).astype(f32);
    auto value = constant(1.0, f32);
    for (auto f : product) value = value * f(t, o);
    return maximum(value, o.min_learning_rate);
  });
}
}  // namespace bora::optim
