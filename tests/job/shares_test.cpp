// Shares by the ranks' speed.
#include "bora/job/auto_shares.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <numeric>
#include <random>

namespace shares_test {
using namespace bora;
using job::RankSpeed, job::shares_for;

TEST(SharesFor, SpeedsInProportion) {
  EXPECT_EQ(shares_for({{0, 1}, {0, 1}, {0, 1}}, 300, 192), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(shares_for({{0, 1}, {0, 1.04}}, 200, 128), (std::vector<int>{1, 1})) << "little to gain";
  EXPECT_EQ(shares_for({{0, 1}, {0, 1.2}}, 8, 8), (std::vector<int>{1, 1})) << "4.4 and 3.6 rows are 4 and 4";
  EXPECT_EQ(shares_for({{0, 1}, {0, 3}}, 200, 128), (std::vector<int>{96, 32}));
  EXPECT_EQ(shares_for({{0, 1}, {0, 3}}, 8, 8), (std::vector<int>{6, 2}));
  EXPECT_EQ(shares_for({{0, 1}, {0, 1}, {0, 1.5}, {0, 3}}, 1000, 256), (std::vector<int>{85, 85, 57, 29}));
  EXPECT_EQ(shares_for({{10, 1}, {0, 1}}, 100, 100), (std::vector<int>{45, 55}));
  EXPECT_EQ(shares_for({{0, 1}, {0, 1000}, {0, 1000}}, 6, 6), (std::vector<int>{4, 1, 1})) << "one each at least";
}
/// The shares are as many as asked for, and a step ends later than the best one by less than a unit of the slowest
/// rank and what is not worth unequal shares.
TEST(SharesFor, EndTogether) {
  std::mt19937 g(1);
  std::uniform_real_distribution<double> fixed(0, 20), row(0.05, 2);
  for (int turn = 0; turn < 300; ++turn) {
    std::vector<RankSpeed> speeds(2 + static_cast<std::size_t>(turn) % 7);
    for (auto& s : speeds) s = {fixed(g), row(g)};
    const double rows = 4096;
    const auto units = 64 * static_cast<std::int64_t>(speeds.size());
    auto shares = shares_for(speeds, 4096, units);
    double all = std::accumulate(shares.begin(), shares.end(), 0), last = 0, slowest = 0, done = 0;
    EXPECT_TRUE(all == static_cast<double>(units) || all == static_cast<double>(speeds.size()));
    for (std::size_t r = 0; r < speeds.size(); ++r) {
      EXPECT_GE(shares[r], 1);
      last = std::max(last, speeds[r].fixed + rows * shares[r] / all * speeds[r].row);
      slowest = std::max(slowest, speeds[r].row);
    }
    auto best = last / 1.05 - slowest * rows / static_cast<double>(units);
    for (auto& s : speeds) done += std::max(0.0, best - s.fixed) / s.row;
    EXPECT_LT(done, rows) << "in less time not all rows are done, turn " << turn;
  }
}
}  // namespace shares_test
