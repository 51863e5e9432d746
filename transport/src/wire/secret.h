// secret.h -- the keys of a job, derived from the one secret given to all its ranks.
#pragma once
#include <array>
#include <optional>
#include <string>
#include "wire/zmq_socket.h"

namespace bora::transport {
/// A CurveZMQ key pair, 32 bytes each.
struct KeyPair {
  std::array<std::uint8_t, 32> open, secret;
};
/// Keys derived from a job's secret; equal on all ranks. `server` listens, `client` connects.
struct JobKeys {
  KeyPair server, client;
  std::array<std::uint8_t, 32> data;  // from which the keys of data connections are derived (seal.h)
};
/// HMAC-SHA256 of each role's name under the secret, as Curve25519 secret keys.
JobKeys derive_keys(const std::string& secret);

/// From the system's generator. TransportError.
std::string random_bytes(int n);
/// The socket accepts only connections that the Authenticator admits: with keys only the job's ranks. Before bind.
/// Without keys too this refuses ZMTP 1 and 2, whose handshake can abort the process (an assertion in libzmq 4.3.4).
void listen_with(Socket&, const std::optional<JobKeys>&);
/// The socket connects as one of the job's ranks. Before connect.
void connect_with(Socket&, const JobKeys&);
}  // namespace bora::transport
