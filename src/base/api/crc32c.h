// crc32c.h -- the checksum of messages and stored blocks.
#pragma once
#include <nmmintrin.h>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bora {
/// CRC-32C (Castagnoli, RFC 3720) of n bytes, continued from `crc` (0 at the beginning).
__attribute__((target("sse4.2"))) inline std::uint32_t crc32c(const void* data, std::size_t n, std::uint32_t crc = 0) {
  auto p = static_cast<const unsigned char*>(data);
  std::uint64_t c = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    c = _mm_crc32_u64(c, word);
  }
  for (; n > 0; --n, ++p) c = _mm_crc32_u8(static_cast<std::uint32_t>(c), *p);
  return ~static_cast<std::uint32_t>(c);
}
}  // namespace bora
