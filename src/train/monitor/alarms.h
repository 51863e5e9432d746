// alarms.h -- what is wrong with a run, by the numbers that its rank 0 has. Knows neither clocks nor files: whoever
// calls it tells the time.
#pragma once
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "bora/train/status.h"
#include "train/monitor/slow_ranks.h"

namespace bora::training {
/// Each alarm is given once when it begins to hold, and again only after it has ceased to.
class Alarms {
 public:
  struct Step {
    std::int64_t step = 0;
    double now = 0;  // seconds of a clock that only goes forward
    double loss = 0, tokens_per_second = 0;
    double seconds = 0;  // since the step before, or since what the run did behind that
  };
  /// After each step.
  std::vector<Alert> after(const Step&);
  struct Moment {
    double now = 0;
    std::span<const RankStatus> ranks = {};
    std::span<const double> heard = {};                   // by rank: seconds since its status came
    double in_step = -1;                                  // seconds in the present step or its reading; -1: in neither
    double save_age = 0, save_limit = 0;                  // of the newest checkpoint; a limit of 0: none
    std::int64_t disk_free = -1, save_bytes = 0;          // -1: not known; of one checkpoint
    double seconds_left = 0;                              // until the end of the run
  };
  /// About once a second.
  std::vector<Alert> at(const Moment&);
  /// Of an event that the loop itself has found.
  Alert event(const std::string& kind, const std::string& text, int rank = -1);
  /// Those that hold now; an event holds for ten minutes.
  std::vector<Alert> holding(double now) const;

 private:
  struct Held {
    Alert alert;
    double since = 0, until = 0;  // 0: until it is cleared
  };
  bool holds(const std::string& kind) const;
  void raise(std::vector<Alert>& to, const std::string& kind, const std::string& text, int rank = -1);
  void clear(const std::string& kind);
  void look_at_loss(const Step&, std::vector<Alert>&);
  void look_at_rate(const Step&, std::vector<Alert>&);
  void look_at_disk(const Moment&, std::vector<Alert>&);
  void look_at_memory(const Moment&, std::vector<Alert>&);
  std::string who_is_late(const Moment&) const;

  std::vector<Held> held_ = {};
  double now_ = 0;
  std::int64_t step_ = 0;
  std::deque<double> losses_ = {};
  std::deque<double> seconds_ = {};  // of steps
  struct Rate {
    double now = 0, tokens = 0, seconds = 0;
    std::int64_t steps = 0;
    double rate() const { return tokens / seconds; }
  };
  std::deque<Rate> rates_ = {};
  double usual_rate_ = 0;  // before it fell
  SlowRanks slow_ = {};
  int slow_rank_ = -1;
  struct Disk {
    double now = 0;
    std::int64_t least = 0;  // free bytes in this minute
  };
  std::deque<Disk> disk_ = {};
  std::vector<int> full_ = {};  // by rank: moments with little memory
};
}  // namespace bora::training
