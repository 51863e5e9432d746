#include "compile/run/slab.h"
#include <malloc.h>
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>
#include "compile/api/executable.h"
#include "kernels/api/memory.h"

namespace bora {
namespace exec {
namespace {
struct Kept {
  std::shared_ptr<void> memory;
  std::size_t bytes;
};
struct Slabs {
  static constexpr std::size_t most = 8;  // free slabs kept: rank threads and nested calls run at the same time
  std::mutex mutex;
  std::vector<Kept> free;  // ascending by size
  std::size_t leased = 0, peak = 0;
};
/// Never destroyed: Arrays and Executables in static storage may outlive it.
Slabs& slabs() {
  static auto* s = new Slabs;
  return *s;
}
}  // namespace

Slab::Slab(std::size_t bytes) {
  if (bytes == 0) return;
  auto& s = slabs();
  std::shared_ptr<void> outgrown;  // returned to the system before a larger one is allocated
  {
    std::lock_guard l(s.mutex);
    auto it = std::find_if(s.free.begin(), s.free.end(), [&](const Kept& k) { return k.bytes >= bytes; });
    if (it != s.free.end()) {
      memory_ = std::move(it->memory);
      bytes_ = it->bytes;
      s.free.erase(it);
    } else if (!s.free.empty()) {
      outgrown = std::move(s.free.back().memory);
      s.free.pop_back();
    }
  }
  if (std::exchange(outgrown, nullptr)) kernels::trim_pool();
  if (!memory_) {
    memory_ = kernels::allocate(bytes);
    bytes_ = bytes;
  }
  std::lock_guard l(s.mutex);
  s.leased += bytes_;
  s.peak = std::max(s.peak, s.leased);
}
void reserve_slab(std::size_t bytes) { Slab unused(bytes); }
Slab::~Slab() {
  if (!memory_) return;
  auto& s = slabs();
  std::lock_guard l(s.mutex);
  s.leased -= bytes_;
  if (s.free.size() == Slabs::most) s.free.erase(s.free.begin());
  auto at = std::find_if(s.free.begin(), s.free.end(), [&](const Kept& k) { return k.bytes >= bytes_; });
  s.free.insert(at, {std::move(memory_), bytes_});
}
}  // namespace exec

std::size_t slab_peak_bytes() {
  auto& s = exec::slabs();
  std::lock_guard l(s.mutex);
  return s.peak;
}
void release_slabs() {
  auto& s = exec::slabs();
  {
    std::lock_guard l(s.mutex);
    s.free.clear();
  }
  kernels::trim_pool();
  ::malloc_trim(0);
}
}  // namespace bora
