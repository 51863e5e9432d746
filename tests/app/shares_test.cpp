// Shares of unequal hosts through the command: bad input, runs, and shares that are measured.
#include "command.h"

namespace fs = std::filesystem;
namespace shares_test {
using namespace bora;

TEST_F(CommandTest, BadSharesAreOneLine) {
  auto bad = [&](const std::string& words, const std::string& part) {
    is_bad_input("launch -n 3 --out " + folder + "/o " + config + " " + words, part);
  };
  bad("mesh.shares=data=2:1", "axis 'data' has 3 ranks, but 2 shares (2:1)");
  bad("mesh.shares=data=2:0:1", "each share of axis 'data' must be from 1 to 9999999, got '0'");
  bad("mesh.shares=2:1:1", "expected data=3:3:2:1, or auto, got '2:1:1'");
  bad("mesh.shares=rows=2:1:1", "there is no axis 'rows' in the mesh data=3,model=1");
  bad("mesh.shares=data=9:1:1 batch=3", "batch: of 3 part 1 of mesh axis 'data' has none by the shares");
  bad("mesh.shares=auto --layout dp wire=int8 wire.error_feedback=true", "leave mesh.shares out");
  bad("mesh.shares=data=2:1:1 --elastic 2:3", "an elastic job goes on with other ranks");
  bad("mesh.shares=stage=2:1:1 --mesh stage=3 model.layers=3", "the stages of a pipeline are of equal size");
  bad("mesh.shares=auto --layout tp", "does not split the batch over it");
  EXPECT_FALSE(fs::exists(folder + "/o"));
}
std::string line_of(const std::string& text, const std::string& words) {
  auto at = text.find(words);
  return at == text.npos ? "none" : text.substr(at, text.find('\n', at) - at);
}
std::string digest_of(const std::string& text) {
  auto line = line_of(text, "init digest");
  return line.substr(line.find(": ") + 1);
}
std::vector<double> losses(const std::string& out) {
  std::vector<double> r;
  for (auto& p : track::read_curve(out + "/metrics.jsonl", "train/loss")) r.push_back(p.y);
  return r;
}
TEST_F(CommandTest, SharesOfTheDataChangeNoLoss) {
  auto equal = folder + "/equal", shares = folder + "/shares";
  for (std::string layout : {"dp", "fsdp"}) {
    auto words = config + " batch=8 --layout " + layout;
    auto first = run("launch -n 3 --resume none --out " + equal + " " + words);
    auto other = run("launch -n 3 --resume none --out " + shares + " " + words + " mesh.shares=data=5:2:1");
    ASSERT_EQ(first.code, 0) << first.err;
    ASSERT_EQ(other.code, 0) << other.err;
    EXPECT_EQ(digest_of(first.out), digest_of(other.out));
    auto a = losses(equal), b = losses(shares);
    ASSERT_EQ(a.size(), b.size());
    ASSERT_FALSE(a.empty());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6 * a[i]) << layout << " " << i;
  }
  auto plan = run("plan " + config + " batch=8 --mesh data=3 mesh.shares=data=5:2:1 --link 1G");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("0 to 4 (5)"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("mesh data=3(5:2:1)"), std::string::npos) << plan.out;
  auto eval = run("eval " + shares);
  EXPECT_EQ(eval.code, 0) << eval.err;
}
TEST_F(CommandTest, MeasuredSharesAreKeptByARunThatGoesOn) {
  auto out = folder + "/auto", file = out + "/shares.yaml";
  auto start = [&](int ranks, const std::string& words) {
    auto r = run("launch -n " + std::to_string(ranks) + " --out " + out + " " + config + " batch=8 mesh.shares=auto " +
                 words);
    EXPECT_EQ(r.code, 0) << r.err;
    return line_of(r.out, "mesh.shares: auto is ");
  };
  auto measured = start(2, "steps=2");
  EXPECT_TRUE(measured.ends_with(", as measured now")) << measured;
  auto text = slurp(file);
  EXPECT_NE(text.find("mesh: data=2,model=1\n"), std::string::npos) << text;
  EXPECT_NE(slurp(out + "/config.yaml").find("shares: \"auto\""), std::string::npos) << "the config keeps the word";
  auto given = text.substr(0, text.find("shares: data=")) + "shares: data=3:1\n";  // others than would be measured
  std::ofstream(file) << given;
  EXPECT_EQ(start(2, "steps=4"), "mesh.shares: auto is data=3:1, as the run was begun with");
  EXPECT_EQ(slurp(file), given);
  auto again = start(3, "steps=6");
  EXPECT_TRUE(again.ends_with(", as measured now: the run was on other hosts or another mesh before")) << again;
  EXPECT_TRUE(start(3, "steps=6 --resume none").ends_with(", as measured now"));
  EXPECT_TRUE(line_of(run("train " + config + " mesh.shares=auto out=" + folder + "/alone").out, "mesh.shares")
                  .starts_with("mesh.shares: auto: one rank"));
}
}  // namespace shares_test
