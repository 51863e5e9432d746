// What ranks print, through the launcher.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <sstream>
#include <thread>
#include "launch/api/launch.h"
#include "support/processes.h"
#include "support/temp_folder.h"

namespace outputs_test {
using namespace bora;
using namespace bora::launch;
namespace {
using bora::test::Result;
constexpr int grown = 99;  // the code of a launcher that takes more memory than it should
#ifdef __SANITIZE_ADDRESS__  // which keeps freed memory for a while
constexpr long most_kib = 400 << 10;
#else
constexpr long most_kib = 6 << 10;
#endif
struct OutputsTest : testing::Test {
  bora::test::TempFolder temp;
  /// Two ranks; rank 1 runs the script. The launcher may take most_kib more than it has.
  Result run(const std::string& script, const std::function<void(pid_t)>& meanwhile = {}) const {
    Options options{.ranks = 2, .command = {"/bin/sh", "-c", "[ $BORA_RANK = 0 ] || { " + script + "; }"}};
    auto peak = [] {
      ::rusage used{};
      ::getrusage(RUSAGE_SELF, &used);
      return used.ru_maxrss;
    };
    return bora::test::run_apart(
        temp.path() + "/said",
        [&] {
          auto before = peak();
          auto code = launch::run(options);
          return peak() - before > most_kib ? grown : code;
        },
        meanwhile);
  }
};
}  // namespace

TEST_F(OutputsTest, AProgressBarOfAnyRankIsLinesOfItsOwn) {
  auto r = run(R"(printf '\rbar 1\rbar 2'; sleep 0.1; printf '\r'; sleep 0.1; printf 'bar 3\r\nend\r\n\r\n\n')");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "[rank 1] bar 1\n[rank 1] bar 2\n[rank 1] bar 3\r\n[rank 1] end\r\n[rank 1] \n");
  r = run(R"(printf 'bar 1\rbar 2\r\033[K' >&2; printf 'bora: why\n' >&2; exit 2)");
  EXPECT_EQ(r.err, "[rank 1] bar 1\n[rank 1] bar 2\nbora: why\n");
  r = run(R"(printf 'bar 1\rbar 2\r')");
  EXPECT_EQ(r.out, "[rank 1] bar 1\n[rank 1] bar 2\r\n");
}
TEST_F(OutputsTest, ALongLineComesInPieces) {
  constexpr std::size_t n = 16'000'000;
  auto r = run("head -c " + std::to_string(n) + " /dev/zero | tr '\\0' x");
  EXPECT_EQ(r.code, 0);
  std::istringstream lines(r.out);
  std::size_t most = 0, all = 0;
  for (std::string line; std::getline(lines, line);) {
    ASSERT_TRUE(line.starts_with("[rank 1] x"));
    auto x = line.size() - std::string("[rank 1] ").size();
    most = std::max(most, x), all += x;
  }
  EXPECT_EQ(all, n);
  EXPECT_LT(most, 100'000U);
  EXPECT_GT(most, 50'000U);
}
TEST_F(OutputsTest, APieceEndsWithAWholeCharacter) {
  auto r = run("for i in $(seq 3); do head -c 30001 /dev/zero | tr '\\0' x; sleep 0.05; printf '\\303\\244'; done");
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.ends_with("x") || line.ends_with("\303\244")) << line.substr(line.size() - 8);
}
/// Also over a long time: neither bars, nor lines that look like errors, are kept.
TEST_F(OutputsTest, WhatIsKeptIsBounded) {
  std::string wide(1000, '=');
  auto r = run("yes " + wide + " | head -n 12000 | tr '\\n' '\\r'; yes bora: " + wide + " | head -n 12000 >&2; "
               "echo bora: why >&2; exit 2");
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(r.err.ends_with("\nbora: why\n")) << r.err.substr(r.err.size() - std::min<std::size_t>(r.err.size(), 99));
  auto shown = std::count(r.err.begin(), r.err.end(), '\n');
  EXPECT_GT(shown, 11'950);
  EXPECT_GT(std::count(r.out.begin(), r.out.end(), '\n'), 11'950);
}
TEST_F(OutputsTest, OneThatPrintsWithoutAPauseKeepsNobodyWaiting) {
  auto r = run("exec yes", [](pid_t launcher) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(launcher, SIGINT);
  });
  EXPECT_EQ(r.code, 130);
  EXPECT_LT(r.seconds, 5);
  // Also one that outlives its rank.
  r = run("yes & exit 0");
  EXPECT_EQ(r.code, 0);
  EXPECT_LT(r.seconds, 5);
}
}  // namespace outputs_test
