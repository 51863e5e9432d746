// status.h -- a run as rank 0 sees it: what every rank says about itself, and what is wrong.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace bora::training {
/// What a rank says about itself, as bytes of this size about once a second. Totals begin with its process.
struct RankStatus {
  enum class At : std::int64_t { other, reading, step };  // other: an evaluation, a checkpoint, the start
  char host[64] = {};
  std::int64_t step = -1;    // updates made; -1: nothing was heard of the rank
  std::int64_t counted = 0;  // steps that the next three are of: all but the first of its process, which is compiled
  double compute_seconds = 0, wait_seconds = 0, read_seconds = 0;  // waits: for other ranks; the first is without both
  At at = At::other;
  double at_seconds = 0;       // it has been there
  double blocked_seconds = 0;  // it has waited for other ranks now; 0: it does not
  std::int64_t sent_bytes = 0, rss_bytes = 0, major_faults = 0;
  std::int64_t memory_used = 0, memory_all = 0;  // of its host or cgroup, whichever has less left
  double cpu_seconds = 0, throttled_seconds = 0, steal_seconds = 0, mhz = 0;
  double flops = 0, peak_flops = 0;  // of a step; of products in a second, measured at the start
};
/// Something is wrong.
struct Alert {
  std::string kind = {}, text = {};  // "slow_rank"; a sentence
  int rank = -1;                     // that it is about
  std::int64_t step = 0;
  double time = 0;  // seconds (UTC), of an event; 0 in RunStatus
};
/// Times are seconds (UTC).
struct RunStatus {
  std::int64_t step = 0, steps = 0;
  double loss = 0, tokens_per_second = 0, step_seconds = 0;  // of the last step
  double begun = 0;                                          // the first step of the run, before all restarts
  double last_step = 0;
  double goodput = 0, mfu = 0;
  std::vector<RankStatus> ranks = {};
  std::vector<double> heard = {};   // by rank: seconds since its status came
  std::vector<Alert> alerts = {};   // that hold
};
/// The newest RunStatus. The loop of rank 0 writes it, once a second and after each step; others may read it at any
/// time, from any thread.
class StatusBoard {
 public:
  RunStatus newest() const {
    std::lock_guard lock(mutex_);
    return now_;
  }
  template <class F> void change(const F& f) {
    std::lock_guard lock(mutex_);
    f(now_);
  }

 private:
  mutable std::mutex mutex_;
  RunStatus now_ = {};
};
}  // namespace bora::training
