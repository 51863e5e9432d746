#include "header.h"
#include <nmmintrin.h>
#include <cstring>

namespace bora::transport {
std::uint32_t crc32c(const void* data, std::size_t n) {
  auto p = static_cast<const char*>(data);
  std::uint64_t crc = 0xffffffffu;
  for (; n >= 8; n -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  for (; n > 0; --n, ++p) crc = _mm_crc32_u8(static_cast<std::uint32_t>(crc), static_cast<unsigned char>(*p));
  return ~static_cast<std::uint32_t>(crc);
}
Header sealed(Header h) {
  h.crc = crc32c(&h, offsetof(Header, crc));
  return h;
}
bool parse_header(const void* data, std::size_t n, Header& h) {
  if (n < sizeof h) return false;
  std::memcpy(static_cast<void*>(&h), data, sizeof h);
  return h.magic == kMagic && h.version == kProtocol && h.type >= MessageType::hello && h.type <= MessageType::credit &&
         h.crc == crc32c(&h, offsetof(Header, crc));
}
}  // namespace bora::transport
