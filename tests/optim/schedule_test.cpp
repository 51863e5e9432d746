// Schedules give Optax's rates, and T5X's factors its product (tests/golden/make_optim.py), staged and not.
#include <gtest/gtest.h>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include "bora/bora.h"
#include "bora/optim/config.h"
#include "support/places.h"
#include "support/throws.h"

namespace bora::schedule_test {
namespace {
const std::map<std::string, optim::Schedule>& schedules() {
  using namespace optim;
  static const std::map<std::string, Schedule> all{
      {"constant", constant_schedule(0.3)},
      {"linear", linear_schedule(1, 3, 10)},
      {"polynomial", polynomial_schedule(2, 0.5, 1.5, 12, 4)},
      {"cosine", cosine_decay_schedule(0.7, 20, 0.1, 1.5)},
      {"warmup_constant", warmup_constant_schedule(0.1, 1, 7)},
      {"warmup_cosine", warmup_cosine_decay_schedule(0.1, 1, 5, 25, 0.2, 2)},
      {"exponential", exponential_decay(1, 5, 0.8, {.begin = 3, .end = 0.4})},
      {"staircase", exponential_decay(1, 5, 1.2, {.staircase = true, .end = 1.6})},
      {"warmup_exponential", warmup_exponential_decay_schedule(0.1, 1, 4, 6, 0.7)},
      {"piecewise_constant", piecewise_constant_schedule(1, {{5, 0.5}, {12, 3}})},
      {"piecewise_linear", piecewise_interpolate_schedule(Interpolation::linear, 1, {{5, 2}, {12, 0.1}})},
      {"piecewise_cosine", piecewise_interpolate_schedule(Interpolation::cosine, 1, {{5, 2}, {12, 0.1}})},
      {"linear_onecycle", linear_onecycle_schedule(20, 1)},
      {"cosine_onecycle", cosine_onecycle_schedule(20, 1)},
      {"join",
       join_schedules({linear_schedule(0, 1, 4), constant_schedule(0.6), exponential_decay(0.6, 2, 0.5)}, {4, 9})},
      {"sgdr", sgdr_schedule({{0, 1, 3, 10, 0.1}, {0, 0.5, 3, 20, 0.1}})},
      {"wsd_linear", wsd_schedule(1, 26, {.warmup_steps = 4, .decay_steps = 10, .end = 0.1})},
      {"wsd_cosine", wsd_schedule(1, 26, {.warmup_steps = 4, .decay_steps = 10, .end = 0.1, .fall = Fall::cosine})},
      {"wsd_sqrt", wsd_schedule(1, 26, {.warmup_steps = 4, .decay_steps = 10, .end = 0.1, .fall = Fall::sqrt})},
      {"inverse_sqrt", inverse_sqrt_schedule(0.5, 5, 5)},
      {"inverse_sqrt_timescale", inverse_sqrt_schedule(0.5, 3, 12, 0.35)},
      {"settings_wsd", ScheduleConfig{.shape = ScheduleConfig::Shape::wsd, .warmup = 4, .decay = 10}.make(1, 26)},
      {"settings_cycles",
       ScheduleConfig{.shape = ScheduleConfig::Shape::cycles, .warmup = 4, .cycles = 3, .rewarmup = 2}.make(1, 26)},
      {"factors_pretrain", factors_schedule("constant * rsqrt_decay", {.base = 1, .warmup_steps = 9})},
      {"factors_default", factors_schedule("constant*linear_warmup * rsqrt_decay", {.warmup_steps = 6})},
      {"factors_steps", factors_schedule("constant * rsqrt_normalized_decay * decay_every",
                                         {.warmup_steps = 4, .steps_per_decay = 7, .step_offset = 2})},
      {"factors_cosine", factors_schedule("linear_decay * cosine_decay",
                                          {.warmup_steps = 3, .decay_factor = 0.05, .steps_per_cycle = 11})},
  };
  return all;
}
TEST(Schedules, GiveOptaxsRates) {
  std::ifstream file(test::source_dir() + "/tests/golden/optim.txt");
  std::map<std::string, int> seen;
  for (std::string line, kind, name; std::getline(file, line);) {
    std::istringstream in(line);
    int step = 0;
    double want = 0;
    in >> kind >> name >> step >> want;
    if (kind != "schedule") continue;
    ASSERT_TRUE(schedules().contains(name)) << name;
    auto rate = schedules().at(name)(array(step));
    EXPECT_EQ(rate.type(), (Type{{}, f32})) << name;
    EXPECT_NEAR(rate.item<double>(), want, 1e-7 + 2e-6 * std::abs(want)) << name << " at " << step;
    ++seen[name];
  }
  for (auto& [name, s] : schedules()) EXPECT_EQ(seen[name], 16) << name;
}
TEST(Schedules, WithoutATransitionStayWhereTheyBegin) {
  for (int step : {0, 1, 9}) {
    EXPECT_EQ(optim::linear_schedule(0.25, 1, 0)(array(step)).item<float>(), 0.25F);
    EXPECT_EQ(optim::warmup_constant_schedule(0.25, 1, 0)(array(step)).item<float>(), 0.25F);
  }
  // A schedule that follows begins at once.
  EXPECT_EQ(optim::warmup_cosine_decay_schedule(0.25, 1, 0, 10)(array(0)).item<float>(), 1);
  EXPECT_EQ(optim::warmup_exponential_decay_schedule(0.25, 1, 0, 10, 0.5)(array(0)).item<float>(), 1);
}
TEST(Schedules, CanBeStaged) {
  for (auto& [name, s] : schedules()) {
    auto staged = jit([s = s](const Array& step) { return s(step); });
    for (int step : {0, 7, 30})
      EXPECT_EQ(staged(array(step)).item<float>(), s(array(step)).item<float>()) << name << " at " << step;
    EXPECT_EQ(staged.traces(), 1) << name;
  }
}
TEST(Schedules, RefuseWhatHasNoMeaning) {
  EXPECT_THROW((void)optim::polynomial_schedule(1, 0, 2, 0), ValueError);
  EXPECT_THROW((void)optim::exponential_decay(1, 5, 0), ValueError);
  EXPECT_THROW((void)optim::piecewise_constant_schedule(1, {{3, -1}}), ValueError);
  EXPECT_THROW((void)optim::join_schedules({1.0, 2.0}, {}), ValueError);
  EXPECT_THROW((void)optim::sgdr_schedule({}), ValueError);
  EXPECT_THROW((void)optim::wsd_schedule(1, 10, {.warmup_steps = 4, .decay_steps = 7}), ValueError);
  EXPECT_THROW((void)optim::inverse_sqrt_schedule(1, 4, 0), ValueError);
  test::says<ValueError>([] { (void)optim::factors_schedule("constant * linear_warmpu"); }, "'linear_warmpu'");
}
}  // namespace
}  // namespace bora::schedule_test
