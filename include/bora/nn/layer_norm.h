// layer_norm.h -- layer normalization.
#pragma once
#include "bora/named/named.h"

namespace bora::nn {
/// (x - mean) / sqrt(var + eps) * weight + bias over the axes of weight, computed in f32 and rounded once (Ba, Kiros,
/// Hinton 2016).
struct LayerNorm {
  NamedArray weight, bias;  // [embed...]
  float eps = 1e-5F;
  static constexpr bool decays(std::string_view) { return false; }
  static LayerNorm init(const Axes& embed, float eps = 1e-5F);
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
