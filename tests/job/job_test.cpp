// A program that trains and evaluates by the public job API alone.
#include "bora/job/job.h"
#include <gtest/gtest.h>
#include <cmath>
#include "bora/io/checkpoint.h"
#include "bora/job/trained_run.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace bora::job::job_test {
namespace {
using bora::test::error_of;
/// A small run on a text of its own.
struct SmallRun {
  test::TempFolder folder;
  std::string out = folder / "run";
  std::vector<std::string> items = {"data=" + folder.write("text.txt", text()), "out=" + out,
                                    "model={type: gpt2, layers: 1, embed: 8, heads: 2, positions: 16}",
                                    "batch=4", "steps=2", "eval.rows=8", "log.digest=false"};
  static std::string text() {
    std::string t;
    for (int i = 0; i < 200; ++i) t += "line " + std::to_string(i) + " of a short text\n";
    return t;
  }
  Settings settings(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), items.begin(), items.end());
    return load_settings("", more);
  }
};
TEST(JobTest, TrainsContinuesAndEvaluates) {
  SmallRun run;
  EXPECT_EQ(train(Job::open(run.settings())), 0);
  EXPECT_EQ(io::list_checkpoints(run.out + "/checkpoints").back().step, 2);
  EXPECT_EQ(train(Job::open(run.settings({"steps=3"}))), 0);
  auto e = evaluate(TrainedRun{run.out});
  EXPECT_NE(e.checkpoint.find("step-3"), e.checkpoint.npos) << e.checkpoint;
  ASSERT_FALSE(e.values.empty());
  EXPECT_TRUE(std::isfinite(e.values[0].second));
}
TEST(JobTest, OpenFindsMistakesBeforeARankMeetsOthers) {
  SmallRun run;
  EXPECT_EQ(error_of<ConfigError>([&] { (void)Job::open(run.settings({"mesh=data=3"})); }),
            "mesh: data=3 has 3 ranks, but this job has 1");
  EXPECT_EQ(error_of<ConfigError>([&] { (void)evaluate(TrainedRun{run.out}); }),
            run.out + " is no folder of a run: there is no such folder");
}
}  // namespace
}  // namespace bora::job::job_test
