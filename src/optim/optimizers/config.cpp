#include "bora/optim/config.h"
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include "optim/optimizers/settings.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"
#include "bora/named/reduce.h"
#include "bora/ops/reductions.h"

namespace bora::optim {
namespace settings {
void check_number(std::string_view field, double x) {
  using config::domain, config::finite;
  auto any = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), field) != names.end();
  };
  if (any({"lr", "decay_rate"})) domain(finite(x) && x > 0, field, x, "above 0");
  else if (any({"beta1", "beta2", "beta", "rho", "momentum", "decay", "ema"}))
    domain(x >= 0 && x < 1, field, x, "at least 0 and below 1");
  else if (field == "eps") domain(finite(x) && static_cast<float>(x) > 0, field, x, "above 0");
  else domain(finite(x) && x >= 0, field, x, "0 or more");
}
void check_steps(std::string_view field, std::int64_t steps) {
  check<ConfigError>(steps <= 1 << 30, field, ": ", steps, " is more than 2^30");
}
void check_pattern(std::string_view key, const std::string& pattern) {
  try {
    (void)std::regex(pattern);
  } catch (const std::regex_error& e) {
    config::domain(false, key, pattern, std::string("a regular expression (") + e.what() + ")");
  }
}
Transform clipped(double max_norm, const Transform& t) {
  return max_norm > 0 ? chain(clip_by_global_norm(max_norm), t) : t;
}
FactorRules parse_factor_rules(const std::vector<std::string>& texts) {
  auto rules = standard_factor_rules();
  for (auto& text : texts) {
    auto equals = text.rfind('=');
    auto left = text.substr(0, equals);
    std::vector<FactorDim> dims;
    bool good = equals != text.npos && !left.empty();
    std::istringstream words(good ? text.substr(equals + 1) : "");
    for (std::string word; words >> word;) {
      auto& dim = dims.emplace_back();
      good = config::parse_value(word, dim) && good;
    }
    config::domain(good && !dims.empty(), "factor_rules", text,
                   "AXIS=row, or REGEX=batch row column, of the words none, batch, row, column");
    if (dims.size() == 1) rules[left] = dims[0];
    else check_pattern("factor_rules", left), rules.by_path.emplace_back(left, dims);
  }
  return rules;
}
}  // namespace settings
namespace {

bool matches(const std::string& path, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](auto& pattern) { return std::regex_search(path, std::regex(pattern)); });
}
/// ConfigError unless the pattern of this key fits a parameter.
void check_matches(std::string_view key, const std::string& pattern, const Leaves& p) {
  bora::check<ConfigError>(
      std::any_of(p.paths.begin(), p.paths.end(), [&](auto& path) { return matches(path, {pattern}); }), "optimizer.",
      key, ": '", pattern, "' matches no parameter; paths are such as ", p.paths.empty() ? "" : p.paths.front());
}
}  // namespace
Transform settings::with_factor_rules(const Transform& t, const std::vector<std::string>& rules) {
  if (rules.empty()) return t;
  return t.checking([rules](const Leaves& p) {
    std::set<std::string> axes;
    for (auto& names : p.axes) axes.insert(names.begin(), names.end());
    std::string known;
    for (auto& name : axes) known += (known.empty() ? "" : ", ") + name;
    for (auto& rule : rules) {
      auto one = parse_factor_rules({rule});
      for (auto& [pattern, dims] : one.by_path) check_matches("factor_rules", pattern, p);
      auto axis = rule.substr(0, rule.rfind('='));
      bora::check<ConfigError>(!one.by_path.empty() || axes.contains(axis),
                               "optimizer.factor_rules: no parameter has the axis '", axis, "'; there are ", known);
    }
  });
}

