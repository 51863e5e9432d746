// Sums of gradients in fewer bits through the command: nearly the loss of f32, equal bits on all ranks, bad input.
#include "command.h"

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
                               {"wire=int8 transport.algorithms=reduce_scatter=hierarchical", "use direct"}}) {
    auto r = run("launch -n 2 --out " + folder + "/bad" + two + given);
    EXPECT_EQ(r.code, 2) << given;
    EXPECT_NE(r.err.find(words), r.err.npos) << r.err;
    EXPECT_EQ(r.err.find("rank 1"), r.err.npos) << r.err;
  }
}
