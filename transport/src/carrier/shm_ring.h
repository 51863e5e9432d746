// shm_ring.h -- messages between two processes of one host: a pair of byte rings in one memfd, each written by one side
// and read by the other.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include "wire/descriptor.h"
#include "wire/header.h"
#include "wire/link.h"

namespace bora::transport {
/// Bytes in the ring after the header.
inline std::uint64_t bytes_in_ring(const Header& h) {
  return h.payload() > 0 && (h.flags & (kInArena | kInProcess)) ? sizeof(std::uint64_t) : h.payload();
}
/// The state of a ring shared by its two sides, beside its bytes. Counts of bytes only grow; the other side's are
/// checked, never trusted.
struct RingCounts {
  alignas(64) std::atomic<std::uint64_t> written;   // by the producer
  alignas(64) std::atomic<std::uint64_t> released;  // by the consumer
  alignas(64) std::atomic<std::uint32_t> starved;   // the producer waits for room, or for buffers it has lent
  alignas(64) std::atomic<std::uint32_t> asleep;    // the consumer waits for its socket
  std::atomic<std::uint32_t> mapped;                // the consumer reads the producer's arena
  std::atomic<std::uint32_t> reads;                 // the consumer can read the producer's process (process_vm_readv)
  // The producer's process, and a word in it by which the consumer recognizes it.
  std::atomic<std::uint32_t> pid;
  std::atomic<std::uint64_t> word_at, word;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Memory shared by a pair, mapped by both.
class PairMemory {
 public:
  static constexpr std::size_t kRingBytes = 1 << 20;
  /// Throws TransportError if the memory is not available.
  static std::shared_ptr<PairMemory> make();
  /// Maps the peer's memory; TransportError if it is not of the form expected.
  static std::shared_ptr<PairMemory> map(Descriptor);
  ~PairMemory();
  PairMemory(const PairMemory&) = delete;
  PairMemory& operator=(const PairMemory&) = delete;
  int descriptor() const { return fd_.get(); }
  RingCounts& counts(bool from_maker) { return *reinterpret_cast<RingCounts*>(base_ + (from_maker ? 0 : kPage / 2)); }
  std::byte* bytes(bool from_maker) { return base_ + kPage + (from_maker ? 0 : kRingBytes); }

 private:
  static constexpr std::size_t kPage = 4096, kBytes = kPage + 2 * kRingBytes;
  explicit PairMemory(Descriptor fd);
  Descriptor fd_;
  std::byte* base_ = nullptr;
};

/// The writing end.
class RingWriter {
 public:
  RingWriter(std::shared_ptr<PairMemory> m, bool maker)
      : memory_(std::move(m)), counts_(memory_->counts(maker)), bytes_(memory_->bytes(maker)) {
    introduce();
  }
  /// Copies header and payload (with kInArena and kInProcess: its place); false if there is no room now (the reader
  /// will wake this side).
  bool put(const Header&, const std::byte* payload);
  /// Whether the reader sleeps and must be woken; asked once after put.
  bool must_wake();
  /// Ends the wait for room, or begins it: true if there may be room.
  bool await_room();
  /// Whether the reader has the arena of this process, and whether it can read the rest of it.
  bool mapped() const { return counts_.mapped.load(std::memory_order_acquire) != 0; }
  bool read() const { return counts_.reads.load(std::memory_order_acquire) != 0; }
  /// Keeps the owner's buffer, which is part of the last message, until the reader has released that message.
  void lend(std::shared_ptr<const void> pin) {
    lent_.push_back({written_, std::move(pin)});
    awaited_.store(lent_.front().end, std::memory_order_relaxed);
  }
  /// Whether take_back would drop any pins; callable without the lock.
  bool returned() const {
    auto end = awaited_.load(std::memory_order_relaxed);
    return end != 0 && counts_.released.load(std::memory_order_acquire) >= end;
  }
  /// Drops the pins of released messages. True if there were any.
  bool take_back();
  /// Asks to be woken when a buffer is released; callable without the lock.
  void asleep() {
    if (awaited_.load(std::memory_order_relaxed) != 0) counts_.starved.exchange(1);
  }
  /// The reader has gone.
  void forget() {
    lent_.clear();
    awaited_ = 0;
  }

 private:
  bool has_room(std::uint64_t bytes);
  void introduce();
  std::shared_ptr<PairMemory> memory_;
  RingCounts& counts_;
  std::byte* bytes_;
  std::uint64_t written_ = 0, needed_ = 0, last_ = 0, released_ = 0;
  struct Lent {
    std::uint64_t end;
    std::shared_ptr<const void> pin;
  };
  std::deque<Lent> lent_;
  std::atomic<std::uint64_t> awaited_{0};  // end of the first lent buffer; 0: none
};

/// The reading end. Messages may be released in any order.
class RingReader : public Remote, public PayloadOwner, public std::enable_shared_from_this<RingReader> {
 public:
  RingReader(std::shared_ptr<PairMemory> m, bool maker)
      : memory_(std::move(m)), counts_(memory_->counts(!maker)), bytes_(memory_->bytes(!maker)) {}
  struct Message {
    Header header;
    const std::byte* payload = nullptr;
  };
  bool ready() const {
    auto at = read_.load(std::memory_order_relaxed);
    if (counts_.written.load(std::memory_order_acquire) == at) return false;
    __builtin_prefetch(bytes_ + at % PairMemory::kRingBytes);
    return true;
  }
  /// The next message, after done(); false if there is none. TransportError if the bytes there are not a message.
  bool next(Message&);
  /// Releases the bytes of the last message, unless a pin holds them.
  void done() {
    if (std::exchange(taken_, false)) release(first_ + parts_.size() - 1);
  }
  /// Holds the bytes of the last message; null if it has none.
  std::shared_ptr<const void> pin() override;
  /// Held messages fill much of the ring: copy them out, or later messages cannot pass.
  bool crowded() const;
  void asleep() { counts_.asleep.exchange(1); }
  bool read(std::uint64_t address, std::byte* to, std::size_t n) const override;
  void mapped() { counts_.mapped.store(1, std::memory_order_release); }
  /// Whether the writer waits for room and some has been released since the last call.
  bool must_wake();

 private:
  struct Part {
    std::uint64_t end;
    bool done;
  };
  void release(std::uint64_t number);
  void recognize();
  std::shared_ptr<PairMemory> memory_;
  RingCounts& counts_;
  const std::byte* bytes_;
  std::atomic<std::uint64_t> read_{0};
  std::deque<Part> parts_;  // read and not all released
  std::uint64_t first_ = 0;  // number of parts_.front()
  bool taken_ = false;  // the last of parts_ is not released and has no pin
  bool recognized_ = false;
  bool released_ = false;    // some bytes, since must_wake
};
}  // namespace bora::transport
