// retry_budget.h -- how often an elastic job may be lost without getting further in between. Private.
#pragma once
#include <cstdint>
#include <string>
#include "launch/api/launch.h"

namespace bora::launch {
class RetryBudget {
 public:
  explicit RetryBudget(const Elastic&);
  /// True if the job goes on after this loss, before which a rank had made `step` (-1: unknown). Says so on stderr, or
  /// why not.
  bool goes_on(const std::string& loss, std::int64_t step);

 private:
  const Elastic& elastic_;
  std::string progress_;
  std::int64_t furthest_ = -1;
  int idle_ = 0;  // losses since the job got further
};
}  // namespace bora::launch
