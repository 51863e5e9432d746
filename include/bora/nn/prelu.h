// prelu.h -- the rectifier whose slope is learned.
#pragma once
#include "bora/named/array.h"

namespace bora::nn {
/// x where it is positive, weight * x elsewhere (He et al. 2015). One slope for all of x, or one along axes of x.
struct Prelu {
  NamedArray weight;  // [channels...], or a scalar
  static constexpr bool decays(std::string_view) { return false; }
  static Prelu init(const Axes& channels, double slope = 0.25);
  static Prelu init(double slope = 0.25);
  /// x's axes and dtype. Throws AxisError if x lacks an axis of the slope.
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
