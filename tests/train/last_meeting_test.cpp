// Replicas that make local steps meet a last time where a run ends, for whatever reason it does, before its last
// checkpoint and evaluation. A run that is only stopped keeps them apart, so that it continues bit for bit.
#include <csignal>
#include "bigram.h"
#include "support/bits.h"
#include "train/steps.h"

namespace fs = std::filesystem;
namespace last_meeting_test {
using namespace bora;
namespace {
struct Case {
  local::Kind kind = local::Kind::average;
  std::int64_t every = 4, delay = 0;
};
struct Ended {
  std::vector<float> state;
  std::vector<double> evaluations;
  double distance = 0;  // of a replica's parameters from those that are kept
  std::int64_t step = 0;
};
const AxisMapping kCompute{{"batch", {"replica", "data"}}};
}  // namespace

struct LastMeeting : TrainerTest {
  LastMeeting() {
    settings.batch = 8;
    settings.eval.rows = 12;
    settings.eval.every = 3;
    settings.steps = 40;
    settings.eval.min_delta = 100;  // nothing is lower by so much
  }
  /// last: the step after which all meet as settings have it; 0: none.
  Ended run_local(const Job& s, const Case& c, std::int64_t last, int ranks, const std::vector<Hook>& hooks = {},
                  int code = 0) {
    Ended r;
    fs::create_directories(s.out);
    testing::internal::CaptureStdout();
    local_mesh({{"replica", ranks}, {"data", 1}}, [&](const Mesh& mesh) {
      UseMapping split(kCompute);
      auto rate = optim::warmup_cosine_decay_schedule(0.01, 0.05, 2, 40);
      StepOptions o{.optimizer = optim::adamw({.learning_rate = rate}), .learning_rate = rate};
      o.replicas = 2;
      o.local = {.kind = c.kind, .every = c.every, .last = last, .delay = c.delay};
      if (c.kind == local::Kind::average) o.local.outer = optim::identity();
      if (c.kind == local::Kind::slowmo) o.local.rate = rate;
      auto model = trainable(bigram(), o);
      LoopSettings loop = s;
      if (mesh.rank() == 0) loop.hooks = hooks;
      EXPECT_EQ(run_training(*model, data, loop, mesh), code);
      auto checkpoint = io::list_checkpoints(s.out + "/checkpoints").back();
      auto kept = trainable(bigram(), o);
      kept->init(random::key(0));
      io::restore_leaves(kept->state(), checkpoint.folder, place_of(mesh));
      auto numbers = test::numbers_of(kept->state());
      double distance = 0;
      std::map<std::string, Array> leaves;
      for (auto& slot : tree::slots(kept->state()))
        if (slot.leaf.defined()) leaves[slot.path] = slot.leaf.get();
      for (auto name : {"table", "out"}) {
        auto x = leaves.at(std::string("params.") + name), each = leaves.at(std::string("replicas.params.") + name);
        distance = std::max(distance, double{amax(abs(gather(each) - gather(x))).item<float>()});
      }
      if (mesh.rank() == 0) r.state = numbers, r.distance = distance, r.step = checkpoint.step;
    });
    printed = testing::internal::GetCapturedStdout();
    r.evaluations = losses(s.out, "eval/loss");
    return r;
  }
  void expect_same_end(const Ended& early, const Ended& planned, const std::string& what) {
    EXPECT_EQ(early.step, planned.step) << what;
    EXPECT_EQ(early.distance, 0) << what;
    EXPECT_TRUE(test::same_bits(early.state, planned.state)) << what;
    EXPECT_EQ(early.evaluations.back(), planned.evaluations.back()) << what;
  }
};

TEST_F(LastMeeting, WherePatienceEndsTheRun) {
  int number = 0;
  for (auto c : {Case{}, Case{local::Kind::diloco}, Case{local::Kind::diloco, 4, 2}, Case{local::Kind::slowmo, 2},
                 Case{local::Kind::average, 1}, Case{local::Kind::diloco, 3}})
    for (int ranks : {1, 2}) {
      if (ranks == 2 && number % 3 != 1) continue;  // the bits are the same: LocalSteps
      auto what = "case " + std::to_string(number++);
      auto s = settings;
      s.out = folder + "/patient" + std::to_string(number);
      s.eval.patience = 2;
      auto early = run_local(s, c, 40, ranks);
      EXPECT_NE(printed.find("the run ends"), printed.npos) << printed;
      EXPECT_LT(early.step, 40) << what;
      auto t = settings;
      t.out = folder + "/planned" + std::to_string(number);
      t.steps = early.step;
      expect_same_end(early, run_local(t, c, early.step, ranks), what);
      EXPECT_NE(printed.find("val loss: "), printed.npos);
    }
}
TEST_F(LastMeeting, WhereAHookEndsTheRun) {
  auto s = settings;
  s.checkpoint.best = true;
  s.eval.min_delta = 0;
  auto stop = [](const StepReport& r, RunView& run) {
    if (r.step == 6) run.stop();  // an evaluation is due after it, and it is the best one
  };
  auto early = run_local(s, {}, 40, 1, {stop});
  auto t = s;
  t.out = folder + "/planned";
  t.steps = 6;
  auto planned = run_local(t, {}, 6, 1);
  expect_same_end(early, planned, "hook");
  auto best = io::list_checkpoints(s.out + "/best");
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].step, io::list_checkpoints(t.out + "/best")[0].step);
  // Nobody said which step is the last one.
  t.out = folder + "/unsaid";
  expect_same_end(run_local(t, {}, 0, 1), planned, "without .last");
}
/// The next run begins behind that meeting: it trains on as the one that was to end there.
TEST_F(LastMeeting, ARunThatContinuesBehindIt) {
  auto s = settings;
  s.eval.patience = 2;
  auto early = run_local(s, {}, 40, 1);
  s.eval.patience = 0, s.steps = early.step + 5;
  auto further = run_local(s, {}, s.steps, 1);
  auto t = settings;
  t.out = folder + "/planned", t.steps = early.step;
  (void)run_local(t, {}, t.steps, 1);
  t.steps += 5;
  expect_same_end(further, run_local(t, {}, t.steps, 1), "continued");
}
TEST_F(LastMeeting, AStopIsNoEnd) {
  auto s = settings;
  s.steps = 9;
  auto whole = run_local(s, {}, 9, 1);
  s.out = folder + "/cut";
  auto stop = [](const StepReport& r, RunView&) {
    if (r.step == 5) ::raise(SIGTERM);
  };
  auto cut = run_local(s, {}, 9, 1, {stop}, 130);
  EXPECT_EQ(cut.step, 6);
  EXPECT_GT(cut.distance, 0);
  expect_same_end(run_local(s, {}, 9, 1), whole, "cut");
}
}  // namespace last_meeting_test
