#include "wire/header.h"
#include <cstring>
#include "base/api/crc32c.h"

namespace bora::transport {
Header handshake_header(int from, int to) {
  Header h;
  h.type = MessageType::handshake;
  h.src = static_cast<std::uint32_t>(from);
  h.dst = static_cast<std::uint32_t>(to);
  return h;
}
Header sealed(Header h) {
  h.crc = crc32c(&h, offsetof(Header, crc));
  return h;
}
bool parse_header(const void* data, std::size_t n, Header& h) {
  if (n < sizeof h) return false;
  std::memcpy(static_cast<void*>(&h), data, sizeof h);
  return h.magic == kMagic && h.version == kProtocol && h.type >= MessageType::handshake &&
         h.type <= MessageType::credit && h.crc == crc32c(&h, offsetof(Header, crc));
}
}  // namespace bora::transport
