// --weights and bora quantize: losses near those of numbers, the same text on two ranks, folders that are read again.
#include <cmath>
#include "command.h"

namespace weights_test {
using namespace bora;
namespace {
struct WeightsTest : CommandTest {
  std::string out = folder + "/run", tiny = " model.embed=64 model.heads=2 model.hidden=96 ";
  void train(const std::string& more = {}, int steps = 30) const {
    auto r = run("train --out " + out + " " + config + tiny + "model.type=llama lr=0.01 eval_every=0 steps=" +
                 std::to_string(steps) + more);
    ASSERT_EQ(r.code, 0) << r.err;
  }
  double loss(const std::string& words, const std::string& launch = {}) const {
    auto r = run(launch + "eval " + words);
    EXPECT_EQ(r.code, 0) << words << "\n" << r.err;
    return r.code ? 0 : std::stod(r.line("val loss: "));
  }
};
}  // namespace

TEST_F(WeightsTest, LossesAreNearThoseOfNumbers) {
  train();
  auto plain = loss(out);
  EXPECT_EQ(loss(out + " --weights f32"), plain);
  for (auto [weights, most] : {std::pair{"bf16", 0.01}, {"int8", 0.01}, {"int4", 0.1}, {"int4:128", 0.1}}) {
    auto mine = loss(out + " --weights " + weights);
    EXPECT_NEAR(mine, plain, most * plain) << weights;
    EXPECT_NE(mine, plain) << weights;
    EXPECT_NEAR(loss(out + " layout=tp --weights " + weights, "launch -n 2 -- "), mine, 2e-3 * mine) << weights;
  }
  auto words = "generate " + out + " --prompt 'The wind' --length 20 --temperature 0 --weights int4";
  auto one = run(words), two = run("launch -n 2 -- " + words + " layout=tp");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two.out, one.out) << two.err;
}
TEST_F(WeightsTest, QuantizedFoldersAreRead) {
  train();
  auto data = " tokenizer.type=bytes hold_out=0.2 batch=6 eval_rows=24 data=" + folder + "/text";
  for (std::string weights : {"int8", "int4"}) {
    auto dir = folder + "/" + weights;
    auto r = run("quantize " + out + " " + dir + " --weights " + weights);
    ASSERT_EQ(r.code, 0) << r.err;
    auto as_kept = loss(dir + data), numbers = loss(dir + data + " --weights f32");
    EXPECT_NEAR(as_kept, numbers, 0.01 * numbers) << weights;
    EXPECT_NE(as_kept, numbers) << weights;
    EXPECT_EQ(loss(dir + data + " --weights " + weights), as_kept) << weights;
    EXPECT_EQ(run("generate " + dir + " --prompt '17 4' --length 5").code, 0);
  }
}
TEST_F(WeightsTest, AdaptersAreMergedBefore) {
  train(" lora.rank=2");
  auto plain = loss(out);
  EXPECT_NEAR(loss(out + " --weights int8"), plain, 0.01 * plain);
}
TEST_F(WeightsTest, AdaptersAreTrainedBesideIntegers) {
  train({}, 12);
  auto base = folder + "/base", tuned = folder + "/tuned", merged = folder + "/merged";
  ASSERT_EQ(run("export " + out + " " + base).code, 0);
  auto words = config + tiny + "model.type=llama tokenizer.type=bytes init_from=" + base +
               " lora.rank=4 lora.base=int4 steps=6 lr=0.01 eval_every=0 checkpoint.every=3 out=" + tuned;
  auto r = run("launch -n 2 -- train " + words + " layout=fsdp");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  auto whole = losses(tuned);
  ASSERT_EQ(whole.size(), 6U);
  std::filesystem::remove_all(tuned + "/checkpoints/step-6");  // one rank goes on
  ASSERT_EQ(run("train " + words).code, 0);
  auto again = losses(tuned);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(again[i], whole[i], 2e-3 * whole[i]);
  auto mine = loss(tuned);
  EXPECT_LT(mine, 0.99 * loss(out + " --weights int4"));
  EXPECT_NEAR(loss(tuned, "launch -n 2 -- "), mine, 2e-3 * mine);
  EXPECT_NEAR(loss(tuned + " --weights f32"), mine, 0.01 * mine);
  EXPECT_NEAR(loss(tuned + " --weights int8"), mine, 0.02 * mine);
  r = run("export " + tuned + " " + merged);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(run("export " + tuned + " " + folder + "/peft --format peft").code, 0);
  for (auto& model : {tuned, tuned + " --weights int8"}) {
    r = run("generate " + model + " --prompt 'The wind' --length 20 --temperature 0");
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_GT(r.out.size(), 1U);
  }
  EXPECT_EQ(run("generate " + merged + " --prompt '17 4' --length 5").code, 0);
  // A run is a base as well, and is the same one.
  auto of_run = words;
  of_run.replace(of_run.find("init_from=" + base), 10 + base.size(), "init_from=" + out);
  of_run.replace(of_run.find("out=" + tuned), 4 + tuned.size(), "out=" + folder + "/of_run");
  r = run("launch -n 2 -- train " + of_run + " layout=fsdp");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_EQ(losses(folder + "/of_run"), whole);
  is_bad_input("eval " + tuned + " lora.base=int8", "was trained beside another model");
  is_bad_input("train " + words + " init_from.missing=init", "lora.base: int4 needs all numbers of the base");
  is_bad_input("train " + words + " lora.base=nf4", "lora.base: 'nf4' is no form of integers");
  is_bad_input("launch -n 2 --mesh stage=2 train " + words, "leave axis 'stage' (2 stages) out");
}
TEST_F(WeightsTest, BadInput) {
  train();
  is_bad_input("eval " + out + " --weights int4 policy=bf16", "--weights int4 and policy=bf16");
  is_bad_input("eval " + out + " --weights int3", "int3");
  is_bad_input("train --out " + folder + "/new " + config + tiny + "precision.weights=int4", "precision.weights: int4");
  is_bad_input("quantize " + out + " " + out, "choose another");
  auto gpt2 = folder + "/gpt2";
  ASSERT_EQ(run("train --out " + gpt2 + " " + config + " model.embed=96 steps=1").code, 0);
  is_bad_input("quantize " + gpt2 + " " + folder + "/to", "[inputs, outputs]");
  EXPECT_FALSE(std::filesystem::exists(folder + "/to"));
}
}  // namespace weights_test
