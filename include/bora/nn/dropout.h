// dropout.h -- dropout.
#pragma once
#include "bora/named/random.h"

namespace bora::nn {
/// bora::dropout(key, x, rate); x itself without a key (evaluation).
struct Dropout {
  float rate = 0;
  NamedArray operator()(const NamedArray& x, const std::optional<Array>& key) const;
};
}  // namespace bora::nn
