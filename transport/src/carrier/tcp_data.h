// tcp_data.h -- data over tcp between hosts, on sockets of our own: every rank listens, and of each pair in use the
// higher rank connects to the lower one. The thread that waits for data reads and writes the sockets itself.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "carrier/data_path.h"
#include "wire/descriptor.h"
#include "wire/secret.h"

namespace bora::transport {
struct TcpListener {
  Descriptor socket;
  std::string address = {};  // "data://ip:port"
};
/// Listens on a port that the kernel chooses. ConfigError.
TcpListener listen_on_tcp(const std::string& ip);

struct TcpOptions {
  int rank = 0;
  std::uint32_t epoch = 0;
  std::vector<std::string> addresses = {}, nonces = {};  // by rank
  std::optional<JobKeys> keys = {};                      // messages are sealed with them
  std::size_t strangers = 64;                            // limit of connections before their handshake
  int patience_ms = 30000;                               // that the kernel tries to send
};
std::unique_ptr<DataPath> make_tcp_data(TcpListener, TcpOptions, Up);
}  // namespace bora::transport
