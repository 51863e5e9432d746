// numbers.h -- arrays of numbers that look random and are the same in every run.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>
#include "bora/array/array.h"
#include "bora/ops/creation.h"

namespace bora::test {
/// Numbers in [lo, hi), f64.
inline Array values(const Shape& shape, double lo, double hi, std::uint64_t seed) {
  std::vector<double> v(static_cast<std::size_t>(volume(shape)));
  std::uint64_t s = seed * 0x9e3779b97f4a7c15ull + 12345;
  for (auto& x : v) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    x = lo + (hi - lo) * static_cast<double>(s >> 11) / 9007199254740992.0;
  }
  return asarray(v, shape);
}
inline Array rnd(const Shape& shape, int seed) { return values(shape, -1, 1, static_cast<std::uint64_t>(seed)); }
/// sin(phase + step i) for element i, f64: generators of golden numbers compute the same.
inline Array sines(const Shape& shape, double phase, double step) {
  std::vector<double> v(static_cast<std::size_t>(volume(shape)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(phase + step * static_cast<double>(i));
  return asarray(v, shape);
}
}  // namespace bora::test
