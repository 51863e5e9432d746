// examples/gpt_jsonl.yaml as its comment says: a tokenizer of its own, two sources, packing; on one rank and on two,
// and over an interruption.
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace jsonl_example_test {
using namespace bora;
namespace {
struct JsonlExampleTest : CommandTest {
  /// Losses of each step, and the last one on held-out rows.
  static std::vector<double> losses(const Result& r) {
    std::vector<double> all;
    std::istringstream in(r.out);
    for (std::string line; std::getline(in, line);)
      for (std::string word : {"  loss ", "val loss: "})
        if (auto at = line.find(word); at != line.npos) all.push_back(std::stod(line.substr(at + word.size())));
    return all;
  }
};
}  // namespace

TEST_F(JsonlExampleTest, TrainsOnOneRankAndOnTwoAndResumes) {
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    auto n = std::to_string(i * 7919 % 997);
    text += "Rank " + n + " met rank " + std::to_string(i % 31) + " and said: \"" + n + " steps are enough.\"\n%\n";
  }
  std::ofstream(folder + "/fortunes") << text;
  auto source = test::source_dir();
  auto made =
      std::system((source + "/examples/make_jsonl " + folder + "/f.jsonl " + folder + "/fortunes > /dev/null").c_str());
  ASSERT_EQ(made, 0);
  auto trained = run("train-tokenizer --type bpe --vocab 400 --out " + folder + "/t.json " + folder + "/fortunes");
  ASSERT_EQ(trained.code, 0) << trained.err;
  auto settings = " " + source + "/examples/gpt_jsonl.yaml tokenizer.path=" + folder +
                  "/t.json \"data.sources=[{type: jsonl, path: " + folder +
                  "/f.jsonl, weight: 3}, {type: text, path: " + folder + "/fortunes}]\" data.cache=" + folder +
                  "/cache model.layers=1 model.embed=32 model.positions=32 log_every=1 eval_every=0 warmup=5";
  auto one = run("train" + settings + " steps=20 checkpoint_every=10 out=" + folder + "/one");
  ASSERT_EQ(one.code, 0) << one.err;
  auto two = run("launch -n 2 train" + settings + " steps=20 out=" + folder + "/two");
  ASSERT_EQ(two.code, 0) << two.err;
  auto a = losses(one), b = losses(two);
  ASSERT_EQ(a.size(), 22U) << one.out;
  ASSERT_EQ(b.size(), a.size()) << two.out;
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * a[i]) << i;
  EXPECT_LT(a.back(), a.front() - 0.1);
  // From the tenth step on, the same bits.
  fs::remove_all(folder + "/one/checkpoints/step-20");
  auto again = run("train" + settings + " steps=20 checkpoint_every=10 out=" + folder + "/one");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("continuing from step 10"), std::string::npos) << again.out;
  auto c = losses(again);
  ASSERT_EQ(c.size(), 12U) << again.out;
  for (std::size_t i = 1; i < c.size(); ++i) EXPECT_EQ(c[i], a[i + 10]) << i;
}
}  // namespace jsonl_example_test
