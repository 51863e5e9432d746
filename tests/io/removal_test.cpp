// Removing checkpoints: a process that is killed before or after any call to the system leaves whole ones, the newest
// two and pinned ones among them; what is no checkpoint stays.
#include "testing.h"
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <csignal>
#include <cstdlib>
#include <set>
#include "io/api/retention.h"

namespace removal_test {
using namespace bora;
using namespace bora::io;

namespace {
const Shapes kSmall = {{{{7, 5}, f32}, {"data", "model"}}, {{{}, i64}, {}}};
/// Of the calls at which a process is stopped: all, or each so-manieth in the fast tests.
int stride() {
  const char* laws = std::getenv("BORA_LAWS");
  return laws && std::string(laws) == "full" ? 1 : 5;
}
/// The steps below a root; each is restored, number by number.
std::set<std::int64_t> whole_steps(const std::string& root) {
  std::set<std::int64_t> steps;
  for (auto& c : list_checkpoints(root)) {
    EXPECT_EQ(restore_alone(c.folder, kSmall), "no error") << c.folder;
    steps.insert(c.step);
  }
  return steps;
}
std::set<std::string> names_in(const std::string& root) {
  std::set<std::string> names;
  for (auto& e : fs::directory_iterator(root)) names.insert(e.path().filename());
  return names;
}
/// Kills a process that calls f when it has come to a call to the system, or back from one, n times. False: it ended.
bool killed_at(int n, const std::function<void()>& f) {
  auto pid = ::fork();
  if (pid == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    f();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  for (int i = 0; i < n && WIFSTOPPED(status); ++i) {
    ::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr);
    ::waitpid(pid, &status, 0);
  }
  if (!WIFSTOPPED(status)) {
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    return false;
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, &status, 0);
  return true;
}
/// Steps 1 to 6, of which 2 is pinned, and folders that are none of ours.
struct Shelf {
  Folder f;
  std::string full = f.temp / "full";
  Shelf() {
    for (int step = 1; step <= 6; ++step) save_on(mesh_of(2, 1), full, step, kSmall, 0);
    pin_checkpoint(full + "/step-2");
    fs::create_directories(full + "/step-7x");
    fs::create_directories(full + "/mine");
  }
  void again() const {
    fs::remove_all(f.path);
    fs::copy(full, f.path, fs::copy_options::recursive);
  }
};
}  // namespace

TEST(Removal, AProcessThatIsKilledAtAnyCallLeavesWholeCheckpoints) {
  Shelf s;
  int calls = 0, with_remains = 0;
  for (bool killed = true; killed; calls += stride()) {
    s.again();
    killed = killed_at(calls, [&] { (void)retain(s.f.path, {.last = 2}, 6); });
    SCOPED_TRACE(calls);
    auto steps = whole_steps(s.f.path);
    for (int step : {2, 5, 6}) ASSERT_TRUE(steps.contains(step)) << step;
    ASSERT_TRUE(names_in(s.f.path).contains("mine") && names_in(s.f.path).contains("step-7x"));
    auto names = names_in(s.f.path);
    with_remains += std::any_of(names.begin(), names.end(), [](auto& n) { return n.starts_with('.'); });
    // Whoever comes next cleans, and removes the rest.
    ASSERT_EQ(clean_checkpoints(s.f.path), "");
    ASSERT_EQ(retain(s.f.path, {.last = 2}, 6).problem, "");
    ASSERT_EQ(names_in(s.f.path), (std::set<std::string>{"mine", "step-2", "step-5", "step-6", "step-7x"}));
  }
  EXPECT_GT(calls, 50);
  EXPECT_GT(with_remains, 1);
}
TEST(Removal, APinThatComesAtAnyCallIsKeptOrRefused) {
  Shelf s;
  int kept = 0, refused = 0;
  for (int calls = 0, alive = 1; alive; calls += stride()) {
    s.again();
    // The remover is stopped there, somebody pins, and it goes on.
    std::string error;
    auto pid = ::fork();
    if (pid == 0) {
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      ::raise(SIGSTOP);
      (void)retain(s.f.path, {.last = 2}, 6);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    for (int i = 0; i < calls && WIFSTOPPED(status); ++i) {
      ::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr);
      ::waitpid(pid, &status, 0);
    }
    alive = WIFSTOPPED(status);
    bool there = fs::exists(s.f.path + "/step-3");
    std::thread pins([&] { error = error_of<IoError>([&] { pin_checkpoint(s.f.path + "/step-3"); }); });
    if (alive) {
      while (there && !fs::exists(s.f.path + "/step-3/PINNED")) std::this_thread::yield();
      ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
      ::waitpid(pid, &status, 0);
    }
    pins.join();
    SCOPED_TRACE(calls);
    ASSERT_EQ(error == "no error", fs::exists(s.f.path + "/step-3/PINNED")) << error;
    if (error == "no error") {
      ASSERT_EQ(restore_alone(s.f.path + "/step-3", kSmall), "no error");
    }
    (error == "no error" ? kept : refused)++;
  }
  EXPECT_GT(kept, 5);
  EXPECT_GT(refused, 0);
}
TEST(Removal, APinnedOneIsKeptWhenItsStepIsWrittenAgain) {
  Folder f;
  for (int step : {1, 2}) save_on(mesh_of(1, 1), f.path, step, kSmall);
  pin_checkpoint(f.path + "/step-2");
  for (int i = 0; i < 2; ++i) save_on(mesh_of(2, 1), f.path, 2, kSmall);
  EXPECT_EQ(names_in(f.path), (std::set<std::string>{"step-1", "step-2", "step-2.pinned"}));
  EXPECT_EQ(read_manifest(f.path + "/step-2.pinned").mesh, to_string(mesh_of(1, 1)));
  EXPECT_FALSE(fs::exists(f.path + "/step-2/PINNED"));
  // The same of one that was cut short, whose old folder still has the unfinished one's name.
  pin_checkpoint(f.path + "/step-2");
  fs::rename(f.path + "/step-2", f.path + "/.step-2.tmp");
  EXPECT_EQ(clean_checkpoints(f.path), "");
  EXPECT_EQ(names_in(f.path), (std::set<std::string>{"step-1", "step-2", "step-2.pinned"}));
  save_on(mesh_of(1, 1), f.path, 3, kSmall, 1);
  EXPECT_EQ(names_in(f.path), (std::set<std::string>{"step-2", "step-2.pinned", "step-3"}));
}
TEST(Removal, OnlyWholeCheckpointsCountAndOnlyTheyGo) {
  Shelf s;
  s.again();
  auto& root = s.f.path;
  edit(root + "/step-5/rank-0", [](std::string& bytes) { bytes.pop_back(); });   // truncated
  edit(root + "/step-3/manifest", [](std::string& bytes) { bytes[30] ^= 1; });
  fs::copy(root + "/step-1", root + "/step-4000", fs::copy_options::recursive);  // a copy
  fs::create_directories(root + "/step-9");
  auto seen = look_at_checkpoints(root);
  std::vector<std::string> problems;
  for (auto& c : seen) problems.push_back(std::to_string(c.kept.step) + (c.problem.empty() ? "" : " " + c.problem));
  ASSERT_EQ(problems.size(), 8U);
  EXPECT_EQ(problems[0], "1");
  EXPECT_NE(problems[2].find("manifest"), std::string::npos) << problems[2];
  EXPECT_NE(problems[4].find("rank-0 has "), std::string::npos) << problems[4];
  EXPECT_EQ(problems[7], "4000 it is a copy of step 1");
  // The newest two that are whole are 4 and 6. Nothing goes for a commit that is not whole.
  EXPECT_TRUE(retain(root, {.last = 2}, 9).removed.empty());
  EXPECT_EQ(retain(root, {.last = 2}, 6).removed, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(names_in(root), (std::set<std::string>{"mine", "step-2", "step-3", "step-4", "step-4000", "step-5",
                                                   "step-6", "step-7x", "step-9"}));
  // An owner that was fenced off removes nothing more.
  s.again();
  int asked = 0;
  EXPECT_THROW(retain(root, {.last = 2}, 6, [&] { check<IoError>(++asked < 2, "taken over"); }), IoError);
  EXPECT_EQ(whole_steps(root), (std::set<std::int64_t>{2, 3, 4, 5, 6}));
}
}  // namespace removal_test
