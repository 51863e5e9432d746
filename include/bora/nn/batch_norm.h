// batch_norm.h -- normalization by the statistics of a batch, whose running averages are the caller's.
#pragma once
#include "bora/named/named.h"

namespace bora::nn {
/// Running averages of mean and variance, [channels...] each: part of a training state, not of the parameters.
struct BatchStats {
  NamedArray mean, variance;
};
enum class BatchNormMode : std::uint8_t { train, infer };
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
