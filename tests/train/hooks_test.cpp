// Hooks of a user's program: their moment, their wishes, their errors, and the state they see.
#include <algorithm>
#include <csignal>
#include <mutex>
#include "bigram.h"
#include "scripted_membership.h"

namespace fs = std::filesystem;
namespace hooks_test {
using namespace bora;
namespace {
struct HooksTest : TrainerTest {
  std::string root() const { return settings.out + "/checkpoints"; }
  std::vector<std::int64_t> saved() const {
    std::vector<std::int64_t> steps;
    for (auto& c : io::list_checkpoints(root())) steps.push_back(c.step);
    return steps;
  }
  /// Everything in the folder of checkpoints, hidden things too.
  std::vector<std::string> names() const {
    std::vector<std::string> r;
    for (auto& entry : fs::directory_iterator(root())) r.push_back(entry.path().filename());
    std::sort(r.begin(), r.end());
    return r;
  }
  /// A run of two ranks that have met before, as after a loss; what it printed.
  std::string goes_on() {
    testing::internal::CaptureStdout();
    local_mesh({{"data", 2}, {"model", 1}}, [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout(settings.layout), mesh.shape()).compute);
      test::ScriptedMembership met_before;
      met_before.now = 1;
      auto model = bigram_trainable(settings, mesh.shape());
      LoopSettings loop = settings;
      loop.membership = &met_before;
      EXPECT_EQ(run_training(*model, data, loop, mesh), 0);
    });
    return testing::internal::GetCapturedStdout();
  }
};
const Array& leaf(const RunView& view, const std::string& path) {
  for (auto& slot : tree::slots(view.state()))
    if (slot.path == path) return slot.leaf.get();
  throw ValueError("no leaf " + path);
}
}  // namespace

