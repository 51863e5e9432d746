// rank_numbers.h -- the statuses of all ranks as numbers for trackers.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "bora/track/tracker.h"
#include "bora/train/status.h"

namespace bora::training {
std::string message_of(const RankStatus&);
/// Of a message; step -1 if it is none.
RankStatus status_of(const std::string& message);

/// Seconds that each rank has computed in a step since the function was called last, by rank; NaN where nothing new was
/// heard: at one moment ranks have told of one step more or less.
std::function<std::vector<double>()> computed_since_last(std::shared_ptr<const StatusBoard>);

class RankNumbers {
 public:
  /// Of the steps since the last call: rank/compute_seconds/min, median, max, argmax and the others, of ranks that have
  /// told something new; link/bytes and link/wait_seconds; mfu, of steps of `step_seconds`, if their work is known.
  /// None if no rank has.
  track::Values take(const std::vector<RankStatus>& now, double step_seconds);

 private:
  std::vector<RankStatus> before_ = {};
};
}  // namespace bora::training
