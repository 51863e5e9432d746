// encoder.h -- encoders alone: positions see all others, before them and behind them. Private.
#pragma once
#include "bora/models/contract.h"

namespace bora::models {
/// The keys that an encoder's positions attend to: all of their own document that are no padding.
inline nn::AttentionMask encoder_mask(const training::Example& e) {
  nn::AttentionMask mask{.causal = false, .segments = e.segments};
  auto of_keys = [](const NamedArray& x) { return rename(auto_sharded(x), {{nn::kPosition, nn::kKeyPosition}}); };
  if (e.mask) mask.explicit_mask = of_keys(*e.mask) != 0;
  else if (e.filled) {
    auto axes = e.tokens.axes();
    auto filled = broadcast_to(auto_sharded(*e.filled), axes);
    mask.explicit_mask = of_keys(broadcast_to(arange(e.tokens.axis(nn::kPosition)), axes) < filled);
  }
  return mask;
}
}  // namespace bora::models
