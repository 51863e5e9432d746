// Numbers of an evaluation besides the loss, against scikit-learn 1.9.1 and SciPy 1.17.1.
#include <gtest/gtest.h>
#include <map>
#include "train/metrics.h"

namespace metrics_test {
using namespace bora;
using namespace bora::training;
namespace {
std::map<std::string, double> of(data::Prediction kind, const std::vector<float>& got, const std::vector<float>& want,
                                 std::vector<float> weights = {}) {
  weights.resize(got.size(), 1);
  auto all = got;
  all.insert(all.end(), want.begin(), want.end());
  all.insert(all.end(), weights.begin(), weights.end());
  Predictions p;
  p.add(all);
  track::Values values;
  p.append(kind, "eval/", values);
  return {values.begin(), values.end()};
}
}  // namespace
TEST(Metrics, OfClasses) {
  auto m = of(data::Prediction::classes, {0, 1, 2, 2, 1, 0, 3, 1}, {0, 1, 1, 2, 1, 2, 0, 1});
  EXPECT_DOUBLE_EQ(m.at("eval/accuracy"), 0.625);
  EXPECT_DOUBLE_EQ(m.at("eval/macro_f1"), 0.4642857142857143);  // f1_score(average="macro")
  EXPECT_EQ(m.size(), 2u);
}
TEST(Metrics, OfNumbers) {
  auto m = of(data::Prediction::numbers, {1, 2.5, 2.5, -1, 4, 0.5}, {0.1F, 3, 2, -2, 2, 9});
  EXPECT_NEAR(m.at("eval/spearman"), 0.27941176470588236, 1e-12);  // scipy.stats.spearmanr
  EXPECT_EQ(of(data::Prediction::numbers, {1, 1}, {2, 3}).at("eval/spearman"), 0);
}
TEST(Metrics, OfSpans) {  // of three rows: 2..4 for 2..4, 3..6 for 5..8, 0..0 for 1..2
  auto m = of(data::Prediction::spans, {2, 4, 3, 6, 0, 0}, {2, 4, 5, 8, 1, 2});
  EXPECT_DOUBLE_EQ(m.at("eval/exact_match"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(m.at("eval/f1"), (1 + 0.5 + 0) / 3);
  EXPECT_EQ(m.size(), 2u);
}
TEST(Metrics, OnlyWhatHasAWeight) {
  EXPECT_EQ(of(data::Prediction::classes, {1, 1, 0}, {1, 0, 0}, {1, 0, 1}).at("eval/accuracy"), 1);
  EXPECT_TRUE(of(data::Prediction::classes, {1}, {1}, {0}).empty());
  EXPECT_TRUE(of(data::Prediction::tokens, {1}, {1}).empty());
}
TEST(Metrics, ThatGrowAreNotWatchedForTheLowest) {
  EXPECT_TRUE(grows("accuracy") && grows("a/macro_f1") && grows("spearman") && grows("exact_match") && grows("f1"));
  EXPECT_FALSE(grows("loss") || grows("macro_loss"));
}
}  // namespace metrics_test
