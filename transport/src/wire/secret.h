// secret.h -- who belongs to a job: keys derived from one secret that all its ranks were given, and the thread that lets in who has them.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <thread>
#include "wire/zmq_socket.h"

namespace bora::transport {
/// A CurveZMQ key pair, 32 bytes each.
struct KeyPair {
  std::array<std::uint8_t, 32> open, secret;
};
/// What follows from a job's secret; equal on all ranks. `server` listens, `client` connects.
struct JobKeys {
  KeyPair server, client;
  std::array<std::uint8_t, 32> data;  // from which those of data connections follow (seal.h)
};
/// HMAC-SHA256 of each role's name under the secret, as Curve25519 secret keys.
JobKeys derive_keys(const std::string& secret);

/// From the system's generator. TransportError.
std::string random_bytes(int n);
/// The socket listens for those whom the doorkeeper lets in: with keys only the job's ranks. Before bind. Without keys too this closes the
/// door to ZMTP 1 and 2, whose handshake can abort the process (an assertion in libzmq 4.3.4).
void listen_with(Socket&, const std::optional<JobKeys>&);
/// The socket connects as one of the job's ranks. Before connect.
void connect_with(Socket&, const JobKeys&);

/// Answers libzmq's question who may connect (ZAP, RFC 27): those with the client key; without keys all. Must be there before a socket of the context listens.
class Doorkeeper {
 public:
  Doorkeeper(const ZmqContext&, const std::optional<JobKeys>&);
  ~Doorkeeper();
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

 private:
  void run(Socket door, Socket stop);
  std::optional<JobKeys> keys_;
  Socket end_;
  std::thread thread_;
};
/// Connects to `endpoint` with keys of another secret, from a context of its own, and waits until it is refused. Throws
/// TransportError if it was let in, or if nothing happened: then nothing that comes from there could be trusted.
void check_that_strangers_are_refused(const std::string& endpoint, const JobKeys&);
}  // namespace bora::transport
