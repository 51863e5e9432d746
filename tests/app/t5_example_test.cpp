// examples/t5_spans.yaml as its comment says: a tokenizer with sentinels, the same losses on one rank, two and four,
// text from the decoder; and what goes with an encoder only.
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace t5_example_test {
using namespace bora;
namespace {
struct T5ExampleTest : CommandTest {};
}  // namespace

TEST_F(T5ExampleTest, TrainsTheSameOnAllMeshesAndGenerates) {
  std::string text, special;
  for (int i = 0; i < 3000; ++i) {
    auto n = std::to_string(i * 7919 % 997);
    text += "Rank " + n + " met rank " + std::to_string(i % 31) + " and said: \"" + n + " steps are enough.\"\n%\n";
  }
  std::ofstream(folder + "/fortunes") << text;
  for (std::string token : {"<pad>", "</s>", "<extra_id_3>", "<extra_id_2>", "<extra_id_1>", "<extra_id_0>"})
    special += " --special '" + token + "'";
  auto trained =
      run("train-tokenizer --type bpe --vocab 400 --out " + folder + "/t.json" + special + " " + folder + "/fortunes");
  ASSERT_EQ(trained.code, 0) << trained.err;
  auto file = test::source_dir() + "/examples/t5_spans.yaml";
  auto settings = " " + file + " tokenizer.path=" + folder + "/t.json \"data.sources=[{type: text, path: " + folder +
                  "/fortunes}]\" data.cache=" + folder +
                  "/cache model.embed=32 model.positions=24 optimizer.min_dim_size_to_factor=16 steps=12 log_every=1 "
                  "eval_every=0 warmup=5";
  std::vector<double> want;
  for (std::string mesh : {"train", "launch -n 2 train mesh.data=2", "launch -n 2 train layout=tp",
                           "launch -n 4 train mesh.data=2 mesh.model=2"}) {
    auto words = mesh.find("train") + 5;
    auto out = folder + "/run" + std::to_string(runs);
    auto r = run(mesh.substr(0, words) + settings + mesh.substr(words) + " out=" + out);
    ASSERT_EQ(r.code, 0) << mesh << "\n" << r.err;
    auto got = losses(out);
    ASSERT_EQ(got.size(), 12U) << mesh << "\n" << r.out;
    if (want.empty()) want = got;
    for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(got[i], want[i], 1e-5 * want[i]) << mesh << " step " << i + 1;
  }
  EXPECT_LT(want.back(), want.front() - 0.2);
  auto run_folder = folder + "/run1";
  auto one = run("generate " + run_folder + " --prompt 'Rank <extra_id_0> met' --length 12 --temperature 0");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out.find("Rank <extra"), std::string::npos) << "the prompt is the encoder's: " << one.out;
  auto again = run("generate " + run_folder + " --prompt 'Rank <extra_id_0> met' --length 12 --temperature 0");
  EXPECT_EQ(again.out, one.out);
  auto exported = run("export " + run_folder + " " + folder + "/hf");  // as umT5
  EXPECT_EQ(exported.code, 0) << exported.err;
  auto imported = run("generate " + folder + "/hf --prompt 'Rank <extra_id_0> met' --length 12 --temperature 0");
  EXPECT_EQ(imported.out, one.out) << imported.err;
  auto eval = run("eval " + run_folder);
  EXPECT_EQ(eval.code, 0) << eval.err;
  is_bad_input("train" + settings + " model.decoder_start=7 out=" + folder + "/x", "set model.decoder_start=0");
  auto words = " tokenizer.type=bpe tokenizer.path=" + folder + "/t.json out=" + folder + "/x ";
  auto sources = "\"data.sources=[{type: text, path: " + folder + "/fortunes}]\"";
  for (std::string command : {"train", "launch -n 2 train", "plan"})
    is_bad_input(command + words + sources + " model=t5", "no inputs for the encoder of the model t5");
  for (std::string command : {"train", "launch -n 2 train", "plan"})
    is_bad_input(command + words + sources + " data.task=spans", "model gpt2 has no encoder; choose a task such as lm");
}
}  // namespace t5_example_test
