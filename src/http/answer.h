// answer.h -- an answer on its way from any thread to the thread of its connection.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>
#include "http/api/server.h"

namespace bora::http {
class Answer {
 public:
  /// What the request said about its answer.
  struct Form {
    bool chunks = true;  // HTTP/1.1; else an answer in pieces ends with its connection
    bool keep = true;    // the connection
    bool head_only = false;
    std::size_t unread = 0;
  };
  /// wake: called on any thread when take() has something to give, once until it is called.
  Answer(Form, std::shared_ptr<const Errors>, std::function<void()> wake);

  // Any thread: as Reply has them.
  void send(Response);
  void begin(int status, Headers);
  void write(const std::string&);
  void end();
  void abort();
  void on_gone(std::function<void()>);
  bool gone() const;
  /// An end for an answer that has none: a 500 with these words if it has not begun.
  void give_up(const std::string& why);

  // The connection's thread.
  struct Taken {
    std::string bytes;
    bool over = false, cut = false;  // over: no more will come; cut: more was written than Form::unread allows
  };
  Taken take();
  /// So many bytes have gone to the client.
  void gave(std::size_t n);
  /// Adds a comment if this is an event stream that goes on. True: it did.
  bool comment();
  /// The client has left. Nothing if the answer has ended.
  void leave();
  bool keeps() const;   // the connection, when it has ended
  bool broken() const;  // aborted, and only a reset of the connection says so

 private:
  enum class At : std::uint8_t { waiting, begun, ended, aborted };
  bool done() const { return at_ > At::begun || gone_ || cut_; }
  void add(std::string bytes);
  std::string head(int status, const Headers&, const std::string& length) const;
  void wake(std::unique_lock<std::mutex>&);
  mutable std::mutex mutex_;
  Form form_;
  std::shared_ptr<const Errors> errors_;
  std::function<void()> wake_;
  std::vector<std::function<void()>> when_gone_;
  std::string out_;
  std::size_t unread_ = 0;  // written here and not given to the client
  At at_ = At::waiting;
  bool gone_ = false, cut_ = false, woken_ = false, events_ = false, bodyless_ = false;
};
/// A Reply's share of it: an answer that all Replies have left without an end gets one.
struct Reply::State {
  std::shared_ptr<Answer> answer;
  explicit State(std::shared_ptr<Answer> a) : answer(std::move(a)) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};
/// The answer to a refused request in the form that the server's options say.
Response formed(const Errors&, int status, const std::string& why);
}  // namespace bora::http
