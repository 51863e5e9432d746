// examples/bert_reviews.yaml as its comment says, whose answer is known; the same losses on two ranks; classes and
// vectors of lines, from the run and from the folder that it is exported to; and what goes with other models only.
#include "bora/io/npy.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace classify_example_test {
using namespace bora;
namespace {
struct ClassifyExampleTest : CommandTest {
  Result on_lines(const std::string& words, const std::string& lines) {
    std::ofstream(folder + "/lines.txt") << lines;
    return run(words + " < " + folder + "/lines.txt");
  }
  static std::string file_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};
}  // namespace

TEST_F(ClassifyExampleTest, LearnsWhatNoSingleWordSays) {
  auto source = test::source_dir();
  ASSERT_EQ(std::system((source + "/examples/make_reviews " + folder + " > /dev/null").c_str()), 0);
  auto trained = run("train-tokenizer --type bpe --vocab 400 --out " + folder + "/tokenizer.json " + folder +
                     "/reviews.txt");
  ASSERT_EQ(trained.code, 0) << trained.err;
  auto settings = " " + source + "/examples/bert_reviews.yaml tokenizer.path=" + folder +
                  "/tokenizer.json \"data.sources=[{type: jsonl, path: " + folder + "/reviews.jsonl}]\"";
  auto one = run("train" + settings + " out=" + folder + "/run");
  ASSERT_EQ(one.code, 0) << one.err;
  auto eval = run("eval " + folder + "/run");
  EXPECT_EQ(eval.code, 0) << eval.err;
  EXPECT_NE(eval.out.find("eval/accuracy: 1\n"), eval.out.npos) << eval.out;
  EXPECT_NE(eval.out.find("eval/macro_f1: 1\n"), eval.out.npos) << eval.out;
  EXPECT_EQ(eval.out.find("bits_per_byte"), eval.out.npos) << eval.out;
  EXPECT_NE(file_of(folder + "/run/metrics.jsonl").find("\"eval/accuracy\":"), std::string::npos);

  auto lines = "the song was not dull\nthe song was dull\n\na meal that is great\n"
               "we saw the play and it was not fine\n";
  auto said = on_lines("classify " + folder + "/run", lines);
  ASSERT_EQ(said.code, 0) << said.err;
  std::vector<std::string> labels;
  std::istringstream in(said.out);
  for (std::string line; std::getline(in, line);) {
    auto at = line.find("\"label\":\"") + 9;
    labels.push_back(line.substr(at, line.find('"', at) - at));
  }
  ASSERT_EQ(labels.size(), 5U) << said.out;
  labels.erase(labels.begin() + 2);  // of the empty line
  EXPECT_EQ(labels, (std::vector<std::string>{"good", "bad", "good", "bad"})) << said.out;

  auto exported = run("export " + folder + "/run " + folder + "/hf");
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_NE(file_of(folder + "/hf/config.json").find("BertForSequenceClassification"), std::string::npos);
  EXPECT_EQ(on_lines("classify " + folder + "/hf", lines).out, said.out);

  for (std::string words : {"", " --pool first --normalize"}) {
    auto vectors = on_lines("embed " + folder + "/run" + words + " > " + folder + "/x.npy", lines);
    EXPECT_EQ(vectors.code, 0) << vectors.err;
    auto x = load_npy(folder + "/x.npy");
    EXPECT_EQ(x.shape(), (Shape{5, 64}));
    auto length = sum(x * x, -1).to_vector<float>();
    for (auto l : length) EXPECT_TRUE(words.empty() || std::abs(l - 1) < 1e-5F) << l;
  }
  auto few = settings + " steps=6 log_every=1 eval_every=0 out=" + folder;
  ASSERT_EQ(run("train" + few + "/a").code, 0);
  ASSERT_EQ(run("launch -n 2 train" + few + "/b").code, 0);
  auto a = losses(folder + "/a"), b = losses(folder + "/b");
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * a[i]) << i;

  is_bad_input("generate " + folder + "/run --prompt a", "bert is an encoder, which has no next tokens");
  is_bad_input("train" + settings + " data.task=lm out=" + folder + "/x", "choose a task such as mlm");
  is_bad_input("train" + settings + " model.head=mlm model.labels=[] out=" + folder + "/x",
               "data.task: its rows have classes to predict, and the model bert predicts tokens");
  is_bad_input("train" + settings + " model.labels=[no,yes] out=" + folder + "/x",
               "is no label of the model (model.labels), which tells 2 apart: no, yes");
  is_bad_input("train" + few + "/x eval.metric=accuracy eval.patience=2 eval_every=2 steps=4",
               "accuracy grows as the model learns");
}
}  // namespace classify_example_test
