// Early stopping, and the checkpoint of the lowest validation loss.
#include "bigram.h"

namespace fs = std::filesystem;
namespace best_test {
using namespace bora;
namespace {
std::vector<std::int64_t> steps_in(const std::string& root) {
  std::vector<std::int64_t> r;
  for (auto& c : io::list_checkpoints(root)) r.push_back(c.step);
  return r;
}
}  // namespace

TEST_F(TrainerTest, EndsWhenTheValidationLossStaysWhereItIs) {
  settings.steps = 40;
  settings.eval.every = 3;
  settings.eval.patience = 2;
  settings.eval.min_delta = 100;  // nothing is lower by so much, but than no loss at all
  auto whole = run(settings, 1);
  EXPECT_EQ(whole.size(), 9U);  // evaluated after 3, 6 and 9
  EXPECT_NE(printed.find("no lower validation loss in 2 evaluations since step 3 ("), std::string::npos) << printed;
  EXPECT_EQ(steps_in(settings.out + "/checkpoints"), (std::vector<std::int64_t>{9}));
  auto evaluations = losses(settings.out, "eval/loss");
  ASSERT_EQ(evaluations.size(), 4U);  // before the first step, too; the end measures nothing again
  EXPECT_FALSE(fs::exists(settings.out + "/best"));
  // A run that continues has not forgotten.
  auto cut = settings;
  cut.out = folder + "/cut";
  cut.checkpoint.every = 7;
  EXPECT_THROW(run(cut, 2, {[](const StepReport& r, RunView&) {
                     if (r.step == 8) throw ValueError("enough");
                   }}),
               ValueError);
  (void)testing::internal::GetCapturedStdout();
  EXPECT_EQ(run(cut, 2).size(), 9U);
  EXPECT_NE(printed.find("no lower validation loss in 2 evaluations since step 3 ("), std::string::npos) << printed;
}
TEST_F(TrainerTest, KeepsTheBestCheckpoint) {
  settings.steps = 12;
  settings.eval.every = 3;
  settings.checkpoint.best = true;
  settings.optimizer.lr = 0.01;
  run(settings, 2);
  auto evaluations = losses(settings.out, "eval/loss");
  ASSERT_EQ(evaluations.size(), 5U);
  auto best = std::min_element(evaluations.begin() + 1, evaluations.end()) - evaluations.begin();
  EXPECT_EQ(steps_in(settings.out + "/best"), (std::vector<std::int64_t>{3 * best}));
  EXPECT_NE(printed.find("best: " + settings.out + "/best/step-" + std::to_string(3 * best)), std::string::npos);
  // It has that loss.
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings({}, mesh.shape()).compute);
    auto model = bigram_trainable(settings, mesh.shape());
    model->init(random::key(0));
    io::restore_leaves(model->state(), io::list_checkpoints(settings.out + "/best")[0].folder, place_of(mesh));
    auto s = static_cast<LoopSettings>(settings);
    EXPECT_NEAR(evaluate(*model, data, s, mesh), evaluations[static_cast<std::size_t>(best)], 1e-5);
  });
  // From then on the loss rises: the best one stays.
  settings.steps = 24;
  settings.optimizer.lr = 30;
  settings.optimizer.clip = 0;
  settings.optimizer.schedule.shape = optim::ScheduleConfig::Shape::constant;
  run(settings, 2);
  evaluations = losses(settings.out, "eval/loss");
  EXPECT_GT(*std::min_element(evaluations.begin() + 5, evaluations.end()), evaluations[static_cast<std::size_t>(best)]);
  EXPECT_EQ(steps_in(settings.out + "/best"), (std::vector<std::int64_t>{3 * best}));
  EXPECT_EQ(steps_in(settings.out + "/checkpoints").back(), 24);
}
/// keep.best saves where no save is due, and keeps n of them beside the newest two, whatever is said elsewhere.
TEST_F(TrainerTest, KeepsTheNBestCheckpoints) {
  settings.steps = 24;
  settings.eval.every = 2;
  settings.optimizer.lr = 30;  // the loss is best early
  settings.optimizer.clip = 0;
  settings.optimizer.schedule.shape = optim::ScheduleConfig::Shape::constant;
  settings.checkpoint.keep.last = 1;
  settings.checkpoint.keep.best.n = 2;
  run(settings, 2);
  EXPECT_NE(printed.find("checkpoint.keep.last: 1 is taken as 2"), std::string::npos) << printed;
  auto evaluations = losses(settings.out, "eval/loss");
  ASSERT_EQ(evaluations.size(), 13U);
  std::vector<std::pair<double, std::int64_t>> ranked;
  for (std::size_t i = 1; i < evaluations.size(); ++i) ranked.emplace_back(evaluations[i], 2 * static_cast<int>(i));
  std::sort(ranked.begin(), ranked.end());
  auto kept = steps_in(settings.out + "/checkpoints");
  for (int i : {0, 1}) EXPECT_TRUE(std::count(kept.begin(), kept.end(), ranked[i].second)) << ranked[i].second;
  EXPECT_EQ(kept.back(), 24);
  EXPECT_LE(kept.size(), 4U);
  auto notes = io::read_manifest(settings.out + "/checkpoints/step-" + std::to_string(ranked[0].second)).notes;
  EXPECT_NE(notes.at("metrics").find(" eval/loss\n"), std::string::npos) << notes.at("metrics");
  EXPECT_FALSE(notes.contains("time"));  // equal runs write equal bytes
  // A name that an evaluation does not have, before the first step.
  settings.out = folder + "/misspelt";
  settings.checkpoint.keep.best.metric = "eval/los";
  EXPECT_THROW(run(settings, 1), ConfigError);
  (void)testing::internal::GetCapturedStdout();
}
TEST_F(TrainerTest, KeepsEachSoManySteps) {
  settings.steps = 20;
  settings.checkpoint.every = 3;
  settings.checkpoint.keep.every = 8;
  run(settings, 2);
  EXPECT_EQ(steps_in(settings.out + "/checkpoints"), (std::vector<std::int64_t>{9, 18, 20}));
  EXPECT_NE(printed.find("of them"), std::string::npos) << printed;
}
TEST_F(TrainerTest, WatchesTheNumberThatIsNamed) {
  settings.steps = 9;
  settings.eval.every = 3;
  settings.eval.metric = "code/loss";
  settings.checkpoint.best = true;
  data.sets = {{.rows = data.held_out, .name = "prose"}, {.rows = data.train.parts()[0].rows, .name = "code"}};
  run(settings, 2);
  auto evaluations = losses(settings.out, "eval/code/loss");
  ASSERT_EQ(evaluations.size(), 4U);
  auto best = std::min_element(evaluations.begin() + 1, evaluations.end()) - evaluations.begin();
  EXPECT_EQ(steps_in(settings.out + "/best"), (std::vector<std::int64_t>{3 * best}));
  auto checkpoint = io::list_checkpoints(settings.out + "/best")[0].folder;
  EXPECT_NE(printed.find("best: " + checkpoint), std::string::npos) << printed;
  // Before the first step.
  settings.out = folder + "/misspelt";
  settings.eval.metric = "cod/loss";
  EXPECT_THROW(run(settings, 1), ConfigError);
  (void)testing::internal::GetCapturedStdout();
}
}  // namespace best_test
