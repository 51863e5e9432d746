// pool.h -- memory for messages under way.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>
#include "schedule/schedule.h"

namespace bora::transport {
/// Memory for messages: large buffers are reused, because fresh ones cost page faults.
class Pool {
 public:
  using Buffer = std::shared_ptr<std::byte>;
  /// A buffer of at least n bytes.
  static Buffer get(const std::shared_ptr<Pool>& pool, std::size_t n) {
    if (n <= kSmall || n > kPooled) return Buffer(new std::byte[n], std::default_delete<std::byte[]>());
    std::unique_ptr<std::byte[]> bytes;
    {
      std::lock_guard lock(pool->m_);
      if (!pool->free_.empty()) bytes = std::move(pool->free_.back()), pool->free_.pop_back();
    }
    if (!bytes) bytes.reset(new std::byte[kPooled]);
    return Buffer(bytes.release(), [pool](std::byte* p) {
      std::unique_ptr<std::byte[]> back(p);
      std::lock_guard lock(pool->m_);
      if (pool->free_.size() < 64) pool->free_.push_back(std::move(back));
    });
  }

 private:
  static constexpr std::size_t kPooled = kMaxChunkBytes;
  static constexpr std::size_t kSmall = 16 << 10;  // up to here a buffer is not worth keeping
  std::mutex m_;
  std::vector<std::unique_ptr<std::byte[]>> free_;
};
}  // namespace bora::transport
