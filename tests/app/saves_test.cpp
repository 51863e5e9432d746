// When a run saves without being told in its settings, and that `best` is a name and not a second copy.
#include <sys/stat.h>
#include <csignal>
#include "command.h"
#include "elastic.h"

namespace saves_test {
namespace {
namespace fs = std::filesystem;
using namespace bora;
struct SavesTest : CommandTest {
  std::string out = folder + "/o";
  int saves() const {
    auto text = said_so_far();
    int n = 0;
    for (auto at = text.find("checkpoint: "); at != text.npos; at = text.find("checkpoint: ", at + 1)) ++n;
    return n;
  }
};
/// Slurm's users send it before the time limit.
TEST_F(SavesTest, Sigusr1SavesAndTheRunGoesOn) {
  auto r = run("launch -n 3 --out " + out + " " + config + " steps=100000", [&](pid_t launcher) {
    until([&] { return losses(out).size() > 3; });
    ::kill(launcher, SIGUSR1);  // all ranks
    until([&] { return saves() == 1; });
    auto ranks = Hosts::ranks_of(launcher);
    ASSERT_EQ(ranks.size(), 3U);
    for (int k = 1; k < 3; ++k) {
      ::kill(ranks[static_cast<std::size_t>(k)], SIGUSR1);  // one of them
      until([&] { return saves() == k + 1; });
    }
    auto now = losses(out).size();
    until([&] { return losses(out).size() > now + 3; });
    EXPECT_EQ(saves(), 3);
    EXPECT_TRUE(fs::exists(out + "/loss.svg"));
    ::kill(launcher, SIGTERM);
  });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  EXPECT_EQ(saves(), 4) << r.out;
  EXPECT_EQ(r.err, "");
}
TEST_F(SavesTest, Sigusr1BeforeTheFirstStepEndsNothing) {
  auto r = run("train --out " + out + " " + config, [&](pid_t rank) {
    until([&] { return fs::exists(out); });
    for (int i = 0; i < 20; ++i) ::kill(rank, SIGUSR1), std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}
TEST_F(SavesTest, TimeAloneIsAReason) {
  auto with = [&](const std::string& minutes) {
    auto r = run("launch -n 2 --out " + out + minutes + " " + config + " steps=100000 checkpoint.minutes=" + minutes,
                 [&](pid_t launcher) {
                   auto enough = [&] { return minutes == "0" ? losses(out + minutes).size() > 200 : saves() == 2; };
                   until(enough);
                   ::kill(launcher, SIGTERM);
                 });
    EXPECT_EQ(r.code, 130) << r.out << r.err;
    return saves();
  };
  EXPECT_GE(with("0.01"), 3);
  EXPECT_EQ(with("0"), 1);
  is_bad_input("train " + config + " checkpoint.minutes=-1", "checkpoint.minutes");
  is_bad_input("train " + config + " checkpoint.minutes=nan", "checkpoint.minutes");
}
TEST_F(SavesTest, TheBestIsASecondName) {
  ASSERT_EQ(run("launch -n 2 --out " + out + " " + config +
                " steps=6 eval.every=2 checkpoint.every=2 checkpoint.best=true checkpoint.keep=9")
                .code,
            0);
  int files = 0;
  for (auto& best : fs::directory_iterator(out + "/best"))
    for (auto& file : fs::directory_iterator(best.path())) {
      auto twin = fs::path(out) / "checkpoints" / best.path().filename() / file.path().filename();
      ++files;
      EXPECT_TRUE(fs::equivalent(file.path(), twin)) << twin;
    }
  EXPECT_EQ(files, 3);
  EXPECT_EQ(run("inspect " + out + "/best").code, 0);
}
}  // namespace
}  // namespace saves_test
