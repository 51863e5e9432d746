// memory.cpp -- the caching pool: size classes, eight per power of two, and one list of free blocks for each.
#include "kernels/api/memory.h"
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <new>
#include <string>
#include <vector>
#include "bora/base/error.h"
#if defined(__SANITIZE_ADDRESS__)
#define BORA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BORA_ASAN 1
#endif
#endif
#ifdef BORA_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace bora::kernels {
namespace {
constexpr std::size_t kLine = 64, kHugePage = std::size_t{2} << 20, kLarge = std::size_t{4} << 20,
                      kMost = std::size_t{1} << 46;
constexpr int kClasses = 320;

/// Classes 0..7 are 64, 128 .. 512 bytes; above, eight per power of two: a block is at most 1/8 larger than asked for.
int class_of(std::size_t bytes) {
  if (bytes <= 8 * kLine) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / kLine);
  int e = static_cast<int>(std::bit_width(bytes - 1)) - 1;
  return (e - 8) * 8 + static_cast<int>((bytes - 1) >> (e - 3)) - 8;
}
std::size_t class_size(int c) {
  if (c < 8) return kLine * static_cast<std::size_t>(c + 1);
  return static_cast<std::size_t>(9 + c % 8) << (c / 8 + 5);
}

// A freed block stays poisoned until it is handed out again; the end of a block beyond the size asked for is poisoned.
void poison([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) {
#ifdef BORA_ASAN
  ASAN_POISON_MEMORY_REGION(p, bytes);
#endif
}
void unpoison([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) {
#ifdef BORA_ASAN
  ASAN_UNPOISON_MEMORY_REGION(p, bytes);
#endif
}

void* map(std::size_t bytes) {
  if (bytes < kLarge) return std::aligned_alloc(kLine, bytes);
  void* whole =
      mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) return nullptr;
  auto begin = reinterpret_cast<std::uintptr_t>(whole), p = (begin + kHugePage - 1) & ~(kHugePage - 1);
  if (p > begin) munmap(whole, p - begin);
  if (auto tail = begin + kHugePage - p; tail > 0) munmap(reinterpret_cast<void*>(p + bytes), tail);
  madvise(reinterpret_cast<void*>(p), bytes, MADV_HUGEPAGE);  // advice: refusal changes speed only
  return reinterpret_cast<void*>(p);
}
void unmap(void* p, std::size_t bytes) {
  unpoison(p, bytes);
  if (bytes < kLarge) std::free(p);
  else munmap(p, bytes);
}

class Pool {
 public:
  /// Never destroyed: arrays in static storage return their blocks after main has ended.
  static Pool& get() {
    static auto* pool = new Pool;
    return *pool;
  }
  /// A block of class c, or, for a large one, a kept block up to two classes larger; c becomes the block's class.
  void* take(int& c) {
    std::lock_guard lock(mutex_);
    int last = class_size(c) >= kLarge ? std::min(c + 2, kClasses - 1) : c;
    for (int i = c; i <= last; ++i)
      if (auto& list = free_[i]; !list.empty()) {
        void* p = list.back();
        list.pop_back();
        use_.kept -= class_size(i);
        use_.used += class_size(i);
        c = i;
        return p;
      }
    void* p = map(class_size(c));
    if (!p) {
      release_all();
      p = map(class_size(c));
    }
    check<Error>(p != nullptr, "allocate: the system has no memory left for ", class_size(c), " bytes (", use_.used,
                 " in use); ", "use smaller arrays or a smaller batch");
    use_.used += class_size(c);
    use_.peak = std::max(use_.peak, use_.used + use_.kept);
    return p;
  }
  void give(void* p, int c) noexcept {
    std::lock_guard lock(mutex_);
    auto bytes = class_size(c);
    use_.used -= bytes;
    if (use_.kept + bytes > limit_) return unmap(p, bytes);
    try {
      free_[c].push_back(p);
    } catch (const std::bad_alloc&) {  // no memory for the list entry
      return unmap(p, bytes);
    }
    use_.kept += bytes;
    poison(p, bytes);
  }
  void trim() {
    std::lock_guard lock(mutex_);
    release_all();
  }
  PoolUse use() {
    std::lock_guard lock(mutex_);
    return use_;
  }

 private:
  void release_all() {
    for (int c = 0; c < kClasses; ++c) {
      for (void* p : free_[c]) unmap(p, class_size(c));
      free_[c] = {};
    }
    use_.kept = 0;
  }
  std::mutex mutex_;
  std::vector<void*> free_[kClasses];  // not linked through the blocks: a freed block is not touched
  PoolUse use_;
  /// At most this many bytes are kept: half of the machine's memory.
  const std::size_t limit_ =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 2;
};
}  // namespace

std::shared_ptr<void> allocate(std::size_t bytes) {
  check<Error>(bytes <= kMost, "allocate: ", bytes, " bytes are more than a process can have; ",
               "is a size negative or a product of sizes wrong?");
  int c = class_of(bytes);
  void* p = Pool::get().take(c);
  unpoison(p, bytes);
  poison(static_cast<char*>(p) + bytes, class_size(c) - bytes);
  return {p, [c](void* q) { Pool::get().give(q, c); }};
}
namespace {
bool has_huge_pages() {
  std::string modes;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), modes);
  return !modes.empty() && modes.find("[never]") == modes.npos;
}
}  // namespace
std::size_t block_footprint(std::size_t bytes) {
  static const bool huge = has_huge_pages();
  const auto block = class_size(class_of(bytes)), page = huge && block >= kLarge ? kHugePage : std::size_t{4096};
  return std::min(block, (bytes + page - 1) / page * page);
}
namespace {
constexpr std::size_t kSmallClasses = kMostSmall / kLine;
constexpr int kMostKept = 128;  // blocks per class and thread
struct Link {
  Link* next;
};
/// No destructor: usable while the thread's other thread_local objects are destroyed.
struct SmallLists {
  Link* first[kSmallClasses];
  int count[kSmallClasses];
  bool open, closed;
};
thread_local SmallLists small;
struct CloseSmall {
  CloseSmall() { small.open = true; }
  ~CloseSmall() {
    small.closed = true;
    for (auto*& first : small.first)
      while (auto* l = first) {
        first = l->next;
        ::operator delete(l, std::align_val_t{kLine});
      }
  }
};
std::size_t small_class(std::size_t bytes) { return (bytes + kLine - 1) / kLine - 1; }
}  // namespace
void* take_small(std::size_t bytes) {
  auto c = small_class(bytes);
  auto& lists = small;
  auto* l = lists.first[c];
  if (l == nullptr) return ::operator new((c + 1) * kLine, std::align_val_t{kLine});
  lists.first[c] = l->next;
  --lists.count[c];
  return l;
}
void give_small(void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#ifndef BORA_ASAN  // ASan detects use after free only if blocks are really freed
  auto c = small_class(bytes);
  auto& lists = small;
  if (!lists.open) [[unlikely]] {
    thread_local CloseSmall at_end;
    (void)at_end;
  }
  if (!lists.closed && lists.count[c] < kMostKept) {
    lists.first[c] = new (p) Link{lists.first[c]};
    ++lists.count[c];
    return;
  }
#endif
  ::operator delete(p, std::align_val_t{kLine});
}
PoolUse pool_use() { return Pool::get().use(); }
void trim_pool() { Pool::get().trim(); }
}  // namespace bora::kernels
