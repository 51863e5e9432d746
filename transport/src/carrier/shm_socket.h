// shm_socket.h -- unix sockets between processes of one host: abstract names, the peer's user, descriptors that are passed.
#pragma once
#include <sys/socket.h>
#include <sys/un.h>
#include <string>
#include "wire/descriptor.h"

namespace bora::transport {
/// Of a socket with an abstract name, given without its leading zero.
struct UnixAddress {
  sockaddr_un text{};
  socklen_t size = 0;
  explicit UnixAddress(const std::string& name);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&text); }
};
bool same_user(int socket);
/// Sends bytes, with a descriptor beside them if it is not -1; false if there is no room, or nobody any more: the control plane says so.
bool pass(int socket, const void* bytes, std::size_t n, int descriptor = -1);
/// Takes one message: its size as recv has it (0: closed), and a descriptor if one came. More than n bytes, or a descriptor that was lost
/// on its way, make it n + 1.
ssize_t take(int socket, void* bytes, std::size_t n, Descriptor& descriptor);
}  // namespace bora::transport
