// Virtual ranks through the command: the same losses and the same model from any number of processes; bad input.
#include "command.h"

namespace fs = std::filesystem;
namespace reproducible_test {
using namespace bora;

namespace {
struct ReproducibleTest : CommandTest {
  std::string settings = config + " steps=6 batch=8 checkpoint_every=3 keep=9 reproducible=4 ";
};
}  // namespace

TEST_F(ReproducibleTest, RanksChangeNoBit) {
  auto at = [&](const std::string& name) { return folder + "/" + name; };
  auto one = run("train " + settings + "--out " + at("1"));
  ASSERT_EQ(one.code, 0) << one.err;
  for (auto* n : {"2", "4"}) {
    auto more = run("launch -n " + std::string(n) + " --layout dp --out " + at(n) + " train " + settings);
    ASSERT_EQ(more.code, 0) << more.err;
    EXPECT_EQ(losses(at(n)), losses(at("1"))) << n;
    EXPECT_EQ(losses(at(n), "eval/loss"), losses(at("1"), "eval/loss")) << n;
    EXPECT_TRUE(model_of(at(n)) == model_of(at("1"))) << n;
  }
  // A run that continues on another number of ranks.
  fs::create_directories(at("more") + "/checkpoints");
  fs::copy(at("4") + "/checkpoints/step-3", at("more") + "/checkpoints/step-3", fs::copy_options::recursive);
  auto more = run("launch -n 2 --layout dp --out " + at("more") + " train " + settings);
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_TRUE(model_of(at("more")) == model_of(at("1")));
}
TEST_F(ReproducibleTest, BadInputIsOneLine) {
  auto out = " --out " + folder + "/o ";
  is_bad_input("train" + out + config + " reproducible=3", "reproducible.virtual: must be a power of two");
  is_bad_input("train" + out + config + " reproducible=4", "batch 6 cannot be cut into 4 equal parts");
  is_bad_input("launch -n 4 --layout fsdp" + out + config + " batch=8 reproducible=4", "set layout=dp");
  is_bad_input("launch -n 4 --layout dp" + out + config + " batch=8 reproducible=2",
               "4 ranks do not hold whole subtrees of 2 virtual ranks");
  is_bad_input("launch -n 3 --layout dp" + out + config + " batch=12 reproducible=4", "3 ranks do not hold");
  is_bad_input("train" + out + config + " batch=8 accumulate=2 reproducible=4", "accumulate=1");
  is_bad_input("train" + out + config + " batch=8 reproducible=4 local=average local.replicas=2",
               "reproducible.virtual");
  is_bad_input("train" + out + config + " batch=8 reproducible=4 wire=int8", "set wire=f32");
  EXPECT_FALSE(fs::exists(folder + "/o"));
}
}  // namespace reproducible_test
