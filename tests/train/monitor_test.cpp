// What ranks say about themselves, in runs: numbers, alerts, the log, and no other losses.
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <sstream>
#include <thread>
#include "bigram.h"
#include "bora/train/status.h"
#include "support/files.h"
#include "support/throws.h"
#include "train/monitor/histograms.h"

namespace fs = std::filesystem;
namespace monitor_test {
using namespace bora;
using namespace std::chrono_literals;
namespace {
struct MonitorTest : TrainerTest {
  std::string metrics() const { return test::slurp(settings.out + "/metrics.jsonl"); }
  std::vector<std::string> log() const {
    std::vector<std::string> lines;
    std::istringstream in(test::slurp(settings.out + "/run.log"));
    for (std::string line; std::getline(in, line);) lines.push_back(line.substr(line.find("Z ") + 2));
    return lines;
  }
  /// Steps that take as long, with what stands between them.
  static std::vector<Hook> slowly(std::chrono::milliseconds each) {
    return {[each](const StepReport&, RunView&) { std::this_thread::sleep_for(each); }};
  }
};
}  // namespace

TEST_F(MonitorTest, NumbersOfRanksAndTheLog) {
  auto calm = run(settings, 2);
  settings.out = folder + "/slowly";
  settings.steps = 70;
  settings.log.every = 7;
  settings.board = std::make_shared<training::StatusBoard>();
  auto mine = run(settings, 2, slowly(40ms));
  EXPECT_TRUE(std::equal(mine.begin(), mine.begin() + 2, calm.begin()));  // of 70 steps, with another schedule's end
  for (std::string name : {"compute_seconds", "wait_seconds", "read_seconds", "rss_bytes", "throttled_seconds",
                           "steal_seconds", "major_faults", "mhz"}) {
    auto of = [&](const std::string& what) { return losses(settings.out, "rank/" + name + "/" + what); };
    auto least = of("min"), middle = of("median"), most = of("max"), which = of("argmax");
    ASSERT_GE(least.size(), 1U) << name;
    EXPECT_LE(least.size(), 4U) << name;
    for (std::size_t k = 0; k < least.size(); ++k) {
      EXPECT_LE(least[k], middle[k]) << name;
      EXPECT_LE(middle[k], most[k]) << name;
      EXPECT_TRUE(which[k] == 0 || which[k] == 1) << name << which[k];
    }
    if (name == "compute_seconds" || name == "rss_bytes") { EXPECT_GT(least[0], 0) << name; }
  }
  for (auto name : {"link/bytes", "link/wait_seconds", "goodput", "mfu"}) {
    auto all = losses(settings.out, name);
    ASSERT_GE(all.size(), 1U) << name;
    EXPECT_GT(all.back(), 0) << name;
    if (name[0] != 'l') { EXPECT_LT(all.back(), 1) << name; }
  }
  auto newest = settings.board->newest();
  EXPECT_EQ(newest.step, 70);
  EXPECT_EQ(newest.ranks.size(), 2U);
  for (auto& r : newest.ranks) {
    EXPECT_GT(r.step, 10);
    EXPECT_GT(r.compute_seconds, 0);
    EXPECT_GT(std::string(r.host).size(), 0U);
    EXPECT_GT(r.memory_all, r.memory_used);
  }
  EXPECT_EQ(metrics().find("\"event\""), std::string::npos);

  auto logged = log();
  std::istringstream lines(printed);
  auto at = logged.begin();
  for (std::string line; std::getline(lines, line); ++at) {
    at = std::find(at, logged.end(), line);
    ASSERT_NE(at, logged.end()) << line << "\n" << test::slurp(settings.out + "/run.log");
  }
}
TEST_F(MonitorTest, ALossThatIsNotFiniteIsAnAlert) {
  settings.loss_times = std::numeric_limits<double>::infinity();
  settings.eval.rows = 0;
  auto heard = folder + "/heard";
  settings.alerts.command = "echo \"$BORA_ALERT, $BORA_STEP, $BORA_RUN: $BORA_ALERT_TEXT\" > " + heard + ".new && mv " +
                            heard + ".new " + heard;
  auto error = test::error_of<ValueError>([&] { run(settings, 2); });
  auto said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("alert: "), said.npos) << said;
  auto lines = log();
  EXPECT_TRUE(lines.back().starts_with("error: " + error)) << lines.back();
  EXPECT_TRUE(lines[lines.size() - 2].starts_with("alert: ")) << lines[lines.size() - 2];
  EXPECT_NE(metrics().find("\"event\": \"not_finite\", \"text\": \""), std::string::npos) << metrics();
  for (int k = 0; k < 1000 && !fs::exists(heard); ++k) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(test::slurp(heard).starts_with("not_finite, ")) << test::slurp(heard);
}
TEST_F(MonitorTest, NormsOfLeavesChangeNoLoss) {
  for (auto& layout : {"dp", "fsdp", "tp"}) {
    settings.layout = layout;
    for (int ranks : {1, 2}) {
      auto place = std::string("/") + layout + std::to_string(ranks);
      settings.out = folder + place;
      settings.norms.every = 0;
      auto axes = std::vector<MeshAxis>{{"data", layout == std::string("tp") ? 1 : ranks},
                                        {"model", layout == std::string("tp") ? ranks : 1}};
      auto none = [](const Mesh&) { return std::vector<Hook>(); };
      auto without = run_on(settings, axes, none);
      EXPECT_TRUE(losses(settings.out, "grad/norm/table").empty());
      settings.out += "norms";
      settings.norms.every = 2;
      settings.trackers = {"jsonl", "tensorboard"};
      EXPECT_EQ(run_on(settings, axes, none), without) << layout << ranks;
      auto table = losses(settings.out, "grad/norm/table"), out = losses(settings.out, "grad/norm/out"),
           all = losses(settings.out, "train/grad_norm");
      ASSERT_EQ(table.size(), 3U);
      for (std::size_t k = 0; k < 3; ++k)
        EXPECT_NEAR(std::hypot(table[k], out[k]), all[2 * k + 1], 1e-5 * all[2 * k + 1]) << layout << ranks;
      EXPECT_EQ(losses(settings.out, "params/norm/out").size(), 3U);
      EXPECT_TRUE(std::isfinite(losses(settings.out, "params/norm/table").at(2)));
    }
  }
}
TEST_F(MonitorTest, HistogramsCountEachNumberOnce) {
  using Counts = std::vector<std::pair<std::string, track::Histogram>>;
  auto of = [&](const std::vector<MeshAxis>& axes, const std::string& layout) {
    Counts r;
    settings.layout = layout;
    local_mesh(axes, [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout(layout), mesh.shape()).compute);
      auto model = bigram_trainable(settings, mesh.shape());
      model->init(random::key(3));
      auto mine = training::leaf_histograms(*model, mesh);
      if (mesh.rank() == 0) r = mine;
    });
    return r;
  };
  auto alone = of({{"data", 1}, {"model", 1}}, "dp");
  ASSERT_EQ(alone.size(), 2U);
  for (auto& [name, h] : alone) {
    EXPECT_EQ(h.count, 256 * 6);
    EXPECT_EQ(h.counts.size(), 64U);
    EXPECT_EQ(h.limits.size(), 64U);
    EXPECT_TRUE(std::is_sorted(h.limits.begin(), h.limits.end()));
    EXPECT_EQ(std::accumulate(h.counts.begin(), h.counts.end(), 0.0), h.count);
    EXPECT_NEAR(std::sqrt(h.squares / h.count), 0.1, 0.01) << name;
    for (std::size_t k = 0; k < 64; ++k)
      if (h.counts[k] > 0) {
        EXPECT_LE(h.least, h.limits[k]);
        EXPECT_GE(h.most, k == 0 ? -INFINITY : h.limits[k - 1]);
      }
  }
  for (auto& layout : {"dp", "fsdp", "fsdp+tp"})
    for (auto& axes : std::vector<std::vector<MeshAxis>>{{{"data", 3}, {"model", 1}}, {{"data", 2}, {"model", 2}}}) {
      auto split = of(axes, layout);
      ASSERT_EQ(split.size(), 2U);
      for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_EQ(split[k].second.counts, alone[k].second.counts) << layout;
        EXPECT_EQ(split[k].second.most, alone[k].second.most) << layout;
        EXPECT_EQ(split[k].second.least, alone[k].second.least) << layout;
      }
    }
}
/// Of the time since the first step, over both runs and what was between them.
TEST_F(MonitorTest, GoodputCountsAllRestarts) {
  settings.steps = 30;
  auto stops = [](const StepReport& r, RunView& view) {
    std::this_thread::sleep_for(50ms);
    if (r.step == 10) view.stop();
  };
  run(settings, 1, {stops});
  std::this_thread::sleep_for(300ms);
  run(settings, 1, slowly(60ms));
  double useful = 0;
  for (auto seconds : losses(settings.out, "throughput/step_seconds")) useful += seconds;
  auto all = losses(settings.out, "goodput");
  ASSERT_FALSE(all.empty());
  EXPECT_GT(all.back(), 0);
  EXPECT_LE(all.back(), useful / 1.7);  // the first run had 0.5 s between its steps, the second one second until then
}
}  // namespace monitor_test
