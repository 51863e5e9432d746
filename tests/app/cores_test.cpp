// Shares of cores: disjoint, together all, and nothing where there are too few.
#include "app/cores.h"
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>
#include <utility>

namespace {
using bora::app::bind_to_share;
cpu_set_t cores() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}
/// On a thread of its own: what is bound stays bound.
template <class F> void apart(F&& f) { std::thread(f).join(); }
}  // namespace

TEST(Cores, SharesAreDisjointAndTogetherAll) {
  auto all = cores();
  for (int parts = 1; parts <= CPU_COUNT(&all); ++parts) {
    cpu_set_t seen;
    CPU_ZERO(&seen);
    int sum = 0;
    for (int p = 0; p < parts; ++p)
      apart([&] {
        sum += bind_to_share(p, parts);
        auto mine = cores();
        CPU_OR(&seen, &seen, &mine);
      });
    EXPECT_EQ(sum, CPU_COUNT(&all));
    EXPECT_TRUE(CPU_EQUAL(&seen, &all)) << parts;
  }
}
TEST(Cores, TooFewAreSharedAndNoSuchPartBindsNothing) {
  apart([] {
    auto all = cores();
    EXPECT_EQ(bind_to_share(0, CPU_COUNT(&all) + 1), 1);
    for (auto [part, parts] : {std::pair{0, 0}, {0, -1}, {-1, 1}, {1, 1}, {7, 1}})
      EXPECT_EQ(bind_to_share(part, parts), 1) << part << " of " << parts;
    auto after = cores();
    EXPECT_TRUE(CPU_EQUAL(&after, &all));
  });
}
