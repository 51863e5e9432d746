#include "base/openmp.h"
#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <xmmintrin.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>
#include "base/api/threads.h"
#include "base/team.h"
#include "bora/base/error.h"

namespace bora::detail {
namespace {
std::atomic<unsigned> forks{0}, changes{1};
[[maybe_unused]] const int forgets_pools = pthread_atfork(nullptr, nullptr, [] { ++forks; });

/// What a calling thread knows of its pool.
struct Pool {
  int threads = 1;      // of the largest region so far: a smaller one would end the others
  unsigned tried = 0;   // `changes` when it could not be made larger
  unsigned bound = 0;   // `changes` when `cores` was read
  unsigned stamp = 0;   // of `cores`; 0: as the threads were made
  cpu_set_t cores = {};
  std::vector<std::atomic<bool>> begun = {};  // of each range of a loop
  std::chrono::steady_clock::time_point ended = {};  // of the last region
};
thread_local Pool pool;
std::atomic<unsigned> stamps{0};
std::atomic<int> callers{0};  // now; they share the threads of the process

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;
// A region that ends kLost after its last range waits for a thread that got no core. For a while after that, which
// doubles from kCrowded to kBusy while regions are late, a loop worth less than kMuch is run by its caller alone.
// Threads that may have slept, kAwake after their last region, say nothing of that: to wake takes as long.
constexpr std::chrono::nanoseconds kLost = 200us, kCrowded = 10ms, kBusy = 320ms, kMuch = 2ms, kAwake = 1ms;
std::atomic<std::int64_t> crowded_until{0}, crowded_for{kCrowded.count()};
std::int64_t count(Clock::time_point t) { return t.time_since_epoch().count(); }
void judge(Clock::time_point last_range, Clock::time_point now) {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto pause = crowded_for.load(relaxed);
  if (now - last_range <= kLost) {
    if (pause != kCrowded.count()) crowded_for.store(kCrowded.count(), relaxed);
    return;
  }
  crowded_until.store(count(now) + pause, relaxed);
  crowded_for.store(std::min<std::int64_t>(2 * pause, kBusy.count()), relaxed);
}
thread_local unsigned bound_to = 0;  // of a pool's thread: the stamp of its cores

/// Rounding, denormals and masked exceptions of this thread, without the exceptions that happened.
std::uint32_t modes() { return _mm_getcsr() & ~0x3fU; }

class Loop {
 public:
  Loop(RangeFn f, void* context, std::int64_t n, std::int64_t parts, std::vector<std::atomic<bool>>& begun)
      : f_(f), context_(context), n_(n), parts_(parts), begun_(begun) {
    for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p) begun_[p].store(false, std::memory_order_relaxed);
  }
  /// Runs range `own`, then ranges that no thread has begun: a thread that gets no core holds no work.
  void work(std::int64_t own) {
    if (own < parts_) take(own);
    for (auto p = parts_ - 1; p >= 0 && left_.load(std::memory_order_relaxed) > 0; --p) take(p);
  }
  /// When the last range ended.
  Clock::time_point end() const { return end_; }
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void take(std::int64_t p) {
    auto& begun = begun_[static_cast<std::size_t>(p)];
    if (begun.load(std::memory_order_relaxed) || begun.exchange(true, std::memory_order_relaxed)) return;
    left_.fetch_sub(1, std::memory_order_relaxed);
    auto& within = within_range();
    within = true;
    try {
      f_(context_, n_ * p / parts_, n_ * (p + 1) / parts_);
    } catch (...) {
      std::lock_guard lock(error_mutex_);
      if (!error_ || p < error_part_) error_ = std::current_exception(), error_part_ = p;
    }
    within = false;
    if (running_.fetch_sub(1, std::memory_order_relaxed) == 1) end_ = Clock::now();
  }
  RangeFn f_;
  void* context_;
  std::int64_t n_, parts_;
  std::vector<std::atomic<bool>>& begun_;
  std::atomic<std::int64_t> left_{parts_}, running_{parts_};  // ranges not begun, not done
  Clock::time_point end_;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::int64_t error_part_ = 0;
};

/// Makes the calling thread's pool this large. Its new threads leave signals to the program's own ones.
bool grow(int threads) {
  if (pool.tried == changes) return false;
  sigset_t all, before;
  sigfillset(&all);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF}) sigdelset(&all, s);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool made = true;
  try {
    check_threads(threads - pool.threads, "a loop");
    const auto caller = ::gettid();
#pragma omp parallel num_threads(threads)
    if (::gettid() != caller) take_short_turns();
    pool.threads = threads;
  } catch (const Error&) {
    made = false;
    pool.tried = changes;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}
