// Jobs on several threads end as a loop over them would.
#include "io/api/jobs.h"
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <random>
#include <stdexcept>
#include <thread>
#include <xmmintrin.h>
#include "bora/base/denormals.h"
#include "bora/base/parallel.h"

namespace jobs_test {
namespace {
using namespace bora;
constexpr std::int64_t kLarge = 1 << 30;
struct Threads {
  explicit Threads(int n) { set_thread_count(n); }
  ~Threads() { set_thread_count(0); }
};
TEST(Jobs, EveryJobRunsOnceAndNoMoreAtATimeThanThreads) {
  for (int threads : {1, 2, 3}) {
    Threads limit(threads);
    for (int n : {0, 1, 2, 7, 100}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(n));
      std::atomic<int> now{0}, most{0};
      io::run_jobs([&](std::vector<io::Job>& jobs) {
        for (auto& r : runs)
          jobs.push_back({kLarge, [&] {
                            auto k = ++now;
                            for (auto m = most.load(); m < k && !most.compare_exchange_weak(m, k);) {}
                            std::this_thread::sleep_for(std::chrono::microseconds(100));
                            ++r;
                            --now;
                          }});
      });
      for (auto& r : runs) EXPECT_EQ(r, 1);
      EXPECT_LE(most, threads);
    }
  }
}
/// The law: the error is that of a loop which runs each job where it is added.
TEST(Jobs, TheFirstErrorIsThatOfALoop) {
  Threads limit(3);
  std::mt19937 rng(1);
  for (int t = 0; t < 200; ++t) {
    int n = 1 + static_cast<int>(rng() % 20), ends = static_cast<int>(rng() % 30), first = -1;
    std::vector<bool> fails(static_cast<std::size_t>(n));
    for (int i = n; i-- > 0;)
      if ((fails[static_cast<std::size_t>(i)] = rng() % 4 == 0)) first = i;
    if (ends < n && (first < 0 || ends <= first)) first = 1000;  // the list itself fails before that job
    auto said = -1;
    try {
      io::run_jobs([&](std::vector<io::Job>& jobs) {
        for (int i = 0; i < n; ++i) {
          if (i == ends) throw std::runtime_error("1000");
          jobs.push_back({kLarge, [i, fail = fails[static_cast<std::size_t>(i)]] {
                            std::this_thread::sleep_for(std::chrono::microseconds(i * 37 % 50));
                            if (fail) throw std::runtime_error(std::to_string(i));
                          }});
        }
      });
    } catch (const std::runtime_error& e) { said = std::stoi(e.what()); }
    ASSERT_EQ(said, first) << n << " " << ends;
  }
}
TEST(Jobs, KeepTheCallersModeOfDenormals) {
  Threads limit(3);
  for (bool on : {false, true}) {
    FlushDenormals scope(on);
    auto mine = _mm_getcsr() & ~0x3fU;
    std::atomic<int> others{0};
    io::run_jobs([&](std::vector<io::Job>& jobs) {
      for (int i = 0; i < 20; ++i)
        jobs.push_back({kLarge, [&] {
                          std::this_thread::sleep_for(std::chrono::microseconds(200));
                          others += (_mm_getcsr() & ~0x3fU) != mine;
                        }});
    });
    EXPECT_EQ(others, 0);
  }
}
TEST(Jobs, LittleWorkStaysOnItsThread) {
  Threads limit(3);
  std::atomic<int> others{0};
  io::run_jobs([&, me = std::this_thread::get_id()](std::vector<io::Job>& jobs) {
    for (int i = 0; i < 20; ++i) jobs.push_back({1000, [&, me] { others += std::this_thread::get_id() != me; }});
  });
  EXPECT_EQ(others, 0);
}
}  // namespace
}  // namespace jobs_test
