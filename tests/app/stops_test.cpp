// Stops and what asks for them: signals at every moment, the limit of a job of Slurm's, and a stop in a long step.
#include <sys/stat.h>
#include <csignal>
#include <ctime>
#include <random>
#include "command.h"
#include "elastic.h"

namespace stops_test {
namespace {
namespace fs = std::filesystem;
using namespace bora;
struct StopsTest : CommandTest {
  std::string out = folder + "/o";
  int saves() const {
    auto text = said_so_far();
    int n = 0;
    for (auto at = text.find("checkpoint: "); at != text.npos; at = text.find("checkpoint: ", at + 1)) ++n;
    return n;
  }
  static void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
  /// A step of this run takes some seconds.
  std::string long_steps =
      " batch=192 model.embed=128 model.heads=4 model.positions=128 eval_rows=12 log.digest=false ";
};
/// Whenever two signals come, the run ends as it should, nothing stays behind, and the same command ends as if there
/// had been none.
TEST_F(StopsTest, EverySignalAtEveryMomentTwice) {
  std::string words = " " + config + " steps=12 checkpoint.every=3 eval.every=4 ";
  ASSERT_EQ(run("launch -n 2 --out " + folder + "/calm" + words).code, 0);
  auto calm = losses(folder + "/calm");
  std::mt19937 random(7);
  for (int alone : {0, 1})
    for (int signal : {SIGUSR1, SIGTERM, SIGINT, SIGHUP}) {
      std::string command = alone ? "train --out " : "launch -n 2 --out ";
      auto to = out + std::to_string(alone) + std::to_string(signal);
      if (alone) {
        ASSERT_EQ(run("train --out " + to + "calm" + words).code, 0);
      }
      auto expected = alone ? losses(to + "calm") : calm;
      int code = -1;
      for (int attempt = 0; attempt < 5 && code != 0; ++attempt) {
        auto when = std::uniform_real_distribution<>(0, 0.6)(random), then = attempt % 2 ? 0.15 : 0.0;
        auto r = run(command + to + words, [&](pid_t pid) {
          sleep(when);
          ::kill(pid, signal);
          sleep(then);
          ::kill(pid, signal);
        });
        code = r.code;
        // Before a process has its handlers a signal ends it, and so does a second one.
        bool orderly = code == 0 || code == 130;
        EXPECT_TRUE(orderly || (signal != SIGUSR1 && code == -signal))
            << command << signal << "\n" << code << r.out << r.err;
        if (signal == SIGUSR1) {
          EXPECT_EQ(code, 0) << r.out << r.err;
        }
        EXPECT_EQ(r.err.find("bora: "), std::string::npos) << r.err;
        EXPECT_EQ(test::left(to), 0);
      }
      auto r = run(command + to + words);
      EXPECT_EQ(r.code, 0) << r.out << r.err;
      EXPECT_EQ(losses(to), expected) << command << signal;
    }
}
TEST_F(StopsTest, Sigusr1SavesOverSshToo) {
  Hosts hosts(folder, "a slots=1\nb slots=1\n");
  auto r = run("launch " + hosts.words() + "--out " + out + " " + config + " steps=100000", [&](pid_t launcher) {
    until([&] { return losses(out).size() > 3; });
    for (int k = 1; k <= 3; ++k) {  // to the launcher, to a rank there, to an agent there
      auto there = hosts.on("b");
      ASSERT_GE(there.size(), 2U);
      ::kill(k == 1 ? launcher : k == 2 ? there.back() : there.front(), SIGUSR1);
      until([&] { return saves() >= k; });
    }
    ::kill(launcher, SIGTERM);
  });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  EXPECT_GE(saves(), 4);
}
TEST_F(StopsTest, ASecondSignalEndsARankWithoutALauncherAtOnce) {
  for (auto [first, second] : {std::pair{SIGTERM, SIGTERM}, {SIGTERM, SIGINT}, {SIGINT, SIGTERM}}) {
    auto words = "train --out " + out + " " + config + long_steps + "checkpoint.at_once=off steps=100";
    auto r = run(words, [&](pid_t rank) {
      until([&] { return losses(out).size() >= 1; });
      ::kill(rank, first);
      sleep(0.2);
      ::kill(rank, second);
    });
    EXPECT_EQ(r.code, -second);
    fs::remove_all(out);
  }
}
/// With the state before a step at hand a stop takes a write, however long the step, and loses that step only.
TEST_F(StopsTest, AtOnceDoesNotWaitForTheStep) {
  auto words = config + long_steps + "steps=4 checkpoint.at_once=on --out ";
  ASSERT_EQ(run("launch -n 2 " + words + folder + "/calm").code, 0);
  auto calm = losses(folder + "/calm");
  auto step = losses(folder + "/calm", "throughput/step_seconds").back();
  for (int signal : {SIGTERM, SIGINT}) {
    std::chrono::steady_clock::time_point asked;
    auto r = run("launch -n 2 " + words + out, [&](pid_t launcher) {
      until([&] { return losses(out).size() >= 2; });
      sleep(0.2 * step);
      asked = std::chrono::steady_clock::now();
      ::kill(launcher, signal);
    });
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - asked;
    EXPECT_EQ(r.code, 130) << r.out << r.err;
    EXPECT_LT(took.count(), 2 + 0.3 * step) << "a step takes " << step;
    EXPECT_NE(r.out.find("stopped after step 2 of 4"), std::string::npos) << r.out;
    EXPECT_TRUE(fs::exists(out + "/checkpoints/step-2/manifest"));
    EXPECT_EQ(run("launch -n 2 " + words + out).code, 0);
    EXPECT_EQ(losses(out), calm);
    fs::remove_all(out);
  }
}
TEST_F(StopsTest, AtOnceEndsAnEvaluationThatTheNextStartMakesUpFor) {
  auto words = config + " steps=4 eval.every=2 eval.rows=0 data.hold_out=0.5 model.positions=64 --out ";
  ASSERT_EQ(run("launch -n 2 " + words + folder + "/calm").code, 0);
  auto r = run("launch -n 2 " + words + out, [&](pid_t launcher) {
    until([&] { return losses(out).size() >= 2; });
    ::kill(launcher, SIGTERM);
  });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  EXPECT_EQ(run("launch -n 2 " + words + out).code, 0);
  for (auto name : {"train/loss", "eval/loss"}) EXPECT_EQ(losses(out, name), losses(folder + "/calm", name)) << name;
}

/// Slurm's commands as scripts that note their words, and the environment of a batch script.
struct SlurmTest : StopsTest {
  std::string programs = folder + "/programs", script = folder + "/job.sh";
  SlurmTest() {
    fs::create_directories(programs);
    program("srun", "while [ \"$1\" != -w ]; do shift; done\nshift 2\nexec \"$@\"\n");
    program("squeue", "case \"$*\" in *%T*) cat " + folder + "/state;; *) echo N/A;; esac\n");
    program("scontrol", "echo scontrol \"$@\" >> " + folder + "/asked\n");
    program("sbatch", "echo sbatch \"$@\" >> " + folder + "/asked\n");
    state("RUNNING");
  }
  void program(const std::string& name, const std::string& text) const {
    std::ofstream(programs + "/" + name) << "#!/bin/sh\n" << text;
    ::chmod((programs + "/" + name).c_str(), 0755);
  }
  void state(const std::string& word) const { std::ofstream(folder + "/state") << word << "\n"; }
  std::string asked() const {
    auto text = fs::exists(folder + "/asked") ? slurp(folder + "/asked") : "";
    fs::remove(folder + "/asked");
    return text;
  }
  std::string print(const std::string& words) const {
    auto r = run("launch --slurm-script " + words);
    EXPECT_EQ(r.code, 0) << r.err;
    std::ofstream(script) << r.out;
    return r.out;
  }
  /// Runs the script as Slurm would, `seconds` before the job's limit.
  Result submitted(double seconds, const std::function<void(pid_t)>& meanwhile = {}) const {
    auto end = std::to_string(static_cast<long long>(static_cast<double>(std::time(nullptr)) + seconds));
    auto command = "PATH=" + programs + ":$PATH SLURM_JOB_ID=7 SLURM_JOB_NODELIST=localhost SLURM_TASKS_PER_NODE=2 "
                   "SLURM_JOB_END_TIME=" + end + " exec sh " + script;
    auto child = [&] { return ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr), 127; };
    return test::run_apart(folder + "/" + std::to_string(++runs), child, meanwhile);
  }
};
TEST_F(SlurmTest, TheScriptRequeuesTheJobUntilItsRunIsDone) {
  auto text = print("-n 2 " + config + " --out " + out + " steps=100000 checkpoint.minutes=0");
  for (std::string line : {"#!/bin/sh\n", "\n#SBATCH --ntasks=2\n", "\n#SBATCH --requeue\n",
                           "\n#SBATCH --open-mode=append\n", "\n#SBATCH --signal=USR1@", " launch --hosts slurm -n 2 "})
    EXPECT_NE(text.find(line), text.npos) << line << text;
  EXPECT_EQ(text.find("--slurm-script "), text.npos) << text;
  auto first = submitted(33);
  EXPECT_EQ(first.code, 130) << first.out << first.err;
  EXPECT_NE(first.out.find("deadline: "), first.out.npos) << first.out;
  EXPECT_NE(first.out.find("stopped after step "), first.out.npos) << first.out;
  EXPECT_EQ(asked(), "scontrol requeue 7\n");
  // No step fits any more: the job would be requeued for ever.
  auto none = submitted(20);
  EXPECT_EQ(none.code, 130);
  EXPECT_NE(none.out.find("job 7 got no further, and is not requeued"), none.out.npos) << none.out;
  EXPECT_EQ(asked(), "");
  auto cancelled = submitted(3600, [&](pid_t shell) {
    auto before = losses(out).size();
    until([&] { return losses(out).size() > before + 3; });
    state("COMPLETING");
    ::kill(shell, SIGTERM);  // as scancel does, to the script and to what runs in it
    for (auto launcher : Hosts::processes("SLURM_JOB_ID=7"))
      if (slurp("/proc/" + std::to_string(launcher) + "/cmdline").find("launch") != std::string::npos)
        ::kill(launcher, SIGTERM);
  });
  EXPECT_EQ(cancelled.code, 130) << cancelled.out << cancelled.err;
  EXPECT_NE(cancelled.out.find("job 7 was cancelled, and is not requeued"), cancelled.out.npos) << cancelled.out;
  EXPECT_EQ(asked(), "");
  state("RUNNING");
  program("scontrol", "exit 1\n");
  EXPECT_EQ(submitted(33).code, 130);
  EXPECT_EQ(asked(), "sbatch --dependency=afternotok:7 " + script + "\n");
  print("-n 2 " + config + " --out " + folder + "/short steps=3");
  EXPECT_EQ(submitted(3600).code, 0);
  EXPECT_EQ(asked(), "");
}
TEST_F(SlurmTest, TheScriptKeepsWordsThatAShellWouldChange) {
  auto text = print("-n 3 --hosts slurm " + config + " '--out' \"" + folder + "/a b'c\\$d\" deadline=12h threads=4");
  EXPECT_NE(text.find("--out '" + folder + "/a b'\\''c$d' deadline=12h"), text.npos) << text;
  for (std::string line : {"\n#SBATCH --time=0-12:00:00\n", "\n#SBATCH --cpus-per-task=4\n", "\n#SBATCH --ntasks=3\n"})
    EXPECT_NE(text.find(line), text.npos) << line << text;
  EXPECT_EQ(text.find("--hosts slurm --hosts"), text.npos) << text;
  is_bad_input("launch --slurm-script " + config, "how many ranks");
  is_bad_input("launch --slurm-script --hosts " + config + " -n 2 " + config, "--hosts");
  is_bad_input("launch --slurm-script -n 2 -- comm", "it is for training");
  is_bad_input("launch -n 2 " + config + " deadline=soon", "deadline: must be auto, off, a length of time");
  is_bad_input("launch -n 2 " + config + " deadline=2001-01-01T00:00", "deadline: 2001-01-01T00:00 has passed");
}
}  // namespace
}  // namespace stops_test
