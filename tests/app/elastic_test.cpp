// Elastic jobs: ranks are killed at moments of their own, and the run ends as if nobody had been.
#include <chrono>
#include <random>
#include <thread>
#include "elastic.h"
#include "transport/strangers.h"

namespace fs = std::filesystem;
namespace elastic_test {
using namespace bora;

namespace {
struct ElasticTest : CommandTest {
  std::string settings = config + " steps=800 batch=8 checkpoint_every=20 keep=3 reproducible=4 ";
  /// The process of a rank that this launcher started; 0 if there is none now.
  static pid_t process_of(pid_t launcher, int rank) {
    std::error_code gone;
    for (auto& p : fs::directory_iterator("/proc", gone)) {
      auto stat = slurp(p.path() / "stat");
      if (stat.find(" " + std::to_string(launcher) + " ") != stat.npos &&
          slurp(p.path() / "environ").find("BORA_RANK=" + std::to_string(rank) + std::string(1, '\0')) != stat.npos)
        return std::stoi(p.path().filename());
    }
    return 0;
  }
};
}  // namespace

TEST_F(ElasticTest, ThreeKillsChangeNothing) {
  auto undisturbed = run("launch -n 4 --layout dp --out " + folder + "/calm train " + settings);
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
  auto out = folder + "/hit";
  auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto r = run("launch --elastic 2:4 --layout dp --out " + out + " train " + settings, [&](pid_t launcher) {
    for (std::size_t kill = 0; kill < 3; ++kill) {
      auto step = 90 * (kill + 1) + random() % 40;
      until([&] { return losses(out).size() >= step; });
      auto rank = static_cast<int>(random() % 4);
      pid_t victim = 0;
      until([&] { return (victim = process_of(launcher, rank)) > 0; });
      ::kill(victim, SIGKILL);
    }
  });
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  std::size_t losses_said = 0;
  constexpr auto words = "; going on from step ";
  for (auto at = r.err.find(words); at != r.err.npos; at = r.err.find(words, at + 1)) ++losses_said;
  EXPECT_EQ(losses_said, 3U) << r.err;
  EXPECT_EQ(losses(out), losses(folder + "/calm"));
  EXPECT_EQ(losses(out, "eval/loss"), losses(folder + "/calm", "eval/loss"));
}
/// Strangers at every port of every generation, and ranks that nobody started: without the job's secret, in the place
/// of another. They are refused as when the ranks first met, and the run is the undisturbed one.
TEST_F(ElasticTest, HostileNewcomersChangeNothing) {
  auto undisturbed = run("launch -n 4 --layout dp --out " + folder + "/calm train " + settings);
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
  auto out = folder + "/hit", secret = folder + "/secret";
  std::ofstream(secret) << "not the secret of this job\n";
  ::chmod(secret.c_str(), 0600);
  test::Strangers strangers;
  std::vector<Result> refused;
  auto r = run("launch --elastic 2:4 --layout dp --out " + out + " train " + settings, [&](pid_t launcher) {
    std::atomic<bool> over{false};
    std::thread doorman([&] {
      for (; !over; std::this_thread::sleep_for(std::chrono::milliseconds(20)))
        for (auto pid : Hosts::ranks_of(launcher)) strangers.come_to(test::ports_of(pid));
    });
    for (std::size_t kill = 0; kill < 2; ++kill) {
      until([&] { return losses(out).size() >= 100 * (kill + 1); });
      pid_t root = 0;
      std::set<int> ports;
      until([&] { return (root = process_of(launcher, 0)) > 0 && !(ports = test::ports_of(root)).empty(); });
      for (int port : ports)
        for (auto& with : {std::string(), "BORA_SECRET_FILE=" + secret + " "})
          refused.push_back(run("train --out " + folder + "/other " + settings, {},
                                with + "BORA_RANK=1 BORA_SIZE=4 BORA_JOIN_TIMEOUT=1 BORA_ROOT=127.0.0.1:" +
                                    std::to_string(port)));
      ::kill(process_of(launcher, static_cast<int>(kill)), SIGKILL);
    }
    over = true;
    doorman.join();
  });
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(losses(out), losses(folder + "/calm"));
  EXPECT_GT(strangers.came(), 200);
  EXPECT_GE(refused.size(), 4U);
  for (auto& newcomer : refused) {
    EXPECT_EQ(newcomer.code, 2) << newcomer.err;
    EXPECT_TRUE(newcomer.err.starts_with("bora: ")) << newcomer.err;
  }
  EXPECT_FALSE(fs::exists(folder + "/other/metrics.jsonl"));
}
/// Ranks that were not lost stay the processes that they were: also when several are lost at once, rank 0 among them,
/// and when another is lost while they meet again.
TEST_F(ElasticTest, OthersGoOnInTheirProcesses) {
  auto undisturbed = run("launch -n 4 --layout dp --out " + folder + "/calm train " + settings);
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
  auto out = folder + "/hit";
  auto r = run("launch --elastic 2:4 --layout dp --out " + out + " train " + settings, [&](pid_t launcher) {
    auto processes = [&] {
      std::vector<pid_t> all;
      for (int rank = 0; rank < 4; ++rank) {
        pid_t p = 0;
        until([&] { return (p = process_of(launcher, rank)) > 0; });
        all.push_back(p);
      }
      return all;
    };
    auto step = [&](std::size_t n) { until([&] { return losses(out).size() >= n; }); };
    step(60);
    auto first = processes();
    for (int lost : {0, 2}) ::kill(first[static_cast<std::size_t>(lost)], SIGKILL);
    step(140);
    auto second = processes();
    EXPECT_EQ(second[1], first[1]);
    EXPECT_EQ(second[3], first[3]);
    EXPECT_NE(second[0], first[0]);
    ::kill(second[1], SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    ::kill(second[0], SIGKILL);
    step(220);
    auto third = processes();
    EXPECT_NE(third[1], second[1]);
    EXPECT_EQ(third[3], first[3]);
  });
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(losses(out), losses(folder + "/calm"));
  EXPECT_EQ(losses(out, "eval/loss"), losses(folder + "/calm", "eval/loss"));
}
/// The same from snapshots in memory: no checkpoint is written before the end.
TEST_F(ElasticTest, SnapshotsReplaceCheckpoints) {
  auto words = settings + "checkpoint_every=790 ";
  auto undisturbed = run("launch -n 4 --layout dp --out " + folder + "/calm train " + words);
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
  auto out = folder + "/hit";
  auto command = "launch --elastic 2:4 --snapshot 5 --layout dp --out " + out + " train " + words;
  auto r = run(command, [&](pid_t launcher) {
    std::size_t at = 100;
    for (int rank : {2, 0, 3}) {
      until([&] { return losses(out).size() >= at; });
      pid_t victim = 0;
      until([&] { return (victim = process_of(launcher, rank)) > 0; });
      ::kill(victim, SIGKILL);
      at += 150;
    }
  });
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  std::size_t continued = 0;
  constexpr auto line = "(a snapshot in memory)";
  for (auto found = r.out.find(line); found != r.out.npos; found = r.out.find(line, found + 1)) ++continued;
  EXPECT_EQ(continued, 3U) << r.out << r.err;
  EXPECT_EQ(losses(out), losses(folder + "/calm"));
}
/// Hosts that come back join after a step: the other ranks go on in their processes, from there.
TEST_F(ElasticTest, HostsThatComeBackJoin) {
  auto words = settings + "steps=1000000 checkpoint_every=900000 ";
  Hosts hosts(folder, "h1 slots=2\nh2 slots=2\n");
  auto out = folder + "/hit";
  std::size_t asked = 0;
  auto command = "launch --elastic 1:4 " + hosts.words() + "--layout dp --out " + out + " train " + words;
  auto r = run(command, [&](pid_t job) {
    auto step = [&](std::size_t n) { until([&] { return losses(out).size() >= n; }); };
    step(40);
    auto first = Hosts::ranks_of(job);
    EXPECT_EQ(first.size(), 4U);
    hosts.lose("h2");
    until([&] { return Hosts::ranks_of(job).size() == 2; });
    step(60);
    asked = losses(out).size();
    hosts.come_back("h2");
    until_warned("elastic: host h2 joins\nelastic: 4 ranks instead of 2\n");
    auto second = Hosts::ranks_of(job);
    std::size_t same = 0;
    for (auto pid : first) same += static_cast<std::size_t>(std::count(second.begin(), second.end(), pid));
    EXPECT_EQ(second.size(), 4U);
    EXPECT_EQ(same, 2U);
    step(losses(out).size() + 40);
    ::kill(job, SIGTERM);
  });
  ASSERT_EQ(r.code, 130) << r.out << r.err;
  EXPECT_NE(r.err.find("elastic: 2 ranks instead of 4\n"), r.err.npos) << r.err;
  // From the step at which they met, of which a checkpoint was written.
  auto met = r.out.find(": the ranks meet again, with others");
  ASSERT_NE(met, r.out.npos) << r.out;
  auto step = std::stoul(r.out.substr(r.out.rfind("step ", met) + 5));
  EXPECT_GE(step, asked);
  EXPECT_NE(r.out.find("continuing from step " + std::to_string(step) + " ", met), r.out.npos) << r.out;
  is_as_undisturbed(out, "-n 4 --layout dp", words);
}
/// Virtual ranks run on a power of two of ranks: others are spares, and give what they hold to those that go on.
TEST_F(ElasticTest, AsManyRanksRunAsTheMeshAllows) {
  auto words = settings + "steps=240 checkpoint_every=230 ";
  auto undisturbed = run("launch -n 4 --layout dp --out " + folder + "/calm train " + words);
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
  Hosts hosts(folder, "h1\nh2\nh3\nh4\n");
  auto out = folder + "/hit";
  auto command = "launch --elastic 1:4 --snapshot 1 " + hosts.words() + "--layout dp --out " + out + " train " + words;
  auto r = run(command, [&](pid_t job) {
    until([&] { return losses(out).size() >= 50; });
    hosts.lose("h3");  // of four ranks two go on, one is a spare
    until([&] { return losses(out).size() >= 120; });
    EXPECT_EQ(Hosts::ranks_of(job).size(), 2U);
    hosts.lose("h1");
  });
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.err.find("elastic: 2 ranks instead of 4\n"), r.err.npos) << r.err;
  EXPECT_EQ(r.err.find("instead of 2"), r.err.npos) << r.err;  // the spare has taken a place
  std::size_t continued = 0;
  constexpr auto line = "(a snapshot in memory)";
  for (auto found = r.out.find(line); found != r.out.npos; found = r.out.find(line, found + 1)) ++continued;
  EXPECT_EQ(continued, 2U) << r.out << r.err;
  EXPECT_EQ(losses(out), losses(folder + "/calm"));
  // From the start.
  std::ofstream(hosts.folder + "/list") << "h1\nh2 slots=2\n";
  hosts.come_back("h1");
  out = folder + "/three";
  r = run("launch --elastic 1:4 " + hosts.words() + "--layout dp --out " + out + " train " + settings + "steps=60 ");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.err.find("elastic: 2 ranks instead of 3\n"), r.err.npos) << r.err;
}
/// A rank that is stopped, rank 0 as any: the others miss its signs of life and go on; it is ended.
TEST_F(ElasticTest, OthersGoOnWithoutAStoppedRank) {
  auto words = settings + "transport.heartbeat=0.5 transport.suspect=1.5 transport.dead=4 ";
  auto undisturbed = run("launch -n 4 --layout dp --out " + folder + "/calm train " + words);
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
  auto out = folder + "/hit";
  auto r = run("launch --elastic 2:4 --layout dp --out " + out + " train " + words, [&](pid_t launcher) {
    std::size_t at = 60;
    for (int rank : {2, 0}) {
      until([&] { return losses(out).size() >= at; });
      pid_t victim = 0;
      until([&] { return (victim = process_of(launcher, rank)) > 0; });
      auto all = Hosts::ranks_of(launcher);
      ::kill(victim, SIGSTOP);
      until([&] { return slurp("/proc/" + std::to_string(victim) + "/environ").empty(); });  // it has ended
      until([&] { return Hosts::ranks_of(launcher).size() == 4; });
      auto now = Hosts::ranks_of(launcher);
      auto same = std::count_if(now.begin(), now.end(),
                                [&](auto pid) { return std::count(all.begin(), all.end(), pid) > 0; });
      EXPECT_EQ(same, 3);
      at = losses(out).size() + 60;
    }
  });
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(losses(out), losses(folder + "/calm"));
  EXPECT_EQ(losses(out, "eval/loss"), losses(folder + "/calm", "eval/loss"));
}
/// A host whose processes are all stopped, and that no signal of the launcher's reaches, as behind a cut cable or while
/// its virtual machine is moved: the others go on. Once its processes wake they end, and write nothing.
TEST_F(ElasticTest, AHostThatWakesLateWritesNothing) {
  // Until the host has come back, however fast steps are: a host that is lacking is tried ever less often.
  auto words = settings + "steps=1000000 transport.heartbeat=0.5 transport.suspect=2 transport.dead=6 ";
  Hosts hosts(folder, "h1 slots=2\nh2 slots=2\n", true);
  auto out = folder + "/hit";
  auto command = "launch --elastic 1:4 " + hosts.words() + "--layout dp --out " + out + " train " + words;
  std::vector<pid_t> asleep;
  auto r = run(command, [&](pid_t job) {
    until([&] { return losses(out).size() >= 60; });
    asleep = hosts.on("h1");
    EXPECT_GE(asleep.size(), 3U);  // with rank 0, which has the run's folder
    std::ofstream(hosts.folder + "/down-h1").close();
    for (auto pid : asleep) ::kill(pid, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the others make no step without them
    auto at = losses(out).size();
    until([&] { return losses(out).size() >= at + 40; });
    EXPECT_EQ(hosts.on("h1"), asleep);  // nothing has ended them
    // The agent, the oldest, last: once awake it finds no launcher and ends its ranks, which are to wake before.
    std::for_each(asleep.rbegin(), asleep.rend(), [](auto pid) { ::kill(pid, SIGCONT); });
    until([&] {
      auto there = hosts.on("h1");
      return std::none_of(asleep.begin(), asleep.end(),
                          [&](auto pid) { return std::count(there.begin(), there.end(), pid) > 0; });
    });
    hosts.come_back("h1");
    until_warned("elastic: 4 ranks instead of 2");
    EXPECT_EQ(Hosts::ranks_of(job).size(), 4U);
    at = losses(out).size();
    until([&] { return losses(out).size() >= at + 40; });
    ::kill(job, SIGTERM);
  });
  ASSERT_EQ(r.code, 130) << r.out << r.err;
  auto first = r.err.find("; going on from step ");  // who notices first, another rank or the launcher, says why
  ASSERT_NE(first, r.err.npos) << r.err;
  EXPECT_EQ(r.err.find("; going on from step ", first + 1), r.err.npos) << r.err;
  EXPECT_NE(r.err.find("elastic: host h1 joins\nelastic: 4 ranks instead of 2\n"), r.err.npos) << r.err;
  is_as_undisturbed(out, "-n 4 --layout dp", words);
}
/// To a rank, or to the agent of a host that is drained, it is a loss that is announced: all leave after a checkpoint,
/// and the others go on. To all that are left it is a stop, as Slurm asks for one without telling the launcher.
TEST_F(ElasticTest, SigtermTakesThoseAwayWhomItMeets) {
  Hosts hosts(folder, "h1 slots=2\nh2 slots=2\n");
  auto out = folder + "/o";
  auto drain = [&](const std::string& host) {
    std::ofstream(hosts.folder + "/down-" + host).close();  // it does not come back
    for (auto pid : hosts.on(host))
      if (slurp("/proc/" + std::to_string(pid) + "/cmdline").find(std::string("\0agent\0", 7)) != std::string::npos)
        ::kill(pid, SIGTERM);
  };
  auto command = "launch --elastic 2:4 " + hosts.words() + "--layout dp --out " + out + " train " + settings +
                 "steps=1000000 checkpoint_every=900000 ";
  auto r = run(command, [&](pid_t launcher) {
    auto further = [&] {
      auto at = losses(out).size();
      until([&] { return losses(out).size() > at + 5; });
    };
    until([&] { return losses(out).size() >= 20; });
    auto first = Hosts::ranks_of(launcher);
    ASSERT_EQ(first.size(), 4U);
    ::kill(first[3], SIGTERM);
    until([&] {
      auto now = Hosts::ranks_of(launcher);
      return now.size() == 4 && std::count(now.begin(), now.end(), first[3]) == 0;
    });
    further();
    drain("h2");
    until([&] { return Hosts::ranks_of(launcher).size() == 2; });
    further();
    EXPECT_TRUE(hosts.on("h2").empty());
    drain("h1");
  });
  auto count = [](const std::string& text, const std::string& words) {
    int n = 0;
    for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  EXPECT_EQ(count(r.out, ": the ranks meet again, with others"), 2) << r.out;
  EXPECT_EQ(count(r.out, "stopped after step "), 1) << r.out;
  EXPECT_EQ(count(r.err, "; going on from step "), 2) << r.err;
  EXPECT_EQ(count(r.err, "SIGTERM"), 2) << r.err;  // a rank says so, or its host
  EXPECT_EQ(count(r.err, "elastic: 2 ranks instead of 4\n"), 1) << r.err;
}
/// Debian's /etc/hosts says 127.0.1.1 for the launcher's own host. With BORA_ROOT the others reach rank 0 there.
TEST_F(ElasticTest, RankZeroStaysAtBoraRootAfterALoss) {
  Hosts hosts(folder, "h1 slots=2\nh2 slots=2\n");
  std::ofstream(hosts.folder + "/reach")
      << "#!/bin/sh\nunset SSH_CONNECTION\n[ $1 = h1 ] && export SSH_CONNECTION='127.0.1.1 1 127.0.1.1 22'\n"
      << "export BORA_HOST_ID=$1 BORA_TEST_HOSTS=" << hosts.folder << "\nshift\nexec sh -c \"$*\"\n";
  auto root = "127.0.0.1:" + std::to_string(20000 + ::getpid() % 9000), out = folder + "/o";
  auto command = "launch --elastic 2:4 " + hosts.words() + "--layout dp --out " + out + " train " + settings +
                 "steps=200";
  auto lose = [&](pid_t) {
    until([&] { return losses(out).size() >= 40; });
    for (auto pid : hosts.on("h2"))
      if (slurp("/proc/" + std::to_string(pid) + "/environ").find("BORA_RANK=3") != std::string::npos)
        ::kill(pid, SIGKILL);
  };
  auto r = run(command, lose, "BORA_ROOT=" + root + " ");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  auto first = r.out.find(" ranks, rank 0 at " + root);
  ASSERT_NE(first, r.out.npos) << r.out;
  EXPECT_NE(r.out.find(" ranks, rank 0 at " + root, first + 1), r.out.npos) << r.out << r.err;
}
TEST_F(ElasticTest, BadInputIsOneLine) {
  auto out = " --out " + folder + "/o ";
  is_bad_input("launch --elastic 4:2" + out + config + " checkpoint_every=2", "elastic.min: must be from 1 to max, 2");
  is_bad_input("launch --elastic 2" + out + config, "--elastic: expected MIN:MAX ranks");
  is_bad_input("launch --elastic 0:2" + out + config + " checkpoint_every=2", "elastic.min");
  is_bad_input("launch --elastic 1:2" + out + config + " checkpoint.minutes=0", "set checkpoint.every or ");
  is_bad_input("launch -n 3 --elastic 1:2" + out + config + " checkpoint_every=2",
               "3 ranks are not from elastic.min=1");
  is_bad_input("launch -n 2 --snapshot 5" + out + config, "elastic.snapshot: must be 0 without max");
  is_bad_input("launch --elastic 1:2 --max-restarts 2" + out + config, "--max-restarts");
  is_bad_input("launch" + out + config + " elastic.min=1 elastic.max=2 checkpoint_every=2 --max-restarts 2",
               "--max-restarts");
  is_bad_input("launch" + out + config, "launch: how many ranks?");
  is_bad_input("launch --elastic 1:2 -- comm", "--elastic: it is for training");
  EXPECT_FALSE(fs::exists(folder + "/o"));
}
TEST_F(ElasticTest, SettingsAloneMakeAJobElastic) {
  auto r = run("launch --out " + folder + "/o " + config + " steps=4 elastic.min=1 elastic.max=2 checkpoint_every=2");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.out.find(" 2 ranks, rank 0 at "), r.out.npos) << r.out;
}
}  // namespace elastic_test
