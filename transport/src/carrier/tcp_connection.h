// tcp_connection.h -- one tcp connection of the data plane: the queue of messages to send, and the message being received. Owned by
// tcp_data.cpp.
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
    bool all = false;  // that was to be written
    std::size_t bytes = 0;
    int error = 0;  // errno: the connection has ended
  };
  /// Writes of the first n messages what the kernel takes, at most kMessages, and removes those that are complete.
  Written write(std::size_t n) { return seal ? write_sealed(n) : write_plain(n); }
  /// Opens, in its place, what has come of a payload while it is in the cache.
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
  std::size_t begin = 0, end = 0;  // of what is staged
  Header header;
  bool in_body = false;
  Pool::Buffer body;  // none: its bytes go where they belong at once
  std::byte* body_at = nullptr;
  std::size_t body_size = 0, body_read = 0, body_opened = 0;
  // writing
  std::deque<Queued> queue;
  std::size_t sent = 0;  // bytes of the first; with keys:
  std::vector<std::byte> out;              // sealed
  std::size_t out_begin = 0, out_end = 0;  // what of it has not been written
  std::size_t complete = 0, in_part = 0;   // messages of the queue that are in it to their end; bytes of the next one
  bool begun = false;                      // that one

 private:
  Written write_plain(std::size_t n);
  Written write_sealed(std::size_t n);
  void seal_some(std::size_t n);
};
}  // namespace bora::transport
