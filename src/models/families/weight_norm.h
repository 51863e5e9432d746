// weight_norm.h -- a layer norm without biases. Private.
#pragma once
#include "bora/named/array.h"
#include "bora/named/operations.h"
#include "bora/nn/norm.h"
#include "bora/ops/creation.h"

namespace bora::models {
/// A layer norm without biases.
struct WeightNorm {
  NamedArray weight;
  float eps;
  static constexpr bool decays(std::string_view) { return false; }
  static WeightNorm init(const Axes& embed, float eps) { return {ones(embed), eps}; }
  NamedArray operator()(const NamedArray& x) const { return nn::LayerNorm{weight, zeros(weight.axes()), eps}(x); }
};
}  // namespace bora::models
