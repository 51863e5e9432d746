// Saves beside the steps: the same checkpoints and the same losses as without, on any mesh; and saves that fail.
#include <set>
#include "bigram.h"
#include "support/bits.h"
#include "support/files.h"
#include "support/throws.h"
#include "train/steps.h"

namespace fs = std::filesystem;
namespace beside_test {
using namespace bora;
using Checkpoints = training::CheckpointSettings;
namespace {
constexpr auto kOn = training::Switch::on, kOff = training::Switch::off;
int lines(const std::string& text, const std::string& word) {
  int n = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}
/// The files of a checkpoint, by name; of its manifest what does not depend on time.
std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> r;
  for (auto& file : fs::directory_iterator(folder)) r[file.path().filename()] = test::slurp(file.path());
  auto manifest = io::read_manifest(folder);
  for (auto note : {"time", "metrics"}) manifest.notes.erase(note);
  r["manifest"].clear();
  for (auto& [name, text] : manifest.notes) r["manifest"] += name + "=" + text + "\n";
  for (auto& leaf : manifest.leaves) r["manifest"] += leaf.path + " " + std::to_string(leaf.blocks.size()) + "\n";
  return r;
}
struct Beside : TrainerTest {
  Beside() {
    settings.steps = 24;
    settings.eval.every = 6;
    settings.checkpoint.every = 2;
    settings.checkpoint.keep.last = 99;
    settings.checkpoint.best = true;
    settings.batch = 8;
  }
  Job with(training::Switch how, const std::string& name) const {
    auto s = settings;
    s.checkpoint.async = how;
    s.out = folder + "/" + name;
    return s;
  }
  /// Every checkpoint of one run that the other has too is the same; it has the last one and those of its lines.
  void compare(const std::string& on, const std::string& off, const std::string& what) {
    SCOPED_TRACE(what);
    int n = 0;
    for (std::string root : {"/checkpoints", "/best"})
      for (auto& c : io::list_checkpoints(on + root)) {
        auto twin = off + root + "/step-" + std::to_string(c.step);
        ASSERT_TRUE(fs::exists(twin)) << twin;
        EXPECT_EQ(files_of(c.folder), files_of(twin)) << c.folder;
        ++n;
      }
    EXPECT_GE(n, 3);
    EXPECT_EQ(io::list_checkpoints(on + "/checkpoints").back().step, settings.steps);
    for (auto& entry : fs::directory_iterator(on + "/checkpoints"))
      EXPECT_TRUE(entry.path().filename().string().starts_with("step-")) << entry.path();
    EXPECT_EQ(losses(on), losses(off));
    EXPECT_EQ(losses(on, "eval/loss"), losses(off, "eval/loss"));
  }
};
}  // namespace

