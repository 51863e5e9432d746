// jit reads what a function captures once; .check_captures stages it again and says what is another one.
#include <gtest/gtest.h>
#include <cmath>
#include <cstdlib>
#include "bora/bora.h"
#include "support/own_program.h"
#include "support/text.h"
#include "support/throws.h"

namespace captures_test {
namespace {
using namespace bora;
using test::error_of;
const JitOptions checked{.name = "step", .check_captures = true};
constexpr auto advice = "Calls would go on with the old value; pass it as an argument, or make a new jit(f)";

TEST(Captures, WithoutTheCheckTheOldValueStays) {
  double rate = 0.5;
  auto f = jit([&](const Array& x) { return x * rate; });
  EXPECT_EQ(f(ones({2})).to_vector<float>()[0], 0.5F);
  rate = 2;
  EXPECT_EQ(f(ones({2})).to_vector<float>()[0], 0.5F);
}
TEST(Captures, ANumberThatChangedIsNamed) {
  double rate = 0.5;
  auto f = jit([&](const Array& x) { return x * rate; }, checked);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(ones({2})).to_vector<float>()[0], 0.5F);
  EXPECT_EQ(f.traces(), 1);
  rate = 2;
  auto text = error_of([&] { (void)f(ones({2})); });
  for (auto part : {"jit(step): what the function captures has changed since it was staged", "0.5", "2", advice})
    EXPECT_TRUE(test::has(text, part)) << part << "\n" << text;
  EXPECT_EQ(f(ones({3})).to_vector<float>()[0], 2);  // another shape is staged anew
  rate = 0.5;
  EXPECT_EQ(f(ones({2})).to_vector<float>()[0], 0.5F);
}
TEST(Captures, AnArrayThatChangedIsNamed) {
  Array w = arange(3, f32);
  auto f = jit([&](const Array& x) { return x + w; }, checked);
  auto first = f(zeros({3})).to_vector<float>();
  w = arange(3, f32);  // the same numbers elsewhere
  EXPECT_EQ(f(zeros({3})).to_vector<float>(), first);
  w = w + 1;
  EXPECT_TRUE(test::has(error_of([&] { (void)f(zeros({3})); }), "a captured f32[3] has other numbers"));
  w = zeros({1, 3});
  EXPECT_TRUE(test::has(error_of([&] { (void)f(zeros({3})); }), "jit(step): what the function captures has changed"));
}
TEST(Captures, WaysThroughTheFunctionAreCompared) {
  int steps = 2;
  auto f = jit(
      [&](Array x) {
        for (int i = 0; i < steps; ++i) x = sin(x);
        return x;
      },
      checked);
  (void)f(ones({2}));
  steps = 3;
  EXPECT_TRUE(test::has(error_of([&] { (void)f(ones({2})); }), "the function had 2 operations and has 3"));
}
TEST(Captures, InsideOfScansAndBranches) {
  float rate = 0.5F;
  auto f = jit(
      [&](const Array& x) {
        auto body = [&](const Array& c, const Array& v) { return std::pair(c * rate + v, c); };
        auto scaled = [&](const Array& v) { return sum(v) * rate; };
        return scan(body, zeros({}), x).first + cond(sum(x) > 0, scaled, [](const Array& v) { return sum(v); }, x);
      },
      checked);
  (void)f(ones({4}));
  (void)f(ones({4}));
  rate = 0.25F;
  EXPECT_TRUE(test::has(error_of([&] { (void)f(ones({4})); }), advice));
}
/// What each staging makes anew is no difference: functions of the process, keys, NaN, derivatives, vmap.
TEST(Captures, AFunctionThatStaysIsNoError) {
  const double nan = std::nan("");
  const Array table = random::normal(random::key(1), {4, 3});
  auto f = jit(
      [&](const Array& x) {
        auto host = custom_op("twice", {.eval = [](const Array& a) { return a * 2; }});
        auto loss = [&](const Array& v) { return sum(tanh(matmul(table, v))) + sum(where(v > 9, nan, v)); };
        auto noise = random::normal(random::key(3), {3});
        auto held = checkpoint([&](const Array& v) { return exp(v) * 0.5; });
        return grad(loss)(x + noise) + held(x) + vmap([](const Array& a) { return a * a; })(x) +
               fori_loop(0, 3, [](const Array&, const Array& c) { return c * 1.5; }, x);
      },
      checked);
  auto first = f(ones({3})).to_vector<float>();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(ones({3})).to_vector<float>(), first);
}
TEST(Captures, DISABLED_Variable) {
  float rate = 1;
  auto f = jit([&](const Array& x) { return x * rate; });
  (void)f(ones({2}));
  rate = 2;
  try {
    (void)f(ones({2}));
    test::say("nothing");
  } catch (const ValueError&) { test::say("an error"); }
}
TEST(Captures, AVariableChecksAllFunctions) {
  EXPECT_EQ(test::program("Captures", "Variable", {{"BORA_CHECK_CAPTURES", "1"}}), "an error");
  EXPECT_EQ(test::program("Captures", "Variable", {{"BORA_CHECK_CAPTURES", "0"}}), "nothing");
  EXPECT_EQ(test::program("Captures", "Variable", {}), "nothing");
}
}  // namespace
}  // namespace captures_test
