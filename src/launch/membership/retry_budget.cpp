#include "retry_budget.h"
#include <algorithm>
#include <utility>
#include "launch/ranks/outputs.h"
#include "launch/api/ranks.h"

namespace bora::launch {
namespace {
constexpr int kMostIdle = 10;
}  // namespace

RetryBudget::RetryBudget(const Elastic& e) : elastic_(e), progress_(e.max > 0 ? e.progress() : "") {}
bool RetryBudget::goes_on(const std::string& loss, std::int64_t step) {
  auto before = std::exchange(progress_, elastic_.progress());
  bool further = progress_ != before || step > furthest_;
  furthest_ = std::max(furthest_, step);
  idle_ = further ? 0 : idle_ + 1;
  std::string text;
  if (idle_ < kMostIdle) {
    text = "elastic: " + loss + "; going on from " + progress_;
    if (step >= 0) text += "; step " + std::to_string(step) + " was reached";
  } else {
    text = std::string(error_mark) + loss + "; the job was lost " + std::to_string(idle_) +
           " times without getting further";
    if (furthest_ >= 0) text += " than step " + std::to_string(furthest_);
  }
  write_all(2, text + "\n");
  return idle_ < kMostIdle;
}
}  // namespace bora::launch
