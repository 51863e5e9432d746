// Layers in stages through the command: one rank's losses, runs that continue on another mesh, bad input.
#include "command.h"

namespace fs = std::filesystem;
namespace stages_test {
using namespace bora;

namespace {
struct StagesTest : CommandTest {
  std::string job = config + " steps=8 batch=12 checkpoint_every=4 keep=9 ";
  std::string at(const std::string& name) const { return folder + "/" + name; }
  void expect_near(const std::vector<double>& got, const std::vector<double>& want, const std::string& what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << what << ", line " << i;
  }
};
}  // namespace

TEST_F(StagesTest, TheLossesAreThoseOfOneRank) {
  for (std::string model : {"model=gpt2", "model=llama model.kv_heads=3 model.hidden=40 model.heads=3"}) {
    auto name = model.substr(6, 4);
    auto one = run("train " + job + model + " --out " + at(name + "one"));
    ASSERT_EQ(one.code, 0) << one.err;
    auto want = losses(at(name + "one"));
    struct Case {
      std::string flags, parts;
    };
    for (auto& c : {Case{"-n 2 --mesh stage=2", "0"}, {"-n 2 --mesh stage=2 --layout dp", "3"},
                    {"-n 4 --mesh stage=2,data=2", "2"}, {"-n 2 --mesh stage=2", "4 mesh.schedule=1f1b"},
                    {"-n 4 --mesh stage=2,data=2", "3 mesh.schedule=1f1b accumulate=2"}}) {
      auto out = at(name + std::to_string(runs));
      auto r = run("launch " + c.flags + " --out " + out + " train " + job + model + " mesh.microbatches=" + c.parts);
      ASSERT_EQ(r.code, 0) << r.err;
      expect_near(losses(out), want, model + " " + c.flags + " " + c.parts);
      EXPECT_NEAR(std::stod(r.line("val loss: ")), std::stod(one.line("val loss: ")), 1e-5) << r.out;
      EXPECT_EQ(run("eval " + out).code, 0);
    }
  }
}
TEST_F(StagesTest, ARunContinuesOnAnotherMesh) {
  auto first = run("launch -n 2 --mesh stage=2 --out " + at("stages") + " train " + job);
  ASSERT_EQ(first.code, 0) << first.err;
  auto all = losses(at("stages"));
  for (std::string flags : {"-n 1", "-n 2 --mesh data=2"}) {
    auto out = at("more" + std::to_string(runs));
    fs::create_directories(out + "/checkpoints");
    fs::copy(at("stages") + "/checkpoints/step-4", out + "/checkpoints/step-4", fs::copy_options::recursive);
    auto more = run("launch " + flags + " --out " + out + " train " + job);
    ASSERT_EQ(more.code, 0) << more.err;
    EXPECT_NE(more.out.find("continuing from step 4"), more.out.npos) << more.out;
    expect_near(losses(out), {all.begin() + 4, all.end()}, flags);
  }
}
TEST_F(StagesTest, ARunContinuesInAnotherOrder) {
  auto flags = "launch -n 2 --mesh stage=2 ";
  auto first = run(flags + ("--out " + at("first")) + " train " + job + "model.dropout=0.1 mesh.microbatches=3");
  ASSERT_EQ(first.code, 0) << first.err;
  auto all = losses(at("first"));
  auto out = at("more");
  fs::create_directories(out + "/checkpoints");
  fs::copy(at("first") + "/checkpoints/step-4", out + "/checkpoints/step-4", fs::copy_options::recursive);
  auto more = run(flags + ("--out " + out) + " train " + job +
                  "model.dropout=0.1 mesh.microbatches=3 mesh.schedule=1f1b");
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_NE(more.out.find("continuing from step 4"), more.out.npos) << more.out;
  expect_near(losses(out), {all.begin() + 4, all.end()}, "1f1b");
}
TEST_F(StagesTest, TheSameBitsEveryTime) {
  auto losses_of = [&](const std::string& name) {
    auto r = run("launch -n 2 --mesh stage=2 --out " + at(name) + " train " + config +
                 " steps=3 batch=12 mesh.schedule=1f1b wire=bf16");
    EXPECT_EQ(r.code, 0) << r.err;
    return losses(at(name));
  };
  auto once = losses_of("once");
  EXPECT_EQ(once.size(), 3U);
  EXPECT_EQ(losses_of("again"), once);
}
TEST_F(StagesTest, ThePlanNamesTheBubble) {
  auto r = run("plan " + job + "--mesh stage=2 mesh.microbatches=4 --out " + at("plan"));
  EXPECT_EQ(r.code, 0) << r.err;
  auto bubble = ", 2 stages, 4 microbatches of 3 rows; of the layers' time a rank waits 20 % ";
  EXPECT_NE(in_a_line(r.out).find(std::string(" pipeline: gpipe") + bubble), std::string::npos) << r.out;
  r = run("plan " + job + "--mesh stage=2 mesh.microbatches=4 mesh.schedule=1f1b --out " + at("plan2"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(in_a_line(r.out).find(std::string(" pipeline: 1f1b") + bubble), std::string::npos) << r.out;
  for (std::string schedule : {"gpipe", "1f1b"}) {  // rows that do not divide evenly over data
    r = run("plan " + job + "--mesh stage=2,data=2 mesh.microbatches=4 mesh.schedule=" + schedule + " --out " +
            at("plan3"));
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("stages, 4 microbatches of 3 rows"), r.out.npos) << r.out;
  }
}
TEST_F(StagesTest, RoutersAndSplitSequencesInStages) {
  struct Case {
    std::string name, model, flags, parts;
  };
  for (auto& c : {Case{"routers", "model=mixtral model.experts=4 model.router_loss=0.1", "-n 2 --mesh stage=2", "4"},
                  {"context", "model=gpt2", "-n 4 --mesh stage=2,context=2", "3"},
                  {"1f1b", "model=gpt2", "-n 4 --mesh stage=2,context=2", "6 mesh.schedule=1f1b"}}) {
    auto one = run("train " + job + c.model + " --out " + at(c.name + "one"));
    ASSERT_EQ(one.code, 0) << one.err;
    auto out = at(c.name);
    auto r = run("launch " + c.flags + " --out " + out + " train " + job + c.model + " mesh.microbatches=" + c.parts);
    ASSERT_EQ(r.code, 0) << r.err;
    expect_near(losses(out), losses(at(c.name + "one")), c.name);
  }
}
TEST_F(StagesTest, BadStagesEndTheCommandBeforeRanksStart) {
  struct Case {
    std::string flags, given, words;
  };
  for (auto& c :
       {Case{"-n 3 --mesh stage=3", "", "mesh: 2 layers of the model (model.layers) cannot be cut into 3 equal stages"},
        {"-n 2 --mesh stage=2", "mesh.microbatches=5", "mesh.microbatches: 12 rows cannot be cut into 5 equal"},
        {"-n 2 --mesh stage=2", "accumulate=2 mesh.microbatches=4", "6 rows in each part of the batch cannot be cut"},
        {"-n 2 --mesh stage=2", "mesh.microbatches=-1", "mesh.microbatches: "},
        {"-n 2 --mesh stage=2", "mesh.schedule=1b1f", "mesh.schedule: "},
        {"-n 2 --mesh stage=2", "mesh.schedule=1f1b precision=p=f32,c=f16,o=f32", "mesh.schedule: 1f1b computes"},
        {"-n 2 --mesh stage=2", "model=mixtral mesh.schedule=1f1b", "mesh.schedule: 1f1b takes the loss of each"},
        {"-n 4 --mesh stage=2,replica=2", "local=diloco", "leave axis stage or local out"},
        {"-n 2 --mesh stage=2", "reproducible.virtual=4", "reproducible.virtual: "}}) {
    auto r = run("launch " + c.flags + " --out " + folder + "/bad train " + job + c.given);
    EXPECT_EQ(r.code, 2) << c.flags << " " << c.given << r.out;
    EXPECT_NE(r.err.find(c.words), r.err.npos) << r.err;
    EXPECT_EQ(r.err.find("rank 1"), r.err.npos) << r.err;
  }
}
}  // namespace stages_test
