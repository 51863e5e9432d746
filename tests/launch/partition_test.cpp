// Which host an elastic job goes on without when all ranks live and do not meet.
#include "launch/membership/partition.h"
#include <gtest/gtest.h>
#include "launch/api/tunnel.h"
#include "launch/membership/joining_hosts.h"

namespace partition_test {
using bora::launch::Partition;

namespace {
/// Hosts a, b, .. with so many ranks each, of which the first rank is where they meet; that host reaches no other. Each
/// of the others misses rank 0 if it cannot reach it, and rank 0 the first that it lacks.
Partition cut_off(std::size_t hosts, int ranks, std::size_t cut) {
  Partition a;
  a.begin();
  auto n = static_cast<int>(hosts) * ranks;
  auto host = [&](int rank) { return static_cast<std::size_t>(rank / ranks); };
  for (int r = 0; r < n; ++r) a.has(std::string(1, static_cast<char>('a' + host(r))));
  a.misses(0, cut == 0 ? ranks : static_cast<int>(cut) * ranks);
  for (int r = 1; r < n; ++r) {
    bool reaches = host(r) == 0 || (cut != 0 && host(r) != cut);
    a.misses(r, reaches ? -1 : 0);
  }
  return a;
}
}  // namespace

TEST(Partition, TheHostThatReachesNobodyIsLeftOut) {
  for (std::size_t hosts = 2; hosts < 6; ++hosts)
    for (int ranks : {1, 3})
      for (std::size_t cut = 0; cut < hosts; ++cut) {
        auto expected = hosts == 2 ? 1 : cut;  // of two either will do
        EXPECT_EQ(cut_off(hosts, ranks, cut).host(), std::string(1, static_cast<char>('a' + expected)))
            << hosts << " hosts, " << cut;
      }
}
TEST(Partition, WhoCannotMeetAnybodyIsLeftOutWhoeverMissesOthers) {
  for (int self = 0; self < 5; ++self) {
    Partition a;
    a.begin();
    for (auto* host : {"a", "b", "c", "d", "e"}) a.has(host);
    for (int r = 0, other = (self + 1) % 5; r < 5; ++r) a.misses(r, r == self ? r : r == other ? -1 : other);
    EXPECT_EQ(a.host(), std::string(1, static_cast<char>('a' + self)));
  }
}
TEST(Partition, NobodyIsWhenTheyHaveMetOrDoNotKnow) {
  auto a = cut_off(3, 2, 2);
  a.reached();
  EXPECT_EQ(a.host(), "");
  a.begin();
  EXPECT_EQ(a.host(), "");
  for (int r = 0; r < 4; ++r) a.has(r < 2 ? "a" : "b");
  for (auto [rank, lost] : {std::pair{0, 1}, {3, 2}, {2, -1}, {1, 4}, {9, 0}}) a.misses(rank, lost);  // of one host
  EXPECT_EQ(a.host(), "");
}
TEST(Partition, PausesGrow) {
  Partition a;
  std::chrono::seconds before(0);
  for (int k = 0; k < 4; ++k) {
    auto now = a.pause("a");
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_EQ(a.pause("b"), std::chrono::seconds(30));
  for (int k = 0; k < 40; ++k) EXPECT_LE(a.pause("a"), std::chrono::seconds(480));
  // A host that listens for the launcher (a pod) waits longer than the job does without it.
  EXPECT_LT(a.pause("a") + bora::launch::kMostToConnect, std::chrono::seconds(bora::launch::Patience{}.next_s));
}
TEST(Partition, PausesOutliveTheRanks) {
  Partition a;
  EXPECT_EQ(a.left("a"), std::chrono::seconds(0));
  auto pause = a.pause("a");
  a.begin();
  EXPECT_GT(a.left("a"), pause / 2);
  EXPECT_LE(a.left("a"), pause);
  EXPECT_EQ(a.left("b"), std::chrono::seconds(0));
}
}  // namespace partition_test
