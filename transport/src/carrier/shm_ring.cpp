#include "carrier/shm_ring.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <random>
#include "schedule/schedule.h"

namespace bora::transport {
namespace {
constexpr std::uint64_t kCapacity = PairMemory::kRingBytes, kLine = 64;
static_assert((kCapacity & (kCapacity - 1)) == 0 && sizeof(Header) == kLine);
std::uint64_t footprint(std::uint64_t payload) { return kLine + (payload + kLine - 1) / kLine * kLine; }
static_assert(sizeof(RingCounts) <= 2048);
// Small messages travel from one core's cache to the other's while both do their book-keeping.
constexpr std::uint64_t kAhead = 8192;  // bytes
void prefetch(const std::byte* p, std::uint64_t n) {
  for (std::uint64_t i = 0; i < std::min(n, kAhead); i += kLine) __builtin_prefetch(p + i);
}
void prefetch_to_write(std::byte* p, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; i += kLine) asm volatile("prefetchw %0" : : "m"(p[i]));
}
}  // namespace

// ---- memory ----
PairMemory::PairMemory(Descriptor fd) : fd_(std::move(fd)) {
  auto p = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  check<TransportError>(p != MAP_FAILED, "cannot map shared memory: ", std::strerror(errno));
  base_ = static_cast<std::byte*>(p);
}
PairMemory::~PairMemory() { ::munmap(base_, kBytes); }
std::shared_ptr<PairMemory> PairMemory::make() {
  int fd = ::memfd_create("bora", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  check<TransportError>(fd >= 0, "cannot make shared memory: ", std::strerror(errno));
  Descriptor owner(fd);
  // Sealed: the memory cannot shrink under the other side.
  bool made = ::ftruncate(fd, kBytes) == 0 && ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  check<TransportError>(made, "cannot make shared memory: ", std::strerror(errno));
  return std::shared_ptr<PairMemory>(new PairMemory(std::move(owner)));
}
std::shared_ptr<PairMemory> PairMemory::map(Descriptor fd) {
  struct ::stat s {};
  bool good = ::fstat(fd.get(), &s) == 0 && static_cast<std::size_t>(s.st_size) == kBytes &&
              (::fcntl(fd.get(), F_GET_SEALS) & F_SEAL_SHRINK);
  check<TransportError>(good, "shared memory of a peer is not of the form expected");
  return std::shared_ptr<PairMemory>(new PairMemory(std::move(fd)));
}

// ---- writing ----
bool RingWriter::has_room(std::uint64_t n) {
  // The cached counter usually suffices; reading the shared one steals its cache line.
  if (written_ + n - released_ <= kCapacity) return true;
  auto released = counts_.released.load(std::memory_order_acquire);
  if (written_ - released <= written_ - released_) released_ = released;  // other values of the reader's are invalid
  return written_ + n - released_ <= kCapacity;
}
bool RingWriter::put(const Header& h, const std::byte* payload) {
  auto n = footprint(bytes_in_ring(h));
  auto left = kCapacity - written_ % kCapacity;  // until the end of the ring; a message does not wrap around it
  auto skip = n > left ? left : 0;
  if (!has_room(n + skip)) {
    needed_ = n + skip;
    return false;
  }
  if (skip > 0) {
    Header filler;
    filler.type = MessageType::filler;
    std::memcpy(bytes_ + written_ % kCapacity, &filler, sizeof filler);
    written_ += skip;
  }
  auto to = bytes_ + written_ % kCapacity;
  std::memcpy(to, &h, sizeof h);
  if (auto bytes = bytes_in_ring(h); bytes > 0) std::memcpy(to + kLine, payload, bytes);
  written_ += last_ = n;
  counts_.written.store(written_, std::memory_order_release);
  return true;
}
// A reader that goes to sleep exchanges the flag and then polls once more; a writer exchanges it after writing. One of
// the two exchanges sees the other, with all writes before it.
bool RingWriter::must_wake() {
  bool sleeps = counts_.asleep.exchange(0) != 0;
  // The next message is often as long as this one.
  if (auto n = std::min({last_, kAhead, kCapacity - written_ % kCapacity}); last_ <= kAhead)
    prefetch_to_write(bytes_ + written_ % kCapacity, n);
  return sleeps;
}
bool RingWriter::await_room() {
  if (has_room(needed_)) return true;
  counts_.starved.exchange(1);
  return has_room(needed_);
}

/// A random word at a known place shows the reader that it reads this process and not another one with the same pid.
void RingWriter::introduce() {
  static const std::uint64_t word = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  counts_.word = word;
  counts_.word_at = reinterpret_cast<std::uint64_t>(&word);
  counts_.pid.store(static_cast<std::uint32_t>(::getpid()), std::memory_order_release);
}
bool RingWriter::take_back() {
  if (!returned()) return false;
  auto released = counts_.released.load(std::memory_order_acquire);
  while (!lent_.empty() && released >= lent_.front().end) lent_.pop_front();
  awaited_.store(lent_.empty() ? 0 : lent_.front().end, std::memory_order_relaxed);
  return true;
}

// ---- reading ----
bool RingReader::read(std::uint64_t address, std::byte* to, std::size_t n) const {
  auto pid = static_cast<pid_t>(counts_.pid.load(std::memory_order_acquire));
  for (std::size_t done = 0; done < n;) {
    iovec mine{to + done, n - done}, theirs{reinterpret_cast<void*>(address + done), n - done};
    auto got = ::process_vm_readv(pid, &mine, 1, &theirs, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    check<TransportError>(got > 0 || errno == ESRCH, "a buffer that a peer sends cannot be read: ",
                          std::strerror(errno));
    if (got < 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}
void RingReader::recognize() {
  if (counts_.pid.load(std::memory_order_acquire) == 0) return;
  recognized_ = true;
  std::uint64_t word = 0;
  try {
    if (read(counts_.word_at.load(), reinterpret_cast<std::byte*>(&word), sizeof word) && word == counts_.word.load())
      counts_.reads.store(1, std::memory_order_release);
  } catch (const TransportError&) {}  // another process with this pid, in another namespace: payloads take the ring
}
bool RingReader::next(Message& m) {
  if (!recognized_) recognize();
  done();
  auto at = read_.load(std::memory_order_relaxed);
  auto there = counts_.written.load(std::memory_order_acquire);
  auto released = parts_.empty() ? at : counts_.released.load(std::memory_order_relaxed);
  check<TransportError>(there - released <= kCapacity, "a peer's counts in shared memory make no sense");
  while (at != there) {
    auto left = kCapacity - at % kCapacity;
    std::memcpy(static_cast<void*>(&m.header), bytes_ + at % kCapacity, sizeof m.header);
    bool filler = m.header.type == MessageType::filler;
    auto n = filler ? left : footprint(bytes_in_ring(m.header));
    bool known = m.header.magic == kMagic && m.header.version == kProtocol && m.header.type >= MessageType::data &&
                 m.header.type <= MessageType::socket;
    check<TransportError>(known && m.header.payload() <= kMaxChunkBytes && n <= left && n <= there - at,
                          "a peer's message in shared memory makes no sense");
    m.payload = bytes_ + at % kCapacity + kLine;
    prefetch(m.payload, n - kLine);
    at += n;
    read_.store(at, std::memory_order_relaxed);
    auto number = first_ + parts_.size();
    parts_.push_back({at, false});
    taken_ = !filler && m.header.payload() > 0;
    if (!taken_) release(number);
    if (!filler) return true;
  }
  return false;
}
std::shared_ptr<const void> RingReader::pin() {
  if (!std::exchange(taken_, false)) return nullptr;
  auto number = first_ + parts_.size() - 1;
  return {static_cast<const void*>(this), [self = shared_from_this(), number](const void*) { self->release(number); }};
}
void RingReader::release(std::uint64_t number) {
  parts_[static_cast<std::size_t>(number - first_)].done = true;
  std::uint64_t end = 0;
  while (!parts_.empty() && parts_.front().done) {
    end = parts_.front().end;
    parts_.pop_front();
    ++first_;
  }
  if (end == 0) return;
  counts_.released.store(end, std::memory_order_release);
  released_ = true;
}
bool RingReader::crowded() const {
  return read_.load(std::memory_order_relaxed) - counts_.released.load(std::memory_order_relaxed) > kCapacity / 2;
}
bool RingReader::must_wake() { return std::exchange(released_, false) && counts_.starved.exchange(0) != 0; }
}  // namespace bora::transport
