// Training on preferences by the command: the example with its known answer on two ranks, over an interruption, with
// adapters; what is refused.
#include <cmath>
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace preference_test {
using namespace bora;
namespace {
struct PreferenceTest : CommandTest {
  std::string source = test::source_dir(), base = folder + "/base";
  void SetUp() override {
    CommandTest::SetUp();
    ASSERT_EQ(std::system((source + "/examples/make_preferences " + folder).c_str()), 0);
    auto r = run("train out=" + base + " data=" + folder + "/text.txt model.layers=1 model.embed=32 model.heads=2 "
                 "model.positions=32 steps=150 lr=1e-2");
    ASSERT_EQ(r.code, 0) << r.err;
  }
  std::string words(const std::string& out) const {
    auto pairs = folder + "/pairs.jsonl";
    return source + "/examples/preferences.yaml init_from=" + base + " out=" + folder + "/" + out +
           " \"data.sources=[{type: jsonl, path: " + pairs + "}, {type: jsonl, path: " + pairs +
           ", name: all, train: false}]\"";
  }
  void expect_answer(const Result& r, double far) const {
    EXPECT_NEAR(std::stod(r.line("val loss: ")), -0.7 * std::log(0.7) - 0.3 * std::log(0.3), far);
    EXPECT_EQ(r.line("eval/accuracy: "), "0.7");
    EXPECT_NEAR(std::stod(r.line("eval/margin: ")), 0.4 * std::log(7.0 / 3), 5 * far);
  }
};
}  // namespace

TEST_F(PreferenceTest, TheExampleFindsTheKnownAnswerOnTwoRanks) {
  auto r = run("launch -n 2 " + words("tuned"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("and as many of the reference model"), std::string::npos) << r.out;
  for (auto launch : {"", "launch -n 2 -- "}) {
    auto e = run(std::string(launch) + "eval " + folder + "/tuned");
    ASSERT_EQ(e.code, 0) << e.err;
    expect_answer(e, 0.01);
    EXPECT_EQ(e.out.find("perplexity"), std::string::npos) << e.out;
  }
  // The model itself: tea has gained log(7/3) / beta over milk.
  auto gain = [&](const std::string& of) {
    std::ofstream(folder + "/two.jsonl") << "{\"context\": \"Q1: tea or milk?\", \"continuation\": \" tea\\n\"}\n"
                                         << "{\"context\": \"Q1: tea or milk?\", \"continuation\": \" milk\\n\"}\n";
    auto s = run("score " + of + " " + folder + "/two.jsonl");
    EXPECT_EQ(s.code, 0) << s.err;
    auto number = [&](std::size_t from) { return std::stod(s.out.substr(s.out.find("logprob\":", from) + 9)); };
    return number(0) - number(s.out.find('\n'));
  };
  EXPECT_NEAR(gain(folder + "/tuned") - gain(base), std::log(7.0 / 3) / 0.5, 0.4);
}
TEST_F(PreferenceTest, ARunContinuesBesideTheSameReference) {
  auto whole = run("train " + words("whole") + " steps=8 eval_every=0 checkpoint_every=4");
  ASSERT_EQ(whole.code, 0) << whole.err;
  auto first = run("train " + words("two") + " steps=4 eval_every=0 optimizer.schedule.decay=2");
  ASSERT_EQ(first.code, 0) << first.err;
  fs::remove_all(folder + "/whole/checkpoints/step-8");
  auto again = run("launch -n 2 " + words("whole") + " steps=8 eval_every=0 checkpoint_every=4");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("continuing from step 4"), std::string::npos) << again.out;
  auto last = [](const Result& r) { return std::stod(r.out.substr(r.out.rfind("val loss: ") + 10)); };
  EXPECT_LT(last(whole), std::log(2.0) - 1e-3);
  EXPECT_NEAR(last(again), last(whole), 1e-5);
  auto other = run("train out=" + folder + "/other data=" + folder + "/text.txt model.layers=1 model.embed=32 "
                   "model.heads=2 model.positions=32 steps=2 seed=1");
  ASSERT_EQ(other.code, 0) << other.err;
  auto refused = run("train " + words("two") + " steps=8 init_from=" + folder + "/other");
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.err.find("was trained beside another reference model"), std::string::npos) << refused.err;
}
TEST_F(PreferenceTest, AdaptersMeasureBesideTheirBase) {
  auto r = run("launch -n 2 " + words("lora") + " lora.rank=8 lr=2e-2");
  ASSERT_EQ(r.code, 0) << r.err;
  auto e = run("eval " + folder + "/lora");
  ASSERT_EQ(e.code, 0) << e.err;
  expect_answer(e, 0.02);
}
TEST_F(PreferenceTest, AReferenceAskedAheadIsTheOneThatIsHeld) {
  auto cache = " data.cache=" + folder + "/cache";
  auto few = " steps=8 eval_every=4 checkpoint_every=4";
  auto held = run("train " + words("held") + few);
  ASSERT_EQ(held.code, 0) << held.err;
  auto asked = run("launch -n 2 " + words("asked") + few + cache + " preference.ahead=true");
  ASSERT_EQ(asked.code, 0) << asked.err;
  EXPECT_NE(asked.out.find("reference: asked about 1200 pairs"), std::string::npos) << asked.out;
  EXPECT_EQ(asked.out.find("of the reference model"), std::string::npos) << asked.out;
  auto last = [](const Result& r) { return std::stod(r.out.substr(r.out.rfind("val loss: ") + 10)); };
  EXPECT_NEAR(last(asked), last(held), 1e-5);
  // Continued, and evaluated beside the model itself.
  fs::remove_all(folder + "/asked/checkpoints/step-8");
  auto again = run("train " + words("asked") + few + cache + " preference.ahead=true");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("reference: of 1200 pairs, from " + folder + "/cache"), std::string::npos) << again.out;
  EXPECT_NEAR(last(again), last(held), 1e-5);
  auto e = run("eval " + folder + "/asked");
  ASSERT_EQ(e.code, 0) << e.err;
  EXPECT_NEAR(std::stod(e.line("val loss: ")), last(held), 1e-5);
}
TEST_F(PreferenceTest, WhatDoesNotGoTogetherIsRefused) {
  is_bad_input("train " + words("bad") + " loss.z_loss=1e-4", "loss: the loss of pairs is the group preference");
  is_bad_input("train " + words("bad") + " preference.beta=0", "preference.beta: must be above 0");
  is_bad_input("train " + words("bad") + " preference=simpo", "expected one of dpo, ipo, hinge, orpo");
  is_bad_input("train out=" + folder + "/bad data=" + folder + "/text.txt preference=ipo",
               "preference: it is the loss of pairs");
  is_bad_input("train " + words("bad") + " preference=orpo preference.ahead=true", "orpo has no reference model");
  is_bad_input("train " + words("bad") + " local.every=2", "local");
}
}  // namespace preference_test
