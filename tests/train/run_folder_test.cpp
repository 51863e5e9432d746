// The owner of a run's folder, where jobs outlive their ranks.
#include "train/api/run_folder.h"
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include "bora/base/error.h"
#include "support/temp_folder.h"

namespace fs = std::filesystem;
namespace run_folder_test {
using namespace bora;
namespace {
struct RunFolderTest : testing::Test {
  test::TempFolder temp;
  std::string path = temp / "run";
  std::string lives = process_id();  // this process is the launcher
  bool gets(const std::string& job, bool takes_over = false) const {
    try {
      RunFolder folder(path, takes_over, job);
      return folder.mine();
    } catch (const ConfigError&) { return false; }
  }
};
}  // namespace

TEST_F(RunFolderTest, AJobTakesItOverFromItsOwnRanksAlone) {
  const std::string job = "1 1 gone gone", other = "2 2 gone gone";
  auto lost = std::make_unique<RunFolder>(path, false, job);  // stopped, with the lock
  EXPECT_TRUE(lost->mine());
  EXPECT_FALSE(gets(other, true));  // it has lost a rank before it had the folder
  EXPECT_TRUE(lost->mine());
  RunFolder next(path, true, job);
  EXPECT_TRUE(next.mine());
  EXPECT_FALSE(lost->mine());
  lost.reset();  // with it the lock goes
  EXPECT_TRUE(next.mine());
  EXPECT_FALSE(gets(other)) << "nobody has locked it";
  EXPECT_TRUE(next.mine());
}
TEST_F(RunFolderTest, BetweenTwoGenerationsItIsTheJobs) {
  EXPECT_TRUE(gets(lives));
  EXPECT_FALSE(gets({}));
  EXPECT_FALSE(gets("1 1 gone gone"));
  fs::copy(path, path + ".copy", fs::copy_options::recursive);
  EXPECT_NO_THROW(RunFolder(path + ".copy"));
  {
    RunFolder again(path, true, lives);
    EXPECT_TRUE(again.mine());
    again.give_up();
    EXPECT_FALSE(again.mine());  // who wakes after the end writes nothing either
  }
  EXPECT_FALSE(fs::exists(path + "/.owner"));
  EXPECT_TRUE(gets({}));
}
/// A folder that a killed job has left keeps nobody out.
TEST_F(RunFolderTest, AJobThatHasEndedHasNoFolder) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  auto launcher = ::fork();
  if (launcher == 0) {
    char c = 0;
    ::close(pipe[1]);
    ::_exit(static_cast<int>(::read(pipe[0], &c, 1)));
  }
  auto job = process_id(std::to_string(launcher));
  ASSERT_FALSE(job.empty());
  EXPECT_NE(job, lives);
  EXPECT_TRUE(gets(job));
  EXPECT_FALSE(gets(lives));
  ::close(pipe[0]), ::close(pipe[1]);
  ::siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<::id_t>(launcher), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(process_id(std::to_string(launcher)), "");  // nobody has waited for it
  EXPECT_TRUE(gets(lives));
  EXPECT_FALSE(gets(job, true)) << "another job has it now";
  ::waitpid(launcher, nullptr, 0);
}
}  // namespace run_folder_test
