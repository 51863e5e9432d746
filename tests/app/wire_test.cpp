// Sums of gradients in fewer bits through the command: nearly the loss of f32, equal bits on all ranks, bad input.
#include "command.h"

namespace wire_test {
using namespace bora;

namespace {
struct WireTest : CommandTest {
  std::string two = " --mesh data=2 train " + config + " steps=12 batch=12 ";
  double loss_of(const std::string& layout, const std::string& wire) {
    auto out = folder + "/" + layout + "_" + wire;
    auto r = run("launch -n 2 --layout " + layout + " --out " + out + two + "wire=" + wire);
    EXPECT_EQ(r.code, 0) << r.err;
    return losses(out).back();
  }
};
}  // namespace

TEST_F(WireTest, TheLossIsNearlyThatOfF32) {
  for (std::string layout : {"dp", "fsdp"}) {
    auto exact = loss_of(layout, "f32");
    for (auto& [wire, bound] : {std::pair{"bf16", 0.002}, {"int8", 0.005}, {"int4", 0.03}}) {
      auto loss = loss_of(layout, wire);
      EXPECT_NE(loss, exact) << layout << " " << wire;
      EXPECT_NEAR(loss, exact, bound * exact) << layout << " " << wire;
    }
  }
}
TEST_F(WireTest, BadWiresEndTheCommandBeforeRanksStart) {
  for (auto& [given, words] : {std::pair{"wire=int9", "f32, bf16, int8, int4"},
                               {"wire=int8 wire.block=100", "wire.block: "},
                               {"wire=int4 transport.algorithms=all_reduce=chain", "would round at every hop"},
                               {"wire=int8 transport.algorithms=reduce_scatter=hierarchical", "use direct"},
                               {"'wire={gradients: powersgd, rank: 0}'", "wire.rank: must be from 1 to 4096, got 0"},
                               {"wire=powersgd wire.block=64", "wire.block: powersgd has none"},
                               {"wire=powersgd reproducible.virtual=4", "set wire=f32"},
                               {"wire=powersgd layout=fsdp", "set layout=dp"},
                               {"wire.error_feedback=true", "travel as f32 lose nothing"}}) {
    auto r = run("launch -n 2 --out " + folder + "/bad" + two + given);
    EXPECT_EQ(r.code, 2) << given;
    EXPECT_NE(r.err.find(words), r.err.npos) << r.err;
    EXPECT_EQ(r.err.find("rank 1"), r.err.npos) << r.err;
  }
}
/// A wire that a run of this policy would refuse is none to compare with.
TEST_F(WireTest, GradientsOfF64ArePlanned) {
  auto r = run("plan " + config + " --mesh data=2 --link 1G policy=f64");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("\n    f32 "), r.out.npos) << r.out;
  EXPECT_EQ(r.out.find("\n    int8 "), r.out.npos) << r.out;
}
/// A failure costs the steps since what the job goes on from.
TEST_F(WireTest, SnapshotsLoseFewerStepsThanCheckpoints) {
  auto plan = "plan " + config + " --mesh data=2 --link 1M --mtbf 1 steps=1000000000 checkpoint.every=1000000000 ";
  auto lost = [&](const std::string& words) {
    auto r = run(plan + words);
    EXPECT_EQ(r.code, 0) << r.err;
    auto end = r.out.find(" % of the time is lost");
    EXPECT_NE(end, r.out.npos) << r.out;
    return std::stod(r.out.substr(r.out.rfind(' ', end - 1)));
  };
  EXPECT_GT(lost("layout=dp"), 90);
  EXPECT_LT(lost("layout=dp elastic.min=1 elastic.max=2 elastic.snapshot=1"), 50);
}
TEST_F(WireTest, NothingIsSaidOfLocalStepsBesidePowersgd) {
  for (auto& [wire, says] : {std::pair{"f32", true}, {"powersgd", false}}) {
    auto r = run("plan " + config + " --mesh data=2 --link 1G layout=dp wire=" + wire);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out.find("steps over 'data'") != r.out.npos, says) << r.out;
  }
}
TEST_F(WireTest, WhatIsLostIsCarriedOver) {
  auto exact = loss_of("dp", "f32");
  for (std::string wire : {"'{gradients: int4, error_feedback: true}'", "'{gradients: powersgd, rank: 4}'"}) {
    SCOPED_TRACE(wire);
    auto out = folder + "/carried";
    std::filesystem::remove_all(out);
    auto train = [&](int ranks, int steps) {
      auto n = std::to_string(ranks);
      return run("launch -n " + n + " --layout dp --mesh data=" + n + " --out " + out + " train " + config +
                 " batch=12 checkpoint_every=6 keep=9 wire=" + wire + " steps=" + std::to_string(steps));
    };
    EXPECT_EQ(train(2, 12).code, 0);
    auto whole = losses(out);
    EXPECT_NE(whole.back(), exact);
    EXPECT_NEAR(whole.back(), exact, 0.1 * exact);
    // A run that continues has the numbers of one that was not cut.
    std::filesystem::remove_all(out + "/checkpoints/step-12");
    auto r = train(2, 12);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("continuing from step 6"), r.out.npos) << r.out;
    EXPECT_EQ(losses(out), whole);
    // On other ranks too, with a line that says so.
    r = train(3, 14);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("residuals of another number of ranks"), r.out.npos) << r.out;
    EXPECT_EQ(train(1, 16).code, 0);
    // Residuals are not made up, nor thrown away.
    r = run("launch -n 2 --layout dp --mesh data=2 --out " + out + " train " + config + " batch=12 steps=18 wire=f32");
    EXPECT_EQ(r.code, 2) << r.err;
    EXPECT_NE(r.err.find("its settings of wire"), r.err.npos) << r.err;
  }
}
}  // namespace wire_test
