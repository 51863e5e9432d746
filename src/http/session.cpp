#include "http/session.h"
#include <algorithm>
#include <exception>
#include <utility>
#include "http/text.h"

namespace bora::http {
void Session::become(At at) {
  at_ = at;
  since_ = came_ = Clock::now();
}
void Session::start() {
  wire_->greet([self = shared_from_this()](bool ok, std::size_t) {
    if (self->at_ != At::greeting) return;
    if (!ok) return self->close();
    self->become(At::idle);
    self->read_more();
  });
}
void Session::start_and_refuse() {
  if (wire_->secret()) return close();  // its handshake would cost more than an answer
  refuse(503, "the server has as many connections as it takes", {{"Retry-After", "1"}});
  read_more();
}
// A read stands on the socket also while an answer is made: a client that leaves is seen at once.
void Session::read_more() {
  if (reading_ || eof_ || at_ == At::closed) return;
  // A client that sends its next requests early waits, as far as its bytes are more than a header's limit.
  if (at_ == At::answering && in_.size() >= static_cast<std::size_t>(hub_.options.limits.header)) return;
  reading_ = true;
  wire_->read(buffer_.data(), buffer_.size(),
              [self = shared_from_this()](bool ok, std::size_t n) { self->got(ok, n); });
}
void Session::got(bool ok, std::size_t n) {
  reading_ = false;
  if (at_ == At::closed) return;
  if (!ok) return ended_by_client();
  came_ = Clock::now();
  if (at_ == At::lingering) {
    dropped_ += n;
    if (dropped_ > static_cast<std::size_t>(hub_.options.limits.body)) return close();
  } else {
    in_.append(buffer_.data(), n);
    advance();
  }
  read_more();
}
void Session::ended_by_client() {
  eof_ = true;
  // An answer that has ended goes out still: some clients close their side when they have sent all.
  collect();
  if (at_ != At::closed && !(at_ == At::answering && over_)) close();
}
void Session::advance() {
  while (at_ == At::idle || at_ == At::headers || at_ == At::body) {
    if (at_ == At::idle) {
      if (in_.empty()) return;
      become(At::headers);
      fresh_ = false;
      reader_ = std::make_unique<Reader>(hub_.options.limits);
    }
    switch (reader_->put(in_)) {
      case Reader::Step::more:
        if (at_ == At::body) count_body(reader_->body());
        return;
      case Reader::Step::head: admit(); break;
      case Reader::Step::done: ask(); break;
      case Reader::Step::wrong: refuse(reader_->status(), reader_->why()); break;
    }
  }
}
void Session::admit() {
  become(At::body);
  if (hub_.draining) return refuse(503, "the server is ending", {{"Retry-After", "1"}});
  std::optional<Response> refused;
  try {
    if (hub_.options.admit) refused = hub_.options.admit(reader_->request());
  } catch (const std::exception& e) { return refuse(500, e.what()); }
  // Without a body the next request begins where this one ends.
  if (refused) return refuse(std::move(*refused), reader_->complete() && keeps());
  if (!reader_->expects_continue() || !in_.empty()) return;
  out_ += "HTTP/1.1 100 Continue\r\n\r\n";
  pump();
}
bool Session::keeps() const { return hub_.options.limits.keep_alive && reader_->keep_alive(); }
// All bodies together have a bound: connections times a body would be more than a host has.
void Session::count_body(std::size_t bytes) {
  hub_.bodies += static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(std::exchange(counted_, bytes));
  auto& limits = hub_.options.limits;
  if (bytes > 0 && hub_.bodies > std::max(limits.bodies, limits.body))
    refuse(503, "the server is receiving as many bytes as it takes", {{"Retry-After", "1"}});
}
std::shared_ptr<Answer> Session::make_answer(Answer::Form form) {
  form.unread = static_cast<std::size_t>(hub_.options.limits.unread);
  // A Reply may be kept for longer than the server lives.
  auto wake = [loop = std::weak_ptr(hub_.loop), session = weak_from_this()] {
    if (auto open = loop.lock())
      open->post([session] {
        if (auto self = session.lock()) self->collect();
      });
  };
  become(At::answering);
  over_ = false;
  went_ = since_;
  return answer_ = std::make_shared<Answer>(form, hub_.errors, std::move(wake));
}
void Session::ask() {
  count_body(0);
  auto answer = make_answer({.chunks = reader_->http_1_1(),
                             .keep = keeps() && !hub_.draining,
                             .head_only = reader_->head_only()});
  auto share = std::make_shared<Reply::State>(answer);  // until it is known what was thrown
  try {
    hub_.handler(reader_->request(), Reply(share));
  } catch (const std::exception& e) { answer->give_up(e.what()); } catch (...) {
    answer->give_up("the server could not answer");
  }
  share.reset();
  reader_.reset();
  collect();
}
void Session::refuse(int status, const std::string& why, Headers more) {
  auto response = formed(*hub_.errors, status, why);
  for (auto& h : more)
    if (count(response.headers, h.first) == 0) response.headers.push_back(std::move(h));
  refuse(std::move(response), false);
}
void Session::refuse(Response response, bool keep) {
  count_body(0);
  bool newer = !reader_ || reader_->http_1_1(), head_only = reader_ && reader_->head_only();
  auto answer = make_answer({.chunks = newer, .keep = keep, .head_only = head_only});
  reader_.reset();
  try {
    answer->send(std::move(response));
  } catch (const std::exception& e) { answer->give_up(e.what()); }
  collect();
}
void Session::collect() {
  if (!answer_ || at_ != At::answering) return;
  auto taken = answer_->take();
  if (taken.cut) return close();
  out_ += taken.bytes;
  if (taken.over && !std::exchange(over_, true)) since_ = Clock::now();
  pump();
}
void Session::pump() {
  if (writing_ || at_ == At::closed) return;
  if (out_.empty()) {
    if (at_ == At::answering && over_) finish();
    return;
  }
  sending_ = std::exchange(out_, {});
  sent_ = 0;
  went_ = Clock::now();
  gave(true, 0);
}
void Session::gave(bool ok, std::size_t n) {
  writing_ = false;
  if (at_ == At::closed) return;
  if (!ok) return close();
  if (n > 0) went_ = Clock::now();
  sent_ += n;
  if (answer_) answer_->gave(n);
  if (sent_ == sending_.size()) {
    sending_.clear();
    return answer_ ? collect() : pump();
  }
  writing_ = true;
  wire_->write(sending_.data() + sent_, sending_.size() - sent_,
               [self = shared_from_this()](bool done, std::size_t bytes) { self->gave(done, bytes); });
}
void Session::finish() {
  bool keep = answer_->keeps() && !eof_ && !hub_.draining;
  bool broken = answer_->broken();
  answer_.reset();
  if (broken) wire_->reset();
  if (broken) return close();
  if (!keep) return linger();
  become(At::idle);
  advance();
  read_more();
}
// A socket that is closed with bytes unread resets the connection, and the client may never see its answer: it is
// closed when the client has closed it, or after a while.
void Session::linger() {
  if (eof_) return close();
  become(At::lingering);
  in_ = {};
  wire_->finish([self = shared_from_this()](bool, std::size_t) {
    if (self->wire_->secret()) self->close();
  });
  if (!wire_->secret()) read_more();
}
void Session::drain() {
  if (at_ == At::body) return refuse(503, "the server is ending", {{"Retry-After", "1"}});
  if (waits()) close();
}
void Session::close() {
  if (at_ == At::closed) return;
  auto self = shared_from_this();  // the hub may have the last other share
  at_ = At::closed;
  count_body(0);
  wire_->close();
  if (auto answer = std::exchange(answer_, nullptr)) answer->leave();
  hub_.sessions.erase(self);
  if (hub_.changed) hub_.changed();
}
void Session::tick(Clock::time_point now) {
  auto& limits = hub_.options.limits;
  auto slow = [&] { refuse(408, "the request did not come in the time that the server waits for it"); };
  switch (at_) {
    case At::greeting:
      if (now - since_ > limits.headers) close();
      break;
    case At::idle:
      if (now - since_ > (fresh_ ? limits.headers : limits.idle)) close();
      break;
    case At::headers:
      if (now - since_ > limits.headers) slow();
      break;
    case At::body:
      if (now - came_ > limits.headers || now - since_ > limits.body_time) slow();
      break;
    case At::answering: tick_answer(now); break;
    case At::lingering:
      if (now - since_ > std::min(limits.headers, std::chrono::milliseconds(hub_.draining ? 200 : 2000))) close();
      break;
    case At::closed: break;
  }
}
void Session::tick_answer(Clock::time_point now) {
  auto& limits = hub_.options.limits;
  if (writing_ && now - went_ > limits.reader) return close();
  // One byte now and then keeps no answer for ever.
  if (over_ && now - since_ > 10 * limits.reader) return close();
  if (!reading_ && !eof_ && wire_->left()) return ended_by_client();
  if (!writing_ && now - went_ > limits.silence && answer_->comment()) {
    went_ = now;
    collect();
  }
}
}  // namespace bora::http
