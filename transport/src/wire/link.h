// link.h -- carries messages between the ranks of a job: one implementation between processes (net_link.cpp), one
// between threads (local.cpp). The engine above knows no sockets.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include "wire/header.h"

namespace bora::transport {
using Clock = std::chrono::steady_clock;
/// Clock of condition variables. ThreadSanitizer of g++ 12 does not know waits on the steady clock; other builds use no
/// clock that can be set.
#ifdef __SANITIZE_THREAD__
using WaitClock = std::chrono::system_clock;
#else
using WaitClock = Clock;
#endif

/// A payload up to this size is copied when it is sent, unless peers read it in place for free: a copy is cheaper than
/// tracking the buffer.
inline constexpr std::uint32_t kCopied = 16 << 10;

/// Another process's memory.
class Remote {
 public:
  virtual ~Remote() = default;
  /// False if the process has gone: the collective must not end then. TransportError if there are no such bytes.
  virtual bool read(std::uint64_t address, std::byte* to, std::size_t n) const = 0;
};
/// The owner of a message's bytes. A carrier that reads them after send has returned takes a pin and keeps it until
/// then.
class PayloadOwner {
 public:
  virtual ~PayloadOwner() = default;
  virtual std::shared_ptr<const void> pin() = 0;
};
/// A data message that has arrived. `bytes` stay valid as long as `hold` lives; with direct pointers they are the
/// sender's own buffer.
struct Arrival {
  Header header;
  const std::byte* bytes = nullptr;
  std::shared_ptr<const void> hold = {};
  // Gives out the hold on request; without a hold the bytes are gone when Sink::data returns.
  PayloadOwner* owner = nullptr;
  const Remote* remote = nullptr;  // holds the bytes still, at `address`; valid as long as `hold`
  std::uint64_t address = 0;
  bool copied = false;  // `hold` alone owns the bytes

  /// Copies the payload; false if it is gone with its sender.
  bool read(std::byte* to) const {
    if (remote) return remote->read(address, to, header.payload());
    if (header.payload() > 0 && to != bytes) std::memcpy(to, bytes, header.payload());
    return true;
  }
  void keep() {
    if (owner) hold = std::exchange(owner, nullptr)->pin();
  }
  /// Copies the payload to memory of its own, so that nothing of the carrier's is held. False as for read, and then
  /// nothing has changed.
  bool copy() {
    if (copied || header.payload() == 0) return true;
    std::shared_ptr<std::byte[]> own(new std::byte[header.payload()]);
    if (!read(own.get())) return false;
    remote = nullptr;
    owner = nullptr;
    bytes = own.get();
    hold = std::move(own);
    return copied = true;
  }
};
/// Takes the messages that a Link hands over.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void data(Arrival) = 0;
  /// The final place of an arriving payload, if known: the carrier may then write it there itself.
  virtual std::byte* place(const Header&) { return nullptr; }
  /// The carrier runs out of room: copies the held messages of this rank.
  virtual void make_room(int rank) = 0;
  virtual void control(std::string_view message) = 0;       // from the coordinator
  virtual void lost(int rank, const std::string& how) = 0;  // noticed by the link itself
  virtual void broken(int rank, const std::string& how) { lost(rank, how); }  // perhaps: it may have left properly
  virtual void dropped(bool stale) = 0;  // a message of an earlier epoch (stale), or a malformed or a stranger's one
};
/// Wakes a parked waiter from any thread, also after the Link has gone.
class Wakeup {
 public:
  virtual ~Wakeup() = default;
  virtual void ring() = 0;
};
/// For Links whose peers do not read this process's memory.
std::shared_ptr<void> private_memory(std::size_t bytes);
enum class Side { leader, progress };  // a thread inside a wait; the progress thread

/// All calls are made under the engine's lock, unless noted.
class Link {
 public:
  virtual ~Link() = default;
  virtual void open(int peer) = 0;  // before the first message to or from this peer
  /// Sends header and bytes in order. Without an owner the bytes are copied at once; with one they may be.
  virtual void send(int peer, const Header&, const std::byte* bytes, PayloadOwner*) = 0;
  virtual void to_coordinator(std::string message) = 0;  // the coordinator of the job, wherever it is (coordinator.h)
  /// Hands over some of the arrived messages; true if there were any.
  virtual bool receive(Sink&) = 0;
  virtual void tick(Clock::time_point now, Sink&) = 0;  // heartbeats; about ten times a second
  /// Data does not wake the progress thread while a waiting thread takes it (leading), or while no collective is under
  /// way (not busy).
  virtual void watch(bool leading, bool busy) = 0;
  // All data comes through memory, without another thread of this process; callable without the lock.
  virtual bool by_memory() const = 0;
  virtual bool ready() = 0;  // has anything arrived? Cheap, without the lock.
  virtual void park(
      Side, std::chrono::milliseconds) = 0;  // without the lock; returns early when something arrives or on wake
  virtual void wake(Side) = 0;
  virtual std::shared_ptr<Wakeup> wakeup() = 0;     // rings the leader
  virtual void stop_data() = 0;                 // drops all data; `receive` releases buffers as peers release them
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;  // as Context::allocate; without the lock
  virtual bool must_meet() const = 0;           // peers need this rank's process until they have left as well
  virtual std::string who(int rank) const = 0;  // "rank 3 (host b, pid 812)"
};
}  // namespace bora::transport
