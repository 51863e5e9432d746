// client.h -- a client of plain sockets, which does what no library would, and a server to ask.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#include "http/api/events.h"
#include "http/api/server.h"

namespace bora::test {
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
// Instrumented programs keep freed memory for a while.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kSlack = 1 << 30;
#else
constexpr std::size_t kSlack = 0;
#endif
constexpr auto kSoon = 10s;  // what a busy machine may take for anything that happens at once
inline double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

/// An answer as it came.
struct Got {
  int status = 0;  // 0: none came
  http::Headers headers;
  std::string body;
  bool whole = false;
  std::string header(std::string_view name) const {
    return std::string(http::Request{{}, {}, {}, headers, {}}.header(name));
  }
};
class Client {
 public:
  static int socket() { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }
  explicit Client(int port, int fd = socket()) : fd_(fd) {
    ::sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(static_cast<std::uint16_t>(port));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd_ < 0 || ::connect(fd_, reinterpret_cast<::sockaddr*>(&a), sizeof a) != 0)
      throw std::system_error(errno, std::generic_category(), "connect");
  }
  ~Client() { close(); }
  Client(Client&& o) noexcept : fd_(std::exchange(o.fd_, -1)), rest_(std::move(o.rest_)) {}
  Client& operator=(Client&& o) noexcept {
    std::swap(fd_, o.fd_);
    std::swap(rest_, o.rest_);
    return *this;
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  /// Closes so that the other side sees a reset.
  void reset() {
    ::linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void half_close() { ::shutdown(fd_, SHUT_WR); }
  int fd() const { return fd_; }
  /// False: the server has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// More bytes into rest(); false: the end, or nothing for so long.
  bool more(Clock::duration wait = kSoon) {
    ::pollfd p{fd_, POLLIN, 0};
    if (::poll(&p, 1, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(wait).count())) <= 0)
      return false;
    char buffer[1 << 16];
    auto n = ::recv(fd_, buffer, sizeof buffer, 0);
    if (n > 0) rest_.append(buffer, static_cast<std::size_t>(n));
    return n > 0;
  }
  const std::string& rest() const { return rest_; }
  /// Everything up to the end.
  std::string all() {
    while (more()) {}
    return std::exchange(rest_, {});
  }
  /// What comes next is an error of the connection, and no end of it.
  bool was_reset() {
    ::pollfd p{fd_, POLLIN, 0};
    char byte;
    return ::poll(&p, 1, 10'000) > 0 && ::recv(fd_, &byte, 1, 0) < 0 && errno == ECONNRESET;
  }
  bool closed(Clock::duration within = kSoon) {
    auto end = Clock::now() + within;
    while (Clock::now() < end)
      if (::pollfd p{fd_, POLLIN, 0}; ::poll(&p, 1, 20) > 0 && !more(0s)) return true;
    return false;
  }
  /// Waits until the bytes that have come contain a word.
  bool sees(std::string_view word, Clock::duration within = kSoon) {
    auto end = Clock::now() + within;
    while (rest_.find(word) == std::string::npos)
      if (Clock::now() > end || !more(end - Clock::now())) return false;
    return true;
  }
  /// The next answer. no_body: to HEAD.
  Got answer(bool no_body = false);

 private:
  bool line(std::string& out) {
    std::size_t end;
    while ((end = rest_.find("\r\n")) == std::string::npos)
      if (!more()) return false;
    out = rest_.substr(0, end);
    rest_.erase(0, end + 2);
    return true;
  }
  bool bytes(std::size_t n, std::string& out) {
    while (rest_.size() < n)
      if (!more()) break;
    bool all = rest_.size() >= n;
    out += rest_.substr(0, n);
    rest_.erase(0, n);
    return all;
  }
  int fd_;
  std::string rest_;
};
inline Got Client::answer(bool no_body) {
  Got got;
  std::string l;
  do {
    if (!line(l) || !l.starts_with("HTTP/1.1 ")) return got;
    got.status = std::stoi(l.substr(9));
    got.headers.clear();
    while (line(l) && !l.empty()) {
      auto colon = l.find(": ");
      got.headers.emplace_back(l.substr(0, colon), l.substr(colon + 2));
    }
  } while (got.status == 100);
  if (no_body || got.status == 204 || got.status == 304) {
    got.whole = true;
  } else if (auto length = got.header("Content-Length"); !length.empty()) {
    got.whole = bytes(std::stoul(length), got.body);
  } else if (got.header("Transfer-Encoding") == "chunked") {
    for (std::string size, end; line(size);) {
      auto n = std::stoul(size, nullptr, 16);
      if (!bytes(n, got.body) || !line(end) || !end.empty()) break;
      if (n == 0) {
        got.whole = true;
        break;
      }
    }
  } else {
    got.body = all();
    got.whole = true;
  }
  return got;
}
/// A request without a body, or with one and its length.
inline std::string request(const std::string& line, const std::string& headers = "", const std::string& body = "") {
  auto length = body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return line + " HTTP/1.1\r\nHost: localhost\r\n" + headers + length + "\r\n" + body;
}
/// The answer to these bytes on a connection of their own.
inline Got ask(int port, const std::string& bytes) {
  Client c(port);
  c.send(bytes);
  return c.answer(bytes.starts_with("HEAD"));
}
inline std::size_t descriptors() {
  std::size_t n = 0;
  for ([[maybe_unused]] auto& f : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
  return n;
}
inline std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}
/// Waits until f is true.
template <class F> bool comes(F&& f, Clock::duration within = kSoon) {
  for (auto end = Clock::now() + within; Clock::now() < end; std::this_thread::sleep_for(2ms))
    if (f()) return true;
  return f();
}

/// A server with answers of each kind: /hello; /echo (method, query, body); /later and /stream, which a test answers
/// through reply(); /thrown; /left; /big?N.
class Site {
 public:
  explicit Site(http::Limits limits = {}, std::function<void(http::ServerOptions&)> more = {}) {
    http::ServerOptions o{.limits = limits};
    if (more) more(o);
    server = std::make_unique<http::Server>(o, [this](const http::Request& r, http::Reply reply) { take(r, reply); });
    port = server->port();
  }
  ~Site() { server.reset(); }  // before what its thread uses
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;
  /// The Reply of the n-th request for /later or /stream; one that came.
  http::Reply reply(std::size_t n = 0) {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, kSoon, [&] { return replies_.size() > n; })) throw std::runtime_error("no request came");
    return replies_[n];
  }
  std::size_t asked() {
    std::unique_lock lock(mutex_);
    return replies_.size();
  }
  void forget() {
    std::unique_lock lock(mutex_);
    replies_.clear();
  }
  std::vector<http::Request> requests() {
    std::unique_lock lock(mutex_);
    return requests_;
  }
  std::unique_ptr<http::Server> server;
  int port = 0;

 private:
  void take(const http::Request& r, const http::Reply& reply) {
    std::unique_lock lock(mutex_);
    if (requests_.size() < 100) requests_.push_back(r);
    if (r.target == "/hello") return reply.send({.body = "hello"});
    if (r.target == "/echo")
      return reply.send(
          {.headers = {{"X-Host", std::string(r.header("host"))}}, .body = r.method + " " + r.query + " " + r.body});
    if (r.target == "/big") return reply.send({.body = std::string(std::stoul(r.query), 'x')});
    if (r.target == "/thrown") throw std::runtime_error("a mistake");
    if (r.target == "/left") return;
    if (r.target == "/stream") reply.begin(200, http::event_stream());
    if (r.target != "/stream" && r.target != "/later") return reply.send({.status = 404});
    replies_.push_back(reply);
    came_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<http::Reply> replies_;
  std::vector<http::Request> requests_;
};
}  // namespace bora::test
