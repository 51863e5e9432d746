// Local steps through the command: the same bits on any number of ranks, runs that continue, bad input.
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace local_test {
using namespace bora;

namespace {
struct LocalTest : CommandTest {
  std::string local = config + " steps=8 batch=12 local=diloco local.every=3 checkpoint_every=4 keep=9 ";
  /// The numbers of all steps that depend on the values of the run alone, and the model's file.
  std::string result_of(const std::string& out) const {
    std::istringstream lines(slurp(out + "/metrics.jsonl"));
    std::string r;
    for (std::string line; std::getline(lines, line);)
      for (std::size_t at = 0, end; at + 1 < line.size(); at = end + 1) {
        end = std::min(line.find(", \"", at), line.size() - 1);  // the last one ends before the brace
        auto field = line.substr(at, end - at);
        for (auto* word : {"\"train/", "\"eval/", "\"optim/", "\"local/"})
          if (field.find(word) != field.npos && field.find("seconds") == field.npos) r += field + "\n";
      }
    return r + model_of(out);
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
  EXPECT_EQ(run("generate " + at("four") + " --prompt The --length 4").code, 0);
  // From inside of a round, on another number of ranks.
  fs::create_directories(at("more") + "/checkpoints");
  fs::copy(at("four") + "/checkpoints/step-4", at("more") + "/checkpoints/step-4", fs::copy_options::recursive);
  auto more = run("launch -n 2 --mesh replica=2 --out " + at("more") + " train " + local + "local.replicas=4");
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_NE(more.out.find("continuing from step 4"), more.out.npos) << more.out;
  auto all = losses(at("one")), continued = losses(at("more"));
  EXPECT_EQ(continued, std::vector<double>(all.begin() + 4, all.end()));
  EXPECT_TRUE(model_of(at("more")) == model_of(at("one")));
}
TEST_F(LocalTest, FragmentsUnderWayChangeNoBitEither) {
  auto at = [&](const std::string& name) { return folder + "/" + name; };
  auto streaming = local + "local.every=4 local.fragments=2 local.delay=2 local.mix=0.5 local.wire=int4 ";
  auto one = run("train " + streaming + "local.replicas=4 checkpoint_every=1 --out " + at("one"));
  ASSERT_EQ(one.code, 0) << one.err;
  auto four = run("launch -n 4 --mesh replica=4 --out " + at("four") + " train " + streaming);
  ASSERT_EQ(four.code, 0) << four.err;
  auto want = result_of(at("one"));
  EXPECT_TRUE(result_of(at("four")) == want);
  EXPECT_NE(want.find("\"local/fragment\": 2"), want.npos) << want.substr(0, 3000);
  auto all = losses(at("one"));
  for (int step : {2, 3, 5}) {  // fragments are under way after all of these
    auto name = "step-" + std::to_string(step), more = at("from-" + name);
    fs::create_directories(more + "/checkpoints");
    fs::copy(at("one") + "/checkpoints/" + name, more + "/checkpoints/" + name, fs::copy_options::recursive);
    auto r = run("train " + streaming + "local.replicas=4 --out " + more);
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(losses(more), std::vector<double>(all.begin() + step, all.end()));
    EXPECT_TRUE(model_of(more) == model_of(at("one")));
  }
}
TEST_F(LocalTest, ARunKeepsItsReplicas) {
  auto out = " --out " + folder + "/kept";
  ASSERT_EQ(run("train " + local + "steps=4 local.replicas=2" + out).code, 0);
  auto other = run("train " + local + "local.replicas=3" + out);
  auto plain = run("train " + config + " batch=12 steps=8" + out);
  EXPECT_EQ(other.code, 2) << other.err;
  EXPECT_NE(other.err.find("step-4 holds 2 replicas, this run has 3; it continues with local.replicas=2"),
            other.err.npos)
      << other.err;
  EXPECT_EQ(plain.code, 2) << plain.err;
  EXPECT_NE(plain.err.find("holds 2 replicas that make local steps"), plain.err.npos) << plain.err;
  auto another = run("train " + local + "local.replicas=2 local.outer.momentum=0" + out);
  EXPECT_EQ(another.code, 2) << another.err;
  EXPECT_NE(another.err.find("other meetings of replicas: it has "), another.err.npos) << another.err;
  EXPECT_NE(another.err.find("keep its settings of local"), another.err.npos) << another.err;
  // SlowMo's momentum is of differences over the learning rate.
  auto slow = run("train " + config + " steps=8 batch=12 local=slowmo local.every=3 local.replicas=2" + out);
  EXPECT_EQ(slow.code, 2) << slow.err;
  EXPECT_NE(slow.err.find("local: the checkpoint is of meetings of type diloco, this run's are of slowmo"),
            slow.err.npos)
      << slow.err;
  auto lion = run("train " + local + "local.replicas=2 optimizer=lion" + out);
  EXPECT_NE(lion.err.find("is of another optimizer: "), lion.err.npos) << lion.err;
  auto fresh = " --out " + folder + "/fresh";
  ASSERT_EQ(run("train " + config + " batch=12 steps=4" + fresh).code, 0);
  auto late = run("train " + local + "local.replicas=2" + fresh);
  EXPECT_EQ(late.code, 2) << late.err;
  EXPECT_NE(late.err.find("is of a run without local steps"), late.err.npos) << late.err;
}
TEST_F(LocalTest, EveryFollowsFromTheNetwork) {
  auto out = folder + "/auto";
  auto words = " --mesh replica=2 --out " + out + " train " + config +
               " steps=3 batch=96 checkpoint_every=2 local=diloco ";
  auto r = run("launch -n 2" + words + "local.every=auto local.link=100M,1us");
  ASSERT_EQ(r.code, 0) << r.err;
  auto every = [&] {
    auto text = slurp(out + "/config.yaml");
    auto at = text.find("every:", text.find("\nlocal:"));
    return std::stoll(text.substr(text.find_first_of("0123456789", at)));
  };
  auto first = every();
  EXPECT_GT(first, 1);
  // The run that goes on keeps it, whatever the network.
  auto more = run("launch -n 2" + words + "steps=5 local.every=auto local.link=100G");
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_EQ(every(), first);
  auto braces = run("launch -n 2 --mesh replica=2 --out " + folder + "/braces train " + config +
                    " steps=2 batch=96 'local={type: diloco, every: auto, link: \"100M,1us\"}'");
  EXPECT_EQ(braces.code, 0) << braces.err;
  // A delay that needs more steps than the network does.
  auto parts = run("launch -n 2 --mesh replica=2 --out " + folder + "/parts train " + config +
                   " steps=2 batch=96 local=diloco local.every=auto local.link=9999G,1us local.fragments=2 "
                   "local.delay=400");
  ASSERT_EQ(parts.code, 0) << parts.err;
  EXPECT_NE(slurp(folder + "/parts/config.yaml").find("every: \"401\""), std::string::npos);
  auto shorter = run("launch -n 2" + words + "steps=6 local.every=auto local.link=100G local.delay=100000");
  EXPECT_EQ(shorter.code, 2) << shorter.err;
  EXPECT_NE(shorter.err.find("local.delay: must be from 0 to below local.every ("), std::string::npos) << shorter.err;
  auto plan = run("plan " + config + " batch=96 --mesh replica=2 local=diloco --link 100M,1us");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("a meeting of the replicas takes"), plan.out.npos) << plan.out;
  // Three rows of each replica are whole there, and no uneven blocks over both.
  auto odd = run("plan " + config + " batch=6 --mesh replica=2 local=diloco");
  EXPECT_EQ(odd.code, 0) << odd.err;
  EXPECT_NE(odd.out.find("[batch 6, "), odd.out.npos) << odd.out;
  EXPECT_EQ(odd.out.find("does not divide"), odd.out.npos) << odd.out;
  plan = run("plan " + config + " batch=96 --mesh replica=2 local=diloco local.replicas=6 --link 100M");
  EXPECT_NE(plan.out.find("the local steps of 6 replicas raise the loss by "), plan.out.npos) << plan.out << plan.err;
}
TEST_F(LocalTest, OneReplicaThatIsAveragedTrainsAsWithoutLocalSteps) {
  auto plain = run("train " + config + " steps=5 --out " + folder + "/plain");
  auto average = run("train " + config + " steps=5 local.type=average local.every=2 local.replicas=1 --out " + folder +
                     "/average");
  ASSERT_EQ(plain.code + average.code, 0) << plain.err << average.err;
  EXPECT_EQ(losses(folder + "/average"), losses(folder + "/plain"));
  EXPECT_EQ(losses(folder + "/average", "eval/loss"), losses(folder + "/plain", "eval/loss"));
}
TEST_F(LocalTest, PatienceCountsNoEvaluationBetweenMeetings) {
  auto at = [&](const std::string& name) { return folder + "/" + name; };
  auto words = "train " + local + "local.replicas=2 local.every=6 eval_every=1 eval.patience=2 --out ";
  auto whole = run(words + at("whole"));
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(losses(at("whole")).size(), 8U) << whole.out;
  // A run that continues from between two meetings counts the same.
  fs::create_directories(at("more") + "/checkpoints");
  fs::copy(at("whole") + "/checkpoints/step-4", at("more") + "/checkpoints/step-4", fs::copy_options::recursive);
  auto more = run(words + at("more"));
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_EQ(losses(at("more")).size(), 4U) << more.out;
}
TEST_F(LocalTest, ARunThatIsMadeShorterEndsWithAMeeting) {
  auto at = [&](const std::string& name) { return folder + "/" + name; };
  for (bool meets : {false, true}) {  // after step 4 the replicas met, or will only after step 6
    fs::remove_all(at("long"));
    fs::remove_all(at("short"));
    auto words = "train " + local + "local.replicas=2 local.every=" + (meets ? "4" : "6") + " --out ";
    ASSERT_EQ(run(words + at("long")).code, 0);
    // As if it had been stopped after step 4.
    fs::create_directories(at("short") + "/checkpoints");
    fs::copy(at("long") + "/checkpoints/step-4", at("short") + "/checkpoints/step-4", fs::copy_options::recursive);
    auto lines = slurp(at("long") + "/metrics.jsonl");
    std::ofstream(at("short") + "/metrics.jsonl") << lines.substr(0, lines.find("{\"step\": 5,"));
    auto ended = [&] {
      return slurp(at("short") + "/checkpoints/step-4/manifest").find("local.ended") != std::string::npos;
    };
    EXPECT_FALSE(ended());
    auto r = run(words + at("short") + " steps=4");
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_NE(ended(), meets) << r.out;
    EXPECT_EQ(losses(at("short")).size(), 4U);
  }
}
TEST_F(LocalTest, TheExampleRunsOnRanksAsInOneProcess) {
  auto words = test::source_dir() + "/examples/diloco.yaml data=" + folder +
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
               "local.every: must be 1 or more steps, or auto, got 0");
  is_bad_input("launch -n 4 --mesh replica=4" + out + config + " local=diloco",
               "local: batch 6 cannot be cut into equal shares of 4 replicas; set batch to a multiple of 4");
  is_bad_input("launch -n 2 --mesh replica=2" + out + config + " local=average local.replicas=3",
               "local.replicas: 3 replicas cannot be spread evenly over the 2 ranks of mesh axis replica");
  is_bad_input("launch -n 4 --mesh replica=2,data=2" + out + config + " local=average local.replicas=6",
               "1 rows of a replica cannot be spread over its 2 ranks");
  is_bad_input("train" + out + config + " local=average local.replicas=-1", "local.replicas: must be from 1");
  is_bad_input("train" + out + config + " local.replicas=2", "local");
  is_bad_input("train" + out + config + " local=diloco local.replicas=2 local.outer.lr=0", "local.outer.lr");
  is_bad_input("train" + out + config + " local=diloco local.replicas=2 local.outer=nestrov",
               "local.outer: expected one of nesterov, sgd, got 'nestrov'");
  is_bad_input("train" + out + config + " local=average local.replicas=2 local.outer.lr=1",
               "unknown key 'local.outer.lr'");
  auto diloco = "train" + out + config + " local=diloco local.replicas=2 ";
  is_bad_input(diloco + "local.every=often", "local.every: must be 1 or more steps, or auto, got often");
  is_bad_input(diloco + "local.every=auto", "local.every: auto follows from the speed of the network; set local.link");
  is_bad_input(diloco + "local.every=auto local.link=1G", "local.every: auto is for replicas on ranks of their own");
  auto on_two = "launch -n 2 --mesh replica=2" + out + config + " local=diloco ";
  for (auto every : {"auto", "3"})
    is_bad_input(on_two + "local.link=fast local.every=" + every, "local.link: 'fast' is no link");
  is_bad_input("launch --elastic 1:2 --mesh replica=-1" + out + config + " local=diloco checkpoint_every=2",
               "elastic: a run keeps its replicas, whatever the number of ranks; set local.replicas=N");
  is_bad_input(on_two + "local.fragments=3",
               "local.fragments: 3 is more than the 2 layers of the model");
  is_bad_input(diloco + "local.fragments=0", "local.fragments: must be 1 or more, got 0");
  is_bad_input(diloco + "local.every=2 local.fragments=2",
               "local.fragments: 2 parts of the layers and one of the rest");
  is_bad_input(diloco + "local.every=3 local.delay=3", "local.delay: must be from 0 to below local.every (3), got 3");
  is_bad_input(diloco + "local.mix=1", "local.mix: must be from 0 to below 1, got 1");
  is_bad_input(diloco + "local.wire=f8", "local.wire");
  is_bad_input("train" + out + config + " local=diloco local.replicas=2 optimizer.skip_not_finite=3", "local: steps");
  EXPECT_FALSE(fs::exists(folder + "/o"));
}
}  // namespace local_test
