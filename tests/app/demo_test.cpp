// The demo, with a model that takes no time.
#include <signal.h>
#include <set>
#include "command.h"

namespace fs = std::filesystem;
namespace demo_test {
using namespace bora;
namespace {
struct DemoTest : CommandTest {
  const std::string tiny = " model.layers=1 model.embed=16 model.heads=2 batch=4 warmup=2 eval_rows=8 log_every=1 ",
                    here = "cd " + folder + "; export OMP_NUM_THREADS=1;";
  /// Processes that work in the test's folder.
  int left() const {
    int n = 0;
    for (auto& entry : fs::directory_iterator("/proc")) {
      std::error_code error;
      n += fs::read_symlink(entry.path() / "cwd", error) == folder && !error;
    }
    return n;
  }
};
}  // namespace

TEST_F(DemoTest, TrainsAsksAndServes) {
  auto r = run("demo text steps=6 checkpoint_every=3" + tiny, {}, here);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  std::multiset<std::string> digests;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("init digest")) digests.insert(line.substr(line.find(": ")));
  EXPECT_EQ(digests.size(), 4U) << r.out;  // the training's too
  EXPECT_EQ(std::set(digests.begin(), digests.end()).size(), 1U) << r.out;
  auto out = folder + "/runs/demo-1";
  EXPECT_EQ(losses(out).size(), 6U);
  EXPECT_TRUE(fs::exists(out + "/checkpoints/step-6"));
  EXPECT_FALSE(fs::exists(out + "/init"));
  EXPECT_NE(r.out.find("\nhttp://127.0.0.1:"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find(" inspect runs/demo-1/checkpoints/step-6\n"), std::string::npos) << r.out;
  EXPECT_EQ(left(), 0);
}
TEST_F(DemoTest, EndsWithAllItsProcessesAndBeginsAnewElsewhere) {
  fs::create_directories(folder + "/runs/demo-1");
  auto out = folder + "/runs/demo-2";
  auto r = run("demo text steps=1000000 checkpoint_every=1000000" + tiny,
               [&](pid_t demo) {
                 until([&] { return losses(out).size() > 2; });
                 ::kill(demo, SIGTERM);
               },
               here);
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  until([&] { return left() == 0; });
  EXPECT_TRUE(fs::is_empty(folder + "/runs/demo-1"));
}
TEST_F(DemoTest, TrainsForAsManyStepsAsThereIsTimeFor) {
  auto config = folder + "/runs/demo-1/config.yaml";
  auto r = run("demo text" + tiny,
               [&](pid_t demo) {
                 until([&] { return fs::exists(config); });
                 ::kill(demo, SIGTERM);
               },
               here);
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  auto text = slurp(config);
  auto at = text.find("\nsteps: ");
  ASSERT_NE(at, std::string::npos) << text;
  auto steps = std::stoi(text.substr(at + 8));
  EXPECT_TRUE(steps >= 500 && steps <= 2000 && steps % 100 == 0) << steps;
}
TEST_F(DemoTest, MistakesAreOneLine) {
  is_bad_input("demo nosuchtext", "data: no file or folder at " + folder + "/nosuchtext", here);
  is_bad_input("demo text out=there", "leave out=there out", here);
  is_bad_input("demo text steps", "expected key=value after TEXT, got 'steps'", here);
  is_bad_input("demo text model.embed=16 model.heads=3", "heads", here);
  EXPECT_TRUE(fs::is_empty(folder + "/runs"));
  is_bad_input("demo text", "install curl", here + "PATH=" + folder + ";");
}
}  // namespace demo_test
