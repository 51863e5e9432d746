// --weights and bora quantize: losses near those of numbers, the same text on two ranks, folders that are read again.
#include <cmath>
#include "command.h"

namespace weights_test {
using namespace bora;
namespace {
struct WeightsTest : CommandTest {
  std::string out = folder + "/run", tiny = " model.embed=64 model.heads=2 model.hidden=96 ";
  void train(const std::string& more = {}) const {
    auto r = run("train --out " + out + " " + config + tiny + "model.type=llama steps=30 lr=0.01 eval_every=0" + more);
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
