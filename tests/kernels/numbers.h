// numbers.h -- operands of kernels.
#pragma once
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

namespace bora::kernels {
using I = std::int64_t;
inline std::size_t u(I i) { return static_cast<std::size_t>(i); }
/// Any integers, or floats in [-most, most).
template <class T> std::vector<T> numbers(I n, std::mt19937& rng, float most) {
  std::vector<T> x(u(n));
  for (auto& v : x) {
    if constexpr (std::is_integral_v<T>) v = static_cast<T>(rng());
    else v = static_cast<T>(std::uniform_real_distribution<float>(-most, most)(rng));
  }
  return x;
}
template <class T> std::vector<T> numbers(I n, unsigned seed, float most = 2) {
  std::mt19937 rng(seed);
  return numbers<T>(n, rng, most);
}
}  // namespace bora::kernels
