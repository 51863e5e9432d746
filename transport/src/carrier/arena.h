// arena.h -- memory of this process that its peers on the host can read: one memfd, mapped by the peers that got its
// descriptor.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include "wire/descriptor.h"

namespace bora::transport {
class Arena {
 public:
  /// The process's own, made at the first call and kept to its end; null where the kernel refuses.
  static Arena* mine();
  static Arena* there_is() { return made_.load(std::memory_order_acquire); }
  /// 64-byte aligned (2 MiB and more: to 2 MiB), zero at first. Error if the arena is full: it is as large as the
  /// machine's memory.
  std::shared_ptr<void> allocate(std::size_t bytes);
  /// The offset of the n bytes at p; nullopt if they are not in the arena.
  std::optional<std::uint64_t> offset_of(const std::byte* p, std::size_t n) const {
    auto at = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(base_));
    if (at >= bytes_ || n > bytes_ - at) return std::nullopt;
    return at;
  }
  int descriptor() const { return fd_.get(); }

 private:
  Arena();
  static std::atomic<Arena*> made_;
  void give(std::uint64_t offset, std::size_t bytes) noexcept;
  Descriptor fd_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::mutex m_;
  std::map<std::uint64_t, std::size_t> free_;  // by offset; neighbours are joined
};

/// A peer's arena, mapped for reading.
class ArenaView {
 public:
  /// TransportError if it cannot be mapped or could shrink.
  explicit ArenaView(const Descriptor&);
  ~ArenaView();
  ArenaView(const ArenaView&) = delete;
  ArenaView& operator=(const ArenaView&) = delete;
  /// n bytes at offset; null if they are not in it.
  const std::byte* at(std::uint64_t offset, std::size_t n) const {
    return n <= bytes_ && offset <= bytes_ - n ? base_ + offset : nullptr;
  }

 private:
  const std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};
}  // namespace bora::transport
