// Transformations around others where golden numbers do not reach: gradients that are not finite, and what the factor
// rules refuse.
#include <gtest/gtest.h>
#include <limits>
#include "bora/bora.h"
#include "bora/optim/config.h"

namespace bora {
namespace {
struct Params {
  NamedArray weight;
};
Params filled(double value, const Axis& axis = {"layers", 2}) {
  Axis embed{"embed", 3}, mlp{"mlp", 2};
  return {full({axis, embed, mlp}, value)};
}
TEST(Around, GradientsThatAreNotFiniteChangeNothingUntilThereAreTooMany) {
  auto tx = optim::apply_if_finite(optim::trace(0.5), 1);
  auto p = filled(1);
  auto bad = filled(std::numeric_limits<double>::infinity());
  auto first = tx.update(filled(2), tx.init(p), p).state;
  auto [skipped, second] = tx.update(bad, first, p);
  EXPECT_EQ(skipped.weight.to_vector<float>()[0], 0);
  EXPECT_EQ(second.entries.at("apply_if_finite.inner.trace.trace.weight").to_vector<float>()[0], 2);
  EXPECT_EQ(second.entries.at("apply_if_finite.notfinite_count").item<int>(), 1);
  auto forgotten = tx.update(filled(2), second, p).state;
  EXPECT_EQ(forgotten.entries.at("apply_if_finite.notfinite_count").item<int>(), 0);
  EXPECT_EQ(forgotten.entries.at("apply_if_finite.total_notfinite").item<int>(), 1);
  EXPECT_TRUE(std::isinf(tx.update(bad, second, p).updates.weight.to_vector<float>()[0]));
}
TEST(Around, TheStateKeepsTheMeanOfParameters) {
  auto tx = optim::params_ema(0.5);
  auto p = filled(1);
  auto s = tx.update(filled(2), tx.init(p), p).state;  // leads to 3
  s = tx.update(filled(4), s, p).state;                // to 5
  EXPECT_EQ(s.entries.at("params_ema.ema.weight").to_vector<float>()[0], 0.5F * 1.5F + 0.5F * 5);
}
TEST(Around, StackedLayersAreFactoredOneByOne) {
  auto tx = optim::adafactor({.rules = optim::standard_factor_rules()});
  auto entries = tx.init(filled(1)).entries;
  EXPECT_EQ(entries.at("factored_rms.v_row.weight").shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(entries.at("factored_rms.v_col.weight").shape(), (Shape{2, 1, 2}));
  EXPECT_FALSE(entries.contains("factored_rms.v.weight"));
  auto p = filled(1);
  EXPECT_THROW((void)tx.update(p, optim::adafactor().init(p), p), ValueError);  // that state is not factored
}
TEST(Around, AnAxisWithoutAFactorRuleIsNamed) {
  try {
    (void)optim::AdafactorConfig{}.make(0.1).init(filled(1, {"experts", 2}));
    ADD_FAILURE() << "no error";
  } catch (const ValueError& e) { EXPECT_NE(e.text().find("'experts' of 'weight'"), std::string::npos) << e.text(); }
  EXPECT_NO_THROW((void)optim::AdafactorConfig{.factor_by_axes = false}.make(0.1).init(filled(1, {"experts", 2})));
}
TEST(Around, LabelsAreDistinct) {
  EXPECT_THROW((void)optim::partition({{"a", optim::identity()}, {"a", optim::scale(2)}}), ValueError);
  EXPECT_THROW((void)optim::multi_steps(optim::identity(), 0), ValueError);
}
TEST(Around, FactorsOfTheSettingsReachLr) {
  optim::ScheduleConfig s{.shape = optim::ScheduleConfig::Shape::factors, .warmup = 4};
  auto rate = s.make(0.5, 100);
  EXPECT_NEAR(rate(array(2)).item<double>(), 0.25, 1e-6);
  EXPECT_NEAR(rate(array(4)).item<double>(), 0.5, 1e-6);
  EXPECT_NEAR(rate(array(16)).item<double>(), 0.25, 1e-6);
  s.factors = "constant * cosin";
  EXPECT_ANY_THROW(s.check());
  s = {.shape = optim::ScheduleConfig::Shape::exponential, .warmup = 10, .final_lr = 0.25};
  EXPECT_NEAR(s.make(1, 30)(array(20)).item<double>(), 0.5, 1e-6);
  EXPECT_NEAR(s.make(1, 30)(array(90)).item<double>(), 0.25, 1e-6);
}
}  // namespace
}  // namespace bora
