// The folder of a run: files of others stay, changes are reported, damage is named and skipped, a folder that vanishes
// is noticed.
#include <sys/file.h>
#include <sys/stat.h>
#include <csignal>
#include <fcntl.h>
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace run_folder_test {
using namespace bora;
namespace {
struct RunFolderTest : CommandTest {
  std::string out = folder + "/o", train = "train --out " + folder + "/o " + config + " ";
  static std::string tree_of(const std::string& top) {  // names and contents
    std::vector<std::string> all;
    for (auto& e : fs::recursive_directory_iterator(top))
      all.push_back(e.path().string() + (e.is_regular_file() ? ":" + slurp(e.path()) : ""));
    std::sort(all.begin(), all.end());
    std::string text;
    for (auto& x : all) text += x + "\n";
    return text;
  }
  static void flip_first_byte(const std::string& file) {  // of a rank's file: of the parameters
    auto bytes = slurp(file);
    bytes.front() ^= 1;
    std::ofstream(file, std::ios::binary) << bytes;
  }
  static void flip_last_byte(const std::string& file) {
    auto bytes = slurp(file);
    bytes.back() ^= 1;
    std::ofstream(file, std::ios::binary) << bytes;
  }
};
}  // namespace

TEST_F(RunFolderTest, AConfigurationThatBoraDidNotWriteStays) {
  auto mine = folder + "/mine";
  fs::create_directories(mine);
  fs::copy(config, mine + "/config.yaml");
  std::ofstream(mine + "/config.yaml", std::ios::app) << "# a remark\n";
  std::ofstream(mine + "/metrics.jsonl") << "{\"theirs\": 1}\n";
  auto before = tree_of(mine);
  for (std::string command :
       {"train " + mine + "/config.yaml out=" + mine, "launch -n 2 --out " + mine + " " + config,
        "train " + config + " steps=0 out=" + mine, "train --resume none " + config + " out=" + mine})
    is_bad_input(command, "out: " + mine + "/config.yaml is not of a run: Bora did not write it");
  EXPECT_EQ(tree_of(mine), before);
  for (std::string text : {"", "# Written by me\n", "seed: 0\nsteps: 6\n", "not: [yaml"}) {
    std::ofstream(mine + "/config.yaml") << text;
    is_bad_input("train " + config + " out=" + mine, "config.yaml is not of a run");
  }
  fs::remove(mine + "/config.yaml");
  fs::create_directory(mine + "/config.yaml");
  is_bad_input("train " + config + " out=" + mine, "config.yaml is not of a run");
}
/// Read as it is, a cut file would give its other settings their defaults.
TEST_F(RunFolderTest, ACutConfigurationIsNotRead) {
  ASSERT_EQ(run(train).code, 0);
  auto file = out + "/config.yaml", text = slurp(file);
  for (auto n : {std::size_t{0}, text.find('\n') + 1, text.find("heads:"), text.size() / 2, text.rfind("trace:")}) {
    auto cut = text.substr(0, n);
    std::ofstream(file) << cut;
    auto place = file + ":" + std::to_string(std::count(cut.begin(), cut.end(), '\n') + !cut.ends_with('\n')) + ": ";
    for (std::string command : {"eval ", "generate ", "export "})
      is_bad_input(command + out + (command == "export " ? " " + folder + "/hf" : ""), place);
    if (n > 0) is_bad_input("train " + file, place);
  }
  fs::rename(file, file + ".cut");  // as the error says
  EXPECT_EQ(run(train + "steps=7").code, 0);
  EXPECT_EQ(run("eval " + out).code, 0);
}
TEST_F(RunFolderTest, WhatDiffersIsSaidAndEarlierSettingsAreKept) {
  auto first = run(train);
  ASSERT_EQ(first.code, 0);
  EXPECT_EQ(first.line("changed: "), "no line 'changed: '");
  auto before = slurp(out + "/config.yaml");
  fs::copy(folder + "/text", folder + "/text 2");
  auto r = run(train + "steps=8 lr=0.02 optimizer.clip=0.5 \"data=" + folder + "/text 2\"");
  ASSERT_EQ(r.code, 0) << r.err;
  for (auto words :
       {"changed: steps: 6 -> 8\n", "changed: optimizer.lr: 0.001 -> 0.02\n", "changed: optimizer.clip: 1 -> 0.5\n"})
    EXPECT_NE(r.out.find(words), std::string::npos) << r.out;
  EXPECT_EQ(r.line("changed: data.path: "), "\"" + folder + "/text\" -> \"" + folder + "/text 2\"");
  EXPECT_EQ(r.line("the settings before are kept in "), out + "/config.1.yaml");
  EXPECT_EQ(slurp(out + "/config.1.yaml"), before);
  ASSERT_EQ(run(train + "steps=10").code, 0);
  EXPECT_TRUE(fs::exists(out + "/config.2.yaml"));
  r = run(train + "steps=10 lr=5");
  EXPECT_FALSE(fs::exists(out + "/config.3.yaml"));
}
TEST_F(RunFolderTest, WhereNothingIsLeftToDoNothingIsWritten) {
  ASSERT_EQ(run(train).code, 0);
  auto before = tree_of(out);
  for (std::string more : {"", "steps=6 lr=3", "steps=3", "steps=1 --resume good"}) {
    auto r = run(train + more);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(r.line("already at step 6: steps=").ends_with("leaves nothing to do")) << r.out;
    EXPECT_EQ(r.line("checkpoint: "), out + "/checkpoints/step-6");
    EXPECT_EQ(r.out.find("init digest"), std::string::npos);
    EXPECT_NE(r.out.find("peak rss rank 0: "), std::string::npos);
    EXPECT_EQ(tree_of(out), before) << more;
  }
  EXPECT_NE(run(train + "steps=0").out.find("init digest"), std::string::npos);
}
TEST_F(RunFolderTest, MetricsOfAnEarlierRunAreKept) {
  ASSERT_EQ(run(train).code, 0);
  auto metrics = slurp(out + "/metrics.jsonl");
  fs::rename(out + "/checkpoints", out + "/moved");
  auto r = run(train);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.line("metrics.jsonl of an earlier run is kept as "), out + "/metrics.1.jsonl");
  EXPECT_EQ(slurp(out + "/metrics.1.jsonl"), metrics);
  EXPECT_EQ(losses(out).size(), 6U);
  auto checkpoint = slurp(out + "/checkpoints/step-6/rank-0");
  r = run(train + "--resume none seed=7");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("init digest"), std::string::npos);
  EXPECT_EQ(r.line("checkpoints of an earlier run is kept as "), out + "/checkpoints.1");
  EXPECT_EQ(slurp(out + "/checkpoints.1/step-6/rank-0"), checkpoint);
  EXPECT_TRUE(fs::exists(out + "/metrics.2.jsonl") && fs::exists(out + "/config.1.yaml"));
}
TEST_F(RunFolderTest, WhatDiffersInAListIsSaidToo) {
  auto a = folder + "/text", b = folder + "/b.txt";
  fs::copy(a, b);
  auto source = [](const std::string& path, const std::string& more = "") { return "{path: " + path + more + "}"; };
  std::vector<std::string> lists = {source(a), source(b), source(b, ", weight: 2"), source(b) + ", " + source(a),
                                    source(a), source(a, ", weights_at: [{step: 3, weight: 2}]")};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    auto r = run("train batch=4 model.layers=1 model.embed=16 model.heads=2 model.positions=16 eval_rows=4 steps=" +
                 std::to_string(i + 1) + " out=" + out + " \"data.sources=[" + lists[i] + "]\" data.pack=first_fit");
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out.find("changed: data.sources") != std::string::npos, i > 0) << lists[i] << "\n" << r.out;
    EXPECT_EQ(fs::exists(out + "/config." + std::to_string(i) + ".yaml"), i > 0) << lists[i];
  }
}
TEST_F(RunFolderTest, ADamagedCheckpointIsNamedAndAnOlderOneOffered) {
  ASSERT_EQ(run(train + "steps=6 checkpoint_every=3").code, 0);
  auto newest = out + "/checkpoints/step-6", older = out + "/checkpoints/step-3";
  flip_first_byte(newest + "/rank-0");
  auto offer = older + " is whole: --resume good continues from there";
  is_bad_input(train + "steps=9", "leaf '");
  is_bad_input(train + "steps=9", offer);
  is_bad_input("launch -n 2 --out " + out + " " + config + " steps=9 --resume latest", offer);
  is_bad_input(train + "steps=9 model.embed=48", "is of another model");
  for (auto changed : {"optimizer=lion", "optimizer.ema=0.9", "freeze=[wte]", "precision.loss_scale=128"})
    is_bad_input(train + "steps=9 " + changed, "is of another optimizer");
  for (std::string read : {"eval ", "generate "})
    for (std::string start : {"", "launch -n 2 -- "}) {
      is_bad_input(start + read + out, "leaf '");
      is_bad_input(start + read + out + " --resume latest", older + " is whole: --resume good reads that one");
      auto r = run(start + read + out + " --resume good");
      EXPECT_EQ(r.code, 0) << r.err;
      EXPECT_TRUE(read == "eval " ? r.line("checkpoint: ") == older : r.out.size() > 10) << r.out;
      EXPECT_TRUE(fs::exists(newest));  // they only read
    }
  auto r = run("launch -n 2 --out " + out + " " + config + " steps=9 --resume good");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("continuing from step 3 (" + older + ")"), std::string::npos) << r.out;
  EXPECT_TRUE(
      r.line("passed over, and kept as ").starts_with(out + "/checkpoints/damaged-step-6: checkpoint " + newest))
      << r.out;
  EXPECT_EQ(losses(out).size(), 9U);
  EXPECT_EQ(run(train + "steps=10").code, 0);
  fs::remove(out + "/checkpoints/step-10/manifest");
  is_bad_input(train + "steps=12", "step-9 is whole: --resume good");
  is_bad_input("eval " + out, "step-9 is whole: --resume good");
  flip_last_byte(out + "/checkpoints/step-9/rank-0");
  is_bad_input(train + "steps=12 --resume good", "no checkpoint in " + out + "/checkpoints is whole: ");
  is_bad_input("eval " + out + " --resume good", "no checkpoint in " + out + "/checkpoints is whole: ");
  is_bad_input(train + "steps=12 --resume best", "--resume");
}
TEST_F(RunFolderTest, ACopyOfACheckpointIsNotAnotherStep) {
  ASSERT_EQ(run(train).code, 0);
  fs::copy(out + "/checkpoints/step-6", out + "/checkpoints/step-9", fs::copy_options::recursive);
  is_bad_input(train + "steps=12", out + "/checkpoints/step-9 is a copy of step 6, as its manifest says");
  is_bad_input("eval " + out, "is a copy of step 6");
  EXPECT_EQ(run(train + "steps=12 --resume good").line("continuing from step "), "6 (" + out + "/checkpoints/step-6)");
}
TEST_F(RunFolderTest, ARestartPassesADamagedCheckpointOver) {
  auto r = run("launch -n 2 --max-restarts 1 --out " + out + " " + config + " steps=3000 checkpoint_every=20",
               [&](pid_t launcher) {
                 until([&] { return losses(out).size() > 45; });
                 auto newest = [&] {
                   return fs::exists(out + "/checkpoints/step-40") && !fs::exists(out + "/checkpoints/.step-40.tmp");
                 };
                 until([&] { return newest() || losses(out).size() > 60; });
                 pid_t rank = 0;
                 for (auto& p : fs::directory_iterator("/proc")) {
                   auto stat = slurp(p.path() / "stat");
                   if (stat.find(" " + std::to_string(launcher) + " ") != std::string::npos &&
                       slurp(p.path() / "environ").find("BORA_RANK=1") != std::string::npos)
                     rank = std::stoi(p.path().filename());
                 }
                 ASSERT_GT(rank, 0);
                 ::kill(rank, SIGSTOP);  // nothing is saved from now on
                 std::this_thread::sleep_for(std::chrono::milliseconds(300));
                 std::int64_t last = 0;
                 for (auto& e : fs::directory_iterator(out + "/checkpoints"))
                   if (auto name = e.path().filename().string(); name.starts_with("step-"))
                     last = std::max<std::int64_t>(last, std::stoll(name.substr(5)));
                 flip_last_byte(out + "/checkpoints/step-" + std::to_string(last) + "/rank-0");
                 ::kill(rank, SIGKILL);
                 until([&] { return slurp(folder + "/1.out").find("passed over") != std::string::npos; });
                 ::kill(launcher, SIGTERM);
               });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  EXPECT_NE(r.err.find("restarting the job (1 of 1)"), std::string::npos) << r.err;
  EXPECT_NE(r.out.find("passed over, and kept as " + out + "/checkpoints/damaged-step-"), std::string::npos) << r.out;
}
TEST_F(RunFolderTest, AFolderThatVanishesIsNoticedAndTheStateIsSavedElsewhere) {
  for (std::string command : {"train", "launch -n 2"})
    for (bool moved : {true, false}) {
      fs::remove_all(out);
      fs::remove_all(out + ".rescued");
      fs::remove_all(out + ".elsewhere");
      auto r = run(command + " --out " + out + " " + config + " steps=100000", [&](pid_t) {
        until([&] { return losses(out).size() > 5; });
        fs::rename(out, out + ".elsewhere");
        if (!moved) fs::remove_all(out + ".elsewhere");
      });
      EXPECT_EQ(r.code, 2) << r.out << r.err;
      EXPECT_TRUE(r.err.starts_with("bora: out: " + out + " was moved or removed while this run wrote into it; step "))
          << r.err;
      EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
      auto saved = r.line("checkpoint: ");
      EXPECT_TRUE(saved.starts_with(out + ".rescued/checkpoints/step-")) << saved;
      EXPECT_FALSE(fs::exists(out));
      auto next = std::stoi(saved.substr(saved.rfind('-') + 1)) + 1;
      EXPECT_EQ(run("train " + config + " --out " + out + ".rescued steps=" + std::to_string(next)).code, 0);
    }
}
TEST_F(RunFolderTest, ARankThatHasAnotherFolderIsFoundOutBeforeTheFirstStep) {
  auto r = run("launch -n 2 -- /bin/sh -c 'exec " + test::command() + " train " + config + " --out " + out +
               "$BORA_RANK'");
  EXPECT_EQ(r.code, 0) << r.out << r.err;  // local_disks_test.cpp has what it does then
  auto said = r.out.find("out: " + out + "0 is not one folder on all hosts");
  EXPECT_LT(said, r.out.find("loss")) << r.out;
  EXPECT_EQ(r.out.find("is not one folder", said + 200), std::string::npos) << r.out;
  ASSERT_EQ(run("launch -n 2 " + config + " --out " + out).code, 0);
  EXPECT_EQ(tree_of(out).find("/.seen-"), std::string::npos) << tree_of(out);
  std::ofstream(out + "/.seen-by-one-that-was-killed");
  ASSERT_EQ(run(train + "steps=7").code, 0);
  EXPECT_EQ(tree_of(out).find("/.seen-"), std::string::npos) << tree_of(out);
}
TEST_F(RunFolderTest, NothingInTheFolderIsItsLock) {
  auto r = run(train + "steps=100000", [&](pid_t pid) {
    until([&] { return losses(out).size() > 3; });
    for (auto& e : fs::directory_iterator(out))
      if (e.path().filename().string().starts_with(".")) fs::remove(e.path());
    is_bad_input("train " + config + " --out " + out, "out: another run is writing into " + out);
    ::kill(pid, SIGTERM);
  });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
}
TEST_F(RunFolderTest, PathsThatAConfigurationCannotKeepAreRefused) {
  for (std::string name : {"/caf\xe9", "/two\nlines", "/bell\a"}) {
    fs::copy(folder + "/text", folder + name);
    is_bad_input(train + "'data=" + folder + name + "'", "data: '" + folder);
    is_bad_input("train " + config + " 'out=" + folder + name + "o'", "has control characters or is not UTF-8");
    is_bad_input(train + "'trace=" + folder + name + "o'", "has control characters or is not UTF-8");
  }
  fs::copy(folder + "/text", folder + "/café");
  EXPECT_EQ(run(train + "'data=" + folder + "/café'").code, 0);
  EXPECT_EQ(run("eval " + out).code, 0);
}
TEST_F(RunFolderTest, AFullDiskCommitsNoHalfOfACheckpoint) {
  ASSERT_EQ(run(train).code, 0);
  auto before = tree_of(out + "/checkpoints/step-6");
  // Files end at 64 KiB: a checkpoint of 250 does not fit.
  is_bad_input(train + "steps=9", "cannot write " + out + "/checkpoints/.step-9.tmp/rank-0: File too large",
               "trap '' XFSZ; ulimit -f 128;");
  EXPECT_FALSE(fs::exists(out + "/checkpoints/.step-9.tmp"));
  EXPECT_EQ(tree_of(out + "/checkpoints/step-6"), before);
  EXPECT_EQ(run(train + "steps=9").line("continuing from step "), "6 (" + out + "/checkpoints/step-6)");
}
}  // namespace run_folder_test
