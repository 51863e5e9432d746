// address.h -- where ranks listen: names, IPv4 and IPv6 addresses, this host's own.
#pragma once
#include <sys/socket.h>
#include <string>
#include "bora/transport/transport.h"
#include "wire/descriptor.h"
#include "wire/link.h"

namespace bora::transport {
// Connections waiting to be accepted: a rank's may queue behind those of strangers.
inline constexpr int kBacklog = 1024;
struct Address {
  std::string host, port, ip;  // as written, without brackets; the ip resolved
  /// "host:port"
  std::string text() const;
  /// "tcp://ip:port" as ZeroMQ writes it
  std::string endpoint() const;
};
/// "10.0.0.1", or "[fd77::1]" in front of a port.
std::string bracketed(const std::string& ip);
bool is_loopback(const std::string& ip);
/// Resolves config.root; waits for a name that may become known later. ConfigError.
Address resolve(const Config&, Clock::time_point start);
/// The address of this host from which the root is reached. With `interfaces`: the first address of the root's family
/// that it names (names of interfaces, addresses, networks (10.1.0.0/16), with commas; after a ^ all but those and
/// loopback). ConfigError.
std::string own_address(const Address& root, const std::string& interfaces);

/// A socket's address from its text, "ip" and port.
struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
};
SocketAddress socket_address(const std::string& ip, int port);
/// Switches a connection off BBR congestion control, which makes loopback 2-5x slower.
void leave_bbr(int socket);
/// A non-blocking socket that listens at ip:port; port 0: the kernel chooses one. No socket: errno has the reason.
Descriptor listen_at(const std::string& ip, int port);
int port_of(int socket);
void leave_bbr_within_host(int connected_socket);
}  // namespace bora::transport
