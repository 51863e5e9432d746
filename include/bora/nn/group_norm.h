// group_norm.h -- normalization of groups of channels.
#pragma once
#include "bora/named/named.h"

namespace bora::nn {
/// (x - mean) / sqrt(variance + eps) * weight + bias, with the mean and variance of each group of `channels` and all
/// positions along the axes `over`, computed in f32 and rounded once (Wu & He 2018). As many groups as channels:
/// InstanceNorm (Ulyanov et al. 2016).
struct GroupNorm {
  NamedArray weight, bias;        // [channels]
  std::vector<std::string> over;  // "height", "width"
  std::int64_t groups = 32;
  float eps = 1e-5F;
  static constexpr bool decays(std::string_view) { return false; }
  /// Throws ValueError unless the groups divide the channels.
  static GroupNorm init(const Axis& channels, const std::vector<std::string>& over, std::int64_t groups = 32,
                        float eps = 1e-5F);
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
