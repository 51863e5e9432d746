// The launcher, with small shell commands as ranks.
#include "launch/api/launch.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <thread>
#include "bora/base/error.h"
#include "compile/api/program.h"
#include "support/files.h"
#include "support/processes.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace launch_test {
using namespace bora;
using namespace bora::launch;
namespace {
using bora::test::Result;
using bora::test::slurp;
std::string folder() {  // the same in forked children
  static const bora::test::TempFolder temp;
  return temp.path();
}
struct LaunchTest : testing::Test {
  LaunchTest() { fs::remove_all(folder()), fs::create_directories(folder()); }
  /// launch() in a process of its own, as the command runs it; `meanwhile` gets its pid.
  static Result run(Options options, const std::string& script, const std::function<void(pid_t)>& meanwhile = {}) {
    options.command = {"/bin/sh", "-c", script};
    return bora::test::run_apart(folder() + "/said", [&] { return launch::run(options); }, meanwhile);
  }
  static void wait_for(const std::string& file) {
    for (int i = 0; i < 500 && !fs::exists(file); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
};
}  // namespace

TEST_F(LaunchTest, RanksKnowTheirPlace) {
  auto r = run({.ranks = 3},
               "echo rank $BORA_RANK of $BORA_SIZE local $BORA_LOCAL_RANK $BORA_LOCAL_SIZE; echo $BORA_ROOT >> " +
                   folder() + "/root");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_NE(r.out.find("rank 0 of 3 local 0 3\n"), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find("[rank 0]"), std::string::npos);
  EXPECT_NE(r.out.find("[rank 1] rank 1 of 3 local 1 3\n"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("[rank 2] rank 2 of 3"), std::string::npos) << r.out;
  std::istringstream roots(slurp(folder() + "/root"));
  std::string a, b, c;
  roots >> a >> b >> c;
  EXPECT_TRUE(a.starts_with("127.0.0.1:")) << a;
  EXPECT_EQ(a, b);
  EXPECT_EQ(a, c);
}
TEST_F(LaunchTest, AKilledRankIsNamedAndNobodyStays) {
  auto r = run({.ranks = 3}, "[ $BORA_RANK = 1 ] && { sleep 0.2; kill -9 $$; }; sleep 4711 & sleep 4711");
  EXPECT_EQ(r.code, 86);
  EXPECT_EQ(r.err, "bora: rank 1 lost: killed by signal 9 (Killed)\n");
  EXPECT_LT(r.seconds, 2.5);
  EXPECT_GE(r.seconds, 1.5);  // survivors had their time
  EXPECT_EQ(bora::test::left("4711"), 0);
}
TEST_F(LaunchTest, SurvivorsThatEndBecauseOfAnotherAreNotTheCause) {
  auto r = run({.ranks = 3},
               "[ $BORA_RANK = 2 ] && { sleep 0.3; kill -9 $$; }; sleep 0.1; echo 'bora: rank 2 lost: no heartbeat' "
               ">&2; exit 86");
  EXPECT_EQ(r.code, 86);
  EXPECT_EQ(r.err, "bora: rank 2 lost: killed by signal 9 (Killed)\n");
  r = run({.ranks = 2}, "echo \"bora: rank 7 lost: says $BORA_RANK\" >&2; [ $BORA_RANK = 1 ] && sleep 0.3; exit 86");
  EXPECT_EQ(r.code, 86);
  EXPECT_EQ(r.err, "bora: rank 7 lost: says 0\n");
  EXPECT_LT(r.seconds, 1.5);
}
#ifndef __SANITIZE_ADDRESS__  // UBSan asks a pipe whether an object's memory is mapped: none left, none found
TEST_F(LaunchTest, FewFilesAreALine) {
  std::map<int, int> codes;
  for (::rlim_t files = 4; files < 24; ++files) {
    auto r = bora::test::run_apart(folder() + "/said", [&] {
      ::close_range(3, ~0U, 0);
      ::rlimit limit{files, files};
      ::setrlimit(RLIMIT_NOFILE, &limit);
      try {
        return launch::run({.ranks = 2, .command = {"/bin/true"}});
      } catch (const ConfigError& e) { return ::dprintf(2, "bora: %s\n", e.what()), 2; }
    });
    ++codes[r.code];
    bool line = r.err.starts_with("bora: ") && std::count(r.err.begin(), r.err.end(), '\n') == 1;
    EXPECT_TRUE(r.code == 0 || (r.code == 2 && line)) << files << " files: " << r.code << " " << r.err;
  }
  EXPECT_GT(codes[0], 5);
  EXPECT_GT(codes[2], 5);
}
#endif
TEST_F(LaunchTest, OtherExitCodesAreLostRanksToo) {
  auto r = run({.ranks = 2}, "[ $BORA_RANK = 1 ] && exit 3; exit 0");
  EXPECT_EQ(r.code, 86);
  EXPECT_EQ(r.err, "bora: rank 1 lost: ended with exit code 3\n");
}
TEST_F(LaunchTest, BadInputIsSaidOnce) {
  auto r = run({.ranks = 4}, "echo note >&2; echo 'bora: batch: must be 1 or more rows, got 0' >&2; exit 2");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err.find("bora: "), r.err.rfind("bora: "));
  EXPECT_NE(r.err.find("bora: batch: must be 1 or more rows, got 0\n"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("[rank 3] note\n"), std::string::npos) << r.err;
  EXPECT_EQ(run({.ranks = 1}, "exit 2").err, "bora: rank 0 ended with exit code 2\n");
  Options missing{.ranks = 2};
  EXPECT_EQ(run(missing, "exec /no/such/program").code, 86);  // the shell's 126 or 127
}
TEST_F(LaunchTest, SignalsStopInOrder) {
  auto script =
      "trap 'echo stopping; exit 130' TERM; touch " + folder() + "/ready$BORA_RANK; while :; do sleep 0.05; done";
  auto stop = [](int signal) {
    return [signal](pid_t launcher) {
      for (int r = 0; r < 2; ++r) wait_for(folder() + "/ready" + std::to_string(r));
      ::kill(launcher, signal);
    };
  };
  auto r = run({.ranks = 2}, script, stop(SIGTERM));
  EXPECT_EQ(r.code, 130);
  EXPECT_EQ(r.err.find("bora: "), std::string::npos) << r.err;
  EXPECT_NE(r.out.find("stopping\n"), std::string::npos);
  EXPECT_NE(r.out.find("[rank 1] stopping\n"), std::string::npos);
  fs::remove_all(folder()), fs::create_directories(folder());
  r = run({.ranks = 2}, "touch " + folder() + "/ready$BORA_RANK; exec sleep 4712",
          stop(SIGINT));  // no handler: ends all the same
  EXPECT_EQ(r.code, 130);
  EXPECT_EQ(bora::test::left("4712"), 0);
}
TEST_F(LaunchTest, ASecondSignalEndsTheRanks) {
  auto r = run({.ranks = 2}, "trap '' TERM; touch " + folder() + "/ready$BORA_RANK; while :; do sleep 0.05; done",
               [](pid_t launcher) {
                 for (int i = 0; i < 2; ++i) wait_for(folder() + "/ready" + std::to_string(i));
                 ::kill(launcher, SIGTERM);
                 std::this_thread::sleep_for(std::chrono::milliseconds(200));
                 ::kill(launcher, SIGTERM);
               });
  EXPECT_EQ(r.code, 130);
  EXPECT_LT(r.seconds, 5);
}
TEST_F(LaunchTest, RanksDieWithTheLauncher) {
  auto r = run({.ranks = 2}, "touch " + folder() + "/ready$BORA_RANK; exec sleep 4713", [](pid_t launcher) {
    for (int i = 0; i < 2; ++i) wait_for(folder() + "/ready" + std::to_string(i));
    ::kill(launcher, SIGKILL);
  });
  EXPECT_EQ(r.code, -SIGKILL);
  EXPECT_EQ(bora::test::left("4713"), 0);
}
TEST_F(LaunchTest, LogsHaveEverything) {
  auto logs = folder() + "/logs/deep";
  auto r = run({.ranks = 2, .log_dir = logs}, "echo out $BORA_RANK; echo err $BORA_RANK >&2");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "out 0\n");
  EXPECT_EQ(r.err, "err 0\n");
  auto log = slurp(logs + "/rank-1.log");
  EXPECT_NE(log.find("out 1\n"), std::string::npos);
  EXPECT_NE(log.find("err 1\n"), std::string::npos);
  EXPECT_NE(slurp(logs + "/rank-0.log").find("out 0\n"), std::string::npos);
}
TEST_F(LaunchTest, WhatALogCannotTakeIsShown) {
  auto logs = folder() + "/logs";
  fs::create_directories(logs);
  fs::create_symlink("/dev/full", logs + "/rank-1.log");
  auto r = run({.ranks = 2, .log_dir = logs}, "printf 'one '; sleep 0.1; echo line $BORA_RANK; echo more");
  EXPECT_EQ(r.code, 0);
  for (auto line : {"[rank 1] one line 1\n", "[rank 1] more\n"})
    EXPECT_NE(r.out.find(line), std::string::npos) << r.out;
  auto said = r.err.find("cannot write " + logs + "/rank-1.log: No space left on device");
  ASSERT_NE(said, std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("cannot write ", said + 1), std::string::npos) << r.err;
  EXPECT_EQ(slurp(logs + "/rank-0.log"), "one line 0\nmore\n");
}
TEST_F(LaunchTest, RestartsAfterALostRank) {
  auto script = "echo x >> " + folder() + "/runs$BORA_RANK; [ $(wc -l < " + folder() +
                "/runs$BORA_RANK) -ge 3 ] && exit 0; [ $BORA_RANK = 1 ] && kill -9 $$; exit 86";
  auto r = run({.ranks = 2, .max_restarts = 5}, script);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(slurp(folder() + "/runs1"), "x\nx\nx\n");
  fs::remove(folder() + "/runs0"), fs::remove(folder() + "/runs1");
  EXPECT_EQ(run({.ranks = 2, .max_restarts = 1}, script).code, 86);
}
TEST_F(LaunchTest, AnElasticJobGoesOnAsLongAsItGetsFurther) {
  Elastic e{.min = 2, .max = 4, .fitting = [](int slots) { return slots; }};
  e.progress = [] { return "step " + std::to_string(slurp(folder() + "/runs1").size() / 2); };
  auto script = "[ $BORA_RANK = 1 ] && { echo x >> " + folder() + "/runs1; [ $(wc -l < " + folder() +
                "/runs1) -ge 4 ] && exit 0; kill -9 $$; }; sleep 0.4; [ $(wc -l < " + folder() +
                "/runs1) -ge 4 ] && exit 0; exit 86";
  std::ofstream(folder() + "/runs1");
  auto r = run({.ranks = 4, .elastic = e}, script);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(slurp(folder() + "/runs1"), "x\nx\nx\nx\n");
  EXPECT_NE(r.err.find("elastic: rank 1 lost: killed by signal 9 (Killed); going on from step 1\n"), r.err.npos)
      << r.err;
  EXPECT_EQ(r.err.find("bora: "), r.err.npos) << r.err;
  // Without getting further it ends.
  e.progress = [] { return std::string("step 7"); };
  r = run({.ranks = 3, .elastic = e}, "echo y >> " + folder() + "/tries$BORA_RANK; exit 86");
  EXPECT_EQ(r.code, 86);
  EXPECT_EQ(slurp(folder() + "/tries0").size(), 20U);
  EXPECT_NE(r.err.find("the job was lost 10 times without getting further"), r.err.npos) << r.err;
  // Bad input of a rank ends it at once.
  EXPECT_EQ(run({.ranks = 3, .elastic = e}, "echo bora: no such file >&2; exit 2").code, 2);
  // With as many ranks as the job can run with.
  e.fitting = [](int slots) { return slots / 2 * 2; };
  r = run({.ranks = 3, .elastic = e}, "echo $BORA_SIZE");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("[rank 1] 2\n"), r.out.npos) << r.out;
  EXPECT_NE(r.err.find("elastic: 2 ranks instead of 3\n"), r.err.npos) << r.err;
}
/// The user stops it while the others notice a loss, which it would have outlived.
TEST_F(LaunchTest, AnElasticJobThatIsStoppedIsNotLost) {
  Elastic e{.min = 1, .max = 2, .fitting = [](int slots) { return slots; }};
  e.progress = [] { return std::string("step 7"); };
  auto script = "[ $BORA_RANK = 1 ] && { echo $$ > " + folder() + "/pid; mv " + folder() + "/pid " + folder() +
                "/ready; kill -9 $$; }; exec sleep 30";
  auto r = run({.ranks = 2, .elastic = e}, script, [](pid_t launcher) {
    wait_for(folder() + "/ready");
    auto lost = std::stoi(slurp(folder() + "/ready"));
    while (::kill(lost, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until that is noticed
    ::kill(launcher, SIGINT);
  });
  EXPECT_EQ(r.code, 130);
  EXPECT_EQ(r.err, "bora: rank 1 lost: killed by signal 9 (Killed)\n");
}
TEST_F(LaunchTest, APartialLineOfRankZeroPassesAtOnce) {
  auto r = run({.ranks = 2},
               "[ $BORA_RANK = 1 ] && { printf half; exit 0; }; printf 'bar 1\\rbar 2'; printf 'boring\\rbora: no' "
               ">&2; sleep 0.2; exit 0");
  EXPECT_NE(r.out.find("bar 1\rbar 2"), std::string::npos);
  EXPECT_NE(r.out.find("[rank 1] half\n"), std::string::npos) << r.out;
  EXPECT_NE(r.err.find("boring"), std::string::npos) << r.err;
}
TEST_F(LaunchTest, AnErrorLineBeginsALine) {
  auto r = run({.ranks = 1}, "printf '\\rbar 7' >&2; sleep 0.2; kill -9 $$");
  EXPECT_EQ(r.err, "\rbar 7\nbora: rank 0 lost: killed by signal 9 (Killed)\n");
  for (auto pause : {"", "sleep 0.1; "}) {  // as one piece, or two
    auto script = std::string("{ printf '\\rbar 7'; ") + pause + "printf '\\r\\033[Kbora: why\\n'; } >&2; exit 2";
    r = run({.ranks = 1}, script);
    EXPECT_EQ(r.err, "\rbar 7\r\033[Kbora: why\n");
  }
}
TEST_F(LaunchTest, RanksListenThoughTheLauncherWasStartedInTheBackground) {
  ::signal(SIGINT, SIG_IGN);
  auto script = "trap 'exit 130' INT; touch " + folder() + "/ready$BORA_RANK; while :; do sleep 0.05; done";
  auto r = run({.ranks = 2}, script, [](pid_t launcher) {
    for (int i = 0; i < 2; ++i) wait_for(folder() + "/ready" + std::to_string(i));
    ::kill(launcher, SIGINT);
  });
  ::signal(SIGINT, SIG_DFL);
  EXPECT_EQ(r.code, 130);
  EXPECT_LT(r.seconds, 5);
}
TEST_F(LaunchTest, TheUsersSecretIsTheJobs) {
  auto path = folder() + "/secret";
  std::ofstream(path) << "a secret of some length\n";
  ::setenv("BORA_SECRET_FILE", path.c_str(), 1);
  std::string script = "test -z \"$BORA_SECRET_FILE\" && cat /proc/self/fd/$BORA_SECRET_FD && echo";
  for (bool readable : {false, true}) {
    fs::permissions(path, readable ? fs::perms(0644) : fs::perms(0600));
    if (readable) EXPECT_THROW(launch::run({.ranks = 1, .command = {"true"}}), ConfigError);
    else {
      auto r = run({.ranks = 2}, script);
      EXPECT_EQ(r.code, 0) << r.err;
      for (auto line : {"a secret of some length\n", "[rank 1] a secret of some length\n"})
        EXPECT_NE(r.out.find(line), std::string::npos) << r.out;
    }
  }
  ::unsetenv("BORA_SECRET_FILE");
  EXPECT_EQ(run({.ranks = 1}, script).out.find("a secret"), std::string::npos);
}
TEST_F(LaunchTest, RankZeroInheritsASocketOfItsPort) {
  auto r = run({.ranks = 2}, "[ -n \"$BORA_ROOT_FD\" ] && readlink /proc/self/fd/$BORA_ROOT_FD; true");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("socket:["), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find("[rank 1] socket:["), std::string::npos) << r.out;
}
TEST_F(LaunchTest, ATakenPortIsFoundBeforeRanksStart) {
  bora::test::TakenPort taken;
  auto& root = taken.address();
  EXPECT_EQ(bora::test::error_of<ConfigError>([&] {
              launch::run({.ranks = 2, .command = {"touch", folder() + "/started"}, .root = root});
            }),
            "cannot listen on " + root + ": the port is in use");
  EXPECT_FALSE(fs::exists(folder() + "/started"));
  for (auto root : {"nowhere", "::1", "fd77::1:29650", "127.0.0.1:0", "no host:29650"})
    EXPECT_THROW(launch::run({.ranks = 2, .command = {"true"}, .root = root}), ConfigError) << root;
  EXPECT_THROW(launch::run({.ranks = 0, .command = {"true"}}), ConfigError);
}
}  // namespace launch_test
