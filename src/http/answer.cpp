#include "http/answer.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <string_view>
#include <utility>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "http/text.h"

namespace bora::http {
namespace {
// Response splitting: a line end in a value would begin a header, or a body, of somebody else's.
void check_headers(int status, const Headers& headers) {
  check<ValueError>(status >= 200 && status < 600, "http: ", status,
                    " is no status of an answer; take one of 200 to 599");
  for (auto& [name, value] : headers) {
    bool token = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
      return c > ' ' && c < 127 &&
             std::string_view("()<>@,;:\\\"/[]?={}").find(static_cast<char>(c)) == std::string::npos;
    });
    bool plain = std::ranges::none_of(value, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 127; });
    check<ValueError>(token && plain, "http: the header '", one_line(name), ": ", one_line(value),
                      "' holds a character that a header cannot hold");
    for (auto own : {"Content-Length", "Transfer-Encoding", "Connection", "Date"})
      check<ValueError>(!same_word(name, own), "http: ", own, " is set by the server; leave it out");
  }
}
std::string chunk(std::string_view bytes) {
  std::array<char, 16> hex;
  auto end = std::to_chars(hex.data(), hex.data() + hex.size(), bytes.size(), 16).ptr;
  std::string out(hex.data(), end);
  out.reserve(out.size() + bytes.size() + 4);
  return out.append("\r\n").append(bytes).append("\r\n");
}
}  // namespace

Response formed(const Errors& errors, int status, const std::string& why) {
  try {
    if (errors) return errors(status, why);
  } catch (const std::exception&) {  // the answer is needed all the same
  }
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, why + "\n"};
}

Answer::Answer(Form form, std::shared_ptr<const Errors> errors, std::function<void()> wake)
    : form_(form), errors_(std::move(errors)), wake_(std::move(wake)) {}
std::string Answer::head(int status, const Headers& headers, const std::string& length) const {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out.append(reason_of(status)).append("\r\nDate: ").append(date()).append("\r\n");
  for (auto& [name, value] : headers) out.append(name).append(": ").append(value).append("\r\n");
  out += length;
  if (!form_.keep) out += "Connection: close\r\n";
  else if (!form_.chunks) out += "Connection: keep-alive\r\n";
  return out += "\r\n";
}
void Answer::add(std::string bytes) {
  unread_ += bytes.size();
  if (out_.empty()) out_ = std::move(bytes);
  else out_ += bytes;
}
// Once for everything that is written before the connection's thread comes to it.
void Answer::wake(std::unique_lock<std::mutex>& lock) {
  bool first = !std::exchange(woken_, true);
  lock.unlock();
  if (first) wake_();
}
void Answer::send(Response r) {
  check_headers(r.status, r.headers);
  std::unique_lock lock(mutex_);
  if (done()) return;
  check<ValueError>(at_ == At::waiting, "http: this answer has begun; write() and end() it");
  bool bodyless = r.status == 204 || r.status == 304;
  auto out =
      head(r.status, r.headers, bodyless ? std::string() : "Content-Length: " + std::to_string(r.body.size()) + "\r\n");
  if (!form_.head_only && !bodyless) out += r.body;
  add(std::move(out));
  at_ = At::ended;
  wake(lock);
}
void Answer::begin(int status, Headers headers) {
  check_headers(status, headers);
  std::unique_lock lock(mutex_);
  if (done()) return;
  check<ValueError>(at_ == At::waiting, "http: this answer has begun; write() and end() it");
  bodyless_ = status == 204 || status == 304;
  if (!form_.chunks) form_.keep = false;
  add(head(status, headers, form_.chunks && !bodyless_ ? "Transfer-Encoding: chunked\r\n" : ""));
  bodyless_ = bodyless_ || form_.head_only;
  for (auto& [name, value] : headers)
    events_ = events_ || (same_word(name, "Content-Type") && value.starts_with("text/event-stream"));
  at_ = At::begun;
  wake(lock);
}
void Answer::write(const std::string& bytes) {
  std::unique_lock lock(mutex_);
  if (done()) return;
  check<ValueError>(at_ == At::begun, "http: an answer in pieces begins with begin(status, headers)");
  if (bytes.empty() || bodyless_) return;
  // One piece may have any length: who wrote it had it in memory.
  if (unread_ > form_.unread) cut_ = true;
  else add(form_.chunks ? chunk(bytes) : bytes);
  wake(lock);
}
void Answer::end() {
  std::unique_lock lock(mutex_);
  if (done()) return;
  check<ValueError>(at_ == At::begun, "http: an answer in pieces begins with begin(status, headers)");
  if (form_.chunks && !bodyless_) add("0\r\n\r\n");
  at_ = At::ended;
  wake(lock);
}
void Answer::abort() { give_up("the server gave this request up"); }
void Answer::give_up(const std::string& why) {
  std::unique_lock lock(mutex_);
  if (done()) return;
  if (at_ == At::waiting) {
    lock.unlock();
    try {
      return send(formed(*errors_, 500, why));
    } catch (const ValueError&) {  // of a form that no header can hold; called by a destructor
      return send(formed({}, 500, "the server failed"));
    }
  }
  form_.keep = false;
  at_ = At::aborted;
  wake(lock);
}
void Answer::on_gone(std::function<void()> f) {
  {
    std::unique_lock lock(mutex_);
    if (!gone_) {
      if (at_ <= At::begun) when_gone_.push_back(std::move(f));
      return;
    }
  }
  f();
}
bool Answer::gone() const {
  std::unique_lock lock(mutex_);
  return gone_ || cut_;
}
Answer::Taken Answer::take() {
  std::unique_lock lock(mutex_);
  woken_ = false;
  return {std::exchange(out_, {}), at_ > At::begun, cut_};
}
void Answer::gave(std::size_t n) {
  std::unique_lock lock(mutex_);
  unread_ -= std::min(n, unread_);
}
bool Answer::comment() {
  std::unique_lock lock(mutex_);
  if (done() || at_ != At::begun || !events_ || bodyless_) return false;
  add(form_.chunks ? chunk(": \n\n") : ": \n\n");
  return true;
}
void Answer::leave() {
  std::vector<std::function<void()>> told;
  {
    std::unique_lock lock(mutex_);
    if (at_ > At::begun || gone_) return;
    gone_ = true;
    told.swap(when_gone_);
    out_ = {};
  }
  for (auto& f : told) try {
      f();
    } catch (const std::exception&) {  // nobody is there to be told
    }
}
bool Answer::broken() const {
  std::unique_lock lock(mutex_);
  return at_ == At::aborted && !form_.chunks;
}
bool Answer::keeps() const {
  std::unique_lock lock(mutex_);
  return form_.keep && at_ == At::ended;
}

Reply::State::~State() { answer->give_up("this request was left without an answer"); }
void Reply::send(Response r) const { state_->answer->send(std::move(r)); }
void Reply::begin(int status, Headers headers) const { state_->answer->begin(status, std::move(headers)); }
void Reply::write(std::string bytes) const { state_->answer->write(bytes); }
void Reply::end() const { state_->answer->end(); }
void Reply::abort() const { state_->answer->abort(); }
void Reply::on_gone(std::function<void()> f) const { state_->answer->on_gone(std::move(f)); }
bool Reply::gone() const { return state_->answer->gone(); }
}  // namespace bora::http