/// The caller may have been bound to other cores since its pool was made, and may want fewer threads.
void refresh(int threads) {
  if (pool.bound == changes) return;
  pool.threads = std::min(pool.threads, threads);
  cpu_set_t now;
  CPU_ZERO(&now);
  if (std::getenv("OMP_PROC_BIND") == nullptr && ::sched_getaffinity(0, sizeof now, &now) == 0) {
    if (pool.bound != 0 && !CPU_EQUAL(&now, &pool.cores)) pool.stamp = ++stamps;
    pool.cores = now;
  }
  pool.bound = changes;
}
}  // namespace

void openmp_changed() { ++changes; }
std::vector<int> cpus_of_places() {
  std::vector<int> all;
  for (int p = 0; omp_get_proc_bind() != omp_proc_bind_false && p < omp_get_num_places(); ++p) {
    std::vector<int> cpus(static_cast<std::size_t>(omp_get_place_num_procs(p)));
    omp_get_place_proc_ids(p, cpus.data());
    all.insert(all.end(), cpus.begin(), cpus.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool run_on_openmp(RangeFn f, void* context, std::int64_t n, std::int64_t parts, int threads, double nanoseconds) {
  const auto process = forks.load();
  if (process != 0) return false;
  struct Caller {
    int all = ++callers;
    ~Caller() { --callers; }
  } caller;
  const bool nested = omp_in_parallel();  // a region in a region has fresh threads each time
  if (!nested) parts = std::min<std::int64_t>(parts, std::max(1, threads / caller.all));
  if (parts == 1 || (nested && omp_get_active_level() >= omp_get_max_active_levels())) {
    f(context, 0, n);
    return true;
  }
  if (const auto size = static_cast<std::size_t>(parts); pool.begun.size() < size)
    pool.begun = std::vector<std::atomic<bool>>(size);
  Loop loop(f, context, n, parts, pool.begun);
  const auto begin = Clock::now();
  if (nanoseconds < static_cast<double>(kMuch.count()) &&
      count(begin) < crowded_until.load(std::memory_order_relaxed)) {
    loop.work(0);
    loop.rethrow();
    return true;
  }
  refresh(threads);
  if (!nested && threads > pool.threads && !grow(threads)) return false;
  const int all = nested ? threads : std::max(threads, pool.threads);
  const auto control = modes();
  const auto& own = pool;
#pragma omp parallel num_threads(all)
  {
    const auto before = modes();
    if (before != control) _mm_setcsr(control);
    const auto me = omp_get_thread_num();
    if (me != 0 && !nested && own.stamp != bound_to) {
      ::sched_setaffinity(0, sizeof own.cores, &own.cores);  // a refusal changes speed only
      bound_to = own.stamp;
    }
    loop.work(me);
    if (before != control) _mm_setcsr(before);
    if (process != forks) ::_exit(86);  // forked inside a range: the child has no threads to end the region with
  }
  const auto now = Clock::now();
  if (begin - std::exchange(pool.ended, now) < kAwake) judge(loop.end(), now);
  loop.rethrow();
  return true;
}
}  // namespace bora::detail
#else  // a compiler that only reads the code: the build requires OpenMP
namespace bora::detail {
bool run_on_openmp(RangeFn, void*, std::int64_t, std::int64_t, int, double) { return false; }
void openmp_changed() {}
std::vector<int> cpus_of_places() { return {}; }
}  // namespace bora::detail
#endif
