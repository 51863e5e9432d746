// slow_ranks.h -- finds the ranks that the others wait for.
#pragma once
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "bora/train/status.h"

namespace bora::training {
/// A rank is slow if it computes for more than 1.15 times as long as the median rank over the last 50 steps, and 10
/// seconds; waits for others and for rows do not count. It must be so in four fifths of that time, so that a single
/// pause blames nobody, and also for the same work, as ranks may have unequal parts of a batch or of a model.
class SlowRanks {
 public:
  struct Slow {
    int rank = -1;
    std::string text = {};
    double times = 0;  // the median's compute
  };
  /// now: seconds of a clock that only goes forward. The slowest of the slow ones, if there are any.
  std::optional<Slow> look(double now, std::span<const RankStatus> ranks);
  /// Of the slowest rank over the last window; 0: not known yet.
  double worst() const { return worst_; }

 private:
  struct Mark {
    double now = 0;
    std::vector<RankStatus> ranks = {};
  };
  std::deque<Mark> marks_ = {};  // ends of slices
  double worst_ = 0;
};
/// "rank 3 (host b)"
std::string name_of(int rank, const RankStatus&);
/// The middle one, or the mean of the two in the middle; 0 of none.
double median(std::vector<double>);
}  // namespace bora::training
