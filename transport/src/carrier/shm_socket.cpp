#include "carrier/shm_socket.h"
#include <algorithm>
#include <cstddef>

namespace bora::transport {
UnixAddress::UnixAddress(const std::string& name) {
  text.sun_family = AF_UNIX;
  auto n = std::min(name.size(), sizeof text.sun_path - 1);
  std::memcpy(text.sun_path + 1, name.data(), n);
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
}
bool same_user(int socket) {
  ucred c{};
  socklen_t n = sizeof c;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &c, &n) == 0 && c.uid == ::geteuid();
}
bool pass(int socket, const void* bytes, std::size_t n, int descriptor) {
  iovec part{const_cast<void*>(bytes), n};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  if (descriptor >= 0) {
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    auto c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
  }
  ssize_t sent = 0;
  while ((sent = ::sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR) {}
  check<TransportError>(sent == static_cast<ssize_t>(n) || errno == EAGAIN || errno == EPIPE || errno == ECONNRESET,
                        "cannot pass shared memory to a peer: ", std::strerror(errno));
  return sent == static_cast<ssize_t>(n);
}
ssize_t take(int socket, void* bytes, std::size_t n, Descriptor& descriptor) {
  iovec part{bytes, n};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  ssize_t got = 0;
  while ((got = ::recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
  for (auto c = CMSG_FIRSTHDR(&m); got >= 0 && c; c = CMSG_NXTHDR(&m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      descriptor = Descriptor(fd);  // of several the last one stays; the others are closed
    }
  }
  return got > 0 && (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ? static_cast<ssize_t>(n) + 1 : got;
}
}  // namespace bora::transport
