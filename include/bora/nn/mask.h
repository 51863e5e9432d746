// mask.h -- the keys that attention may see.
#pragma once
#include "bora/named/named.h"
#include "bora/nn/axes.h"

namespace bora::nn {
/// The keys that a position may attend to: those that every field allows. A position without any gets 0.
struct AttentionMask {
  bool causal = true;
  std::optional<NamedArray> explicit_mask = none;  // boolean over position and key position axes: true = attend
  std::optional<std::int64_t> window = none;       // the last so many positions, its own included: at least 1
  std::optional<Array> window_value = none;        // i32 scalar: `window` as a value, where stacked layers differ
  std::optional<NamedArray> segments = none;       // i32 or u8 over position (and batch axes): only equal ones meet
  std::int64_t zigzag = 1;  // above 1 positions are in the zigzag order of so many ranks: attention goes round a ring
};
}  // namespace bora::nn
