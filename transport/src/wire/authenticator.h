// authenticator.h -- admits connections to a job's ZeroMQ sockets.
#pragma once
#include <optional>
#include <string>
#include <thread>
#include "wire/secret.h"
#include "wire/zmq_socket.h"

namespace bora::transport {
/// A thread that answers libzmq's authentication requests (ZAP, RFC 27): admits connections with the client key, or,
/// without keys, all. Must exist before a socket of the context listens.
class Authenticator {
 public:
  Authenticator(const ZmqContext&, const std::optional<JobKeys>&);
  ~Authenticator();
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

 private:
  void run(Socket requests, Socket stop);
  std::optional<JobKeys> keys_;
  Socket end_;
  std::thread thread_;
};
/// Connects to `endpoint` with keys of another secret, from a context of its own, and waits until it is refused. Throws
/// TransportError if it was admitted, or if nothing happened: then nothing received there can be trusted.
void check_that_strangers_are_refused(const std::string& endpoint, const JobKeys&);
}  // namespace bora::transport
