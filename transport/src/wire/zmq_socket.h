// zmq_socket.h -- owners of ZeroMQ's objects. A socket is used by one thread at a time, under the engine's lock.
#pragma once
#include <zmq.hpp>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include "bora/base/error.h"
#include "wire/zmq_context.h"

namespace bora::transport {
/// Why a call of ZeroMQ failed, as a part of check's text (reason.h).
inline const char* zmq_reason() { return zmq_strerror(zmq_errno()); }
/// One received or sent frame.
class Frame {
 public:
  zmq_msg_t* get() { return m_.handle(); }
  const std::byte* data() const { return static_cast<const std::byte*>(m_.data()); }
  std::size_t size() const { return m_.size(); }
  bool more() const { return m_.more(); }
  std::string_view view() { return {reinterpret_cast<const char*>(data()), size()}; }
  /// The descriptor of the connection it came from, -1 if unknown.
  int connection() { return zmq_msg_get(m_.handle(), ZMQ_SRCFD); }

 private:
  zmq::message_t m_;
};
/// Shared by its holders and its sockets; the last of them ends it, which waits for unsent messages.
class ZmqContext {
 public:
  ZmqContext() : context_(begin_zmq()) {}

 private:
  friend class Socket;
  explicit ZmqContext(std::shared_ptr<zmq::context_t> c) : context_(std::move(c)) {}
  std::shared_ptr<zmq::context_t> context_;
};
/// zmq_bind or zmq_connect, retried while signals interrupt it.
inline bool attach(int (*how)(void*, const char*), void* socket, const char* where) {
  int r = 0;
  while ((r = how(socket, where)) != 0 && zmq_errno() == EINTR) {}
  return r == 0;
}
/// Publishes a socket's connection events at the address, which begins with inproc://. Signals wait meanwhile: one that
/// arrives inside of zmq_socket_monitor makes it fail, with an errno that no longer says so.
inline bool watch(void* socket, const std::string& address, int events) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool made = zmq_socket_monitor(socket, address.c_str(), events) == 0;
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return made;
}
class Socket {
 public:
  Socket() = default;
  Socket(const ZmqContext& c, int type) : context_(c.context_), handle_(zmq_socket(context_->handle(), type)) {
    check<TransportError>(handle_ != nullptr, "cannot make a socket: ", zmq_strerror(zmq_errno()));
  }
  ~Socket() { close(); }
  Socket(Socket&& o) noexcept : context_(std::move(o.context_)), handle_(std::exchange(o.handle_, nullptr)) {}
  Socket& operator=(Socket&& o) noexcept {
    close();
    context_ = std::move(o.context_);
    handle_ = std::exchange(o.handle_, nullptr);
    return *this;
  }
  explicit operator bool() const { return handle_ != nullptr; }
  void* get() const { return handle_; }
  void close() {
    if (handle_) zmq_close(std::exchange(handle_, nullptr));
    context_.reset();
  }
  void set(int option, int value) {
    check<TransportError>(zmq_setsockopt(handle_, option, &value, sizeof value) == 0, "socket option ", option, ": ",
                          zmq_reason);
  }
  void set(int option, std::int64_t value) {
    check<TransportError>(zmq_setsockopt(handle_, option, &value, sizeof value) == 0, "socket option ", option, ": ",
                          zmq_reason);
  }
  void set(int option, std::string_view value) {
    check<TransportError>(zmq_setsockopt(handle_, option, value.data(), value.size()) == 0, "socket option ", option,
                          ": ", zmq_reason);
  }
  /// Readable when there may be messages; stays so until everything has been read.
  int descriptor() const {
    int fd = -1;
    std::size_t n = sizeof fd;
    zmq_getsockopt(handle_, ZMQ_FD, &fd, &n);
    return fd;
  }
  std::string last_endpoint() const {
    char text[256];
    std::size_t n = sizeof text;
    check<TransportError>(zmq_getsockopt(handle_, ZMQ_LAST_ENDPOINT, text, &n) == 0,
                          "no endpoint: ", zmq_reason);
    return text;
  }
  /// Sends one copied frame without waiting. False if it cannot be sent (the peer has gone).
  bool send(std::string_view bytes, bool more) {
    int r = 0;
    while ((r = zmq_send(handle_, bytes.data(), bytes.size(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0))) < 0 &&
           zmq_errno() == EINTR) {}
    return r >= 0;
  }
  /// The same for a frame; it is consumed either way.
  bool send(Frame& f) {
    int r = 0;
    while ((r = zmq_msg_send(f.get(), handle_, ZMQ_DONTWAIT)) < 0 && zmq_errno() == EINTR) {}
    return r >= 0;
  }
  /// The next arrived frame, without waiting.
  bool receive(Frame& f) {
    int r = 0;
    while ((r = zmq_msg_recv(f.get(), handle_, ZMQ_DONTWAIT)) < 0 && zmq_errno() == EINTR) {}
    return r >= 0;
  }
  /// Discards the remaining frames of the message whose last read frame was f.
  void skip_rest(Frame& f) {
    while (f.more() && receive(f)) {}
  }
  /// Connection events of this socket as a second socket.
  Socket monitor(const std::string& name) {
    auto address = "inproc://" + name;
    check<TransportError>(watch(handle_, address,
                                ZMQ_EVENT_CONNECTED | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED |
                                    ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                    ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL),
                          "cannot watch a socket: ", zmq_reason);
    Socket m(ZmqContext(context_), ZMQ_PAIR);
    m.set(ZMQ_LINGER, 0);
    check<TransportError>(attach(zmq_connect, m.get(), address.c_str()),
                          "cannot watch a socket: ", zmq_reason);
    return m;
  }

 private:
  std::shared_ptr<zmq::context_t> context_;
  void* handle_ = nullptr;
};
}  // namespace bora::transport
