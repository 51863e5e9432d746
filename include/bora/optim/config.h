// config.h -- optimizers as settings: an aggregate's fields are the keys of the group `optimizer`, its static `type` is
// the word that chooses it, and make() builds it. The fields of CommonConfig are keys of every type. A type that no
// program names stands in the source of its transformation (src/optim/optimizers/sgd.cpp: SgdConfig).
#pragma once
#include "bora/optim/kind.h"
#include "bora/optim/optimizers.h"
#include "bora/optim/updates.h"

namespace bora::optim {
struct AdamWConfig {  // the settings of optimizer.type=adamw
  static constexpr std::string_view type = "adamw";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1, clip = 1;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {{"lr", "largest learning rate"},
                                                 {"beta1", "decay of the mean of gradients"},
                                                 {"beta2", "decay of the mean of their squares"},
                                                 {"eps", "added to the root of that mean"},
                                                 {"weight_decay", "of all parameters but biases and norms"},
                                                 {"clip", "largest global norm of the gradient; 0: not clipped"},
                                                 {"schedule", ""}};
  void check() const;
  Transform make(const Schedule& learning_rate, const Mask& decays = by_layer) const;
};
struct LionConfig {  // the settings of optimizer.type=lion
  static constexpr std::string_view type = "lion";
  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0.3, clip = 1;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {
      {"lr", "largest learning rate: a third to a tenth of AdamW's"},
      {"beta1", "share of the mean of gradients in an update"},
      {"beta2", "decay of that mean"},
      {"weight_decay", "of all parameters but biases and norms; 3 to 10 times AdamW's"},
      {"clip", "largest global norm of the gradient; 0: not clipped"},
      {"schedule", ""}};
  void check() const;
  Transform make(const Schedule& learning_rate, const Mask& decays = by_layer) const;
};
struct AdafactorConfig {  // the settings of optimizer.type=adafactor
  static constexpr std::string_view type = "adafactor";
  double lr = 1e-2, beta1 = 0, decay_rate = 0.8, clipping_threshold = 1, weight_decay = 0, clip = 0;
  std::int64_t step_offset = 0, min_dim_size_to_factor = 128;
  bool multiply_by_parameter_scale = true, factor_by_axes = true;
  std::vector<std::string> factor_rules = {};
  ScheduleConfig schedule = {.shape = ScheduleConfig::Shape::factors};
  static constexpr config::Meaning meanings[] = {
      {"lr", "largest learning rate; relative to the parameters' sizes"},
      {"beta1", "decay of the mean of updates; 0: none is kept"},
      {"decay_rate", "the mean of squares decays by 1 - step^-decay_rate"},
      {"clipping_threshold", "largest root mean square of a parameter's update; 0: not clipped"},
      {"weight_decay", "of all parameters but biases and norms; not times lr"},
      {"clip", "largest global norm of the gradient; 0: not clipped"},
      {"step_offset", "step at which fine-tuning began"},
      {"min_dim_size_to_factor", "matrices with a smaller side are not factored"},
      {"multiply_by_parameter_scale", "lr times the root mean square of the parameter"},
      {"factor_by_axes", "by logical axis, each stacked layer by itself, as T5X; else by size, as Optax"},
      {"factor_rules", "AXIS=row|column|batch|none, or REGEX=batch row column, over the standard ones"},
      {"schedule", ""}};
  void check() const;
  Transform make(const Schedule& learning_rate, const Mask& decays = by_layer) const;
};

}  // namespace bora::optim
