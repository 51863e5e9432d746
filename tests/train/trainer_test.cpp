// Runs of the trainer with a small model.
#include "bigram.h"
#include <cmath>
#include <sstream>
#include "support/throws.h"
#include "track/event_file.h"

namespace fs = std::filesystem;
namespace trainer_test {
using namespace bora;

TEST_F(TrainerTest, PartsOfABatchAddUpToTheBatch) {
  auto whole = run(settings, 1);
  ASSERT_EQ(whole.size(), 6U);
  EXPECT_NEAR(whole[0], std::log(256.0), 0.1);
  EXPECT_LT(whole[5], whole[0] - 0.05);
  for (int parts : {2, 3, 12})
    for (int ranks : {1, 2}) {
      auto s = settings;
      s.accumulate = parts;
      s.out = folder + "/parts" + std::to_string(parts) + "_" + std::to_string(ranks);
      auto l = run(s, ranks);
      ASSERT_EQ(l.size(), whole.size());
      for (std::size_t i = 0; i < l.size(); ++i)
        EXPECT_NEAR(l[i], whole[i], 1e-5 * whole[i]) << parts << " parts, " << ranks << " ranks, step " << i;
    }
}
TEST_F(TrainerTest, RowsWithoutWeightDoNotCount) {
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings({}, mesh.shape()).compute);
    auto report = [&](std::int64_t batch, std::int64_t accumulate, const data::Rows& rows) {
      auto s = settings;
      s.batch = batch;
      s.accumulate = accumulate;
      auto model = bigram_trainable(s, mesh.shape());
      model->init(random::key(0));
      return model->step(make_batch(rows, batch, mesh)).to_vector<float>();
    };
    // The last row, and one token of another row, have no weight.
    auto four = data::Rows::zeros(0, 4, {kPositions});
    for (std::size_t i = 0; i < four.tokens.size(); ++i) {
      four.tokens[i] = static_cast<std::int32_t>(i * 37 % 256);
      four.targets[i] = static_cast<std::int32_t>(i * 41 % 256);
      four.weights[i] = i < 3 * kPositions && i != 5 ? 1 : 0;
    }
    auto three = four;
    three.end = 3;
    three.tokens.resize(3 * kPositions);
    three.targets.resize(3 * kPositions);
    three.weights.resize(3 * kPositions);
    auto a = report(3, 1, three), b = report(4, 1, four), c = report(4, 2, four), d = report(4, 4, four);
    for (auto& x : {b, c, d}) {
      EXPECT_NEAR(x[0], a[0], 1e-6 * a[0]);  // loss
      EXPECT_NEAR(x[1], a[1], 1e-5 * a[1]);  // norm of the gradient
    }
  });
}
TEST_F(TrainerTest, ALayoutChangesNothing) {
  settings.layout = "dp";
  auto whole = run(settings, 1);
  auto digest = printed.substr(printed.find(": ") + 2, 64);
  for (std::string layout : {"dp", "fsdp"})
    for (int ranks : {2, 3, 5}) {
      auto s = settings;
      s.layout = layout;
      s.out = folder + "/" + layout + std::to_string(ranks);
      auto l = run(s, ranks);
      ASSERT_EQ(l.size(), whole.size());
      for (std::size_t i = 0; i < l.size(); ++i)
        EXPECT_NEAR(l[i], whole[i], 1e-5 * whole[i]) << layout << " " << ranks << " step " << i;
      EXPECT_NE(printed.find("init digest data=" + std::to_string(ranks) + ",model=1 " + layout + ": " + digest),
                std::string::npos)
          << printed;
    }
}
TEST_F(TrainerTest, ARunContinuesBitForBit) {
  settings.steps = 9;
  auto whole = run(settings, 2);
  auto s = settings;
  s.out = folder + "/cut";
  s.steps = 9;
  s.checkpoint.every = 4;
  EXPECT_THROW(run(s, 2, {[](const StepReport& r, RunView&) {
                     if (r.step == 6) throw ValueError("enough");
                   }}),
               ValueError);
  (void)testing::internal::GetCapturedStdout();
  EXPECT_EQ(losses(s.out).size(), 6U);
  auto l = run(s, 2);
  EXPECT_NE(printed.find("continuing from step 4 (" + s.out + "/checkpoints/step-4)"), std::string::npos) << printed;
  EXPECT_EQ(l, whole);
  auto checkpoints = io::list_checkpoints(s.out + "/checkpoints");
  ASSERT_EQ(checkpoints.size(), 2U);
  EXPECT_EQ(checkpoints[1].step, 9);
  // Once more: nothing is left to do, and nothing is lost or said twice.
  EXPECT_EQ(run(s, 3), whole);
  EXPECT_EQ(losses(s.out, "eval/loss").size(), 2U);
  EXPECT_NE(printed.find("checkpoint: " + s.out + "/checkpoints/step-9"), std::string::npos) << printed;
}
TEST_F(TrainerTest, TrackersGetTheSameNumbers) {
  settings.checkpoint.every = 4;
  settings.trackers = {"tensorboard", "jsonl"};
  settings.steps = 9;
  auto cut = [](const StepReport& r, RunView&) {
    if (r.step == 6) throw ValueError("enough");
  };
  EXPECT_THROW(run(settings, 2, {cut}), ValueError);
  (void)testing::internal::GetCapturedStdout();
  auto lines = run(settings, 2);
  EXPECT_EQ(lines.size(), 9U);
  std::vector<float> events;
  for (auto& row : event_file::scalars(settings.out + "/tensorboard"))
    for (auto& [name, value] : row.values)
      if (name == "train/loss") events.push_back(static_cast<float>(value));
  EXPECT_EQ(events, std::vector<float>(lines.begin(), lines.end()));
  settings.resume = Resume::none;
  run(settings, 1);  // files of the earlier run are kept
  EXPECT_EQ(event_file::scalars(settings.out + "/tensorboard.1").size(), 13U);  // two saves have numbers
  EXPECT_EQ(event_file::scalars(settings.out + "/tensorboard").size(), 13U);
}
TEST_F(TrainerTest, PrintsAndWritesWhatScriptsRead) {
  settings.eval.every = 3;
  std::vector<std::int64_t> seen;
  run(settings, 2, {[&](const StepReport& r, RunView&) { seen.push_back(r.step); }});
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(losses(settings.out, "eval/loss").size(), 3U);
  EXPECT_LT(losses(settings.out, "eval/loss")[2], losses(settings.out, "eval/loss")[0]);
  for (auto name :
       {"train/grad_norm", "optim/learning_rate", "throughput/tokens_per_second", "throughput/step_seconds"})
    EXPECT_EQ(losses(settings.out, name).size(), 6U) << name;
  EXPECT_EQ(losses(settings.out, "optim/learning_rate")[0], 0);
  EXPECT_NEAR(losses(settings.out, "optim/learning_rate")[2], 0.05, 1e-6);
  std::istringstream lines(printed);
  std::vector<std::string> begins;
  for (std::string line; std::getline(lines, line);)
    for (auto begin :
         {"init digest ", "plan: ", "val loss: ", "checkpoint: ", "peak rss rank 0: ", "peak rss rank 1: "})
      if (line.starts_with(begin)) begins.push_back(begin);
  EXPECT_EQ(begins, (std::vector<std::string>{"init digest ", "plan: ", "val loss: ", "checkpoint: ", "val loss: ",
                                              "peak rss rank 0: ", "peak rss rank 1: "}))
      << printed;
  EXPECT_TRUE(fs::exists(settings.out + "/loss.svg"));
}
TEST_F(TrainerTest, ANewRunStartsWithASmallEvaluation) {
  settings.batch = 3;
  std::vector<double> first, last;
  for (std::int64_t rows : {6, 12, 40, 0}) {  // of them 4 batches, 12 windows, before the first step
    settings.eval.rows = rows;
    settings.out = folder + "/rows" + std::to_string(rows);
    run(settings, 1);
    auto l = losses(settings.out, "eval/loss");
    ASSERT_EQ(l.size(), 2U);
    first.push_back(l[0]);
    last.push_back(l[1]);
  }
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(first[1], first[2]);
  EXPECT_EQ(first[1], first[3]);
  EXPECT_NE(last[1], last[2]);
  EXPECT_NE(last[2], last[3]);
}
TEST_F(TrainerTest, ARunThatDoesNotFitLeavesTheSettingsAlone) {
  run(settings, 1);
  auto config = [&] { return losses(settings.out); };
  auto before = config();
  fs::rename(settings.out + "/checkpoints/step-6/rank-0", settings.out + "/rank-0");
  for (std::int64_t steps : {0, 9}) {
    auto s = settings;
    s.steps = steps;
    EXPECT_THROW(run(s, 2), CheckpointError);
    (void)testing::internal::GetCapturedStdout();
    EXPECT_EQ(config(), before);
  }
  fs::rename(settings.out + "/rank-0", settings.out + "/checkpoints/step-6/rank-0");
  fs::remove(settings.out + "/checkpoints/step-6/manifest");
  EXPECT_THROW(run(settings, 2), CheckpointError);
  (void)testing::internal::GetCapturedStdout();
  EXPECT_EQ(losses(settings.out).size(), 6U);
}
TEST_F(TrainerTest, AFolderBelongsToOneRun) {
  auto check = [&](const StepReport& r, RunView&) {
    if (r.step != 2) return;
    fs::remove(settings.out + "/.lock");  // the lock is not a file that somebody may clean away
    local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
      auto model = bigram_trainable(settings, mesh.shape());
      EXPECT_EQ(test::error_of([&] { run_training(*model, data, settings, mesh); }),
                "out: another run is writing into " + settings.out +
                    "; wait until it has ended, or choose another out");
    });
  };
  EXPECT_EQ(run(settings, 1, {check}).size(), 6U);
  EXPECT_FALSE(fs::exists(settings.out + "/.lock"));
  std::ofstream(settings.out + "/.lock") << "";  // of a run that was killed
  EXPECT_EQ(run(settings, 1).size(), 6U);
}
TEST_F(TrainerTest, ClippingMayChangeBetweenRuns) {
  (void)run(settings, 1);
  settings.steps = 8;
  settings.optimizer.clip = 0;
  EXPECT_EQ(run(settings, 1).size(), 8U);
  EXPECT_NE(printed.find("continuing from step 6 ("), std::string::npos) << printed;
}
TEST_F(TrainerTest, ALossThatIsNotFiniteEndsTheRun) {
  settings.optimizer.lr = 1e30;
  settings.optimizer.schedule.warmup = 0;
  settings.optimizer.clip = 0;
  EXPECT_THROW(run(settings, 2), ValueError);
  (void)testing::internal::GetCapturedStdout();
  EXPECT_TRUE(io::list_checkpoints(settings.out + "/checkpoints").empty());
}
TEST_F(TrainerTest, AScaledLossIsReportedAsItIs) {
  auto plain = run(settings, 1), norms = losses(settings.out, "train/grad_norm");
  for (int accumulate : {1, 3}) {
    settings.out = folder + "/scaled" + std::to_string(accumulate);
    settings.accumulate = accumulate;
    settings.loss_scale = {.initial = 1024, .dynamic = false};  // a power of 2 rounds nothing
    auto scaled = run(settings, 1), scaled_norms = losses(settings.out, "train/grad_norm");
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_NEAR(scaled[i], plain[i], accumulate == 1 ? 0 : 1e-5);
      EXPECT_NEAR(scaled_norms[i], norms[i], accumulate == 1 ? 0 : 1e-5);
    }
  }
}
TEST_F(TrainerTest, AStepWhoseGradientOverflowsIsLeftOutOnAllRanks) {
  std::vector<std::vector<double>> seen;
  for (int ranks : {1, 2}) {
    settings.out = folder + "/ranks" + std::to_string(ranks);
    settings.loss_scale = {.initial = 0x1p127, .period = 2};
    settings.loss_times = 256;
    auto all = run(settings, ranks);
    auto skipped = losses(settings.out, "optim/skipped_steps"), scale = losses(settings.out, "optim/loss_scale");
    ASSERT_EQ(skipped.size(), 6U);
    EXPECT_EQ(skipped[0], 1);
    EXPECT_LT(skipped.back(), 6);
    EXPECT_NEAR(scale[0] / 0x1p126, 1, 1e-6);
    EXPECT_NE(printed.find("step 1 is left out: its gradient is not finite (1 so far)"), std::string::npos) << printed;
    EXPECT_LT(all.back(), all.front());  // it learns
    seen.push_back(all);
    seen.back().insert(seen.back().end(), scale.begin(), scale.end());
  }
  for (std::size_t i = 0; i < seen[0].size(); ++i) EXPECT_NEAR(seen[0][i] / seen[1][i], 1, 1e-5);
}
TEST_F(TrainerTest, ATextWithoutTwoWindowsIsAnError) {
  std::ofstream(folder + "/text") << "two windows: 18 b\n";
  open();
  EXPECT_EQ(run(settings, 2).size(), 6U);
  std::ofstream(folder + "/text") << "a window and more";
  EXPECT_THROW(open(), ConfigError);
}
TEST_F(TrainerTest, AModelMayCloseOverArrays) {  // which are inputs of the step beside state and batch
  auto task = bigram();
  auto loss = task.loss;
  task.loss = [loss, factor = asarray(std::vector<float>(kPositions, 2))](const Bigram& m, const training::Example& e,
                                                                          const std::optional<Array>& key) {
    auto weighted = e;
    weighted.weights = e.weights * named(factor, Axis{"position", kPositions});
    return loss(m, weighted, key);
  };
  auto rate = settings.optimizer.schedule.make(settings.optimizer.lr, settings.steps);
  for (int ranks : {1, 2})
    local_mesh({{"data", ranks}, {"model", 1}}, [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout("fsdp"), mesh.shape()).compute);
      auto model = trainable(task, {.optimizer = settings.optimizer.make(rate), .learning_rate = rate});
      model->init(random::key(0));
      auto mine = rows_of_rank(settings.batch, mesh);
      auto rows = data::training_rows(data.train, {kPositions}, 0, settings.batch, mine.begin, mine.end, 0);
      auto batch = make_batch(rows, settings.batch, mesh);
      EXPECT_NE(plan_text(*model, batch, settings, mesh, [] { return 0; }).find("plan: "), std::string::npos);
      EXPECT_NEAR(model->step(batch).to_vector<float>()[0], 2 * std::log(256.0), 0.2);
    });
}
}  // namespace trainer_test
