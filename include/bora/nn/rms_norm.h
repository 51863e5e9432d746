// rms_norm.h -- normalization by the root of the mean square.
#pragma once
#include "bora/named/named.h"

namespace bora::nn {
/// x / sqrt(mean of squares + eps) * (weight + offset) over the axes of weight, computed in f32 and rounded once
/// (Zhang, Sennrich 2019). The default eps is Llama's.
struct RmsNorm {
  NamedArray weight;  // [embed...]
  float eps = 1e-6F;
  float offset = 0;  // 1: Gemma's
  static constexpr bool decays(std::string_view) { return false; }
  /// weight + offset is 1.
  static RmsNorm init(const Axes& embed, float eps = 1e-6F, float offset = 0);
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
