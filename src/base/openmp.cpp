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
#include "base/crowd.h"
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
// Threads that may have slept, kAwake after their last region, say nothing of crowded cores: to wake takes as long.
constexpr std::chrono::nanoseconds kAwake = 1ms;
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
  }
  RangeFn f_;
  void* context_;
  std::int64_t n_, parts_;
  std::vector<std::atomic<bool>>& begun_;
  std::atomic<std::int64_t> left_{parts_};  // ranges not begun
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
  refresh(threads);
  if (!nested && threads > pool.threads && !grow(threads)) return false;
  const int all = nested ? threads : std::max(threads, pool.threads);
  const auto control = modes();
  const auto begin = Clock::now();
  auto start = begin, idle = begin;
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
    if (me == 0) start = Clock::now();  // libgomp waits here for threads that have not left the last region
    loop.work(me);
    if (me == 0) idle = Clock::now();
    if (before != control) _mm_setcsr(before);
    if (process != forks) ::_exit(86);  // forked inside a range: the child has no threads to end the region with
  }
  const auto now = Clock::now();
  if (begin - std::exchange(pool.ended, now) < kAwake)
    waited_for_threads(start - begin + (now - idle), nanoseconds / static_cast<double>(parts));
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