TEST_F(Beside, TheSameCheckpointsAndLossesOnEveryMesh) {
  struct Case {
    std::string layout;
    int data, model;
  };
  for (auto& c : {Case{"dp", 1, 1}, Case{"dp", 2, 1}, Case{"fsdp", 2, 1}, Case{"tp", 1, 2}, Case{"fsdp+tp", 2, 2},
                  Case{"fsdp", 4, 1}, Case{"fsdp", 3, 1}}) {
    auto name = c.layout + std::to_string(c.data) + std::to_string(c.model);
    settings.layout = c.layout;
    auto on = with(kOn, name + "-on"), off = with(kOff, name + "-off");
    for (auto* s : {&on, &off})
      run_on(*s, {{"data", c.data}, {"model", c.model}}, [](auto&) { return std::vector<Hook>(); });
    compare(on.out, off.out, name);
  }
}
TEST_F(Beside, EveryDueSaveIsThereOrSaidToBeLeftOut) {
  settings.checkpoint.every = 1;
  settings.checkpoint.best = false;
  auto s = with(kOn, "all");
  run(s, 2);
  auto there = io::list_checkpoints(s.out + "/checkpoints");
  EXPECT_EQ(there.size(), static_cast<std::size_t>(lines(printed, "checkpoint: ")));
  EXPECT_EQ(lines(printed, "checkpoint: ") + lines(printed, " is not saved, though it is due: step "), settings.steps)
      << printed;
  EXPECT_EQ(losses(s.out, "checkpoint/stall").size() + 1, there.size());  // the last one is after the last row
  EXPECT_GT(losses(s.out, "checkpoint/bytes").at(0), 3 * 4 * 256 * 6 * 2);
  for (auto& c : there) EXPECT_GT(io::verify_checkpoint(c.folder), 0);
}
/// The run is at another step by the time that what a hook asked for is written.
TEST_F(Beside, WhatAHookAsksForIsOfItsStep) {
  settings.checkpoint.every = 0;
  settings.checkpoint.best = false;
  std::vector<std::int64_t> asked{3, 4, 5, 11};
  auto hooks = [&](const Mesh&) {
    return std::vector<Hook>{[&](const StepReport& r, RunView& v) {
      if (std::count(asked.begin(), asked.end(), r.step)) v.save();
    }};
  };
  auto s = with(kOn, "hook");
  run_each(s, 2, hooks);
  std::vector<std::int64_t> steps;
  for (auto& c : io::list_checkpoints(s.out + "/checkpoints")) steps.push_back(c.step);
  asked.push_back(settings.steps);
  EXPECT_EQ(steps, asked);
}
/// A handle of a state keeps its numbers while steps go on, without a warning and without a copy at the step.
TEST_F(Beside, AStateThatIsKeptStaysAsItIs) {
  for (bool local : {false, true})
    for (int ranks : {1, 2}) {
      testing::internal::CaptureStderr();
      local_mesh({{"replica", local ? ranks : 1}, {"data", local ? 1 : ranks}}, [&](const Mesh& mesh) {
        UseMapping split(AxisMapping{{"batch", {"replica", "data"}}});
        auto rate = optim::constant_schedule(0.01);
        StepOptions o{.optimizer = optim::adamw({.learning_rate = rate}), .learning_rate = rate};
        o.trains = [](const std::string& path) { return path != "table"; };
        if (local) o.replicas = 2, o.local = {.kind = local::Kind::diloco, .every = 3, .last = 99};
        auto model = trainable(bigram(), o);
        model->init(random::key(0));
        auto batch = [&](std::int64_t s) {
          return test::batch_of(s, mesh, 4, kPositions, [](std::int64_t i) {
            return test::Place{static_cast<std::int32_t>(i * 7 % 256), static_cast<std::int32_t>(i * 11 % 256), 1};
          });
        };
        auto bytes_of = [](const std::vector<io::Leaf>& leaves, const Arrays& memory) {
          std::vector<std::string> all;
          for (std::size_t i = 0; i < leaves.size(); ++i)
            all.emplace_back(static_cast<const char*>(leaves[i].data), memory[i].nbytes());
          return all;
        };
        for (std::int64_t s = 0; s < 8; ++s) {
          Arrays memory;
          auto leaves = io::leaves_of(model->state(), "", memory);
          auto before = bytes_of(leaves, memory);
          model->keep_state();
          (void)model->step(batch(s));
          (void)model->step(batch(s + 1));
          EXPECT_EQ(bytes_of(leaves, memory), before) << "step " << s << ", " << ranks << " ranks, local " << local;
        }
      });
      EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    }
}
TEST_F(Beside, ASaveThatFailsIsSaidAndTheRunGoesOn) {
  settings.checkpoint.best = false;
  settings.checkpoint.every = 4;
  for (auto how : {kOn, kOff}) {
    auto s = with(how, how == kOn ? "fails-on" : "fails-off");
    auto root = s.out + "/checkpoints";
    auto hooks = [&](const Mesh& mesh) {
      return std::vector<Hook>{[&, first = mesh.rank() == 0](const StepReport& r, RunView&) {
        if (first && r.step == 1) std::ofstream(root) << "no folder";
        if (first && r.step == 17) fs::remove(root);
      }};
    };
    run_each(s, 2, hooks);
    for (std::string step : {"4", "8", "12", "16"})
      EXPECT_NE(printed.find("the checkpoint of step " + step + " is not there: "), std::string::npos)
          << printed;
    EXPECT_NE(printed.find("; the run goes on, and its newest one is of its beginning, "), std::string::npos)
        << printed;
    EXPECT_EQ(io::list_checkpoints(root).back().step, settings.steps);
    EXPECT_GT(io::verify_checkpoint(root + "/step-24"), 0);
    for (bool stop : {true, false}) {
      auto ends = s;
      ends.out = s.out + (stop ? "-stop" : "-age");
      if (stop) ends.checkpoint.on_failure = Checkpoints::OnFailure::stop;
      else ends.checkpoint.max_age = config::Duration(0);
      root = ends.out + "/checkpoints";
      auto error = test::error_of<IoError>([&] { run_each(ends, 2, hooks); });
      (void)testing::internal::GetCapturedStdout();
      EXPECT_NE(error.find(root), std::string::npos) << error;
      EXPECT_NE(error.find(stop ? "; checkpoint.on_failure: the run ends"
                                : "; no checkpoint is younger than 0s (checkpoint.max_age): the run ends"),
                std::string::npos)
          << error;
    }
  }
}
/// An error of a step ends what is being written, and leaves no folder of it.
TEST_F(Beside, AnErrorLeavesNothingUnfinished) {
  for (std::int64_t at : {3, 4, 5}) {
    auto s = with(kOn, "error" + std::to_string(at));
    EXPECT_THROW(run_each(s, 2,
                          [&](const Mesh&) {
                            return std::vector<Hook>{[&](const StepReport& r, RunView&) {
                              if (r.step == at) throw ValueError("enough");
                            }};
                          }),
                 ValueError);
    (void)testing::internal::GetCapturedStdout();
    // What another rank has made meanwhile goes at the next start.
    if (fs::exists(s.out + "/checkpoints")) {
      EXPECT_EQ(io::clean_checkpoints(s.out + "/checkpoints"), "");
    }
    if (fs::exists(s.out + "/checkpoints"))
      for (auto& entry : fs::directory_iterator(s.out + "/checkpoints")) {
        auto name = entry.path().filename().string();
        EXPECT_TRUE(name == "step-2" || name == "step-4") << name;
        EXPECT_GT(io::verify_checkpoint(entry.path()), 0);
      }
  }
}
}  // namespace beside_test
