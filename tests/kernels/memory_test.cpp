// The memory pool: alignment, reuse, counts, threads.
#include "kernels/api/memory.h"
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>
#include "bora/base/error.h"

namespace bora::kernels::memory_test {
namespace {
std::uintptr_t address(const std::shared_ptr<void>& p) { return reinterpret_cast<std::uintptr_t>(p.get()); }

TEST(Memory, AlignedAndWritableAtEverySize) {
  for (std::size_t bytes :
       {0ul, 1ul, 63ul, 64ul, 65ul, 511ul, 512ul, 513ul, 1000ul, 4096ul, 100001ul, 4194303ul, 4194304ul, 9000001ul}) {
    auto p = allocate(bytes);
    ASSERT_NE(p, nullptr) << bytes;
    EXPECT_EQ(address(p) % (bytes >= 4u << 20 ? 2u << 20 : 64u), 0u) << bytes;
    std::memset(p.get(), 1, bytes);
  }
}
TEST(Memory, FreedBlocksComeBack) {
  for (std::size_t bytes : {100ul, 70000ul, 5000000ul}) {
    auto p = allocate(bytes);
    auto at = address(p);
    p = nullptr;
    EXPECT_EQ(address(allocate(bytes - 3)), at) << bytes;
  }
}
TEST(Memory, LiveBlocksDoNotOverlap) {
  std::vector<std::pair<std::shared_ptr<void>, std::size_t>> live;
  for (int i = 0; i < 2000; ++i) {
    std::size_t bytes = static_cast<std::size_t>(i * 7919 % 5000);
    auto p = allocate(bytes);
    std::memset(p.get(), i & 255, bytes);
    if (i % 3 != 0) live.emplace_back(p, bytes);
    if (i % 5 == 4) live.erase(live.begin() + i % static_cast<int>(live.size()));
  }
  for (const auto& [p, bytes] : live)
    for (std::size_t i = 1; i < bytes; ++i) ASSERT_EQ(static_cast<char*>(p.get())[i], static_cast<char*>(p.get())[0]);
}
TEST(Memory, CountsWhatIsUsedAndKept) {
  trim_pool();
  auto before = pool_use();
  EXPECT_EQ(before.kept, 0u);
  auto p = allocate(1 << 20);
  EXPECT_EQ(pool_use().used, before.used + (1 << 20));
  EXPECT_GE(pool_use().peak, pool_use().used);
  p = nullptr;
  EXPECT_EQ(pool_use().used, before.used);
  EXPECT_EQ(pool_use().kept, 1u << 20);
  trim_pool();
  EXPECT_EQ(pool_use().kept, 0u);
}
TEST(Memory, WasteIsAtMostAnEighth) {
  for (std::size_t bytes = 512; bytes < (3u << 20); bytes = bytes * 9 / 8 + 1) {
    auto before = pool_use().used;
    auto p = allocate(bytes);
    auto got = pool_use().used - before;
    EXPECT_GE(got, bytes);
    EXPECT_LE(got, bytes + bytes / 8);
  }
}
/// Bytes of [p, p + bytes) that are in memory, by whole pages.
std::size_t resident(void* p, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(p) / page * page;
  std::vector<unsigned char> pages((reinterpret_cast<std::uintptr_t>(p) + bytes - begin + page - 1) / page);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), pages.size() * page, pages.data()), 0);
  std::size_t n = 0;
  for (auto x : pages) n += x & 1;
  return n * page;
}
TEST(Memory, FootprintIsWhatWrittenBlocksTake) {
  for (const std::size_t bytes : {4000000ul, 5000000ul, 9000001ul, 14155776ul, 33000000ul, 100000000ul}) {
    trim_pool();
    const auto before = pool_use().used;
    auto p = allocate(bytes);
    const auto block = pool_use().used - before;
    std::memset(p.get(), 1, bytes);
    const auto expected = block_footprint(bytes);
    EXPECT_GE(expected, bytes);
    EXPECT_LE(expected, block);
    const auto taken = resident(p.get(), block);
    EXPECT_GE(taken, bytes) << bytes;
    EXPECT_LE(taken, expected + 2 * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) << bytes;  // of its ends
  }
}
TEST(Memory, ManyThreads) {
  auto before = pool_use().used;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      std::vector<std::shared_ptr<void>> live(16);
      for (int i = 0; i < 20000; ++i) {
        auto& slot = live[static_cast<std::size_t>(i * 31 % 16)];
        ASSERT_EQ(slot ? *static_cast<int*>(slot.get()) : t, t);
        slot = allocate(static_cast<std::size_t>(64 + i % 900));
        *static_cast<int*>(slot.get()) = t;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(pool_use().used, before);
}
/// Small blocks made on one thread and given back on another, also after the one that made them has ended.
TEST(Memory, SmallBlocksWanderBetweenThreads) {
  std::vector<std::uint64_t*> made;
  auto make = [&](std::uint64_t mark) {
    for (std::size_t i = 0; i < 1000; ++i) {
      auto bytes = 8 + i % (kMostSmall - 7);
      auto* p = static_cast<std::uint64_t*>(take_small(bytes));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
      std::memset(p, 0xff, bytes);
      *p = mark + i;
      made.push_back(p);
    }
  };
  for (std::uint64_t round = 0; round < 6; ++round) {
    std::thread([&] { make(round * 1000); }).join();
    make(round * 1000);  // what this thread was given back below
    for (std::size_t i = 0; i < made.size(); ++i) {
      ASSERT_EQ(*made[i], round * 1000 + i % 1000);
      give_small(made[i], 8 + i % 1000 % (kMostSmall - 7));
    }
    made.clear();
  }
}
TEST(Memory, RefusesWhatCannotBe) { EXPECT_THROW(allocate(static_cast<std::size_t>(-8)), Error); }
#if defined(__SANITIZE_ADDRESS__)
TEST(MemoryDeathTest, UseAfterFreeIsSeen) {
  EXPECT_DEATH(
      {
        auto p = allocate(256);
        auto* x = static_cast<volatile char*>(p.get());
        p = nullptr;
        x[100] = 1;
      },
      "use-after-poison");
}
#endif
}  // namespace
}  // namespace bora::kernels::memory_test
