// header.h -- the 64-byte header of every data message, little-endian; checked before any field is used.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace bora::transport {
inline constexpr std::uint32_t kMagic = 0x41524f42;  // "BORA"
inline constexpr std::uint8_t kProtocol = 1;

/// filler, socket: only in shared memory. socket: the sender's descriptors wait in the pair's socket.
enum class MessageType : std::uint8_t { handshake = 1, data, credit, filler, socket };
/// Header::flags, only within a host. kSummed: the receiver sums the payload. kInArena, kInProcess: instead of the
/// payload, its offset in the sender's arena, or its address in the sender's process (a u64). kOneWay: the sender goes
/// on without an answer once the payload has been copied.
inline constexpr std::uint16_t kSummed = 1, kInArena = 2, kInProcess = 4, kOneWay = 8;

struct Header {
  std::uint32_t magic = kMagic;
  std::uint8_t version = kProtocol;
  MessageType type = MessageType::data;
  std::uint16_t flags = 0;
  std::uint32_t epoch = 0;         // the job's; an earlier job's messages are dropped
  std::uint32_t group = 0;         // hash of the group's ranks
  std::uint64_t seq = 0;           // of the collective within its group
  std::uint64_t fingerprint = 0;   // of the collective
  std::uint32_t src = 0, dst = 0;  // ranks of the job
  std::uint16_t step = 0;          // Step::tag
  std::uint16_t reserved = 0;
  std::uint32_t chunk = 0;   // number of the message within its stream
  std::uint64_t offset = 0;  // bytes before it in the stream
  std::uint32_t bytes = 0;   // of payload; of a credit: returned
  std::uint32_t crc = 0;     // crc32c of the 60 bytes before
  std::uint32_t payload() const { return type == MessageType::data ? bytes : 0; }
};
static_assert(sizeof(Header) == 64 && alignof(Header) == 8);

/// The first message of the connecting rank.
Header handshake_header(int from, int to);
/// The header with its crc set.
Header sealed(Header);
/// Reads a header from raw bytes. False if length, magic, version, type or crc are wrong.
bool parse_header(const void* data, std::size_t n, Header& h);
}  // namespace bora::transport
