// layout.h -- the places of numbers in a block (api/lowbit.h).
#pragma once
#include <cstring>
#include "kernels/api/lowbit.h"

namespace bora::kernels {
struct LowbitBlock {
  Lowbit format;
  unsigned char* p;
  struct Place {
    std::int64_t byte;
    int shift;
  };
  Place place(std::int64_t output, std::int64_t input) const {
    const std::int64_t part = input / kLowbitPart, i = input % kLowbitPart, vector = i / 4;
    const std::int64_t in_part = output * 4 + i % 4;
    const auto start = 2 * kLowbitTile + part * format.part_bytes();
    if (format.bits == 8) return {start + vector * 64 + in_part, 0};
    return {start + vector % 4 * 64 + in_part, vector < 4 ? 0 : 4};
  }
  void clear() const {
    std::memset(p + 2 * kLowbitTile, 0, static_cast<std::size_t>(format.block_bytes() - 2 * kLowbitTile));
  }
  /// Once for each place, after clear().
  void put(std::int64_t output, std::int64_t input, std::int8_t q) const {
    const auto [byte, shift] = place(output, input);
    p[byte] = static_cast<unsigned char>(p[byte] | (q + format.zero()) << shift);
  }
  std::int8_t get(std::int64_t output, std::int64_t input) const {
    const auto [byte, shift] = place(output, input);
    const std::int64_t u = format.bits == 8 ? p[byte] : p[byte] >> shift & 15;
    return static_cast<std::int8_t>(u - format.zero());
  }
};
}  // namespace bora::kernels
