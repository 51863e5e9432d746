// half.h -- f16, which files hold and arrays do not.
#pragma once
#include <bit>
#include <cstdint>

namespace bora::io {
/// f16 -> f32, exactly.
inline float from_half(std::uint16_t h) {
  std::uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
  if (exponent == 0) {
    auto f = static_cast<float>(fraction) * 0x1p-24F;
    return sign ? -f : f;
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13);
}
}  // namespace bora::io
