// Loops on OpenMP's threads: a program with OpenMP loops of its own has one pool for a calling thread, the variables of
// OpenMP mean what they say, and the bits are those of the other executor.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "support/own_program.h"

#ifndef __SANITIZE_THREAD__  // which does not see how libgomp's threads wait for one another
namespace openmp_test {
namespace {
using namespace bora;
using I = std::int64_t;
using test::say, test::Variables;
int threads_now() {
  auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  return static_cast<int>(std::distance(tasks, {}));
}
/// Ranges of a loop of 64 long iterations; negative if one ran twice or not at all.
int ranges() {
  std::atomic<int> n{0}, wrong{0};
  std::vector<std::atomic<int>> times(64);
  parallel_for(64, 1, [&](I b, I e) {
    ++n;
    for (; b < e; ++b) ++times[static_cast<std::size_t>(b)];
  });
  for (auto& t : times) wrong += t != 1;
  return wrong ? -1 : n.load();
}
/// What a loop of the program's own adds up.
void own_loop() {
  std::atomic<int> sum{0};
#pragma omp parallel
  sum += omp_get_thread_num();
  EXPECT_GE(sum, 0);
}
std::string program(const std::string& name, const test::Variables& variables) {
  return test::program("OpenMp", name, variables);
}

TEST(OpenMp, DISABLED_Counts) {
  own_loop();
  auto n = ranges();
  own_loop();
  std::atomic<int> nested{0};
#pragma omp parallel num_threads(2)
  {
    int mine = ranges();
#pragma omp critical
    nested = std::max(nested.load(), mine);
  }
  std::ostringstream o;
  o << thread_count() << " threads, " << n << " ranges, " << nested << " inside a region, "
    << std::max(threads_now(), 1);
  say(o.str());
}
int program_threads(const Variables& variables) { return std::atoi(program("Counts", variables).c_str()); }
TEST(OpenMp, VariablesMeanWhatTheySay) {
  for (auto& [variables, want] : std::vector<std::pair<Variables, std::string>>{
           {{{"OMP_NUM_THREADS", "3"}}, "3 threads, 3 ranges, 1 inside a region"},
           {{{"OMP_NUM_THREADS", "1"}}, "1 threads, 1 ranges, 1 inside a region"},
           {{{"OMP_NUM_THREADS", "2,2"}, {"OMP_MAX_ACTIVE_LEVELS", "2"}}, "2 threads, 2 ranges, 2 inside a region"},
           {{{"OMP_NUM_THREADS", "4"}, {"OMP_PROC_BIND", "true"}, {"OMP_PLACES", "threads"}},
            "4 threads, 4 ranges, 1 inside a region"},
           {{{"OMP_NUM_THREADS", "3"}, {"OMP_WAIT_POLICY", "passive"}}, "3 threads, 3 ranges, 1 inside a region"},
           {{{"OMP_NUM_THREADS", "4"}, {"OMP_THREAD_LIMIT", "2"}}, "4 threads, 4 ranges, 1 inside a region"},
           {{{"OMP_NUM_THREADS", "5"}, {"OMP_STACKSIZE", "1M"}}, "5 threads, 5 ranges, 1 inside a region"}}) {
    std::string what;
    for (auto& [key, value] : variables) what += key + "=" + value + " ";
    auto told = program("Counts", variables);
    EXPECT_EQ(told.substr(0, want.size()), want) << what << told;
    int most = std::max(2, std::atoi(variables.at("OMP_NUM_THREADS").c_str()));
    bool levels = variables.contains("OMP_MAX_ACTIVE_LEVELS");
    if (levels) continue;
    EXPECT_LE(std::atoi(told.substr(told.rfind(' ')).c_str()), most) << what << told;
  }
}
/// libgomp binds the first thread to one core, of which alone that thread then knows.
TEST(OpenMp, ABoundProgramUsesAllItsCores) {
  const auto all = program_threads({});
  EXPECT_EQ(program_threads({{"OMP_PROC_BIND", "true"}}), all);
  EXPECT_EQ(program_threads({{"OMP_PROC_BIND", "spread"}, {"OMP_PLACES", "cores"}}), all);
}
TEST(OpenMp, WhatTheProgramSaysComesBeforeTheVariable) {
  EXPECT_EQ(program("SetsThreads", {{"OMP_NUM_THREADS", "4"}}), "2, then 4, in a scope 3");
}
TEST(OpenMp, DISABLED_SetsThreads) {
  set_thread_count(2);
  auto first = std::to_string(ranges());
  set_thread_count(0);
  auto second = std::to_string(ranges());
  ThreadScope three(3);
  say(first + ", then " + second + ", in a scope " + std::to_string(ranges()));
}
/// Four threads of the program, each with loops of its own; with Bora's loops between them too, if so.
int threads_of_four(bool bora) {
  std::atomic<int> most{0}, ready{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        own_loop();
        if (bora && ranges() < 1) ADD_FAILURE();
      }
      for (++ready; ready < 4;) std::this_thread::yield();
      for (int now = threads_now(), m = most; now > m && !most.compare_exchange_weak(m, now);) {}
      for (++ready; ready < 8;) std::this_thread::yield();
    });
  for (auto& t : all) t.join();
  return most;
}
TEST(OpenMp, DISABLED_FourCallers) {
  auto alone = threads_of_four(false), both = threads_of_four(true);
  say(both <= alone ? "no more" : std::to_string(both) + " instead of " + std::to_string(alone));
}
TEST(OpenMp, FourCallersHaveNoMoreThreadsThanOpenMpMakesForThem) {
  EXPECT_EQ(program("FourCallers", {{"OMP_NUM_THREADS", "3"}}), "no more");
}
TEST(OpenMp, DISABLED_Fork) {
  EXPECT_EQ(ranges(), 3);
  const auto child = ::fork();
  if (child == 0) ::_exit(ranges() == 3 ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  say(std::to_string(status) + " " + std::to_string(ranges()));
}
TEST(OpenMp, AForkedChildHasThreadsOfItsOwn) { EXPECT_EQ(program("Fork", {{"OMP_NUM_THREADS", "3"}}), "0 3"); }
TEST(OpenMp, DISABLED_Word) {
  try {
    set_thread_count(2);
    (void)ranges();
    say("nothing");
  } catch (const ValueError& e) { say(e.text()); }
}
TEST(OpenMp, AWordForNoExecutorIsAnError) {
  EXPECT_EQ(program("Word", {{"BORA_EXECUTOR", "tbb"}}), "BORA_EXECUTOR=tbb: the executors are openmp and team");
}
/// Modes of floating-point numbers are the caller's in each range, and each thread's own in the program's loops.
TEST(OpenMp, DISABLED_Modes) {
  set_thread_count(4);
  own_loop();
  const auto before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | 0x8040);  // denormals are zero
  std::atomic<int> wrong{0};
  for (int i = 0; i < 200; ++i)
    parallel_for(4, 1, [&](I, I) { wrong += (__builtin_ia32_stmxcsr() & 0x8040) != 0x8040; });
  __builtin_ia32_ldmxcsr(before);
#pragma omp parallel
  wrong += (__builtin_ia32_stmxcsr() & 0x8040) != 0;
  say(std::to_string(wrong));
}
TEST(OpenMp, ModesAreThoseOfTheCaller) { EXPECT_EQ(program("Modes", {{"OMP_NUM_THREADS", "4"}}), "0"); }
}  // namespace
}  // namespace openmp_test
#endif
