// session.h -- one connection: its requests, one after the other, and their answers. Everything runs on the loop's
// thread.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include "http/answer.h"
#include "http/net.h"
#include "http/reader.h"

namespace bora::http {
class Session;
/// What the connections of a server share.
struct Hub {
  ServerOptions options;
  Handler handler;
  std::shared_ptr<const Errors> errors;
  std::shared_ptr<Loop> loop;
  std::set<std::shared_ptr<Session>> sessions = {};
  std::int64_t bodies = 0;  // bytes of requests that are on their way
  bool draining = false;
  std::function<void()> changed = {};  // after a session has gone
};
class Session : public std::enable_shared_from_this<Session> {
 public:
  using Clock = std::chrono::steady_clock;
  Session(Hub& hub, std::unique_ptr<Wire> wire) : hub_(hub), wire_(std::move(wire)) {}
  void start();
  /// The same for one connection too many: it is told so.
  void start_and_refuse();
  /// Looks at what has taken too long.
  void tick(Clock::time_point now);
  /// The server stops: ends once its answer has ended.
  void drain();
  void close();
  /// No request of it is under way: it may go if there are too many.
  bool waits() const { return at_ == At::greeting || at_ == At::idle || at_ == At::headers; }
  /// The same, or its last answer is out and the client has not closed yet.
  bool may_go() const { return waits() || at_ == At::lingering; }
  Clock::time_point since() const { return since_; }  // of what it does now

 private:
  enum class At : std::uint8_t { greeting, idle, headers, body, answering, lingering, closed };
  void become(At);
  void read_more();
  void got(bool ok, std::size_t n);
  void ended_by_client();
  void advance();
  void admit();
  bool keeps() const;  // the connection, after the request's answer
  void count_body(std::size_t bytes);
  void ask();
  std::shared_ptr<Answer> make_answer(Answer::Form);
  void refuse(int status, const std::string& why, Headers more = {});
  void refuse(Response, bool keep);
  void collect();
  void pump();
  void gave(bool ok, std::size_t n);
  void finish();
  void linger();
  void tick_answer(Clock::time_point now);

  Hub& hub_;
  std::unique_ptr<Wire> wire_;
  At at_ = At::greeting;
  Clock::time_point since_ = Clock::now(), came_ = since_, went_ = since_;  // bytes from and to the client
  bool fresh_ = true;                                                       // no request has come yet
  bool reading_ = false, writing_ = false, eof_ = false;
  std::array<char, 16 << 10> buffer_;
  std::string in_, out_, sending_;                    // read, not understood; to be written; being written
  std::size_t sent_ = 0, counted_ = 0, dropped_ = 0;  // of sending_; in Hub::bodies; read while lingering
  std::unique_ptr<Reader> reader_;
  std::shared_ptr<Answer> answer_;
  bool over_ = false;  // no more of the answer will come
};
}  // namespace bora::http
