// shm_socket.h -- unix sockets between processes of one host: abstract names, the peer's user, descriptors that are
// passed.
#pragma once
#include <sys/socket.h>
#include <sys/un.h>
#include <string>
#include "wire/descriptor.h"

namespace bora::transport {
/// The address of a unix socket with an abstract name, given without its leading zero.
struct UnixAddress {
  sockaddr_un text{};
  socklen_t size = 0;
  explicit UnixAddress(const std::string& name);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&text); }
};
bool same_user(int socket);
/// Sends bytes, with a descriptor attached if it is not -1; false if there is no room, or no peer any more, which the
/// control plane reports.
bool pass(int socket, const void* bytes, std::size_t n, int descriptor = -1);
/// Receives one message: its size as recv returns it (0: closed), and a descriptor if one is attached. n + 1 if there
/// are more than n bytes, or if a descriptor was lost on its way.
ssize_t take(int socket, void* bytes, std::size_t n, Descriptor& descriptor);
}  // namespace bora::transport
