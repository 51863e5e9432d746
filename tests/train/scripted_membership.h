// scripted_membership.h -- a membership of an elastic job that follows a test's script, in place of a launcher's.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>
#include "bora/train/membership.h"

namespace bora::test {
struct ScriptedMembership final : training::Membership {
  std::int64_t now = 0;           // the generation
  std::int64_t leave_after = -1;  // the step after which the launcher asks this generation to end; -1: none
  std::int64_t drain_after = -1;  // the step after which this process alone is drained; -1: signals tell
  std::vector<int> survivors = {};
  std::function<bool(std::int64_t generation)> has_rank = [](std::int64_t) { return false; };
  std::int64_t made = 0;                                       // the last step
  std::vector<std::pair<std::string, int>> reasons = {};       // of the ends of generations

  std::int64_t generation() const override { return now; }
  std::string job() const override { return "a test"; }
  std::vector<int> heirs() const override { return survivors; }
  void reached(std::int64_t step) override { made = step; }
  bool must_leave(std::int64_t step) override { return leave_after >= 0 && step > leave_after; }
  bool drained(std::chrono::seconds ago) const override {
    return drain_after >= 0 ? made >= drain_after : Membership::drained(ago);
  }
  bool next_generation(const std::string& reason, int missed) override {
    reasons.emplace_back(reason, missed);
    leave_after = -1;
    return has_rank(++now);
  }
};
}  // namespace bora::test
