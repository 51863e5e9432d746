// Statuses that ranks tell rank 0, and the time that a rank waits for others.
#include <atomic>
#include "jobs.h"

namespace bora::transport::status_test {
namespace {
using namespace std::chrono_literals;
/// Calls f until it is true, for at most 20 s.
template <class F> bool soon(const F& f) {
  for (int k = 0; k < 2000; ++k) {
    if (f()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}
class Statuses : public testing::TestWithParam<Carrier> {};
INSTANTIATE_TEST_SUITE_P(Carriers, Statuses, testing::Values(Carrier::local, Carrier::tcp, Carrier::shm));
}  // namespace

TEST_P(Statuses, TheNewestOfEachRankArrivesAtRank0) {
  constexpr int n = 3;
  std::atomic<bool> seen{false};
  expect_no_errors(run_ranks(GetParam(), n, [&](Context& c) {
    auto mine = [&](int k) { return "rank " + std::to_string(c.rank()) + " status " + std::to_string(k); };
    EXPECT_EQ(c.told().size(), static_cast<std::size_t>(n));
    for (auto& t : c.told()) EXPECT_TRUE(t.status.empty() || c.rank() == 0);
    for (int k = 0; k < 300; ++k) {
      c.tell(mine(k));
      if (k % 50 == 0) c.barrier(everybody(n));  // statuses travel beside collectives
    }
    if (c.rank() == 0) {
      EXPECT_TRUE(soon([&] {
        auto all = c.told();
        for (int r = 0; r < n; ++r)
          if (all[static_cast<std::size_t>(r)].status != "rank " + std::to_string(r) + " status 299") return false;
        return true;
      }));
      for (auto& t : c.told()) EXPECT_TRUE(t.seconds_ago >= 0 && t.seconds_ago < 20) << t.seconds_ago;
      seen = true;
    } else {
      EXPECT_TRUE(soon([&] { return seen.load(); }));
    }
    c.tell(std::string(Context::kMostStatus, '\0'));
    EXPECT_THROW(c.tell(std::string(Context::kMostStatus + 1, 'x')), ValueError);
    EXPECT_TRUE(c.exchange({}, "still well").size() == static_cast<std::size_t>(n));
    c.leave();
    c.tell("too late");  // is no error
  }));
}
TEST_P(Statuses, WaitsAreCounted) {
  expect_no_errors(run_ranks(GetParam(), 2, [&](Context& c) {
    c.barrier(everybody(2));
    auto before = c.traffic().waited_s;
    EXPECT_EQ(c.traffic().waiting_s, 0);
    std::atomic<bool> over{false};
    double most = 0;
    std::thread other([&] {  // as the thread that tells statuses
      while (!over) {
        most = std::max(most, c.traffic().waiting_s);
        std::this_thread::sleep_for(5ms);
      }
    });
    if (c.rank() == 0) std::this_thread::sleep_for(400ms);
    c.barrier(everybody(2));
    over = true;
    other.join();
    auto waited = c.traffic().waited_s - before;
    if (c.rank() == 0) {
      EXPECT_LT(waited, 0.3);
    } else {
      EXPECT_GT(waited, 0.25);
      EXPECT_GT(most, 0.1);
      EXPECT_LE(most, waited + 1e-3);
    }
    EXPECT_EQ(c.traffic().waiting_s, 0);
  }));
}
}  // namespace bora::transport::status_test
