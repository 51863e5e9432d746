// The cores to compute on, read from trees like those of other machines, and shares of them: disjoint, together all,
// and none where there are too few.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include "base/api/cores.h"
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "support/temp_folder.h"

namespace cores_test {
namespace {
using bora::bind_to_share;
cpu_set_t cores() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}
/// On a thread of its own: what is bound stays bound.
template <class F> void apart(F&& f) { std::thread(f).join(); }

namespace fs = std::filesystem;
/// A machine's /sys and /proc, as far as we read them.
struct Machine {
  bora::test::TempFolder temp;
  std::string root = temp / "root";
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root + path).parent_path());
    std::ofstream(root + path) << text << '\n';
  }
  void cpu(int c, const std::string& siblings, int node, const std::string& file = "core_cpus_list") const {
    auto folder = "/sys/devices/system/cpu/cpu" + std::to_string(c);
    write(folder + "/topology/" + file, siblings);
    fs::create_directories(root + folder + "/node" + std::to_string(node));
  }
  std::string cores(const std::vector<int>& cpus) const {
    std::string r;
    for (auto& c : bora::cores_of(cpus, root)) {
      r += r.empty() ? "" : " ";
      r += std::to_string(c.node) + ":";
      for (std::size_t i = 0; i < c.cpus.size(); ++i) r += (i ? "," : "") + std::to_string(c.cpus[i]);
    }
    return r;
  }
  double limit() const { return bora::cgroup_limit(root); }
};
}  // namespace

