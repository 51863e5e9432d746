// weighed.h -- what a weight of 0 leaves out. Private.
#pragma once
#include <cmath>
#include "bora/ops/indexing.h"
#include "bora/ops/ufuncs.h"

namespace bora::ops {
/// x, but 0 where its weight is 0 and x is no number or so large that a square overflows: 0 times what is made of it
/// would be NaN. Other elements without weight stay: the derivative by their weight is made of them. The shapes
/// broadcast.
inline Array weighed(const Array& x, const Array& weights) {
  return where(weights != 0 || abs(x) < std::sqrt(info(real_dtype(x.dtype())).largest), x, 0);
}
}  // namespace bora::ops
