// Runs and jobs that go on after something went wrong, or with other settings: nothing that was due is left out.
#include <sys/resource.h>
#include <csignal>
#include <set>
#include "bora/io/checkpoint.h"
#include "elastic.h"

namespace fs = std::filesystem;
namespace going_on_test {
using namespace bora;
namespace {
struct GoingOn : CommandTest {
  std::string out = folder + "/o", settings = config + " batch=8 checkpoint_every=20 keep=3 ";
  std::set<std::int64_t> steps_with(const std::string& name) const {
    std::set<std::int64_t> r;
    for (auto& p : track::read_curve(out + "/metrics.jsonl", name)) r.insert(static_cast<std::int64_t>(p.x));
    return r;
  }
};
}  // namespace

/// Ranks that could not begin on a host that came back are no reason to end those that train.
TEST_F(GoingOn, WithoutAHostThatCannotBegin) {
  auto words = settings + "reproducible=4 steps=1000000 checkpoint_every=900000 ";
  Hosts hosts(folder, "h1 slots=2\nh2 slots=2\n");
  auto reach = slurp(hosts.folder + "/reach"), broken = hosts.folder + "/broken-";
  reach.insert(reach.find("export "), "[ -e " + broken + "$1 ] && export BORA_JOIN_TIMEOUT=soon\n");
  std::ofstream(hosts.folder + "/reach") << reach;
  auto command = "launch --elastic 1:4 " + hosts.words() + "--layout dp --out " + out + " train " + words;
  auto r = run(command, [&](pid_t job) {
    until([&] { return losses(out).size() >= 20; });
    hosts.lose("h2");
    until([&] { return Hosts::ranks_of(job).size() == 2; });
    std::ofstream(broken + "h2").close();
    hosts.come_back("h2");
    until_warned("elastic: without host h2 for 30 s: BORA_JOIN_TIMEOUT");
    ::kill(job, SIGTERM);
  });
  ASSERT_EQ(r.code, 130) << r.out << r.err;
  is_as_undisturbed(out, "-n 4 --layout dp", words);
}
TEST_F(GoingOn, WhileNoFurtherHostCanBeTried) {
  Hosts hosts(folder, "h1\nh2\n");
  hosts.lose("h2");
  auto words = "launch --elastic 1:2 " + hosts.words() + "--out " + out + " train " + settings + "steps=200000";
  auto r = run(words, [&](pid_t launcher) {
    until([&] { return losses(out).size() >= 20; });
    fs::directory_iterator files("/proc/" + std::to_string(launcher) + "/fd");
    auto open = static_cast<::rlim_t>(std::distance(begin(files), end(files)));
    ::rlimit most{open, open};
    ASSERT_EQ(::prlimit(launcher, RLIMIT_NOFILE, &most, nullptr), 0);
    std::this_thread::sleep_for(std::chrono::seconds(5));  // it is tried after 1, 3 and 7
    auto now = losses(out).size();
    until([&] { return losses(out).size() > now + 5; });
    ::kill(launcher, SIGTERM);
  });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
}
/// A spare that was away for a while is one again.
TEST_F(GoingOn, OnASpareThatHasComeBack) {
  Hosts hosts(folder, "h1\nh2\nh3\n");
  auto words = "launch --elastic 2:2 " + hosts.words() + "--out " + out + " train " + settings + "steps=1000000";
  auto r = run(words, [&](pid_t launcher) {
    until([&] { return losses(out).size() >= 20; });
    hosts.lose("h3");
    until([&] { return hosts.on("h3").empty(); });
    hosts.come_back("h3");
    until([&] { return !hosts.on("h3").empty(); });
    std::this_thread::sleep_for(std::chrono::seconds(3));
    hosts.lose("h2");
    until_warned("elastic: host h3 joins");
    until([&] { return Hosts::ranks_of(launcher).size() == 2; });
    ::kill(launcher, SIGTERM);
  });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
}
/// A folder that is moved away is as little the end of a run after a loss as before one.
TEST_F(GoingOn, AFolderThatIsMovedAfterALossIsNotBegunAnew) {
  auto words = "launch --elastic 1:2 --out " + out + " train " + settings + "steps=100000";
  auto r = run(words, [&](pid_t job) {
    until([&] { return losses(out).size() >= 40; });
    ::kill(Hosts::ranks_of(job).back(), SIGKILL);
    until([&] { return said_so_far().find("continuing from step ") != std::string::npos; });
    auto before = losses(out).size();
    until([&] { return losses(out).size() >= before + 5; });
    fs::rename(out, folder + "/moved");
  });
  EXPECT_EQ(r.code, 2) << r.out << r.err;
  EXPECT_NE(r.err.find(" was moved or removed while this run wrote into it"), r.err.npos) << r.err;
  EXPECT_TRUE(fs::exists(out + ".rescued/checkpoints")) << r.out;
  EXPECT_FALSE(fs::exists(out));
}
/// A user who asks for a new run gets one, also if a rank is lost before the earlier run's checkpoints were put aside.
TEST_F(GoingOn, ANewRunIsNewAfterALossToo) {
  for (std::string how : {"-n 2 --max-restarts 1 ", "--elastic 1:2 "}) {
    SCOPED_TRACE(how);
    fs::remove_all(out);
    ASSERT_EQ(run("train --out " + out + " " + settings + "steps=20").code, 0);
    auto command = "launch " + how + "--out " + out + " --resume none train " + settings + "steps=20 seed=7";
    auto r = run(command, [&](pid_t launcher) {
      until([&] { return said_so_far().find("launcher: ") != std::string::npos; });
      for (auto pid : Hosts::ranks_of(launcher))
        if (slurp("/proc/" + std::to_string(pid) + "/environ").find("BORA_RANK=1") != std::string::npos)
          ::kill(pid, SIGKILL);
    });
    ASSERT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_EQ(r.out.find("already at step"), r.out.npos) << r.out;
    EXPECT_NE(r.out.find("checkpoints of an earlier run is kept as"), r.out.npos) << r.out;
    EXPECT_EQ(losses(out).size(), 20U) << r.out;
  }
}
/// In processes that go on, in new ones, and by whoever gives the command again.
TEST_F(GoingOn, TheEndIsMadeAfterALossToo) {
  auto words = "--layout dp --out " + out + " train " + settings + "steps=40 eval_rows=0 hold_out=0.4 batch=2 ";
  for (std::string how : {"--elastic 1:2 ", "-n 2 --max-restarts 1 ", "-n 2 "}) {
    SCOPED_TRACE(how);
    fs::remove_all(out);
    auto r = run("launch " + how + words, [&](pid_t launcher) {
      auto last = out + "/checkpoints/step-40";
      until([&] { return fs::exists(last) && said_so_far().find("checkpoint: " + last) != std::string::npos; });
      for (auto pid : Hosts::ranks_of(launcher))
        if (slurp("/proc/" + std::to_string(pid) + "/environ").find("BORA_RANK=1") != std::string::npos)
          ::kill(pid, SIGKILL);
    });
    if (r.code == 86 && steps_with("eval/loss").contains(40)) continue;  // the loss came too late
    if (r.code == 86) r = run("launch " + how + words);
    ASSERT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_TRUE(steps_with("eval/loss").contains(40)) << r.out << r.err;
    EXPECT_TRUE(fs::exists(out + "/loss.svg"));
    auto at_40 = track::read_curve(out + "/metrics.jsonl", "eval/loss");
    EXPECT_EQ(std::count_if(at_40.begin(), at_40.end(), [](auto& p) { return p.x == 40; }), 1);
    EXPECT_NE(r.out.rfind("\nval loss: "), r.out.npos) << r.out;
  }
}
TEST_F(GoingOn, AnEvaluationThatASignalSkippedIsMadeUpFor) {
  auto words = "train --out " + out + " " + settings +
               "eval_every=1 eval_rows=200 checkpoint_every=1000000 checkpoint.best=true steps=";
  auto r = run(words + "100000", [&](pid_t run) {
    until([&] { return losses(out).size() >= 5; });
    ::kill(run, SIGTERM);
  });
  ASSERT_EQ(r.code, 130) << r.out << r.err;
  auto made = losses(out).size();
  // Cut before its next checkpoint, it makes up for it once more.
  r = run(words + "100000", [&](pid_t run) {
    until([&] { return losses(out).size() >= made + 2; });
    ::kill(run, SIGKILL);
  });
  ASSERT_EQ(r.code, -SIGKILL) << r.out << r.err;
  r = run(words + std::to_string(made + 3));
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  auto evaluated = steps_with("eval/loss");
  for (auto step : steps_with("train/loss")) EXPECT_TRUE(evaluated.contains(step)) << step << " of " << made;
  // The best of all evaluations, that one too.
  auto curve = track::read_curve(out + "/metrics.jsonl", "eval/loss");
  EXPECT_EQ(curve.size(), evaluated.size()) << "of a step there are two rows";
  auto best = std::min_element(curve.begin() + 1, curve.end(), [](auto& a, auto& b) { return a.y < b.y; });
  EXPECT_TRUE(fs::exists(out + "/best/step-" + std::to_string(std::llround(best->x))));
}
/// A run that has ended made its last meeting; one that goes on from there does not take it apart.
TEST_F(GoingOn, TheEndOfStreamingReplicasIsNoMeetingUnderWay) {
  for (auto [delay, end] : {std::pair{1, 8}, {2, 9}, {3, 10}}) {
    SCOPED_TRACE(delay);
    fs::remove_all(out);
    auto words = "train --out " + out + " " + config + " batch=12 local=diloco local.replicas=2 local.every=4 " +
                 "local.delay=" + std::to_string(delay) + " steps=";
    ASSERT_EQ(run(words + std::to_string(end)).code, 0);
    auto whole = run(words + "16 checkpoint_every=1 keep=20");
    ASSERT_EQ(whole.code, 0) << whole.err;
    auto before = losses(out), norms = losses(out, "local/outer_gradient_norm");
    for (auto& c : io::list_checkpoints(out + "/checkpoints"))  // cut one step after that end
      if (c.step > end + 1) fs::remove_all(c.folder);
    auto r = run(words + "16");
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(losses(out), before);
    EXPECT_EQ(losses(out, "local/outer_gradient_norm"), norms);
    auto met = steps_with("local/round");
    for (auto step = end + 1; step < 12 + 1; ++step) EXPECT_FALSE(met.contains(step)) << step;
    EXPECT_TRUE(met.contains(13)) << "the meeting that began after step 12 was sent in step 13";
    for (auto& p : track::read_curve(out + "/metrics.jsonl", "local/outer_gradient_norm"))
      EXPECT_TRUE(p.x <= end || p.y > 0) << p.x;
  }
}
TEST_F(GoingOn, AnotherBatchIsSaid) {
  auto words = "train --out " + out + " " + config;
  ASSERT_EQ(run(words + " batch=4 steps=5").code, 0);
  auto more = run(words + " batch=6 steps=7");
  auto further = "batch: it was 4 and is 6; the rows go on behind the 20 that were read";
  EXPECT_NE(more.out.find(further), more.out.npos) << more.out;
  auto less = run(words + " batch=2 steps=8");
  auto again = "batch: it was 6 and is 2; the rows go on behind the 32 that were read";
  EXPECT_NE(less.out.find(again), less.out.npos) << less.out;
  EXPECT_EQ(run(words + " batch=2 steps=9").out.find("batch: it was"), std::string::npos);
}
/// A pattern reads what a run writes as a folder does.
TEST_F(GoingOn, APatternThatReadsTheRunsOwnFilesIsRefused) {
  auto text = folder + "/t";
  fs::create_directories(text + "/a");
  std::string line;
  for (int i = 0; i < 200; ++i) line += "{\"text\": \"The wind number " + std::to_string(i) + " blows.\"}\n";
  std::ofstream(text + "/a/b.jsonl") << line;
  auto words = [&](const std::string& pattern, const std::string& to) {
    auto own = folder + "/own.yaml";
    std::ofstream(own) << "steps: 2\nbatch: 6\ndata: {sources: [{type: jsonl, path: \"" << text << "/" << pattern
                       << "\"}]}\nmodel: {layers: 1, embed: 24, heads: 3, positions: 16}\n";
    return "train " + own + " out=" + to;
  };
  for (auto pattern : {"**/*.jsonl", "**", "*/*.jsonl", "*/*", "[a-r]*/*.j*", "{a/b.jsonl,**/*l}"})
    is_bad_input(words(pattern, text + "/run"), "lies in the folder of the text");
  is_bad_input(words("**/*.jsonl", text + "/x/run"), "lies in the folder of the text");
  for (auto pattern : {"a/*.jsonl", "**/b.jsonl", "*/b*.jsonl"}) {
    auto r = run(words(pattern, text + "/run" + std::to_string(runs)));
    EXPECT_EQ(r.code, 0) << pattern << r.err;
  }
}
}  // namespace going_on_test
