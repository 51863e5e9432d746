// Snapshots in memory: after one rank is lost, whichever, the others have all blocks, for a mesh of any size.
#include "train/api/memory_checkpoint.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include "bora/bora.h"
#include "bora/io/tree.h"
#include "bora/train/trainer.h"
#include "bora/transport/transport.h"
#include "io/api/parts.h"
#include "train/memory_checkpoint_state.h"

namespace memory_checkpoint_test {
using namespace bora;
using bora::training::MemoryCheckpoint;

namespace {
using test::kSplit;
using test::numbers;
using test::State;
constexpr std::int64_t kLong = 300'001;
State state(float base) { return test::state_of(base, kLong); }
std::vector<float> expected(float base) { return numbers(state(base)); }

/// Calls f on each rank of a mesh, with what its process holds: a process of an earlier mesh, or a new one.
void each_rank(const std::vector<MemoryCheckpoint*>& held, const AxisMapping& split,
               const std::function<void(const Mesh&, MemoryCheckpoint&)>& f) {
  local_mesh({{"data", static_cast<int>(held.size())}}, [&](const Mesh& mesh) {
    UseMapping by(split);
    f(mesh, *held[static_cast<std::size_t>(mesh.rank())]);
  });
}
void each_rank(const std::vector<MemoryCheckpoint*>& held,
               const std::function<void(const Mesh&, MemoryCheckpoint&)>& f) {
  each_rank(held, kSplit, f);
}
void take(std::vector<MemoryCheckpoint>& of, std::int64_t step, float base) {
  std::vector<MemoryCheckpoint*> held;
  for (auto& s : of) held.push_back(&s);
  each_rank(held, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
    auto now = state(base);
    mine.take(mesh, step, tree::node(now), "note " + std::to_string(step));
  });
}
}  // namespace