TEST(Cores, HardwareThreadsOfACoreAreOneAndNodesStayTogether) {
  Machine m;
  for (int c = 0; c < 8; ++c) m.cpu(c, std::to_string(c % 4) + "," + std::to_string(c % 4 + 4), c % 2);
  EXPECT_EQ(m.cores({0, 1, 2, 3, 4, 5, 6, 7}), "0:0,4 0:2,6 1:1,5 1:3,7");
  EXPECT_EQ(m.cores({1, 4, 5}), "0:4 1:1,5");
  EXPECT_EQ(m.cores({4, 0}), "0:4,0");
  EXPECT_EQ(m.cores({}), "");
  for (int c = 0; c < 4; ++c) m.cpu(10 + c, c < 2 ? "10-11" : "12-13", 0, "thread_siblings_list");  // an old Linux
  EXPECT_EQ(m.cores({10, 11, 12, 13}), "0:10,11 0:12,13");
  EXPECT_EQ(m.cores({20, 21}), "0:20 0:21");  // of which nothing is said
}
TEST(Cores, GroupsLimitTimeAtEachLevel) {
  Machine none;
  EXPECT_TRUE(std::isinf(none.limit()));
  Machine m;
  m.write("/proc/self/cgroup", "0::/jobs/one");
  EXPECT_TRUE(std::isinf(m.limit()));
  m.write("/sys/fs/cgroup/jobs/one/cpu.max", "max 100000");
  EXPECT_TRUE(std::isinf(m.limit()));
  m.write("/sys/fs/cgroup/jobs/cpu.max", "350000 100000");
  EXPECT_EQ(m.limit(), 3.5);
  m.write("/sys/fs/cgroup/jobs/one/cpu.max", "200000 100000");
  EXPECT_EQ(m.limit(), 2);
  m.write("/sys/fs/cgroup/cpu.max", "50000 100000");
  EXPECT_EQ(m.limit(), 0.5);
  m.write("/proc/self/cgroup", "no group");
  EXPECT_TRUE(std::isinf(m.limit()));
  m.write("/proc/self/cgroup", "0::/");  // in a container, and that is all it sees
  EXPECT_EQ(m.limit(), 0.5);
  for (auto folder : {"cpu,cpuacct", "cpu"}) {  // version 1
    Machine old;
    old.write("/proc/self/cgroup", "9:name=systemd:/\n4:cpuset:/docker/1f\n3:cpu,cpuacct:/docker/1f\n0::/");
    auto at = std::string("/sys/fs/cgroup/") + folder + "/docker/1f";
    old.write(at + "/cpu.cfs_period_us", "100000");
    old.write(at + "/cpu.cfs_quota_us", "-1");
    EXPECT_TRUE(std::isinf(old.limit()));
    old.write(at + "/cpu.cfs_quota_us", "400000");
    EXPECT_EQ(old.limit(), 4);
  }
}
TEST(Cores, GroupsLimitMemoryAtEachLevel) {
  constexpr std::int64_t mib = 1 << 20;
  Machine m;
  m.write("/proc/meminfo", "MemTotal:   1024000 kB\nMemFree: 1 kB\nMemAvailable:   512000 kB\n");
  auto free = [&](Machine& of) { return bora::free_memory(of.root); };
  EXPECT_EQ(free(m).bytes, 500 * mib);
  EXPECT_EQ(free(m).all, 1000 * mib);
  EXPECT_EQ(free(m).of, "this host");
  m.write("/proc/self/cgroup", "0::/jobs/one");
  m.write("/sys/fs/cgroup/jobs/one/memory.max", "max");
  m.write("/sys/fs/cgroup/jobs/one/memory.current", std::to_string(90 * mib));
  EXPECT_EQ(free(m).of, "this host");
  m.write("/sys/fs/cgroup/jobs/memory.max", std::to_string(300 * mib));
  m.write("/sys/fs/cgroup/jobs/memory.current", std::to_string(200 * mib));
  m.write("/sys/fs/cgroup/jobs/memory.stat", "anon 5\ninactive_file " + std::to_string(mib) + "\nactive_file 0\n");
  EXPECT_EQ(free(m).bytes, 101 * mib);
  EXPECT_EQ(free(m).all, 300 * mib);
  EXPECT_EQ(free(m).of, "the cgroup " + m.root + "/sys/fs/cgroup/jobs");
  m.write("/proc/self/cgroup", "4:memory:/docker/1f\n0::/");  // version 1
  const std::string old = "/sys/fs/cgroup/memory/docker/1f/memory.";
  m.write(old + "limit_in_bytes", std::to_string(200 * mib));
  m.write(old + "usage_in_bytes", std::to_string(201 * mib));
  EXPECT_EQ(free(m).bytes, 0);
  m.write(old + "stat", "inactive_file 3\ntotal_active_file " + std::to_string(2 * mib));
  EXPECT_EQ(free(m).bytes, mib);
  auto here = bora::free_memory();
  EXPECT_GT(here.bytes, 0);
  EXPECT_GT(here.all, here.bytes);
}
TEST(Cores, OneCpuIsOneThread) {
  apart([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(bora::allowed_cpus().back(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(bora::usable_cores(), 1);
    bora::set_thread_count(0);
    EXPECT_EQ(bora::thread_count(), 1);
  });
  bora::set_thread_count(0);
  EXPECT_EQ(bora::thread_count(), bora::usable_cores());
}

TEST(Cores, SharesAreDisjointAndTogetherAll) {
  auto all = cores();
  const int n = static_cast<int>(bora::cores_of(bora::allowed_cpus()).size());
  for (int parts = 1; parts <= n; ++parts) {
    cpu_set_t seen;
    CPU_ZERO(&seen);
    int sum = 0, cpus = 0;
    for (int p = 0; p < parts; ++p)
      apart([&] {
        sum += bind_to_share(p, parts);
        auto mine = cores();
        cpus += CPU_COUNT(&mine);
        CPU_OR(&seen, &seen, &mine);
      });
    EXPECT_EQ(sum, n);
    EXPECT_EQ(cpus, CPU_COUNT(&all));
    EXPECT_TRUE(CPU_EQUAL(&seen, &all)) << parts;
  }
}
/// A rank of an elastic job may get another share: the threads of its loops are on the cores of that one.
TEST(Cores, LoopsFollowTheirThreadToAnotherShare) {
  apart([] {
    auto all = cores();
    if (CPU_COUNT(&all) < 2) return;
    auto of_other_thread = [] {  // that runs the second half of a loop, since the first half waits for it
      cpu_set_t found{};
      std::atomic<bool> begun{false};
      bora::set_thread_count(2);
      auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      bora::parallel_for(2, 1, [&](std::int64_t begin, std::int64_t) {
        if (begin > 0) found = cores(), begun = true;
        while (!begun && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      });
      return found;
    };
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(bora::allowed_cpus().front(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    auto mine = of_other_thread();
    EXPECT_TRUE(CPU_EQUAL(&mine, &one));
    ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
    mine = of_other_thread();
    EXPECT_TRUE(CPU_EQUAL(&mine, &all));
  });
  bora::set_thread_count(0);
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
}  // namespace cores_test
