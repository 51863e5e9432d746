// NaN and infinities among parameters: results that they spoil are errors that name the first of them.
#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include <limits>
#include "base/api/file.h"
#include "bora/io/checkpoint.h"
#include "bora/io/npy.h"
#include "bora/io/safetensors.h"
#include "bora/job/hugging_face.h"
#include "bora/job/job.h"
#include "bora/job/sampling.h"
#include "bora/job/scoring.h"
#include "bora/job/trained_run.h"
#include "bora/models/model.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/random/random.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace bora::job::not_finite_test {
namespace {
using bora::test::error_of;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
struct SavedRun {
  test::TempFolder folder;
  std::string out = folder / "run", text = folder.write("text.txt", words());
  std::map<std::string, std::string> notes;
  struct Kept {
    std::string path;
    Type type;
    std::vector<float> numbers;  // or the bytes of others
  };
  std::vector<Kept> leaves;
  static std::string words() {
    std::string t;
    for (int i = 0; i < 100; ++i) t += "line " + std::to_string(i) + " of a short text\n";
    return t;
  }
  explicit SavedRun(const std::vector<std::string>& more = {}) {
    std::vector<std::string> items = {"data=" + text, "out=" + out, "batch=4", "steps=1", "eval.rows=4",
                                      "model={type: llama, layers: 2, embed: 8, heads: 2, positions: 8, hidden: 8}",
                                      "log.digest=false"};
    items.insert(items.end(), more.begin(), more.end());
    EXPECT_EQ(train(Job::open(load_settings("", items))), 0);
    auto at = io::list_checkpoints(out + "/checkpoints").back().folder;
    auto m = io::read_manifest(at);
    notes = m.notes;
    std::vector<io::Leaf> all;
    for (auto& leaf : m.leaves) leaves.push_back({leaf.path, leaf.type, {}});
    for (auto& leaf : leaves) {
      auto bytes = static_cast<std::size_t>(volume(leaf.type.shape)) * dtype_size(leaf.type.dtype);
      leaf.numbers.resize((bytes + sizeof(float) - 1) / sizeof(float));  // counters have wider numbers
      all.push_back({leaf.path, leaf.type, Spec::replicated(leaf.type.shape.size()), leaf.numbers.data()});
    }
    io::restore_checkpoint(at, all, {});
  }
  /// Writes the checkpoint with these numbers in place of the run's.
  void write(std::vector<Kept> changed) const {
    std::vector<io::Leaf> all;
    for (auto& leaf : changed)
      all.push_back({leaf.path, leaf.type, Spec::replicated(leaf.type.shape.size()), leaf.numbers.data()});
    fs::remove_all(out + "/checkpoints");
    io::save_checkpoint(out + "/checkpoints", 1, all, {}, notes);
  }
  std::string evaluation() const {
    return error_of<ValueError>([&] { (void)evaluate(TrainedRun{out}); });
  }
};
TEST(NotFinite, EvaluationNamesTheParameter) {
  SavedRun run;
  EXPECT_EQ(run.evaluation(), "no error");
  int tried = 0;
  for (std::size_t i = 0; i < run.leaves.size(); ++i) {
    auto changed = run.leaves;
    auto& leaf = changed[i];
    if (!leaf.path.starts_with("params.")) continue;
    leaf.numbers.back() = tried % 2 == 0 ? kNaN : -kInf;
    if (leaf.path.starts_with("params.wte")) leaf.numbers.assign(leaf.numbers.size(), kNaN);  // the last byte is rare
    run.write(changed);
    auto e = run.evaluation(), name = "the parameter '" + leaf.path.substr(7) + "' is ";
    EXPECT_NE(e.find("eval: eval/loss is not finite: " + name), e.npos) << leaf.path << ": " << e;
    EXPECT_NE(e.find("in Hugging Face's files model."), leaf.path.find("lm_head") == e.npos ? e.npos : 0) << e;
    ++tried;
  }
  EXPECT_EQ(tried, 12);
  // The first of several, and its place.
  auto changed = run.leaves;
  for (auto& leaf : changed)
    if (leaf.path.ends_with("mlp.up.weight")) leaf.numbers[8 * 8 + 3 * 8 + 5] = kNaN, leaf.numbers.back() = kInf;
  run.write(changed);
  EXPECT_NE(run.evaluation().find("'blocks.layer.mlp.up.weight' is nan at [1, 3, 5], in Hugging Face's files "
                                  "model.layers.1.mlp.up_proj.weight"),
            std::string::npos)
      << run.evaluation();
}
TEST(NotFinite, ScoresAndLossesOfFiles) {
  SavedRun run;
  auto changed = run.leaves;
  for (auto& leaf : changed)
    if (leaf.path == "params.norm.weight") leaf.numbers[2] = kNaN;
  run.write(changed);
  auto ids = run.folder / "ids.npy";
  save_npy(ids, reshape(arange(8), {2, 4}).astype(i32));
  ScoreFiles files{.run = {run.out}, .ids = ids};
  auto scores = [](models::Scorer& m, const training::Example& e, const Mesh&) { return (void)all_scores(m, e), 0; };
  auto loss = [](models::Scorer& m, const training::Example& e, const Mesh&) { return (void)mean_loss(m, e), 0; };
  EXPECT_EQ(error_of([&] { on_example(files, "", "logits", scores); }),
            run.out + ": logits: the scores are not finite: the parameter 'norm.weight' is nan at [2], in Hugging "
                      "Face's files model.norm.weight");
  EXPECT_EQ(error_of([&] { on_example(files, ids, "loss", loss); }),
            run.out + ": loss: it is not finite: the parameter 'norm.weight' is nan at [2], in Hugging Face's files "
                      "model.norm.weight");
}
TEST(NotFinite, AdaptersAndFoldersThatARunBeginsWith) {
  SavedRun tuned({"lora.rank=2"});
  auto changed = tuned.leaves;
  for (auto& leaf : changed)
    if (leaf.path == "params.blocks.layer.mlp.up.lora.b") leaf.numbers[0] = kNaN;
  tuned.write(changed);
  EXPECT_NE(tuned.evaluation().find("'blocks.layer.mlp.up.lora.b' is nan at [0, 0, 0]"), std::string::npos)
      << tuned.evaluation();
  SavedRun run;
  auto llama = run.folder / "llama";
  EXPECT_EQ(export_run({run.out}, {.to = llama, .format = "hf"}), 0);
  auto files = Safetensors::open(llama);
  std::map<std::string, Array> tensors;
  for (auto& name : files.names()) tensors[name] = files.read(name);
  tensors["model.layers.1.mlp.up_proj.weight"] = full({8, 8}, kNaN);
  save_safetensors(llama, tensors);
  auto begun = error_of([&] {
    train(Job::open(load_settings("", {"data=" + run.text, "out=" + run.folder / "begun", "init_from=" + llama,
                                       "model={type: llama, layers: 2, embed: 8, heads: 2, positions: 8, hidden: 8}",
                                       "batch=4", "steps=2", "log.digest=false", "tokenizer.type=bytes"})));
  });
  EXPECT_EQ(begun, "training: the validation loss before the first step is not finite: 'blocks.layer.mlp.up.weight' is "
                   "nan at [1, 0, 0]");
}
TEST(NotFinite, SamplingChoosesNoToken) {
  auto key = random::key(1);
  for (auto& how : {Sampling{}, Sampling{.temperature = 0}, Sampling{.top_p = 0.5}, Sampling{.top_k = 2},
                    Sampling{.tokens = 3}}) {
    auto token = [&](std::vector<float> scores) { return how(asarray(scores), key).item<std::int32_t>(); };
    for (auto bad : {kNaN, kInf})
      for (std::size_t i = 0; i < 3; ++i) {
        std::vector<float> scores{0, 1, 2, 3};
        scores[i] = bad;
        EXPECT_EQ(token(scores), Sampling::kNotFinite) << bad << " " << i;
      }
    EXPECT_EQ(token({-kInf, -kInf, -kInf, -kInf}), Sampling::kNotFinite);
    EXPECT_GE(token({-kInf, 1, 2, 3}), 1);  // a token that cannot come
  }
}
}  // namespace
}  // namespace bora::job::not_finite_test
