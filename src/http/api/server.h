// server.h -- an HTTP/1.1 server with limits, over Boost.Beast and Asio, of which no header is seen here. It knows no
// address of Bora's, and no JSON.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bora::http {
using Headers = std::vector<std::pair<std::string, std::string>>;
struct Request {
  std::string method, target;  // target: the path, without the query. HEAD comes as GET: its body is left out here
  std::string query;
  Headers headers;
  std::string body;
  /// The first header of this name, whatever its case; "": none.
  std::string_view header(std::string_view name) const;
};
struct Response {
  int status = 200;
  Headers headers = {};  // those of the connection and of the body's length are the server's
  std::string body = {};
};
/// The place where a request's answer goes. Copies share it. Any thread may call its functions, at any time; those that
/// come after the end, or after the client has gone, do nothing. If all copies go before the end, the client gets a
/// 500, or sees an answer that is not whole. ValueError: a status outside [200, 599]; a header with a line end, or one
/// that the server sets itself; write or end before begin, begin or send after it.
class Reply {
 public:
  /// The whole answer, of any length.
  void send(Response) const;
  /// The beginning of an answer in chunks; then write() as often as wanted, and end(). If it is an event stream (its
  /// Content-Type), a comment goes to the client after Limits::silence without a write.
  void begin(int status, Headers) const;
  /// Returns at once. A client that still has more than Limits::unread to read is cut off.
  void write(std::string) const;
  void end() const;
  /// Ends an answer that has begun without its last chunk: the client sees that it is not whole.
  void abort() const;
  /// Calls f once, on the server's thread, when the client leaves before the end, or is cut off because it reads too
  /// slowly; on this thread at once if it has. A client that closes only its sending side has left.
  void on_gone(std::function<void()> f) const;
  bool gone() const;
  struct State;
  explicit Reply(std::shared_ptr<State> s) : state_(std::move(s)) {}

 private:
  std::shared_ptr<State> state_;
};
/// Bytes, connections and times that a client can take. Values below 1 are a ValueError.
struct Limits {
  std::int64_t body = 4 << 20, header = 16 << 10, connections = 256, unread = 1 << 20;  // unread: of an answer
  /// headers: until a request's headers are there, and between pieces of its body. reader: a client that takes nothing
  /// of an answer. idle: a connection between two requests. silence: of an event stream.
  std::chrono::milliseconds headers{10'000}, reader{30'000}, idle{60'000}, silence{15'000};
  std::chrono::milliseconds body_time{60'000};  // for a request's whole body
  bool keep_alive = true;  // false: a connection has one answer
  // Bytes of all bodies that are on their way, and at least of one; a request beyond them gets a 503.
  std::int64_t bodies = 64 << 20;
};
/// The answer to a request that a server refuses by itself.
using Errors = std::function<Response(int status, const std::string& why)>;
struct ServerOptions {
  std::string host = "127.0.0.1";          // a name or an address; "::" and "0.0.0.0": all of this machine
  int port = 0;                            // 0: any
  std::string certificate = {}, key = {};  // files (PEM); empty: no TLS
  Limits limits = {};
  int nice = 5;  // of the server's thread: others go first
  /// Asked on the server's thread when a request's headers are there and its body, which is empty yet, is not: the
  /// answer that refuses it, if there is one.
  std::function<std::optional<Response>(const Request&)> admit = {};
  Errors errors = {};  // none: lines of text
};
/// A handler runs on the server's thread and returns at once; it keeps the Reply for later. What it throws becomes a
/// 500.
using Handler = std::function<void(const Request&, Reply)>;
class Server {
 public:
  /// Listens and serves on a thread of its own, which leaves the cores to others (nice). Throws IoError if it cannot,
  /// naming address and port, or a file of the certificate; ValueError for limits and ports out of range.
  Server(const ServerOptions&, Handler);
  /// stop() without time to drain.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  int port() const;
  /// Clients that are connected now.
  std::int64_t connections() const;
  /// Takes no new connections; returns when all answers have ended and are read, or after so long, when it cuts the
  /// rest off. A request that comes meanwhile gets a 503. ValueError on the server's own thread.
  void stop(std::chrono::milliseconds drain);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace bora::http
