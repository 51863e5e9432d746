// tcp_connection.h -- one tcp connection of the data plane: the queue of messages to send, and the message being
// received. Owned by tcp_data.cpp.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>
#include "carrier/pool.h"
#include "wire/descriptor.h"
#include "wire/link.h"
#include "wire/seal.h"

namespace bora::transport {
struct TcpConnection {
  static constexpr std::size_t kStaged = 16 << 10;  // bytes read at once beyond a payload
  static constexpr std::size_t kMessages = 16;      // written at once
  struct Queued {
    Header header;
    const std::byte* bytes;
    std::size_t size;                  // of the bytes
    std::shared_ptr<const void> hold;  // keeps them
  };
  struct Written {
    bool all = false;  // everything was written
    std::size_t bytes = 0;
    int error = 0;  // errno: the connection has ended
  };
  /// Writes as much of the first n messages, at most kMessages, as the kernel takes, and removes the complete ones.
  Written write(std::size_t n) { return seal ? write_sealed(n) : write_plain(n); }
  /// Decrypts, in its place, arrived payload while it is in the cache.
  void open_some();

  std::uint32_t id = 0;
  Descriptor socket;
  int peer = -1;     // unknown
  int claimed = -1;  // its handshake is being read
  Clock::time_point since = Clock::now();
  std::optional<Sealer> seal;
  std::optional<Opener> open;
  // reading: header, payload, and with keys a tag
  std::array<std::byte, kStaged> staged;
  std::size_t begin = 0, end = 0;  // of the staged bytes
  Header header;
  bool in_body = false;
  Pool::Buffer body;  // none: the payload goes to its final place at once
  std::byte* body_at = nullptr;
  std::size_t body_size = 0, body_read = 0, body_opened = 0;
  // writing
  std::deque<Queued> queue;
  std::size_t sent = 0;                    // bytes written of the first message; with keys:
  std::vector<std::byte> out;              // sealed
  std::size_t out_begin = 0, out_end = 0;  // its unwritten part
  // Messages of the queue that are complete in `out`; payload bytes of the next one there.
  std::size_t complete = 0, in_part = 0;
  bool begun = false;  // the header of the next one is in `out`

 private:
  Written write_plain(std::size_t n);
  Written write_sealed(std::size_t n);
  void seal_some(std::size_t n);
};
}  // namespace bora::transport
