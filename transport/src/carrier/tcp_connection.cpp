#include "carrier/tcp_connection.h"
#include <sys/socket.h>
#include <sys/uio.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bora::transport {
namespace {
constexpr std::size_t kSealed = 64 << 10;  // bytes sealed before they are written
}  // namespace

TcpConnection::Written TcpConnection::write_plain(std::size_t n) {
  iovec parts[2 * kMessages];
  int used = 0;
  std::size_t skip = sent, asked = 0;
  auto piece = [&](const void* p, std::size_t size) {
    auto off = std::min(skip, size);
    skip -= off;
    if (size == off) return;
    parts[used++] = {const_cast<char*>(static_cast<const char*>(p) + off), size - off};
    asked += size - off;
  };
  for (std::size_t i = 0; i < n; ++i) {
    piece(&queue[i].header, sizeof(Header));
    piece(queue[i].bytes, queue[i].size);
  }
  msghdr m{};
  m.msg_iov = parts;
  m.msg_iovlen = static_cast<std::size_t>(used);
  ssize_t wrote = 0;
  while ((wrote = ::sendmsg(socket.get(), &m, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR) {}
  if (wrote < 0 && errno != EAGAIN) return {.error = errno};
  auto taken = wrote < 0 ? 0 : static_cast<std::size_t>(wrote);
  Written done{.all = taken == asked, .bytes = taken};
  for (taken += sent; !queue.empty() && taken >= sizeof(Header) + queue.front().size; queue.pop_front())
    taken -= sizeof(Header) + queue.front().size;
  sent = taken;
  return done;
}
/// Seals the messages piece by piece, shortly before they are written.
TcpConnection::Written TcpConnection::write_sealed(std::size_t n) {
  for (Written done;;) {
    if (out_begin == out_end) {
      for (; complete > 0; --complete, n -= n > 0) queue.pop_front();
      done.all = n == 0;
      if (done.all) return done;
      seal_some(n);
    }
    auto wrote = ::send(socket.get(), out.data() + out_begin, out_end - out_begin, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      done.error = errno == EAGAIN ? 0 : errno;
      return done;
    }
    done.bytes += static_cast<std::size_t>(wrote);
    out_begin += static_cast<std::size_t>(wrote);
    if (out_begin < out_end) return done;
  }
}
/// Seals as much of the first n messages of the queue as there is room for.
void TcpConnection::seal_some(std::size_t n) {
  out.resize(kSealed);
  out_begin = out_end = 0;
  while (complete < n) {
    auto& q = queue[complete];
    if (out.size() - out_end < 2 * sizeof(Header) + kTagBytes) return;
    if (!std::exchange(begun, true)) {
      seal->begin(q.header);
      std::memcpy(out.data() + out_end, &q.header, sizeof(Header));
      out_end += sizeof(Header);
    }
    auto room = (out.size() - out_end - kTagBytes) / 16 * 16, size = std::min(q.size - in_part, room);
    seal->update(q.bytes + in_part, size, out.data() + out_end);
    in_part += size;
    out_end += size;
    if (in_part < q.size) return;
    seal->end(out.data() + out_end);
    out_end += kTagBytes;
    ++complete;
    in_part = 0;
    begun = false;
  }
}
void TcpConnection::open_some() {
  auto ready = body_read < body_size ? body_read / 16 * 16 : body_size;
  if (ready > body_opened) open->update(body_at + body_opened, ready - body_opened, body_at + body_opened);
  body_opened = std::max(body_opened, ready);
}
}  // namespace bora::transport
