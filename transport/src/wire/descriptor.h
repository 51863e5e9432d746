// descriptor.h -- owners of file descriptors.
#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include "bora/base/error.h"
#include "base/api/reason.h"

namespace bora::transport {
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {
    check<TransportError>(fd >= 0, "no more file descriptors: ", std::strerror(errno));
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};
/// Waits for descriptors; its own descriptor can be watched by another Epoll.
class Epoll {
 public:
  void add(int fd, std::uint32_t index, std::uint32_t events = EPOLLIN) { control(EPOLL_CTL_ADD, fd, index, events); }
  void change(int fd, std::uint32_t index, std::uint32_t events) { control(EPOLL_CTL_MOD, fd, index, events); }
  void remove(int fd) { epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr); }
  int wait(epoll_event* events, int n, int milliseconds) const {
    return epoll_wait(fd_.get(), events, n, milliseconds);
  }
  int get() const { return fd_.get(); }

 private:
  void control(int how, int fd, std::uint32_t index, std::uint32_t events) {
    epoll_event e{};
    e.events = events;
    e.data.u32 = index;
    check<TransportError>(epoll_ctl(fd_.get(), how, fd, &e) == 0,
                          "cannot watch a descriptor: ", system_reason);
  }
  Descriptor fd_{epoll_create1(EPOLL_CLOEXEC)};
};
/// A listener accepts so many connections, and a connection is read so often, before others have their turn.
inline constexpr int kAccepts = 16, kReads = 4;
class Event {
 public:
  void ring() {
    std::uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(fd_.get(), &one, sizeof one);  // full: rung already
  }
  void clear() {
    std::uint64_t count;
    [[maybe_unused]] auto n = ::read(fd_.get(), &count, sizeof count);
  }
  int get() const { return fd_.get(); }

 private:
  Descriptor fd_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
};
}  // namespace bora::transport
