// norm.h -- normalization: of each vector, of groups of channels, by the statistics of a batch.
#pragma once
#include "bora/named/array.h"

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
/// Running averages of mean and variance, [channels...] each: part of a training state, not of the parameters.
struct BatchStats {
  NamedArray mean, variance;
};
enum class BatchNormMode : std::uint8_t { train, infer };  // whether BatchNorm goes by x's own mean and variance
/// (x - mean) / sqrt(variance + eps) * weight + bias, computed in f32 and rounded once (Ioffe & Szegedy 2015). train:
/// by the mean and variance of x along all axes but those of weight, also where the mesh splits them; the averages
/// become momentum * average + (1 - momentum) * x's (its biased variance, as Flax). infer: by the averages, unchanged.
struct BatchNorm {
  NamedArray weight, bias;  // [channels...]
  float momentum = 0.99F, eps = 1e-5F;
  static constexpr bool decays(std::string_view) { return false; }
  static BatchNorm init(const Axes& channels, float momentum = 0.99F, float eps = 1e-5F);
  BatchStats first_stats() const;  // mean 0, variance 1, f32 (f64 of f64 weights)
  std::pair<NamedArray, BatchStats> operator()(const NamedArray& x, const BatchStats& stats,
                                               BatchNormMode mode = BatchNormMode::train) const;
};
}  // namespace bora::nn