void CommonConfig::check() const {
  settings::check_numbers(*this);
  config::domain(multi_steps >= 1, "multi_steps", multi_steps, "1 or more");
  config::domain(skip_not_finite >= 0, "skip_not_finite", skip_not_finite, "0 or more");
  settings::check_steps("multi_steps", multi_steps);
  settings::check_steps("skip_not_finite", skip_not_finite);
  for (auto& [key, patterns] : {std::pair("decay", &decay), {"no_decay", &no_decay}})
    for (auto& pattern : *patterns) settings::check_pattern(key, pattern);
}
Mask CommonConfig::decays() const {
  if (decay.empty() && no_decay.empty()) return by_layer;
  return [decay = decay, no_decay = no_decay](const Leaves& p, std::size_t i) {
    auto& path = p.paths[i];
    return (decay.empty() ? Mask(by_layer)(p, i) : matches(path, decay)) && !matches(path, no_decay);
  };
}
Schedule CommonConfig::of_steps(const Schedule& rate) const {
  if (multi_steps == 1) return rate;
  return Schedule([rate, n = multi_steps](const Array& step) { return rate(floor_divide(step, n)); });
}
Transform CommonConfig::around(Transform t) const {
  if (clip_rms > 0) t = chain(clip_by_block_rms(clip_rms, standard_factor_rules()), t);
  if (clip_value > 0) t = chain(clip(clip_value), t);
  // Adafactor's mean is called ema; that of the parameters, which comes behind, stays f32.
  if (moments == Moments::bf16) t = t.storing(Dtype::bf16, {"mu", "trace", "ema"});
  if (ema > 0) t = chain(t, params_ema(ema));
  if (multi_steps > 1) t = optim::multi_steps(t, multi_steps);
  if (skip_not_finite > 0) t = apply_if_finite(t, skip_not_finite);
  return t.checking([decay = decay, no_decay = no_decay](const Leaves& p) {
    for (auto& [key, patterns] : {std::pair("decay", &decay), {"no_decay", &no_decay}})
      for (auto& pattern : *patterns) check_matches(key, pattern, p);
  });
}

void ScheduleConfig::check() const {
  config::domain(warmup >= 0, "warmup", warmup, "0 or more");
  settings::check_steps("warmup", warmup);
  config::domain(final_lr >= 0 && final_lr <= 1, "final_lr", final_lr, "between 0 and 1");
  config::domain(shape != Shape::exponential || final_lr > 0, "final_lr", final_lr, "above 0 for shape exponential");
  config::domain(warmup > 0 || shape != Shape::factors, "warmup", warmup, "above 0 for shape factors");
  for (auto [key, steps] : {std::pair("decay", decay), {"timescale", timescale}, {"rewarmup", rewarmup}}) {
    config::domain(steps >= 0, key, steps, "0 or more");
    settings::check_steps(key, steps);
  }
  config::domain(cycles >= 1 && cycles <= 1 << 10, "cycles", cycles, "from 1 to 1024");
  config::domain(shape != Shape::inverse_sqrt || timescale + warmup > 0, "warmup", warmup,
                 "above 0 for shape inverse_sqrt without timescale");
  if (shape != Shape::factors) return;
  try {
    (void)factors_schedule(factors);
  } catch (const ValueError& e) {
    config::domain(false, "factors", factors, "known words (" + std::string(e.text()) + ")");
  }
}
namespace {
/// Cycle k lasts from step k * steps / n on, n of them; where the steps are too few for the warm-ups, longer ones.
Schedule in_cycles(const ScheduleConfig& s, double lr, std::int64_t steps) {
  steps = std::max(steps, s.cycles * (std::max(s.warmup, s.rewarmup) + 1));
  std::vector<WarmupCosine> all;
  for (std::int64_t k = 0; k < s.cycles; ++k)
    all.push_back({.init = k == 0 ? 0 : lr * s.final_lr,
                   .peak = lr,
                   .warmup_steps = k == 0 ? s.warmup : s.rewarmup,
                   .decay_steps = (k + 1) * steps / s.cycles - k * steps / s.cycles,
                   .end = lr * s.final_lr});
  return sgdr_schedule(all);
}
}  // namespace
Schedule ScheduleConfig::make(double lr, std::int64_t steps) const {
  if (shape == Shape::factors)
    return factors_schedule(factors,
                            {.base = lr, .warmup_steps = warmup, .steps_per_cycle = std::max<std::int64_t>(steps, 1)});
  if (shape == Shape::inverse_sqrt)
    return inverse_sqrt_schedule(lr, warmup, timescale > 0 ? timescale : warmup, lr * final_lr);
  if (shape == Shape::cycles) return in_cycles(*this, lr, steps);
  steps = std::max(steps, warmup + 1);
  if (shape == Shape::wsd) {
    auto last = decay > 0 ? decay : std::max<std::int64_t>(steps / 10, 1);
    return wsd_schedule(lr, steps, {.warmup_steps = warmup,
                                    .decay_steps = std::min(last, steps - warmup),
                                    .end = lr * final_lr,
                                    .fall = fall});
  }
  if (shape == Shape::exponential)
    return warmup_exponential_decay_schedule(0, lr, warmup, steps - warmup, final_lr, {.end = lr * final_lr});
  if (shape == Shape::cosine) return warmup_cosine_decay_schedule(0, lr, warmup, steps, lr * final_lr);
  auto up = linear_schedule(0, lr, warmup),
       down = linear_schedule(lr, shape == Shape::linear ? lr * final_lr : lr, steps - warmup);
  return Schedule(
      [up, down, n = warmup](const Array& step) { return where(step < n, up(step), down(maximum(step - n, 0))); });
}

}  // namespace bora::optim
