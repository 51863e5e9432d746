// parallel_for: every iteration once, whatever the number of threads, callers, exceptions and forks, and where threads
// cannot be made.
#include "bora/base/parallel.h"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>
#include "bora/base/error.h"

namespace parallel_test {
namespace {
std::atomic<int> threads_left{1 << 30};  // that pthread_create makes
}
/// In front of the system's, for this process only.
extern "C" int pthread_create(pthread_t* t, const pthread_attr_t* a, void* (*f)(void*), void* x) noexcept {
  static auto* real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return threads_left.fetch_sub(1) > 0 ? real(t, a, f, x) : EAGAIN;
}

namespace {
using namespace bora;
using namespace std::chrono_literals;
using I = std::int64_t;

/// Threads of the process for one test.
struct Threads {
  explicit Threads(int n) { set_thread_count(n); }
  ~Threads() { set_thread_count(0); }
};
/// How often each of n iterations was run, and in how many ranges.
struct Seen {
  std::vector<std::atomic<int>> times;
  std::atomic<int> ranges{0};
  explicit Seen(I n) : times(static_cast<std::size_t>(n)) {}
  void run(I begin, I end) {
    ++ranges;
    for (I i = begin; i < end; ++i) ++times[static_cast<std::size_t>(i)];
  }
  bool once() const {
    for (auto& t : times)
      if (t != 1) return false;
    return true;
  }
};
/// Keeps a thread on its core for a while.
void busy(std::chrono::microseconds t) {
  for (auto end = std::chrono::steady_clock::now() + t; std::chrono::steady_clock::now() < end;) {}
}
/// The text that f prints to stderr and its result, in a child of fork; 1000 if it hangs, 2000 + s if signal s ends it.
struct Told {
  int code = 0;
  std::string text;
};
Told in_child(const std::function<int()>& f) {
  int pipe_[2];
  EXPECT_EQ(::pipe(pipe_), 0);
  std::fflush(nullptr);
  const auto child = ::fork();
  if (child == 0) {
    ::dup2(pipe_[1], 2);
    ::_exit(f());
  }
  ::close(pipe_[1]);
  Told r;
  const auto end = std::chrono::steady_clock::now() + 60s;
  for (char buffer[512];;) {
    pollfd p{pipe_[0], POLLIN, 0};
    if (::poll(&p, 1, 100) > 0) {
      const auto n = ::read(pipe_[0], buffer, sizeof buffer);
      if (n <= 0) break;
      r.text.append(buffer, static_cast<std::size_t>(n));
    } else if (std::chrono::steady_clock::now() > end) {
      ::kill(child, SIGKILL);
      r.code = 1000;
      break;
    }
  }
  ::close(pipe_[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (r.code == 0) r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 2000 + WTERMSIG(status);
  return r;
}
/// 0 if a loop over four threads runs every iteration once.
int loop_works() {
  Seen seen(1000);
  parallel_for(1000, 1, [&](I b, I e) { seen.run(b, e); });
  return seen.once() ? 0 : 1;
}

TEST(Parallel, EveryIterationOnceForEverySizeGrainAndNumberOfThreads) {
  for (int threads : {1, 2, 3, 4, 7, 16}) {
    Threads t(threads);
    for (I n : {0, 1, 2, 3, 5, 16, 17, 100, 1001})
      for (I grain : {-1, 0, 1, 2, 7, 100, 5000}) {
        Seen seen(n);
        parallel_for(n, grain, [&](I b, I e) {
          EXPECT_LT(b, e);
          seen.run(b, e);
        });
        EXPECT_TRUE(seen.once()) << n << " by " << grain << " on " << threads;
        EXPECT_LE(seen.ranges,
                  std::max<I>(1, std::min<I>(threads, (n + std::max<I>(1, grain) - 1) / std::max<I>(1, grain))));
      }
  }
}
TEST(Parallel, ManyLoopsOneAfterTheOtherWithPausesOfAllLengths) {
  Threads t(4);
  for (int i = 0; i < 3000; ++i) {
    I sum[4] = {};
    parallel_for(4, 1, [&](I b, I e) {
      for (; b < e; ++b) sum[b] = b + i;
    });
    ASSERT_EQ(sum[0] + sum[1] + sum[2] + sum[3], 6 + 4 * i);
    if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i));  // some find the threads asleep
    else busy(std::chrono::microseconds(i % 7));
  }
}
TEST(Parallel, ARangeRunsOnSeveralThreadsAndTheyStay) {
  Threads t(4);
  std::set<std::thread::id> all;
  std::mutex m;
  for (int i = 0; i < 50; ++i)
    parallel_for(4, 1, [&](I, I) {
      busy(200us);
      std::lock_guard lock(m);
      all.insert(std::this_thread::get_id());
    });
  EXPECT_GT(all.size(), 1U);
  EXPECT_LE(all.size(), 4U);
}
TEST(Parallel, TheExceptionIsThatOfTheFirstRange) {
  for (int threads : {1, 3, 8}) {
    Threads t(threads);
    for (int i = 0; i < 100; ++i) {
      std::string what;
      try {
        parallel_for(64, 1, [&](I b, I e) {
          for (; b < e; ++b) check<ValueError>(b < 20, "iteration ", b);
        });
      } catch (const ValueError& e) { what = e.text(); }
      ASSERT_EQ(what, "iteration 20");
      ASSERT_EQ(loop_works(), 0);
    }
  }
}
TEST(Parallel, LoopsInsideOfRangesRunOnTheirThread) {
  Threads t(4);
  Seen seen(64);
  parallel_for(8, 1, [&](I b, I e) {
    for (; b < e; ++b) {
      const auto me = std::this_thread::get_id();
      parallel_for(8, 1, [&](I c, I d) {
        EXPECT_EQ(std::this_thread::get_id(), me);
        EXPECT_EQ(d - c, 8);
        seen.run(8 * b + c, 8 * b + d);
      });
    }
  });
  EXPECT_TRUE(seen.once());
}
TEST(Parallel, AScopeLimitsItsOwnThread) {
  Threads t(6);
  {
    ThreadScope two(2);
    EXPECT_EQ(thread_count(), 2);
    Seen seen(100);
    parallel_for(100, 1, [&](I b, I e) { seen.run(b, e); });
    EXPECT_EQ(seen.ranges, 2);
    {
      ThreadScope one(1);
      Seen alone(100);
      parallel_for(100, 1, [&](I b, I e) { alone.run(b, e); });
      EXPECT_EQ(alone.ranges, 1);
    }
    std::thread([] { EXPECT_EQ(thread_count(), 6); }).join();
  }
  EXPECT_EQ(thread_count(), 6);
}
TEST(Parallel, CallersAtTheSameTimeDoNotMixAndShareTheThreads) {
  for (int callers : {2, 5, 70}) {  // more than there are teams
    Threads t(6);
    std::atomic<int> wrong{0}, within{0}, most{0};
    std::vector<std::thread> all;
    for (int c = 0; c < callers; ++c)
      all.emplace_back([&] {
        for (int i = 0; i < (callers > 10 ? 20 : 200); ++i) {
          Seen seen(50);
          try {
            parallel_for(50, 1, [&](I b, I e) {
              const int now = ++within;
              for (int m = most; now > m && !most.compare_exchange_weak(m, now);) {}
              seen.run(b, e);
              --within;
              if (i % 10 == 9 && b == 0) throw i;
            });
            wrong += i % 10 == 9;
          } catch (int x) { wrong += x != i; }
          wrong += !seen.once();
        }
      });
    for (auto& x : all) x.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(most, 6 * callers);
  }
}
#ifndef __SANITIZE_THREAD__  // which knows no threads made after a fork
TEST(Parallel, AChildOfForkMakesThreadsOfItsOwn) {
  Threads t(4);
  ASSERT_EQ(loop_works(), 0);
  EXPECT_EQ(in_child(loop_works).code, 0);
  EXPECT_EQ(in_child([] { return in_child(loop_works).code; }).code, 0);
  EXPECT_EQ(loop_works(), 0);
}
TEST(Parallel, AChildWorksThatWasForkedWhileAnotherThreadRanALoop) {
  Threads t(4);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) parallel_for(8, 1, [](I, I) { busy(100us); });
  });
  for (int i = 0; i < 20; ++i) {
    busy(std::chrono::microseconds(37 * i));
    EXPECT_EQ(in_child([] { return loop_works() + loop_works(); }).code, 0);
  }
  stop = true;
  other.join();
  EXPECT_EQ(loop_works(), 0);
}
TEST(Parallel, AForkInsideOfARangeEndsOrThrowsAndDoesNotHang) {
  Threads t(2);
  const auto parent = ::getpid();
  for (I which : {0, 1, 0, 1}) {
    std::atomic<int> code{1000};
    try {
      parallel_for(2, 1, [&](I b, I e) {
        if (which < b || which >= e) return busy(20ms);
        busy(5ms);
        const auto child = ::fork();
        if (child == 0) {
          ::alarm(60);
          return;  // to parallel_for, whose other thread may not be here
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 2000 + WTERMSIG(status);
      });
    } catch (const Error&) { ::_exit(3); }
    if (::getpid() != parent) ::_exit(0);  // one thread ran both ranges
    EXPECT_TRUE(code == 0 || code == 3 || code == 86) << code;
  }
}
TEST(Parallel, FewerThreadsWhereTheSystemMakesNoMoreAndItIsSaidOnce) {
  for (int possible : {0, 2}) {
    Threads t(5);
    auto told = in_child([possible] {
      threads_left = possible;
      int wrong = 0;
      for (int i = 0; i < 20; ++i) wrong += loop_works();
      threads_left = 1 << 30;
      set_thread_count(5);  // tries again
      wrong += loop_works();
      return wrong + (threads_left == (1 << 30));
    });
    EXPECT_EQ(told.code, 0);
    EXPECT_EQ(told.text, "warning: kernels run on " + std::to_string(possible + 1) +
                             " of 5 threads: the system makes no more (Resource temporarily unavailable)\n");
  }
}
#endif
TEST(Parallel, SignalsAreForTheProgramsThreads) {
  Threads t(4);
  std::atomic<int> open{0};
  const auto me = std::this_thread::get_id();
  parallel_for(4, 1, [&](I, I) {
    busy(1ms);
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    if (std::this_thread::get_id() != me && !sigismember(&now, SIGINT)) ++open;
  });
  EXPECT_EQ(open, 0);
}
/// The cores that each thread of a team may use.
std::vector<cpu_set_t> cores_of_workers() {
  std::vector<cpu_set_t> all;
  for (auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm") >> std::ws, name);
    cpu_set_t cores;
    if (name == "bora-kernels" &&
        ::sched_getaffinity(std::stoi(entry.path().filename()), sizeof cores, &cores) == 0)
      all.push_back(cores);
  }
  return all;
}
/// A worker that would wake on its caller's core is kept off it until it runs, and no longer. Run by base_team.
TEST(Parallel, DISABLED_WorkersThatSleptMayUseAllCoresAgain) {
  Threads four(4);
  cpu_set_t own, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof own, &own), 0);
  auto loop = [] {
    Seen seen(64);
    parallel_for(64, 1, [&](I begin, I end) { seen.run(begin, end); });
    EXPECT_TRUE(seen.once());
  };
  loop();
  for (int round = 0; round < 20; ++round)
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &own) || core > 8) continue;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);  // moves this thread there
      std::this_thread::sleep_for(1ms);                        // workers sleep
      ASSERT_EQ(::sched_setaffinity(0, sizeof own, &own), 0);
      loop();
    }
  auto restored = [&] {
    auto all = cores_of_workers();
    return std::all_of(all.begin(), all.end(), [&](auto& cores) { return CPU_EQUAL(&cores, &own) != 0; });
  };
  for (auto end = std::chrono::steady_clock::now() + 10s; !restored() && std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(1ms);
    loop();
  }
  EXPECT_FALSE(cores_of_workers().empty());
  EXPECT_TRUE(restored());
}
/// Run by the test below, as a program of its own.
TEST(Parallel, DISABLED_EndsInTheMiddle) {
  set_thread_count(4);
  for (int c = 0; c < 3; ++c)
    std::thread([] {
      for (;;) parallel_for(8, 1, [](I, I) { busy(20us); });
    }).detach();
  busy(3ms);
  std::exit(0);
}
TEST(Parallel, TheProcessEndsWhileOtherThreadsRunLoops) {
  for (int i = 0; i < 3; ++i) {
    auto told = in_child([] {
      ::execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
              "--gtest_filter=Parallel.DISABLED_EndsInTheMiddle", nullptr);
      return 1;
    });
    EXPECT_EQ(told.code, 0) << told.text;
  }
}
TEST(Parallel, GrainsAreWorthAThread) {
  EXPECT_EQ(grain_for(kWorthAThread), 1);
  EXPECT_EQ(grain_for(1e300), 1);
  for (double ns : {1e-300, 0.01, 0.3, 1.0, 7.0, 4999.0}) {
    EXPECT_GE(static_cast<double>(grain_for(ns)) * std::max(ns, 0.001), kWorthAThread);
    EXPECT_GE(grain_for(ns), 1);
  }
}
}  // namespace
}  // namespace parallel_test
