// The law of which checkpoints stay: any history of commits, pins and removals leaves what a short model leaves, and
// what has gone is never wanted again.
#include "io/api/retention.h"
#include <gtest/gtest.h>
#include <cmath>
#include <cstdlib>
#include <random>

namespace keep_test {
using namespace bora::io;

/// Whether the i-th stays, said of it alone.
bool stays(const Keep& keep, const std::vector<Kept>& all, std::size_t i) {
  auto& c = all[i];
  auto before = [&](auto f) { return std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), f); };
  if (c.pinned || all.size() - i <= static_cast<std::size_t>(std::max<std::int64_t>(keep.last, 2))) return true;
  if (keep.every > 0 && c.step >= keep.every &&
      !before([&](auto& o) { return o.step / keep.every >= c.step / keep.every; }))
    return true;
  if (keep.hours > 0) {
    double since = all[0].time;
    if (i == 0) return true;
    for (std::size_t k = 1; k <= i; ++k) {
      if (std::fabs(all[k].time - since) < 3600 * keep.hours) continue;
      if (k == i) return true;
      since = all[k].time;
    }
  }
  auto value = [&](const Kept& k) {
    auto found = k.metrics.find(keep.best.metric);
    return found == k.metrics.end() ? NAN : keep.best.max ? -found->second : found->second;
  };
  if (!std::isfinite(value(c))) return false;
  std::int64_t better = 0;
  for (std::size_t k = 0; k < all.size(); ++k)
    better += std::isfinite(value(all[k])) && (value(all[k]) < value(c) || (value(all[k]) == value(c) && k < i));
  return better < keep.best.n;
}
std::vector<std::int64_t> steps_of(const std::vector<Kept>& all) {
  std::vector<std::int64_t> steps;
  for (auto& c : all) steps.push_back(c.step);
  return steps;
}
std::vector<Kept> after(const Keep& keep, std::vector<Kept> all) {
  auto why = why_they_stay(keep, all);
  EXPECT_EQ(why.size(), all.size());
  std::vector<Kept> left;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!why[i].empty()) left.push_back(all[i]);
  return left;
}

TEST(Keep, AnyHistoryLeavesWhatTheModelLeaves) {
  const char* laws = std::getenv("BORA_LAWS");
  const int histories = laws && std::string(laws) == "full" ? 100'000 : 10'000;
  std::mt19937 random(63);
  auto below = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
  for (int history = 0; history < histories && !::testing::Test::HasFailure(); ++history) {
    Keep keep{.last = 1 + below(4), .every = below(2) * (1 + below(12))};
    keep.hours = static_cast<double>(below(2) * below(9));
    keep.best = {.metric = "eval/loss", .max = below(2) == 1, .n = below(4)};
    bool calm = below(2) == 0;  // nobody pins or removes
    std::vector<Kept> there, ever;
    std::int64_t step = 0;
    double time = 1e9;
    for (auto left = 2 + below(10); left > 0; --left) {
      step += 1 + below(7);
      time += calm || below(9) ? 600.0 * static_cast<double>(below(30)) : -86400.0;  // a clock that is set back
      Kept now{.step = step, .time = time};
      if (below(3)) now.metrics["eval/loss"] = below(12) ? static_cast<double>(below(6)) : NAN;
      if (below(5) == 0) now.metrics["eval/macro_loss"] = 1;
      there.push_back(now), ever.push_back(now);
      if (!calm && below(4) == 0) there[static_cast<std::size_t>(below(unsigned(there.size())))].pinned ^= true;
      if (!calm && below(8) == 0) there.erase(there.begin() + below(unsigned(there.size())));
      if (below(5) == 0) continue;  // not removed in time: the next commit sees to it
      std::vector<Kept> model;
      for (std::size_t i = 0; i < there.size(); ++i)
        if (stays(keep, there, i)) model.push_back(there[i]);
      auto left_over = after(keep, there);
      ASSERT_EQ(steps_of(left_over), steps_of(model)) << "history " << history << ", step " << step;
      auto tail = [](const std::vector<Kept>& of) {  // the newest two
        auto steps = steps_of(of);
        return std::vector<std::int64_t>(steps.end() - std::min<std::ptrdiff_t>(2, std::ssize(steps)), steps.end());
      };
      ASSERT_EQ(tail(left_over), tail(there));
      ASSERT_EQ(steps_of(after(keep, left_over)), steps_of(left_over)) << "it is no fixed point";
      there = left_over;
    }
    // Whoever had removed nothing until now would keep the same.
    if (calm) {
      ASSERT_EQ(steps_of(after(keep, there)), steps_of(after(keep, ever))) << "history " << history;
    }
  }
}
TEST(Keep, TheReasonsAreNamed) {
  std::vector<Kept> all;
  for (int i = 0; i < 8; ++i) all.push_back({.step = 10 * i, .time = 1800.0 * i, .metrics = {{"eval/loss", 8 - i}}});
  all[1].pinned = true;
  all[2].metrics["eval/loss"] = 0;
  EXPECT_EQ(why_they_stay({.last = 1, .every = 25, .hours = 2, .best = {.metric = "eval/loss", .n = 2}}, all),
            (std::vector<std::string>{"hours", "pinned", "best", "every", "hours", "every", "last", "last best"}));
}
}  // namespace keep_test
