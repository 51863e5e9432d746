// Sequences split over ranks by the command: the losses of one rank, other meshes afterwards, what is refused.
#include "command.h"

namespace fs = std::filesystem;
namespace context_test {
using namespace bora;

TEST_F(CommandTest, ContextTrainsTheSameAndGoesOnElsewhere) {
  std::string llama = " model.type=llama model.kv_heads=1 model.hidden=20";
  for (std::string model : {std::string(), llama + " model.heads=2"}) {
    auto whole = folder + "/whole" + std::to_string(runs);
    auto first = run("train " + config + model + " out=" + whole);
    ASSERT_EQ(first.code, 0) << first.err;
    auto digest = first.line("init digest ").substr(first.line("init digest ").find(": "));
    auto want = losses(whole);
    std::string out;
    for (std::string how : {"-n 2 --mesh context=2", "-n 4 --mesh data=2,context=2"}) {
      out = folder + "/run" + std::to_string(runs);
      auto r = run("launch " + how + " --out " + out + " " + config + model);
      ASSERT_EQ(r.code, 0) << how << "\n" << r.out << r.err;
      auto line = r.line("init digest ");
      EXPECT_EQ(line.substr(line.find(": ")), digest) << how;
      auto got = losses(out);
      ASSERT_EQ(got.size(), want.size()) << how;
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5 * want[i]) << how << " step " << i;
    }
    // Other meshes go on from its checkpoint, evaluate it and make text of it.
    auto alone = run("train " + config + model + " steps=8 out=" + whole);
    ASSERT_EQ(alone.code, 0) << alone.err;
    auto r = run("launch -n 2 --out " + out + " " + config + model + " steps=8");
    ASSERT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_NE(r.out.find("continuing from step 6"), std::string::npos) << r.out;
    auto val = std::stod(alone.out.substr(alone.out.rfind("val loss: ") + 10));
    for (std::string eval : {"eval " + out, "launch -n 2 -- eval " + out, "launch -n 2 -- eval " + out +
                             " mesh=context=2"}) {
      auto e = run(eval);
      ASSERT_EQ(e.code, 0) << eval << e.out << e.err;
      EXPECT_NEAR(std::stod(e.line("val loss: ")), val, 1e-4) << eval;
    }
    auto text = run("generate " + out + " --prompt The --length 5 --temperature 0");
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_EQ(run("launch -n 2 -- generate " + out + " --prompt The --length 5 --temperature 0 mesh=context=2").out,
              text.out);
  }
}
TEST_F(CommandTest, ContextRefusesWhatTheRingCannotDo) {
  auto out = folder + "/o";
  std::string train = "launch -n 2 --out " + out + " " + config + " mesh=context=2 ";
  is_bad_input(train + "model.positions=18",
               "model.positions: 18 cannot be cut into 2 equal parts for each of the 2 ranks of mesh axis "
               "'context'; use a multiple of 4");
  is_bad_input(train + "model.attention_dropout=0.1",
               "model.attention_dropout: a ring of ranks cannot drop weights of attention");
  is_bad_input(train + "model.type=llama model.heads=2 model.window=4",
               "model.window: a ring of ranks has no sliding windows");
  is_bad_input(train + "layout=dp wire=powersgd",
               "wire: residuals and factors are of gradients that are whole on every rank; leave axis 'context'");
  is_bad_input(train + "local=diloco", "local: replicas of local steps have whole sequences");
  is_bad_input(train + "reproducible=2", "reproducible.virtual: the mesh has 2 ranks");
  is_bad_input("plan " + config + " mesh=context=3", "model.positions: 16 cannot be cut");
  is_bad_input("launch -n 3 --out " + out + " " + config + " mesh=context=2", "mesh: context=2 has 2 ranks");
  EXPECT_FALSE(fs::exists(out));
}
TEST_F(CommandTest, ContextIsPlannedWithLessMemory) {
  auto plan = [&](const std::string& mesh) {
    auto r = run("plan " + config + " layout=dp model.positions=512 --mesh " + mesh);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.out;
  };
  auto four = plan("context=4");
  EXPECT_NE(four.find("position -> context"), std::string::npos) << plan("data=1") << four;
}
}  // namespace context_test
