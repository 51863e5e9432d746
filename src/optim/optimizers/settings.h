// settings.h -- the parts that optimizers share as settings.
#pragma once
#include "bora/optim/kind.h"
#include "bora/optim/optimizers.h"

namespace bora::optim::settings {
inline constexpr std::string_view kLr = "largest learning rate", kBeta1 = "decay of the mean of gradients",
                                  kBeta2 = "decay of the mean of their squares",
                                  kEps = "added to the root of that mean",
                                  kNesterov = "the mean of gradients looks ahead by one gradient",
                                  kDecay = "of all parameters but biases and norms",
                                  kDecayOfGradients = "of all parameters but biases and norms, added to gradients",
                                  kClip = "largest global norm of the gradient; 0: not clipped";
inline constexpr std::string_view kFactorRules =
    "AXIS=row|column|batch|none, or REGEX=batch row column, over the standard ones";
/// The standard rules and these over them: `heads=row` of an axis, `attn.q=batch row column column` of the dimensions
/// of parameters whose paths match. Throws ConfigError beginning with "factor_rules".
FactorRules parse_factor_rules(const std::vector<std::string>&);
/// t, whose init throws ConfigError for a factor rule of the settings that fits no parameter.
Transform with_factor_rules(const Transform& t, const std::vector<std::string>& rules);
/// Throws ConfigError if a number lies outside of the domain that fields of this name have.
void check_number(std::string_view field, double value);
/// check_number of every number of an aggregate.
template <class T> void check_numbers(const T& o) {
  fields::for_each(o, [](std::string_view field, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) check_number(field, value);
  });
}
/// Throws ConfigError for a number of steps above 2^30: they are counted as i32.
void check_steps(std::string_view field, std::int64_t steps);
/// Throws ConfigError if this is no regular expression.
void check_pattern(std::string_view key, const std::string& pattern);
/// The gradient clipped to this global norm, if it is above 0, then t.
Transform clipped(double max_norm, const Transform& t);
/// Clipping, the rescaling, decay of weights where there is any, and the step.
template <class T> Transform made(const T& o, const Transform& rescale, const Schedule& rate, const Mask& decays) {
  auto step = scale_by_learning_rate(rate);
  return clipped(o.clip, o.weight_decay > 0 ? chain(rescale, add_decayed_weights(o.weight_decay, decays), step)
                                            : chain(rescale, step));
}
inline std::optional<double> if_positive(double x) { return x > 0 ? std::optional(x) : none; }
}  // namespace bora::optim::settings
