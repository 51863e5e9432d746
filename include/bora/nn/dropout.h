// dropout.h -- dropout.
#pragma once
#include "bora/named/random.h"

namespace bora::nn {
/// bora::dropout(key, x, rate); x itself without a key (evaluation).
struct Dropout {
  float rate = 0;
  NamedArray operator()(const NamedArray& x, const std::optional<Array>& key) const;
  /// The same with one draw for all positions along `axes`, as T5X drops out: a vector's number is kept in the whole
  /// sequence, or nowhere. (Haliax's broadcast_axes.)
  NamedArray along(const NamedArray& x, const AxisNames& axes, const std::optional<Array>& key) const;
};
}  // namespace bora::nn
