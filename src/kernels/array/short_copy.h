// short_copy.h -- copies of 1 to 64 bytes without calls or branches on their number: the first and the last bytes as
// vectors, which overlap. Private.
#pragma once
#include <immintrin.h>
#include <cstdint>
#include <cstring>

namespace bora::kernels {
inline constexpr std::int64_t kShortBytes = 64;

/// `bytes`: at least those of V, at most two of it.
template <class V> void copy_ends(void* dst, const void* src, std::int64_t bytes) {
  const auto last = bytes - static_cast<std::int64_t>(sizeof(V));
  V begin, end;
  std::memcpy(&begin, src, sizeof begin);
  std::memcpy(&end, static_cast<const char*>(src) + last, sizeof end);
  std::memcpy(dst, &begin, sizeof begin);
  std::memcpy(static_cast<char*>(dst) + last, &end, sizeof end);
}
/// f(V{}) with the vector for copies of so many bytes, 1 to kShortBytes.
template <class F> void with_ends(std::int64_t bytes, const F& f) {
  if (bytes >= 32) f(__m256i{});
  else if (bytes >= 16) f(__m128i{});
  else if (bytes >= 8) f(std::uint64_t{});
  else if (bytes >= 4) f(std::uint32_t{});
  else if (bytes >= 2) f(std::uint16_t{});
  else f(std::uint8_t{});
}
}  // namespace bora::kernels
