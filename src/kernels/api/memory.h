// memory.h -- memory for kernels: 64-byte aligned, pooled, never returned to the system page by page.
#pragma once
#include <cstddef>
#include <memory>

namespace bora::kernels {
/// A block of at least `bytes` bytes, uninitialised, from a pool with size classes that keeps freed blocks (first touch
/// is 20 to 80 times slower than memory). Blocks of 4 MiB and more start at a multiple of 2 MiB and ask for huge pages.
/// Thread-safe. Zero bytes are allowed.
std::shared_ptr<void> allocate(std::size_t bytes);
/// Bytes of memory that a new block for `bytes` bytes takes once they are written: whole pages, huge ones where the
/// system has them.
std::size_t block_footprint(std::size_t bytes);
/// Blocks for small objects (64-byte aligned, at most kMostSmall bytes) from a free list per thread: no lock, not
/// counted in PoolUse. A block may be given back on another thread. `bytes`: the size asked for.
inline constexpr std::size_t kMostSmall = 1024;
void* take_small(std::size_t bytes);
void give_small(void*, std::size_t bytes) noexcept;
template <class T> struct SmallAllocator {
  using value_type = T;
  SmallAllocator() = default;
  template <class U> SmallAllocator(const SmallAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(take_small(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) noexcept { give_small(p, n * sizeof(T)); }
  template <class U> bool operator==(const SmallAllocator<U>&) const { return true; }
};
/// Bytes handed out, bytes kept for reuse, and the peak of their sum.
struct PoolUse {
  std::size_t used = 0, kept = 0, peak = 0;
};
PoolUse pool_use();
/// Returns kept blocks to the system.
void trim_pool();
}  // namespace bora::kernels
