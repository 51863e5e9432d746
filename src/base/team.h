// team.h -- threads that share one loop. A process has one team per thread that runs loops concurrently; teams are
// kept.
#pragma once
#include <sched.h>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>
#include "bora/base/parallel.h"

namespace bora::detail {
/// Whether this thread runs a range: loops inside a range run on its thread alone.
bool& within_range();

class Team {
 public:
  /// A free team with this thread's affinity, if possible the one it had last; nullptr if there is none. Concurrent
  /// callers share the `threads` of the process: `parts` is lowered to this caller's share.
  static Team* lease(std::int64_t& parts, int threads);
  void give_back();
  /// Calls f(context, begin, end) for `parts` ranges of [0, n). Range p is meant for worker p, range 0 for the caller.
  /// A thread that is done with its own range takes ranges that no thread has begun: a worker that gets no core delays
  /// no other thread. If ranges throw, the exception of the lowest range is rethrown, as a single thread would.
  /// nanoseconds: what the loop is worth, for crowd.h.
  void run(RangeFn f, void* context, std::int64_t n, std::int64_t parts, double nanoseconds);
  /// Lets teams try again to make threads that could not be made. This thread looks for another team: its affinity may
  /// have changed.
  static void try_again();

 private:
  struct alignas(64) Worker {
    std::atomic<std::uint32_t> word{0};  // idle, open, asleep
    bool slept = false;                  // when its range was opened
    int part = 0;
    Team* team = nullptr;
    std::atomic<int> core{-1};          // where it went to sleep
    std::atomic<bool> kept_off{false};  // lacks cores of the team until it has slept
    pid_t thread = 0;
  };
  static void* serve(void* worker);
  void add_workers(std::int64_t parts);
  void await_part(Worker& w);
  void keep_off(int core, std::size_t workers);
  void work(std::int64_t own);
  void run_part(std::int64_t part) noexcept;
  void await_all(double range_nanoseconds);

  RangeFn f_ = nullptr;
  void* context_ = nullptr;
  std::int64_t n_ = 0, parts_ = 0;
  std::uint32_t control_ = 0;  // the caller's floating-point modes, for all ranges
  std::vector<std::unique_ptr<Worker>> workers_;  // of ranges 1, 2, ...
  // Forks before the team was made; the count of try_again calls when threads could not be made.
  unsigned process_ = 0, tried_ = 0;
  int place_ = 0;
  cpu_set_t cores_ = {};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::int64_t error_part_ = 0;
  alignas(64) std::atomic<std::uint32_t> left_{0};  // ranges not begun, ranges not done, whether the caller sleeps
};
}  // namespace bora::detail
