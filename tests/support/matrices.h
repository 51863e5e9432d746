// matrices.h -- random matrices, and what tests of linear algebra measure.
#pragma once
#include "bora/ops/manipulation.h"
#include "bora/ops/ops.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"

namespace bora::test {
/// Numbers of the normal distribution; of a complex dtype both parts.
inline Array draw(int seed, const Shape& shape, Dtype dtype) {
  auto part = [&](int s) { return random::normal(random::key(s), shape, real_dtype(dtype)); };
  return is_complex(dtype) ? complex(part(seed), part(seed + 100)) : part(seed);
}
/// Matrices with rows and columns exchanged, conjugated.
inline Array turned(const Array& x) { return swapaxes(conj(x), -1, -2); }
/// The largest magnitude; 0 of nothing.
inline double largest(const Array& x) { return x.size() == 0 ? 0 : amax(abs(x)).astype(f64).item<double>(); }
}  // namespace bora::test
