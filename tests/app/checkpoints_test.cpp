// `bora checkpoints` and runs that begin with another run's parameters, from outside.
#include "command.h"

namespace fs = std::filesystem;
namespace checkpoints_test {
using namespace bora;
namespace {
struct CheckpointsTest : CommandTest {
  std::string out = folder + "/out";
  Result of(const std::string& words, const std::string& run_folder = {}) const {
    return run("checkpoints " + (run_folder.empty() ? out : run_folder) + " " + words);
  }
  void train(const std::string& to, const std::string& words) const {
    auto r = run("train " + config + " out=" + to + " " + words);
    ASSERT_EQ(r.code, 0) << r.out << r.err;
  }
};

TEST_F(CheckpointsTest, ListsPinsRemovesAndCompares) {
  train(out, "steps=8 checkpoint.every=2 keep=9 eval.every=4 checkpoint.best=true");
  auto r = of("");
  EXPECT_EQ(r.code, 0) << r.err;
  for (auto part : {"step", "eval/loss", "whole", "data=1,model=1", "a run continues from step-8",
                    "is the one of checkpoint.best"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
  EXPECT_EQ(of("list").out, r.out);
  EXPECT_NE(of("verify").out.find("step-2 is whole: "), std::string::npos);
  EXPECT_EQ(of("pin 2").code, 0);
  EXPECT_NE(of("").out.find("pinned"), std::string::npos);
  is_bad_input("checkpoints " + out + " rm 2", "is pinned; bora checkpoints");
  EXPECT_EQ(of("rm step-4").code, 0);
  EXPECT_FALSE(fs::exists(out + "/checkpoints/step-4"));
  is_bad_input("checkpoints " + out + " rm 4", "has no step 4; it has 2, 6, 8");
  r = of("diff 6 8");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("params."), std::string::npos) << r.out;
  EXPECT_NE(of("diff 6 " + out + "/checkpoints/step-6").out.find(" 0 differ"), std::string::npos);
  // A pinned one outlives what the run's next steps let go.
  train(out, "steps=14 checkpoint.every=2 keep=2 eval.every=4");
  std::vector<std::string> names;
  for (auto& e : fs::directory_iterator(out + "/checkpoints")) names.push_back(e.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"step-12", "step-14", "step-2"}));
  EXPECT_EQ(of("unpin 2").code, 0);
  EXPECT_EQ(of("rm 2").code, 0);
  EXPECT_EQ(of("rm 14").code, 0);
  is_bad_input("checkpoints " + out + " rm 12", "is the last one; no other is whole");
  train(out, "steps=14 checkpoint.every=2 keep=2 eval.every=4");  // from step 12
}
TEST_F(CheckpointsTest, SurvivesWhateverIsThere) {
  train(out, "steps=6 checkpoint.every=2 keep=9");
  auto root = out + "/checkpoints";
  std::ofstream(root + "/step-6/manifest", std::ios::app) << "x";
  fs::resize_file(root + "/step-4/rank-0", 10);
  for (auto name : {"step-9", ".step-3.tmp", ".step-1.tmp.gone", "damaged-step-5", "step-007", "step-x\nline",
                    "step--1"})
    fs::create_directories(root + "/" + name);
  std::ofstream(root + "/step-10") << "a file";
  std::ofstream(root + "/step-9/manifest") << std::string(3000, '\xff');
  auto r = of("");
  EXPECT_EQ(r.code, 0) << r.err;
  for (auto part : {"2 ", "damaged: ", "its file rank-0 has 10 bytes", ".step-3.tmp is being written",
                    ".step-1.tmp.gone is being removed", "damaged-step-5 was damaged", "step-007 is no checkpoint",
                    "step-x\\nline is no checkpoint", "with --resume good a run continues from step-2"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
  r = of("verify");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("3 of 4 are damaged"), std::string::npos) << r.err;
  is_bad_input("checkpoints " + out + " diff 2 6", "manifest");
  is_bad_input("checkpoints " + out + " rm 2", "no other is whole");
  EXPECT_EQ(of("rm 9").code, 0);
  is_bad_input("checkpoints " + out + " sweep", "'sweep' is none of list, verify");
  is_bad_input("checkpoints " + out + " pin", "pin STEP is meant, got 0 words");
  is_bad_input("checkpoints " + folder + "/nowhere", "there is no such folder");
  is_bad_input("checkpoints " + folder, "has no checkpoints");
}
TEST_F(CheckpointsTest, ARunBeginsWithAnothersParameters) {
  train(out, "steps=4 checkpoint.every=2");
  auto digest = [](const Result& r) {
    auto at = r.out.find("init digest ");
    return at == r.out.npos ? r.out + r.err : r.out.substr(r.out.find(": ", at), 66);
  };
  auto text = folder + "/text", data = " data=" + text + " batch=6 eval_rows=24 steps=0 out=" + folder;
  auto whole = run("train init_from=" + out + data + "/a");
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_NE(whole.out.find("taken from " + out + "/checkpoints/step-4: "), std::string::npos) << whole.out;
  auto same = run("launch -n 2 train init_from=" + out + "/checkpoints/step-4" + data + "/b");
  EXPECT_EQ(digest(same), digest(whole)) << same.out << same.err;
  auto older = run("train init_from=" + out + "/checkpoints/step-2" + data + "/c");
  EXPECT_EQ(older.code, 0) << older.err;
  EXPECT_NE(digest(older), digest(whole));
  // Another vocabulary: all but the table of tokens. It is strict unless told otherwise.
  is_bad_input("train init_from=" + out + data + "/d vocabulary=300", "give the model the sizes of that run");
  auto part = run("train init_from=" + out + data + "/d vocabulary=300 'init_from.only=[blocks]'");
  EXPECT_EQ(part.code, 0) << part.err;
  EXPECT_NE(part.out.find("not in it, initialised: "), std::string::npos) << part.out;
  is_bad_input("train init_from=" + out + data + "/e policy=p=bf16,c=bf16,o=f32", "init_from.cast=true");
  auto cast = run("train init_from=" + out + data + "/e policy=p=bf16,c=bf16,o=f32 init_from.cast=true");
  EXPECT_EQ(cast.code, 0) << cast.err;
  EXPECT_NE(cast.out.find("cast from another dtype: "), std::string::npos) << cast.out;
  is_bad_input("train init_from=" + out + data + "/f model=llama", "init_from has a model of type gpt2");
  auto renamed = " 'init_from.rename={ln_1: other, other: ln_1}'";
  auto r = run("train init_from=" + out + data + "/g" + renamed);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(digest(r), digest(whole));
  // Trained, continued and evaluated: it is a run like others. Adapters beside it read it each time.
  auto more = " data=" + text + " batch=6 eval_rows=24 out=" + folder;
  EXPECT_EQ(run("train init_from=" + out + more + "/h steps=3").code, 0);
  EXPECT_EQ(run("train " + folder + "/h/config.yaml steps=4").code, 0);
  r = run("train init_from=" + out + more + "/l lora.rank=2 steps=2");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = run("eval " + folder + "/l");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  is_bad_input("train init_from=" + folder + "/l" + data + "/m", "holds adapters only; bora export RUN DIR");
}
}  // namespace
}  // namespace checkpoints_test