TEST_F(HooksTest, AHookRunsAfterTheNumbersAndBeforeEvaluationAndCheckpoint) {
  settings.eval.every = settings.checkpoint.every = 3;
  settings.trace = {.path = folder + "/trace", .steps = 1};  // step 3
  std::string order;
  auto first = [&](const StepReport& r, RunView&) {
    order += "a";
    EXPECT_EQ(losses(settings.out).size(), static_cast<std::size_t>(r.step));
    EXPECT_EQ(losses(settings.out, "eval/loss").size(), r.step <= 3 ? 1U : 2U);
    EXPECT_EQ(saved(), r.step <= 3 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{3});
    EXPECT_EQ(fs::exists(settings.trace.path), r.step >= 3);
  };
  run(settings, 2, {first, [&](const StepReport&, RunView&) { order += "b"; }});
  EXPECT_EQ(order, "abababababab");
  EXPECT_EQ(losses(settings.out, "eval/loss").size(), 3U);
  EXPECT_EQ(saved(), (std::vector<std::int64_t>{3, 6}));
}
TEST_F(HooksTest, AHookAsksForACheckpointAndForTheEnd) {
  settings.trace = {.path = folder + "/trace", .steps = 3};  // steps 3 to 5: the end comes before
  for (int ranks : {1, 2}) {
    settings.out = folder + "/ranks" + std::to_string(ranks);
    auto hook = [](const StepReport& r, RunView& view) {
      if (r.step == 2) view.save();
      if (r.step == 4) view.stop();
    };
    EXPECT_EQ(run_each(settings, ranks, [&](const Mesh&) { return std::vector<Hook>{hook}; }).size(), 4U);
    EXPECT_EQ(saved(), (std::vector<std::int64_t>{2, 4}));
    EXPECT_EQ(losses(settings.out, "eval/loss").size(), 2U);  // the end counts as one
    EXPECT_TRUE(fs::exists(settings.out + "/loss.svg"));
    EXPECT_NE(printed.find("trace: " + settings.trace.path + " (a step "), std::string::npos) << printed;
    EXPECT_TRUE(fs::remove(settings.trace.path));
  }
}
TEST_F(HooksTest, AHookReadsAStateThatIsSplit) {
  std::vector<float> seen[2], kept[2];
  auto hooks = [&](const Mesh& mesh) {
    auto& mine = seen[mesh.rank()];
    auto held = std::make_shared<Array>();
    return std::vector<Hook>{[&, held, rank = mesh.rank()](const StepReport& r, RunView& view) {
      EXPECT_EQ(leaf(view, "step").item<std::int32_t>(), r.step);
      auto& table = leaf(view, "params.table");
      EXPECT_EQ(table.shape(), (Shape{256, 6}));
      EXPECT_EQ(local_block(table).block.shape(), (Shape{256, 3}));  // FSDP splits embed
      if (r.step == 2) mine = table.to_vector<float>(), *held = table, view.save();
      if (r.step == 4) kept[rank] = held->to_vector<float>();  // later steps leave it alone
    }};
  };
  run_each(settings, 2, hooks);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(kept[0], seen[0]);
  EXPECT_EQ(kept[1], seen[0]);
  auto stored = load_tree(root() + "/step-2", bigram().init(random::key(0)), "params");
  EXPECT_EQ(stored.table.array().to_vector<float>(), seen[0]);
}
TEST_F(HooksTest, AHookThatThrowsOnOneRankEndsAllOfThem) {
  auto whole = run(settings, 2);
  settings.out = folder + "/cut";
  settings.checkpoint.every = 2;
  std::mutex mutex;
  std::vector<std::string> errors(2);
  for (int thrower : {0, 1}) {
    fs::remove_all(settings.out);
    fs::create_directories(settings.out);
    testing::internal::CaptureStdout();
    auto run_rank = [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout("fsdp"), mesh.shape()).compute);
      auto model = bigram_trainable(settings, mesh.shape());
      LoopSettings loop = settings;
      loop.hooks = {[&](const StepReport& r, RunView&) {
        if (r.step == 4 && mesh.rank() == thrower) throw std::runtime_error("no more");  // where a checkpoint is due
      }};
      try {
        run_training(*model, data, loop, mesh);
      } catch (const std::exception& e) {
        std::lock_guard lock(mutex);
        errors[static_cast<std::size_t>(mesh.rank())] = e.what();
        throw;
      }
    };
    EXPECT_THROW(local_mesh({{"data", 2}, {"model", 1}}, run_rank), std::runtime_error);
    (void)testing::internal::GetCapturedStdout();
    for (auto& error : errors) EXPECT_NE(error.find("no more"), std::string::npos) << error;
    EXPECT_EQ(errors[static_cast<std::size_t>(thrower)], "no more");
    EXPECT_GE(losses(settings.out).size(), 3U);  // rank 0 may be inside of step 4 when rank 1 throws
    EXPECT_EQ(saved(), (std::vector<std::int64_t>{2}));
    EXPECT_TRUE(io::good_checkpoint(root()).damaged.empty());
    EXPECT_TRUE(fs::exists(settings.out + "/loss.svg"));  // drawn with that checkpoint
    EXPECT_EQ(run(settings, 2), whole) << "rank " << thrower;  // continues from step 2
    EXPECT_EQ(names(), (std::vector<std::string>{"step-4", "step-6"}));
  }
}
/// A job loses a rank when all is done but the ranks' leave of each other: its others make the end once more.
TEST_F(HooksTest, TheLastEvaluationStandsOnceInTheRecord) {
  for (bool best : {false, true}) {
    settings.out = folder + (best ? "/best" : "/plain");
    settings.checkpoint.best = best;
    settings.eval.every = 3;
    auto whole = run(settings, 2);
    auto evaluations = losses(settings.out, "eval/loss");
    EXPECT_EQ(evaluations.size(), 3U);  // steps 0, 3 and 6
    auto said = goes_on();
    EXPECT_NE(said.find("val loss: "), said.npos) << said;
    EXPECT_EQ(losses(settings.out), whole);
    EXPECT_EQ(losses(settings.out, "eval/loss"), evaluations);
  }
}
/// A loss behind the end that patience made: the others do not train on, but the same command does.
TEST_F(HooksTest, AnEndByPatienceOutlivesALoss) {
  settings.steps = 40;
  settings.eval.every = 3;
  settings.eval.patience = 2;
  settings.eval.min_delta = 100;  // nothing is lower by so much
  auto whole = run(settings, 2);
  EXPECT_EQ(whole.size(), 9U);
  auto evaluations = losses(settings.out, "eval/loss");
  goes_on();
  EXPECT_EQ(losses(settings.out), whole);
  EXPECT_EQ(losses(settings.out, "eval/loss"), evaluations);
  EXPECT_EQ(run(settings, 2).size(), 12U);  // up to the next evaluation
}
/// Ranks that leave are quick, as a host may be drained: the evaluation that is due is made once they have met again. A
/// rank that gets SIGTERM after they said why they leave goes as well.
TEST_F(HooksTest, RanksThatLeaveEvaluateWhenTheyHaveMetAgain) {
  settings.eval.every = 1;
  auto whole = run(settings, 2);
  auto evaluations = losses(settings.out, "eval/loss");
  settings.out = folder + "/left";
  testing::internal::CaptureStdout();
  local_mesh({{"data", 2}, {"model", 1}}, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings(parse_layout(settings.layout), mesh.shape()).compute);
    test::ScriptedMembership asked;
    asked.leave_after = 0;
    auto model = bigram_trainable(settings, mesh.shape());
    LoopSettings loop = settings;
    loop.membership = &asked;
    if (mesh.rank() == 0) loop.hooks = {[](const StepReport&, RunView&) { ::raise(SIGTERM); }};
    EXPECT_EQ(run_training(*model, data, loop, mesh), bora::training::kDrained);  // both: ranks of one process
  });
  (void)testing::internal::GetCapturedStdout();
  EXPECT_EQ(losses(settings.out).size(), 1U);
  EXPECT_EQ(losses(settings.out, "eval/loss").size(), 1U);  // of step 0
  EXPECT_EQ(run(settings, 2), whole);
  EXPECT_EQ(losses(settings.out, "eval/loss"), evaluations);
}
TEST_F(HooksTest, RanksThatAskForDifferentThingsAreAnError) {
  for (bool save : {false, true}) {
    settings.out = folder + (save ? "/save" : "/stop");
    std::string text;
    try {
      run(settings, 2, {[&](const StepReport& r, RunView& view) {
            if (r.step == 2) save ? view.save() : view.stop();  // rank 0 alone
          }});
    } catch (const Error& e) { text = e.what(); }
    (void)testing::internal::GetCapturedStdout();
    for (auto part :
         {"the ranks wait for each other: ", "rank 0: exchange of run: look after its folder; ", "rank 1: "})
      EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_TRUE(saved().empty());
  }
}
}  // namespace hooks_test
