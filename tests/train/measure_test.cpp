// Times of kernels on all cores of this process: laws over made-up kernels, which say how long they took.
#include "train/measure.h"
#include <gtest/gtest.h>
#include <sched.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>
#include "bora/array/communicator.h"
#include "bora/base/parallel.h"
#include "bora/train/plan.h"
#include "bora/base/error.h"

namespace measure_test {
using namespace bora;

namespace {
using Event = Work::Event;
struct Threads {
  explicit Threads(int n) { set_thread_count(n); }
  ~Threads() { set_thread_count(0); }
};
/// Ends once so many threads have come.
struct Meeting {
  std::size_t expected;
  std::mutex lock = {};
  std::condition_variable all = {};
  std::vector<std::thread::id> came = {};
  std::set<std::size_t> memory = {};
  bool met = true;
  /// The place of this thread among those that came.
  std::size_t operator()(std::size_t bytes) {
    std::unique_lock held(lock);
    auto n = came.size();
    came.push_back(std::this_thread::get_id());
    memory.insert(bytes);
    all.notify_all();
    auto here = [&] { return came.size() % expected == 0; };
    if (n < expected) met = all.wait_for(held, std::chrono::seconds(60), here) && met;
    return n;
  }
};
}  // namespace

TEST(KernelTimes, AreThoseOfTheCoreThatTakesLongest) {
  Threads three(3);
  Meeting first{3};
  std::mutex lock;
  std::map<std::thread::id, std::size_t> core;
  Work work;
  work.kernels.push_back({"a", 1, 1, [&](std::size_t memory) {
                            auto n = first(memory);
                            std::lock_guard held(lock);
                            core[std::this_thread::get_id()] = n;
                            return std::vector<double>{1, 2, 3}[n];
                          }});
  work.kernels.push_back({"b", 2, 1, [&](std::size_t) {
                            std::lock_guard held(lock);
                            return std::vector<double>{5, 1, 2}[core.at(std::this_thread::get_id())];
                          }});
  work.kernels.push_back(work.kernels[0]);  // the same again
  work.events = {{Event::Kind::kernel, 0}, {Event::Kind::kernel, 1}, {Event::Kind::kernel, 2}};
  auto rank = Mesh::abstract({{"data", 2}}, {}, 1);
  KernelTimes times(1);
  EXPECT_EQ(times.of(work, rank), (std::vector<double>{3, 2, 3}));  // of 7, 5 and 8 in all
  EXPECT_TRUE(first.met);
  EXPECT_EQ(first.came.size(), 3u);
  // Known kernels are not measured again, and how often a kernel runs counts.
  work.events[1].times = 4;
  EXPECT_EQ(times.of(work, rank), (std::vector<double>{1, 5, 1}));  // of 22, 8 and 14
  EXPECT_EQ(first.came.size(), 3u);
}
TEST(KernelTimes, ShareTheMemoryOfAsManyThreadsAsHostsHaveRanksOnACore) {
  Threads two(2);
  auto rank = Mesh::abstract({{"data", 2}}, {});
  auto measured = [&](double share, std::size_t expected) {
    Meeting m{expected};
    Work work;
    work.kernels.push_back({"a", 1, 1, [&](std::size_t memory) { return m(memory), 1.0; }});
    work.events = {{Event::Kind::kernel, 0}};
    EXPECT_EQ(KernelTimes(share).of(work, rank), std::vector<double>{1});
    EXPECT_TRUE(m.met);
    EXPECT_EQ(m.came.size(), expected) << share;
    EXPECT_EQ(m.memory.size(), 1u);
    return *m.memory.begin() * expected;
  };
  auto all = measured(1, 2);
  EXPECT_EQ(measured(16, 2), all);
  EXPECT_EQ(measured(0.9, 2), all);
  EXPECT_EQ(measured(0.5, 4), all);
  EXPECT_EQ(measured(0.001, 8), all);
  set_thread_count(6);
  EXPECT_EQ(measured(0.1, 12), all);
  set_thread_count(20);
  (void)measured(1, 16);  // each has the least
  (void)measured(0.5, 16);
}
TEST(KernelTimes, AKernelThatFailsIsAnErrorOfTheCall) {
  Threads two(2);
  std::atomic<int> calls = 0;
  Work work;
  work.kernels.push_back({"a", 1, 1, [&](std::size_t) -> double {
                            if (++calls == 1) throw ValueError("no such kernel");
                            return 1;
                          }});
  work.kernels.push_back({"b", 1, 1, [](std::size_t) { return 1.0; }});
  work.events = {{Event::Kind::kernel, 0}, {Event::Kind::kernel, 1}};
  auto rank = Mesh::abstract({{"data", 2}}, {});
  KernelTimes times(1);
  EXPECT_THROW(times.of(work, rank), ValueError);
  EXPECT_EQ(times.of(work, rank), (std::vector<double>{1, 1}));
}
TEST(KernelTimes, KernelsRunAsTheirRank) {
  Threads two(2);
  Work work;
  work.kernels.push_back({"a", 1, 1, [](std::size_t) { return 1.0 + here().rank; }});
  work.events = {{Event::Kind::kernel, 0}};
  EXPECT_EQ(KernelTimes(1).of(work, Mesh::abstract({{"data", 8}}, {}, 5)), std::vector<double>{6});
}
/// Two threads on one core have half of it each, if nothing else runs there.
TEST(CoreShare, IsWhatIsLeftOfACore) {
  Threads two(2);
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int c = 0; c < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++c)
    if (CPU_ISSET(c, &before)) CPU_SET(c, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  auto share = core_share(0.2);
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_GE(share, 0.01);
  EXPECT_LE(share, 0.6);
}
}  // namespace measure_test
