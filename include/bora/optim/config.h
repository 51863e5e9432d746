// config.h -- optimizers as settings: an aggregate's fields are the keys of the group `optimizer`, its static `type` is
// the word that chooses it, and make() builds it.
#pragma once
#include "bora/optim/optim.h"

namespace bora::optim {
struct AdamWConfig {
  static constexpr std::string_view type = "adamw";
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  double clip = 1;  // largest global norm of the gradient; 0: not clipped
  Transform make(const Schedule& learning_rate, const Mask& decays = by_layer) const;
};
struct LionConfig {
  static constexpr std::string_view type = "lion";
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0.3;
  double clip = 1;  // largest global norm of the gradient; 0: not clipped
  Transform make(const Schedule& learning_rate, const Mask& decays = by_layer) const;
};
}  // namespace bora::optim
