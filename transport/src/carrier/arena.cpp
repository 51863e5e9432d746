#include "carrier/arena.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace bora::transport {
namespace {
constexpr std::size_t kPage = 4096, kHugePage = std::size_t{2} << 20;
std::size_t up_to(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }
}  // namespace

Arena* Arena::mine() {
  // Never destroyed: its allocations may outlive static storage.
  static Arena* arena = []() -> Arena* {
    try {
      made_ = new Arena;
    } catch (const TransportError& e) {
      std::fprintf(stderr, "warning: peers on this host are sent copies: %s\n", e.what());
    }
    return made_;
  }();
  return arena;
}
std::atomic<Arena*> Arena::made_{nullptr};
Arena::Arena()
    : fd_(::memfd_create("bora-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
      bytes_(
          up_to(static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)),
                kHugePage)) {
  // Pages are allocated when touched. Sealed: the memory cannot shrink under a peer.
  bool made = ::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) == 0 &&
              ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  check<TransportError>(made, "cannot make shared memory: ", std::strerror(errno));
  auto whole = ::mmap(nullptr, bytes_ + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check<TransportError>(whole != MAP_FAILED, "cannot map shared memory: ", std::strerror(errno));
  auto aligned = up_to(reinterpret_cast<std::uintptr_t>(whole), kHugePage);
  auto p = ::mmap(reinterpret_cast<void*>(aligned), bytes_, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd_.get(), 0);
  check<TransportError>(p != MAP_FAILED, "cannot map shared memory: ", std::strerror(errno));
  ::madvise(p, bytes_, MADV_HUGEPAGE);  // advice: refusal changes speed only
  ::madvise(p, bytes_, MADV_DONTFORK);  // a child must not write memory that the parent's peers read
  base_ = static_cast<std::byte*>(p);
  free_.emplace(0, bytes_);
}
std::shared_ptr<void> Arena::allocate(std::size_t bytes) {
  auto unit = bytes >= kHugePage ? kHugePage : kPage;
  check<Error>(bytes <= bytes_, "allocate: ", bytes, " bytes are more than this machine's memory");
  bytes = std::max(up_to(bytes, unit), unit);
  std::lock_guard lock(m_);
  // The smallest hole that fits.
  auto best = free_.end();
  auto start = [&](auto& hole) { return up_to(hole.first, unit); };
  for (auto it = free_.begin(); it != free_.end(); ++it)
    if (start(*it) + bytes <= it->first + it->second && (best == free_.end() || it->second < best->second)) best = it;
  check<Error>(best != free_.end(), "allocate: no ", bytes, " bytes are left in the memory shared with peers (", bytes_,
               " bytes, as much as the machine has)");
  auto [hole, size] = *best;
  auto begin = up_to(hole, unit);
  free_.erase(best);
  if (begin > hole) free_.emplace(hole, begin - hole);
  if (hole + size > begin + bytes) free_.emplace(begin + bytes, hole + size - begin - bytes);
  return {base_ + begin, [this, begin, bytes](void*) { give(begin, bytes); }};
}
void Arena::give(std::uint64_t offset, std::size_t bytes) noexcept {
  std::lock_guard lock(m_);
  ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  try {
    free_.emplace(offset, bytes);
  } catch (const std::bad_alloc&) {}  // no memory to record the hole: it is lost
}

ArenaView::ArenaView(const Descriptor& fd) {
  struct ::stat s {};
  bool good = ::fstat(fd.get(), &s) == 0 && s.st_size > 0 && (::fcntl(fd.get(), F_GET_SEALS) & F_SEAL_SHRINK);
  check<TransportError>(good, "shared memory of a peer is not of the form expected");
  bytes_ = static_cast<std::size_t>(s.st_size);
  auto p = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
  check<TransportError>(p != MAP_FAILED, "cannot map a peer's memory: ", std::strerror(errno));
  ::madvise(p, bytes_, MADV_DONTFORK);
  base_ = static_cast<const std::byte*>(p);
}
ArenaView::~ArenaView() { ::munmap(const_cast<std::byte*>(base_), bytes_); }
}  // namespace bora::transport
