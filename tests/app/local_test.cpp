// Local steps through the command: the same bits on any number of ranks, runs that continue, bad input.
#include "command.h"

namespace fs = std::filesystem;
using namespace bora;

namespace {
struct LocalTest : CommandTest {
  std::string local = config + " steps=8 batch=12 local=diloco local.every=3 checkpoint_every=4 keep=9 ";
  /// A line of each step without its times, and the model's file.
  std::string result_of(const std::string& out) const {
    std::istringstream lines(slurp(out + "/metrics.jsonl"));
    std::string r;
    for (std::string line; std::getline(lines, line);)
      for (std::size_t at = 0, end; at < line.size(); at = end + 1) {
        end = std::min(line.find(", \"", at), line.size());
        auto field = line.substr(at, end - at);
        if (field.find("throughput/") == field.npos && field.find("seconds") == field.npos) r += field + "\n";
      }
    auto to = out + "_hf";
    fs::remove_all(to);
    EXPECT_EQ(run("export " + out + " " + to + " --format hf").code, 0);
    auto model = slurp(to + "/model.safetensors");
    EXPECT_GT(model.size(), 10000U);
    return r + model;
  }
};
}  // namespace

TEST_F(LocalTest, RanksChangeNoBit) {
  auto at = [&](const std::string& name) { return folder + "/" + name; };
  auto one = run("train " + local + "local.replicas=4 --out " + at("one"));
  ASSERT_EQ(one.code, 0) << one.err;
  auto four = run("launch -n 4 --mesh replica=4 --out " + at("four") + " train " + local);
  ASSERT_EQ(four.code, 0) << four.err;
  auto two = run("launch -n 2 --mesh replica=2 --out " + at("two") + " train " + local + "local.replicas=4");
  ASSERT_EQ(two.code, 0) << two.err;
  auto want = result_of(at("one"));
  EXPECT_NE(want.find("\"local/round\": 3"), want.npos) << want.substr(0, 3000);
  EXPECT_NE(want.find("\"local/outer_gradient_norm\": "), want.npos);
  EXPECT_TRUE(result_of(at("four")) == want);
  EXPECT_TRUE(result_of(at("two")) == want);
  EXPECT_EQ(four.line("val loss: "), one.line("val loss: "));
  // The run's model is that of the last meeting.
  auto eval = run("eval " + at("four"));
  auto last = losses(at("one"), "eval/loss").back();
  EXPECT_NEAR(std::stod(eval.line("val loss: ")), last, 1e-6) << eval.err;
  EXPECT_EQ(run("generate " + at("four") + " --prompt The --tokens 4").code, 0);
  // From inside of a round, on another number of ranks.
  fs::create_directories(at("more") + "/checkpoints");
  fs::copy(at("four") + "/checkpoints/step-4", at("more") + "/checkpoints/step-4", fs::copy_options::recursive);
  auto more = run("launch -n 2 --mesh replica=2 --out " + at("more") + " train " + local + "local.replicas=4");
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_NE(more.out.find("continuing from step 4"), more.out.npos) << more.out;
  auto all = losses(at("one")), continued = losses(at("more"));
  EXPECT_EQ(continued, std::vector<double>(all.begin() + 4, all.end()));
  auto model = [](const std::string& text) { return text.substr(text.rfind("}\n") + 1); };
  EXPECT_TRUE(model(result_of(at("more"))) == model(want));
}
TEST_F(LocalTest, OneReplicaThatIsAveragedTrainsAsWithoutLocalSteps) {
  auto plain = run("train " + config + " steps=5 --out " + folder + "/plain");
  auto average = run("train " + config + " steps=5 local.type=average local.every=2 local.replicas=1 --out " + folder +
                     "/average");
  ASSERT_EQ(plain.code + average.code, 0) << plain.err << average.err;
  EXPECT_EQ(losses(folder + "/average"), losses(folder + "/plain"));
  EXPECT_EQ(losses(folder + "/average", "eval/loss"), losses(folder + "/plain", "eval/loss"));
}
TEST_F(LocalTest, TheExampleRunsOnRanksAsInOneProcess) {
  auto words = std::string(BORA_SOURCE_DIR) + "/examples/diloco.yaml data=" + folder +
               "/text steps=4 local.every=2 log_every=1 eval_rows=16 model.positions=16 batch=4 --out " + folder;
  auto one = run("train " + words + "/one");
  auto four = run("launch -n 4 --mesh replica=4 train " + words + "/four");
  ASSERT_EQ(one.code + four.code, 0) << one.err << four.err;
  EXPECT_TRUE(result_of(folder + "/one") == result_of(folder + "/four"));
}
TEST_F(LocalTest, BadInputIsOneLine) {
  auto out = " --out " + folder + "/o ";
  is_bad_input("launch -n 2" + out + config + " local=diloco",
               "local: diloco has no replicas: mesh data=2,model=1 has no axis replica; set mesh replica=M");
  is_bad_input("launch -n 2 --mesh replica=2" + out + config + " local=diloko", "unknown type 'diloko'; did you mean");
  is_bad_input("launch -n 2 --mesh replica=2" + out + config + " local=diloco local.every=0",
               "local.every: must be 1 or more steps, got 0");
  is_bad_input("launch -n 4 --mesh replica=4" + out + config + " local=diloco",
               "local: batch 6 cannot be cut into equal shares of 4 replicas; set batch to a multiple of 4");
  is_bad_input("launch -n 2 --mesh replica=2" + out + config + " local=average local.replicas=3",
               "local.replicas: 3 replicas cannot be spread evenly over the 2 ranks of mesh axis replica");
  is_bad_input("launch -n 4 --mesh replica=2,data=2" + out + config + " local=average local.replicas=6",
               "1 rows of a replica cannot be spread over its 2 ranks");
  is_bad_input("train" + out + config + " local=average local.replicas=-1", "local.replicas: must be from 1");
  is_bad_input("train" + out + config + " local.replicas=2", "local");
  is_bad_input("train" + out + config + " local=diloco local.replicas=2 local.outer.lr=0", "local.outer.lr");
  is_bad_input("train" + out + config + " local=diloco local.replicas=2 local.outer=nestrov", "local.outer.type");
  is_bad_input("train" + out + config + " local=average local.replicas=2 local.outer.lr=1", "type 'diloco' has it");
  is_bad_input("train" + out + config + " local=diloco local.replicas=2 optimizer.skip_not_finite=3", "local: steps");
  EXPECT_FALSE(fs::exists(folder + "/o"));
}