TEST(MemoryCheckpoint, EveryLostRankIsMadeGoodOnEveryMesh) {
  auto wanted = expected(7);
  for (std::size_t n = 2; n <= 4; ++n)
    for (std::size_t lost = 0; lost < n; ++lost)
      for (std::size_t next = 1; next <= 5; ++next) {
        SCOPED_TRACE(std::to_string(lost) + " of " + std::to_string(n) + ", then " + std::to_string(next));
        std::vector<MemoryCheckpoint> before(n), fresh(next);
        take(before, 10, 3);
        take(before, 20, 7);
        std::vector<MemoryCheckpoint*> held;
        for (std::size_t r = 0; r < n; ++r)
          if (r != lost) held.push_back(&before[r]);
        if (held.size() > next) continue;  // survivors that leave take their parts along
        for (std::size_t r = 0; held.size() < next; ++r) held.push_back(&fresh[r]);
        each_rank(held, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
          auto found = mine.find(mesh);
          EXPECT_EQ(found.step, 20);
          EXPECT_EQ(found.lost, "");
          auto s = state(0);
          EXPECT_EQ(mine.restore(mesh, found, tree::node(s)), "note 20");
          EXPECT_EQ(numbers(s), wanted);
        });
      }
}
/// With layout dp a rank makes the copy of another one's part from what it has itself, and after a loss gets what it
/// lacks, once.
TEST(MemoryCheckpoint, WhatARankHasIsNotSentToIt) {
  auto wanted = expected(7);
  auto tall = static_cast<std::uint64_t>(kLong) * sizeof(float);  // all of the state but some numbers
  constexpr std::uint64_t few = 20'000;
  for (std::size_t lost = 0; lost < 3; ++lost) {
    SCOPED_TRACE("rank " + std::to_string(lost));
    std::vector<MemoryCheckpoint> before(3);
    std::atomic<std::uint64_t> sent = 0, received = 0, lack = 0;
    each_rank({&before[0], &before[1], &before[2]}, {}, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
      auto s = state(7);
      auto already = mesh.context().traffic().bytes_sent;
      mine.take(mesh, 10, tree::node(s), "");
      sent += mesh.context().traffic().bytes_sent - already;
    });
    EXPECT_LT(sent, few);
    std::vector<MemoryCheckpoint*> held;
    for (std::size_t r = 0; r < 3; ++r)
      if (r != lost) held.push_back(&before[r]);
    each_rank(held, {}, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
      auto found = mine.find(mesh);
      for (std::size_t part = 0; part < 3; ++part) {
        auto& by = found.holders[part];
        bool has = std::find(by.begin(), by.end(), mesh.rank()) != by.end();
        if (static_cast<std::uint64_t>(found.sizes[part]) > tall && !has) ++lack;
      }
      auto s = state(0);
      auto already = mesh.context().traffic().bytes_received;
      mine.restore(mesh, found, tree::node(s));
      received += mesh.context().traffic().bytes_received - already;
      EXPECT_EQ(numbers(s), wanted);
    });
    EXPECT_LT(received, lack * tall + few);
  }
}
TEST(MemoryCheckpoint, WithoutARankAndItsCopyNoneIsWhole) {
  std::vector<MemoryCheckpoint> before(4);
  take(before, 10, 3);
  MemoryCheckpoint fresh[2];
  each_rank({&before[0], &fresh[0], &fresh[1], &before[3]}, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
    auto found = mine.find(mesh);
    EXPECT_FALSE(found.whole());
    EXPECT_EQ(found.lost,
              "the snapshot of step 10 is not whole: the blocks of rank 1 of 4 were lost with their copies");
  });
  each_rank({&before[0], &fresh[0], &before[2], &fresh[1]}, [&](const Mesh& mesh, MemoryCheckpoint& mine) {
    EXPECT_EQ(mine.find(mesh).step, 10);  // neighbours did not go at once
  });
}
TEST(MemoryCheckpoint, TheirMemoryIsKnownBefore) {
  constexpr std::int64_t description = 2000;  // of a part at most: paths, shapes, checksums
  for (auto& split : {kSplit, AxisMapping{}})
    for (int n : {1, 2, 3, 4})
      local_mesh({{"data", n}}, [&](const Mesh& mesh) {
        UseMapping by(split);
        auto s = state(7);
        Arrays keep;
        auto leaves = io::leaves_of(tree::node(s), "", keep);
        auto part = std::ssize(io::pack_part(leaves, place_of(mesh)));
        auto bytes = io::part_bytes(leaves, mesh.shape(), mesh.rank());
        EXPECT_GE(part, bytes);
        EXPECT_LT(part, bytes + description);
        for (int each : {0, 1, 2}) {
          if (each > 0 && n % each != 0) continue;
          std::vector<std::string> hosts;
          for (int r = 0; r < n; ++r) hosts.push_back(std::to_string(each == 0 ? 0 : r / each));
          auto holders = training::holders_of_copies(hosts);
          std::int64_t kept = bytes;
          for (int r = 0; r < n; ++r)
            if (r != mesh.rank() && holders[static_cast<std::size_t>(r)] == mesh.rank())
              kept += io::part_bytes(leaves, mesh.shape(), r);
          EXPECT_EQ(training::snapshot_bytes(leaves, mesh.shape(), each, mesh.rank(), false), kept);
          if (n == 1) continue;
          EXPECT_EQ(training::snapshot_bytes(leaves, mesh.shape(), each, mesh.rank(), true), 2 * kept);
        }
      });
}
TEST(MemoryCheckpoint, CopiesAreOnOtherHosts) {
  using training::holders_of_copies;
  EXPECT_EQ(holders_of_copies({"a"}), (std::vector<int>{0}));
  EXPECT_EQ(holders_of_copies({"a", "a", "a"}), (std::vector<int>{1, 2, 0}));
  EXPECT_EQ(holders_of_copies({"a", "a", "b", "b"}), (std::vector<int>{2, 3, 0, 1}));
  EXPECT_EQ(holders_of_copies({"a", "a", "a", "b", "b"}), (std::vector<int>{3, 4, 3, 0, 1}));
  EXPECT_EQ(holders_of_copies({"a", "b", "c"}), (std::vector<int>{1, 2, 0}));
}
}  // namespace memory_checkpoint_test
