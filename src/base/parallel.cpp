#include "bora/base/parallel.h"
#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "base/cores.h"
#include "bora/base/error.h"

namespace bora {
namespace {
std::atomic<int> process_threads{0};
thread_local int scope_threads = 0;  // 0: no limit on this thread
thread_local bool inside = false;    // already within a parallel range
}  // namespace

int thread_count() {
  int n = process_threads.load(std::memory_order_relaxed);
  if (n == 0) process_threads = n = usable_cores();
  return scope_threads > 0 ? std::min(n, scope_threads) : n;
}
void set_thread_count(int n) {
  check<ValueError>(n >= 0, "threads: must be at least 1 (or 0 for all cores), got ", n);
  process_threads = n == 0 ? usable_cores() : n;
}
ThreadScope::ThreadScope(int n) : saved_(scope_threads) { scope_threads = std::max(1, n); }
ThreadScope::~ThreadScope() { scope_threads = saved_; }

namespace detail {
void parallel_ranges(std::int64_t n, std::int64_t grain, void* context, RangeFn f) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  auto parts = std::min<std::int64_t>(thread_count(), (n + grain - 1) / grain);
  if (parts <= 1 || inside) return f(context, 0, n);
  std::exception_ptr error;
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
  auto run = [&](std::int64_t p) {
    inside = true;
    try {
      f(context, n * p / parts, n * (p + 1) / parts);
    } catch (...) {
      if (!failed.test_and_set()) error = std::current_exception();
    }
    inside = false;
  };
#if defined(_OPENMP) && !defined(__SANITIZE_THREAD__)
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(parts))
  for (std::int64_t p = 0; p < parts; ++p) run(p);
#else  // ThreadSanitizer does not see libgomp's synchronisation
  std::vector<std::thread> threads;
  for (std::int64_t p = 1; p < parts; ++p) threads.emplace_back(run, p);
  run(0);
  for (auto& t : threads) t.join();
#endif
  if (error) std::rethrow_exception(error);
}
}  // namespace detail
}  // namespace bora
