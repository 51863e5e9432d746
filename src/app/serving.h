// serving.h -- OpenAI's interface behind Bora's HTTP server. Private to the command.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "bora/config/duration.h"
#include "http/api/server.h"
#include "serve/api/service.h"

namespace bora::app {
inline std::chrono::milliseconds milliseconds(config::Duration d) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(d.seconds * 1000));
}
/// The flags of a server that are about HTTP.
struct HttpFlags {
  std::string host = "127.0.0.1", key_file = {}, certificate = {}, certificate_key = {};
  std::int64_t port = 8000;
  std::vector<std::string> origins = {}, names = {};
  std::int64_t body = 4 << 20, header = 16 << 10, connections = 256;
  config::Duration header_time{10}, reader_time{30};
  /// Throws ConfigError, naming the flag.
  void check() const;
  bool loopback() const;
};
/// Serves the service until it goes. Throws IoError and ConfigError for what the flags name.
std::unique_ptr<http::Server> open_server(const HttpFlags&, serve::Service&);
/// Prints where the model of this name is served.
void say_served(const std::string& name, const HttpFlags&, const http::Server&);

/// Calls f with 1, 2 .. at SIGTERM and SIGINT, on a thread of its own, as long as it lives; one at a time. Afterwards
/// the process, which is about to end, ignores them.
class OnSignals {
 public:
  explicit OnSignals(std::function<void(int times)> f);
  ~OnSignals();
  OnSignals(const OnSignals&) = delete;
  OnSignals& operator=(const OnSignals&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace bora::app
