#include "io/api/jobs.h"
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <xmmintrin.h>
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include "bora/base/parallel.h"

namespace bora::io {
namespace {
constexpr std::int64_t kWorthThreads = 4 << 20;  // bytes: a ms or more, of which waking a thread is a small part

/// The jobs that no thread has begun, in order, and the first failure.
class Queue {
 public:
  explicit Queue(const std::vector<Job>& jobs) : jobs_(jobs), failed_(jobs.size()) {}
  void work() {
    // Denormal numbers are kept or flushed as on the caller's thread.
    const auto before = _mm_getcsr();
    _mm_setcsr(modes_);
    for (auto i = next_++; i < failed_; i = next_++) {
      try {
        jobs_[i].run();
      } catch (...) { fail(i); }
    }
    _mm_setcsr(before);
  }
  void finish() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void fail(std::size_t i) {
    std::lock_guard lock(mutex_);
    if (i >= failed_) return;
    failed_ = i;
    error_ = std::current_exception();
  }
  const std::vector<Job>& jobs_;
  const unsigned modes_ = _mm_getcsr();
  std::atomic<std::size_t> next_{0}, failed_;  // failed_: jobs from it on are not begun
  std::mutex mutex_ = {};
  std::exception_ptr error_ = {};
};

void run(const std::vector<Job>& jobs) {
  std::int64_t bytes = 0;
  for (auto& job : jobs) bytes += job.bytes;
  // oneTBB warns of an arena with more threads than the process has cores.
  auto threads = std::min(thread_count(), tbb::info::default_concurrency());
  threads = static_cast<int>(std::min(static_cast<std::size_t>(threads), jobs.size()));
  if (threads < 2 || bytes < kWorthThreads) {
    for (auto& job : jobs) job.run();
    return;
  }
  Queue queue(jobs);
  tbb::task_arena(threads).execute([&] {
    tbb::task_group group;
    try {
      for (int t = 1; t < threads; ++t) group.run([&] { queue.work(); });
    } catch (const std::exception&) {}  // oneTBB has the task but no thread for it: wait() runs it here
    queue.work();
    group.wait();
  });
  queue.finish();
}
}  // namespace

void run_jobs(const std::function<void(std::vector<Job>& jobs)>& list) {
  std::vector<Job> jobs;
  std::exception_ptr error;
  try {
    list(jobs);
  } catch (...) { error = std::current_exception(); }
  run(jobs);
  if (error) std::rethrow_exception(error);
}
}  // namespace bora::io
