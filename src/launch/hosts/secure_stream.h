// secure_stream.h -- a TLS connection between two processes that have the job's secret. Private.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

struct ssl_st;
struct ssl_ctx_st;
namespace bora::launch {
/// How the beginning of a connection went.
enum class Handshake : std::uint8_t {
  done,     // both sides have the secret
  refused,  // the other side has another secret or none, or is no such program
  cut_off   // it closed the connection without a word, or was silent: it may be crowded
};
/// TLS 1.3 with a pre-shared key made of the secret, and fresh keys of each connection; no certificates.
class SecureStream {
 public:
  /// Takes the connected socket. Throws TransportError without OpenSSL's memory.
  SecureStream(int socket, const std::string& secret, bool server);
  ~SecureStream();
  SecureStream(const SecureStream&) = delete;
  SecureStream& operator=(const SecureStream&) = delete;
  Handshake handshake(double seconds);
  /// Waits for it; false if the connection ends before.
  bool write(const std::string& bytes, double seconds);
  bool read(std::string& bytes, std::size_t n, double seconds);
  /// Copies from `in` to the other side, and from there to `out`, until the other side ends or `out` has no reader. The
  /// end of `in` is passed on. Closes both. True: the other side has ended in order.
  bool relay(int in, int out);

 private:
  bool wait(int result, double until) const;
  int socket_;
  std::string key_;
  std::shared_ptr<ssl_ctx_st> context_;
  std::shared_ptr<ssl_st> ssl_;
};
}  // namespace bora::launch
