// Every rank is lost in every phase of a job, in every way, on every carrier: all others end in time, name it, and
// leave nothing behind.
#include <algorithm>
#include <filesystem>
#include "jobs.h"
#include "support/temp_folder.h"
#include "support/text.h"

namespace bora::transport {
namespace {
namespace fs = std::filesystem;
constexpr int kRanks = 3;
using Environment = std::vector<std::pair<std::string, std::string>>;

/// Files in the folders where a job could leave some.
std::vector<std::string> files(const std::string& own) {
  std::vector<std::string> names;
  for (fs::path folder : {fs::path("/dev/shm"), fs::path(own)})
    for (auto& entry : fs::directory_iterator(folder))
      // Other programs have files there too; the names of ours contain "bora".
      if (folder == own || entry.path().filename().string().find("bora") != std::string::npos)
        names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  return names;
}
struct Ranks {
  std::vector<std::unique_ptr<Process>> all;
  int port = free_port();
  std::vector<std::string> command;
  Environment env;
  test::TempFolder temp;
  std::string folder = temp.path();
  std::vector<std::string> before;
  Ranks(std::vector<std::string> what, Environment with) : command(std::move(what)), env(std::move(with)) {
    all.resize(kRanks);
    env.emplace_back("TMPDIR", folder);
    before = files(folder);
  }
  ~Ranks() {
    all.clear();
    EXPECT_EQ(files(folder), before);
  }
  Process& at(int r) { return *all[static_cast<std::size_t>(r)]; }
  void start(int r) {
    all[static_cast<std::size_t>(r)] = std::make_unique<Process>(r, kRanks, port, command, env);
  }
  void start_all() {
    for (int r = 0; r < kRanks; ++r) start(r);
    for (auto& p : all) ASSERT_TRUE(p->wait_for_text("ready")) << p->output();
  }
  /// All but the victim end within `limit` with 86, and their last line names it.
  void all_end(int victim, double limit, const std::string& how) {
    auto start = std::chrono::steady_clock::now();
    for (int r = 0; r < kRanks; ++r) {
      if (r == victim) continue;
      EXPECT_EQ(at(r).finish(), 86) << "rank " << r << ": " << at(r).output();
      EXPECT_HAS(at(r).output(), "bora: rank " + std::to_string(victim) + " (host ");
      EXPECT_HAS(at(r).output(), ") lost: " + how);
    }
    EXPECT_LT(seconds_since(start), limit * test::crowded());
  }
};
void milliseconds(int n) { std::this_thread::sleep_for(std::chrono::milliseconds(n)); }

struct Case {
  int signal;
  std::string phase;
  int victim;
  std::string carrier;
};
class Losses : public testing::TestWithParam<Case> {};
std::vector<Case> cases() {
  std::vector<Case> r;
  for (int signal : {SIGKILL, SIGSTOP})
    for (std::string phase : {"loop", "big", "lingers"})
      for (int victim = 0; victim < kRanks; ++victim)
        for (std::string carrier : {"auto", "tcp", "zmq"})
          if (phase != "lingers" || victim != 1) r.push_back({signal, phase, victim, carrier});  // it has left
  return r;
}
INSTANTIATE_TEST_SUITE_P(All, Losses, testing::ValuesIn(cases()), [](auto& info) {
  auto& c = info.param;
  return std::string(c.signal == SIGKILL ? "kill" : "stop") + "_" + c.phase + "_" + std::to_string(c.victim) + "_" +
         c.carrier;
});
TEST_P(Losses, AreNamedByAllInTime) {
  auto& c = GetParam();
  Ranks job({c.phase}, {{"BORA_CARRIER", c.carrier}, {"TEST_HEARTBEAT", c.signal == SIGKILL ? "1" : "0.1"}});
  job.start_all();
  milliseconds(100);
  job.at(c.victim).signal(c.signal);
  if (c.signal == SIGKILL) job.all_end(c.victim, 1.0, "connection closed");
  else job.all_end(c.victim, 2.5, "no heartbeat for 1.");
}

// ---- while the ranks meet ----
TEST(Joining, kill_a_rank_auto) {
  Ranks job({"meet"}, {{"BORA_JOIN_TIMEOUT", "1.2"}});
  job.start(0), job.start(1);
  milliseconds(200);
  job.at(1).signal(SIGKILL);
  milliseconds(100);
  job.start(2);
  for (int r : {0, 2}) {
    EXPECT_EQ(job.at(r).finish(), 2) << job.at(r).output();
    EXPECT_HAS(job.at(r).output(), "bora: rank 1 of 3 did not arrive");
  }
}
TEST(Joining, kill_a_rank_that_comes_again_auto) {
  Ranks job({"meet"}, {});
  job.start(0), job.start(1);
  milliseconds(200);
  job.at(1).signal(SIGKILL);
  milliseconds(100);
  job.start(1), job.start(2);
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(job.at(r).finish(), 0) << job.at(r).output();
}
TEST(Joining, kill_the_root_auto) {
  Ranks job({"meet"}, {{"BORA_JOIN_TIMEOUT", "0.8"}});
  job.start(0), job.start(1), milliseconds(200);
  job.at(0).signal(SIGKILL);
  job.start(2);
  for (int r : {1, 2}) {
    EXPECT_EQ(job.at(r).finish(), 2) << job.at(r).output();
    EXPECT_HAS(job.at(r).output(), "did not a");  // arrive, answer
  }
}
TEST(Joining, a_rank_that_stops_is_lost_once_all_have_met) {
  Ranks job({"meet"}, {{"TEST_HEARTBEAT", "0.1"}});
  job.start(0), job.start(1);
  milliseconds(200);
  job.at(1).signal(SIGSTOP);
  job.start(2);
  job.all_end(1, 2.5, "no heartbeat for 1.");
}
// ---- while they leave ----
TEST(Leaving, kill_one_that_has_left_and_nobody_minds_auto) {
  Ranks job({"lingers", "1000"}, {});
  job.start_all();
  milliseconds(300);
  job.at(1).signal(SIGKILL);
  for (int r : {0, 2}) {
    EXPECT_EQ(job.at(r).finish(), 0) << job.at(r).output();
    EXPECT_EQ(job.at(r).output().find("lost"), std::string::npos) << job.at(r).output();
  }
}
TEST(Leaving, SilenceAfterItIsNoLoss) {  // longer than dead_s
  Ranks job({"lingers", "2500"}, {{"TEST_HEARTBEAT", "0.1"}});
  job.start_all();
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(job.at(r).finish(), 0) << job.at(r).output();
}
TEST(Leaving, TheOthersWaitTenSecondsAndOneThatIsLaterIsOnItsOwn) {
  Ranks job({"lingers", "11500", "barrier"}, {});
  job.start_all();
  for (int r : {0, 1}) EXPECT_EQ(job.at(r).finish(), 0) << job.at(r).output();
  EXPECT_EQ(job.at(2).finish(), 2);
  EXPECT_HAS(job.at(2).output(), ") has left the job: it waited 10 s for this rank");
}
/// Its connections end with the others, which have said good-bye: that is no loss.
TEST(Leaving, RankZeroMayBeTheLateOne_tcp) {
  Ranks job({"lingers", "13000"}, {{"BORA_CARRIER", "tcp"}, {"TEST_SUMS", "3"}, {"TEST_LATE", "0"}});
  job.start_all();
  for (int r : {1, 2, 0}) {
    EXPECT_EQ(job.at(r).finish(), 0) << job.at(r).output();
    EXPECT_EQ(job.at(r).output().find("lost"), std::string::npos) << job.at(r).output();
  }
}
// ---- with the limits as they are ----
TEST(Stopped, FiveSecondsAreSurvivedAndTenAreNot) {
  Ranks job({"loop"}, {});
  job.start_all();
  job.at(1).signal(SIGSTOP);
  milliseconds(5000);
  job.at(1).signal(SIGCONT);
  milliseconds(1000);
  auto start = std::chrono::steady_clock::now();
  job.at(1).signal(SIGSTOP);
  job.all_end(1, 12, "no heartbeat for 10.");  // and a second in which it may still read buffers
  EXPECT_GT(seconds_since(start), 9);
  EXPECT_HAS(job.at(0).output(), "warning: rank 1 (host ");
  EXPECT_HAS(job.at(0).output(), " has been silent for 3.");
}
}  // namespace
}  // namespace bora::transport
