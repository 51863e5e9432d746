// cache_counts.h -- the numbers of one cache, which the cache keeps and bora::caches() reads.
#pragma once
#include <atomic>
#include <memory>
#include "bora/base/caches.h"

namespace bora::detail {
/// Changed without a lock: a reader never waits for the cache, whose entries may hold other caches.
struct CacheCounts {
  const std::string name;
  const std::size_t limit;
  std::size_t (*const bytes)();  // null: not counted
  std::atomic<std::size_t> entries{0};
  std::atomic<std::uint64_t> hits{0}, misses{0}, evictions{0};

  CacheCounts(std::string n, std::size_t most, std::size_t (*b)()) : name(std::move(n)), limit(most), bytes(b) {}
  void found(bool hit) { (hit ? hits : misses).fetch_add(1, std::memory_order_relaxed); }
  /// The same, cheaper, where a lock of the cache is held, which has these numbers alone.
  void found_locked(bool hit) {
    auto& n = hit ? hits : misses;
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void added(std::size_t n = 1) { entries.fetch_add(n, std::memory_order_relaxed); }
  void removed(std::size_t n = 1) { entries.fetch_sub(n, std::memory_order_relaxed); }
  void evicted(std::size_t n = 1) {
    removed(n);
    evictions.fetch_add(n, std::memory_order_relaxed);
  }
};
/// Numbers that caches() lists as long as the cache holds them.
std::shared_ptr<CacheCounts> listed_cache(std::string name, std::size_t limit, std::size_t (*bytes)() = nullptr);
}  // namespace bora::detail
