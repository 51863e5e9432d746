// Transformations around others where golden numbers do not reach: gradients that are not finite, and what the factor
// rules refuse.
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <map>
#include "bora/bora.h"
#include "bora/optim/config.h"
#include "bora/optim/optim.h"
#include "support/throws.h"

namespace bora::around_test {
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
/// On w^2 / 2 with rate r: z falls by r y, x is the mean of the z's, y lies between.
TEST(Around, ScheduleFreeEvaluatesAtTheMeanOfIterates) {
  const double r = 0.1, b1 = 0.9;
  auto tx = optim::schedule_free(optim::sgd({.learning_rate = r}), r, {.b1 = b1});
  auto p = filled(1);
  auto s = tx.init(p);
  double x = 1, y = 1, z = 1;
  for (int t = 1; t <= 5; ++t) {
    auto [u, next] = tx.update(p, s, p);
    p = optim::apply_updates(p, u), s = next;
    z -= r * y, x += (z - x) / t, y = b1 * x + (1 - b1) * z;
    EXPECT_NEAR(p.weight.to_vector<float>()[0], y, 1e-6);
    EXPECT_NEAR(optim::schedule_free_eval_params(s, p).weight.to_vector<float>()[0], x, 1e-6);
  }
  EXPECT_THROW((void)optim::schedule_free_eval_params(optim::adam().init(p), p), ValueError);
  EXPECT_THROW((void)optim::schedule_free(optim::adam(), r, {.b1 = 0}), ValueError);
}
TEST(Around, LookaheadReturnsToTheSlowParameters) {
  auto tx = optim::lookahead(optim::scale(-1), {.sync_period = 2, .slow_step_size = 0.5});
  auto p = filled(0);
  auto s = tx.init(p);
  for (float want : {1.F, 1.F, 2.F, 2.F}) {  // 0 -> 1 -> (2 -> 1), 1 -> 2 -> (3 -> 2)
    auto [u, next] = tx.update(filled(-1), s, p);
    p = optim::apply_updates(p, u), s = next;
    EXPECT_EQ(p.weight.to_vector<float>()[0], want);
  }
  EXPECT_EQ(s.entries.at("lookahead.slow.weight").to_vector<float>()[0], 2);
  EXPECT_THROW((void)optim::lookahead(optim::adam(), {.sync_period = 0}), ValueError);
}
/// Beyond the four steps of the laws: RAdam's variance is known from the sixth step on. Numbers of Optax 0.2.8
/// with JAX_ENABLE_X64=1: its rectification in f32 is off by a hundredth for b2 = 0.999.
TEST(Around, RadamRectifiesLater) {
  struct Case {
    optim::ScaleByRadam options;
    std::vector<double> updates;
  };
  for (auto& [options, want] :
       {Case{{}, {1, 0.21052632, 0.22509225, 0.74120384, 0.80440038, 0.018254746, 0.012787932, 0.023173445}},
        Case{{.b1 = 0.8, .b2 = 0.9, .threshold = 4, .nesterov = true},
             {1.4444444, -0.17941712, 0.23525034, 1.2467595, 0.12530371, 0.17182121, -0.0031432448, 0.36451364}}}) {
    auto tx = optim::scale_by_radam(options);
    auto s = tx.init(array(0.F));
    int i = 0;
    for (float g : {1.F, -0.5F, 0.25F, 2.F, 1.F, 0.5F, -1.F, 3.F}) {
      auto [u, next] = tx.update(array(g), s, array(0.F));
      s = next;
      auto wanted = want[static_cast<std::size_t>(i)];
      EXPECT_NEAR(u.item<double>(), wanted, 2e-5 * std::abs(wanted)) << i;
      ++i;
    }
  }
  EXPECT_THROW((void)optim::scale_by_radam({.threshold = 2}), ValueError);
}
TEST(Around, NansAndNegativeParametersAreKeptAway) {
  auto p = filled(1);
  auto nan = optim::zero_nans().update(filled(std::numeric_limits<double>::quiet_NaN()), {}, p).updates;
  EXPECT_EQ(nan.weight.to_vector<float>()[0], 0);
  EXPECT_EQ(optim::keep_params_nonnegative().update(filled(-3), {}, p).updates.weight.to_vector<float>()[0], -1);
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
TEST(Around, StepsBeforeAdafactorsOffsetAreAsItsFirst) {  // the power of a negative number is NaN
  auto p = filled(1), g = filled(0.5);
  auto update = [&](std::int64_t offset) {
    auto tx = optim::adafactor({.learning_rate = 0.1, .decay_offset = offset});
    return tx.update(g, tx.init(p), p).updates.weight.to_vector<float>();
  };
  EXPECT_EQ(update(7), update(0));
}
TEST(Around, AnAxisWithoutAFactorRuleIsNamed) {
  test::says<ValueError>([] { (void)optim::AdafactorConfig{}.make(0.1).init(filled(1, {"groups", 2})); },
                         "'groups' of 'weight'");
  EXPECT_NO_THROW((void)optim::AdafactorConfig{.factor_by_axes = false}.make(0.1).init(filled(1, {"groups", 2})));
}
TEST(Around, TheRankOfAnAdapterTakesTheSideThatIsLeft) {
  struct Case {
    std::vector<Axis> axes;
    Shape row, column;  // of Adafactor's means
  };
  Axis layers{"layers", 2}, embed{"embed", 5}, mlp{"mlp", 6}, heads{"heads", 2}, size{"head_size", 3},
      rank{"lora_rank", 4};
  for (auto& c : {Case{{layers, embed, rank}, {2, 5, 1}, {2, 1, 4}},
                  {{layers, rank, heads, size}, {2, 4, 1, 1}, {2, 1, 2, 3}},
                  {{layers, mlp, rank}, {2, 1, 4}, {2, 6, 1}},
                  {{layers, rank, embed}, {2, 1, 5}, {2, 4, 1}}}) {
    Params p{ones(c.axes)};
    auto entries = optim::adafactor({.rules = optim::standard_factor_rules()}).init(p).entries;
    EXPECT_EQ(entries.at("factored_rms.v_row.weight").shape(), c.row);
    EXPECT_EQ(entries.at("factored_rms.v_col.weight").shape(), c.column);
    auto state = config::Choice<optim::Kind>("muon")->build(10).transform.init(p).entries;
    EXPECT_TRUE(std::any_of(state.begin(), state.end(), [](auto& entry) {  // a matrix, that AdamW does not train
      return entry.first.find("muon") != entry.first.npos && entry.first.ends_with("weight");
    }));
  }
}
TEST(Around, FactorRulesOfTheSettingsComeFirst) {
  optim::AdafactorConfig c{.factor_rules = {"experts=batch", "^weight$=row column batch"}};
  auto entries = c.make(0.1).init(filled(1, {"experts", 2})).entries;
  EXPECT_EQ(entries.at("factored_rms.v_row.weight").shape(), (Shape{2, 1, 2}));
  c.factor_rules = {"experts=batch"};
  EXPECT_EQ(c.make(0.1).init(filled(1, {"experts", 2})).entries.at("factored_rms.v_row.weight").shape(),
            (Shape{2, 3, 1}));
  c.factor_rules = {"weight=row column"};
  EXPECT_THROW((void)c.make(0.1).init(filled(1)), ValueError);  // it has three dimensions
  for (std::string bad : {"experts", "experts=diagonal", "=row", "(=row column", "experts="}) {
    c.factor_rules = {bad};
    EXPECT_THROW(c.check(), ConfigError) << bad;
  }
}
TEST(Around, AFactorRuleThatFitsNoParameterIsAnError) {  // else a slip of the pen would change nothing in silence
  for (std::string type : {"adafactor", "muon"}) {
    auto error = [&](const std::string& rules) {
      config::Choice<optim::Kind> kind(type);
      kind.edit().read_fields(config::parse_yaml("{factor_rules: [" + rules + "]}", "test"), "", {});
      return test::error_of<ConfigError>([&] { (void)kind->build(10).transform.init(filled(1)); });
    };
    EXPECT_EQ(error("mlp=column, \"^weight$=batch row column\""), "no error");
    EXPECT_EQ(error("mlq=row"),
              "optimizer.factor_rules: no parameter has the axis 'mlq'; there are embed, layers, mlp");
    EXPECT_EQ(error("\"wieght=batch row column\""),
              "optimizer.factor_rules: 'wieght' matches no parameter; paths are such as weight");
  }
}
TEST(Around, MuonSeesAStackedMatrixAsTheLayerAlone) {  // inputs, then outputs, whatever their names
  Axis layers{"layers", 2}, mlp{"mlp", 6}, embed{"embed", 3};
  auto stack = random::normal(random::key(1), {layers, mlp, embed});
  for (bool adaptive : {false, true}) {
    auto muon = [&](const optim::FactorRules& rules, const NamedArray& g) {
      auto tx = optim::scale_by_muon({.adaptive = adaptive, .rules = rules});
      return tx.update(Params{g}, tx.init(Params{g}), Params{g}).updates.weight;
    };
    auto all = muon(optim::standard_factor_rules(), stack);
    for (int layer = 0; layer < 2; ++layer) {
      auto one = muon({}, stack[{layers, layer}]).to_vector<float>(), got = all[{layers, layer}].to_vector<float>();
      for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(got[i], one[i], adaptive ? 1e-4 : 1e-5) << adaptive;
    }
  }
}
TEST(Around, PatternsSayWhatDecays) {
  struct Both {
    Array weight, bias;
  };
  Both p{ones({2}), ones({2})}, zero{zeros({2}), zeros({2})};
  auto decayed = [&](const optim::CommonConfig& c) {
    auto tx = c.around(optim::add_decayed_weights(0.5, c.decays()));
    auto u = tx.update(zero, tx.init(p), p).updates;
    return std::pair(u.weight.to_vector<float>()[0], u.bias.to_vector<float>()[0]);
  };
  EXPECT_EQ(decayed({}), std::pair(0.5F, 0.5F));
  EXPECT_EQ(decayed({.decay = {"^bi"}}), std::pair(0.F, 0.5F));
  EXPECT_EQ(decayed({.no_decay = {"bias$"}}), std::pair(0.5F, 0.F));
  EXPECT_EQ(decayed({.decay = {"."}, .no_decay = {"bias", "weight"}}), std::pair(0.F, 0.F));
  EXPECT_EQ(test::error_of<ConfigError>([&] { (void)decayed({.no_decay = {"bais"}}); }),
            "optimizer.no_decay: 'bais' matches no parameter; paths are such as weight");
  EXPECT_THROW(optim::CommonConfig{.decay = {"("}}.check(), ConfigError);
}
TEST(Around, OptionsOfEveryOptimizerComeAroundIt) {
  config::Choice<optim::Kind> kind("sgd");
  kind.edit().read_fields(
      config::parse_yaml("{lr: 1, momentum: 0, schedule: {shape: linear, warmup: 0, final_lr: 0}, clip_value: 2, ema: "
                         "0.5, multi_steps: 2, skip_not_finite: 1, moments: bf16}",
                         "test"),
      "", {});
  auto built = kind->build(8);  // four updates
  auto p = filled(1);
  auto s = built.transform.init(p);
  auto step = [&](double g) {
    auto [u, next] = built.transform.update(filled(g), s, p);
    s = next;
    return u.weight.to_vector<float>()[0];
  };
  EXPECT_EQ(step(5), 0);
  EXPECT_EQ(step(std::numeric_limits<double>::infinity()), 0);  // left out, and no part of the mean
  EXPECT_EQ(step(1), -2);                                       // the mean is 3
  EXPECT_EQ(step(1), 0);
  EXPECT_EQ(step(1), -0.75F);
  EXPECT_EQ(built.learning_rate(array(2)).item<float>(), 0.75F);
  EXPECT_EQ(built.learning_rate(array(3)).item<float>(), 0.75F);
  EXPECT_EQ(s.entries.at("apply_if_finite.skipped").item<int>(), 1);
  EXPECT_TRUE(s.entries.contains("apply_if_finite.inner.multi_steps.inner.params_ema.ema.weight"));
}
TEST(Around, MomentsOfTheSettingsAreThoseOfEveryType) {
  std::map<std::string, std::string> names{{"adamw", "adam.mu.weight"},
                                           {"sgd", "trace.trace.weight"},
                                           {"adafactor", "ema.ema.weight"}};
  for (auto& [type, name] : names) {
    config::Choice<optim::Kind> kind(type);
    auto beta = type == "adafactor" ? "beta1: 0.9, " : "";
    kind.edit().read_fields(config::parse_yaml(std::string("{") + beta + "ema: 0.5, moments: bf16}", "test"), "", {});
    auto state = kind->build(8).transform.init(filled(1)).entries;
    EXPECT_EQ(state.at(name).dtype(), Dtype::bf16) << type;
    EXPECT_EQ(state.at("params_ema.ema.weight").dtype(), f32) << type;
  }
}
TEST(Around, InjectedHyperparametersAreChangedByHand) {
  auto tx = optim::inject_hyperparams(
      [](const optim::Hyperparameters& h) { return optim::sgd({.learning_rate = h.at("learning_rate")}); },
      {{"learning_rate", 0.5}});
  auto p = filled(1);
  auto step = jit([tx](const Params& g, const optim::State& s, const Params& p) {
    auto [u, next] = tx.update(g, s, p);
    return std::pair{u, next};
  });
  auto [u, s] = step(filled(1), tx.init(p), p);
  EXPECT_EQ(u.weight.to_vector<float>()[0], -0.5F);
  s.entries.at("inject.hyperparams.learning_rate") = array(0.25F);
  EXPECT_EQ(step(filled(1), s, p).first.weight.to_vector<float>()[0], -0.25F);
  EXPECT_EQ(step.traces(), 1);
  EXPECT_EQ(optim::metric_of("inject.hyperparams.learning_rate"), "learning_rate");
  EXPECT_EQ(optim::metric_of("adam.count"), "");
}
TEST(Around, ALossScaleFallsAndGrows) {
  auto tx = optim::loss_scale(optim::trace(0.5), {.initial = 8, .period = 2, .min = 2});
  auto p = filled(1);
  auto s = tx.init(p);
  auto step = [&](double g) {
    auto [u, next] = tx.update(filled(g), s, p);
    s = next;
    return std::pair(u.weight.to_vector<float>()[0], optim::loss_scale_of(s)->item<float>());
  };
  auto inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(step(8), std::pair(1.F, 8.F));
  EXPECT_EQ(step(inf), std::pair(0.F, 4.F));  // and the count of finite steps begins again
  EXPECT_EQ(step(4), std::pair(1.5F, 4.F));   // the trace of the skipped step is that of the one before
  EXPECT_EQ(step(0), std::pair(0.75F, 8.F));
  EXPECT_EQ(step(inf).second, 4.F);
  EXPECT_EQ(step(inf).second, 2.F);
  EXPECT_EQ(s.entries.at("loss_scale.skipped").item<int>(), 3);
  EXPECT_TRUE(std::isinf(step(inf).first));  // the least scale: nothing is left to try
  EXPECT_EQ(s.entries.at("loss_scale.skipped").item<int>(), 3);
  EXPECT_FALSE(optim::loss_scale_of(optim::trace(0.5).init(p)));
  EXPECT_THROW((void)optim::loss_scale(optim::identity(), {.factor = 1}), ValueError);
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
}  // namespace bora::around_test
