// A run that is watched: a rank that is slow is named, with its reason, and the log tells what happened when.
#include <csignal>
#include "command.h"
#include "elastic.h"

namespace watch_test {
namespace {
namespace fs = std::filesystem;
using namespace bora;
using WatchTest = CommandTest;
}  // namespace

TEST_F(WatchTest, ARankThatIsStoppedHalfOfTheTimeIsNamed) {
  auto out = folder + "/o", heard = folder + "/heard";
  std::string slow;
  auto r = run("launch -n 3 --out " + out + " " + config +
                   " steps=1000000 alerts.command='echo \"$BORA_ALERT_RANK\" >> " + heard + "'",
               [&](pid_t launcher) {
                 until([&] { return losses(out).size() > 3; });
                 auto ranks = Hosts::ranks_of(launcher);
                 ASSERT_EQ(ranks.size(), 3U);
                 for (auto k : {0U, 1U, 2U}) {
                   auto told = slurp("/proc/" + std::to_string(ranks[k]) + "/environ");
                   if (told.find(std::string("\0BORA_RANK=2\0", 13)) != told.npos) slow = std::to_string(ranks[k]);
                 }
                 ASSERT_NE(slow, "");
                 auto said = [&] { return slurp(out + "/metrics.jsonl").find("\"slow_rank\"") != std::string::npos; };
                 for (int i = 0; i < 1000 && !said(); ++i) {
                   ::kill(std::stoi(slow), SIGSTOP);
                   std::this_thread::sleep_for(std::chrono::milliseconds(30));
                   ::kill(std::stoi(slow), SIGCONT);
                   std::this_thread::sleep_for(std::chrono::milliseconds(30));
                 }
                 EXPECT_TRUE(said());
                 ::kill(launcher, SIGTERM);
               });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  auto at = r.out.find("alert: rank 2 (host ");
  ASSERT_NE(at, r.out.npos) << r.out;
  auto line = r.out.substr(at, r.out.find('\n', at) - at);
  EXPECT_NE(line.find(" times as long as the median rank ("), line.npos) << line;
  EXPECT_NE(line.find("or something stops it"), line.npos) << line;
  EXPECT_NE(slurp(out + "/run.log").find("Z " + line + "\n"), std::string::npos);
  EXPECT_EQ(slurp(heard).substr(0, 2), "2\n");
}
TEST_F(WatchTest, TheLogOutlivesARestartAndHasTheError) {
  auto out = folder + "/o";
  ASSERT_EQ(run("train --out " + out + " " + config).code, 0);
  auto first = slurp(out + "/run.log");
  EXPECT_NE(first.find("Z step 6/6  loss "), std::string::npos) << first;
  EXPECT_NE(first.find("Z checkpoint: "), std::string::npos) << first;
  auto r = run("train --out " + out + " " + config + " steps=12 lr=1e30 optimizer.clip=0");
  EXPECT_EQ(r.code, 2) << r.out << r.err;
  auto both = slurp(out + "/run.log");
  EXPECT_TRUE(both.starts_with(first));
  EXPECT_NE(both.find("Z alert: step "), std::string::npos) << both;
  // After it a Debug build says which line of Bora refused.
  EXPECT_NE(both.find("Z error: " + r.err.substr(6, r.err.size() - 7)), std::string::npos) << both << r.err;
}
}  // namespace watch_test
