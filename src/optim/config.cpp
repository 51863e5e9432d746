#include "bora/optim/config.h"

namespace bora::optim {
namespace {
Transform clipped(double max_norm, const Transform& t) {
  return max_norm > 0 ? chain(clip_by_global_norm(max_norm), t) : t;
}
}  // namespace
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
