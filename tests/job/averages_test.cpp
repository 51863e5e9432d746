// --ema: the mean of a run's parameters in place of the parameters, whatever stands around it in the optimizer's state.
#include <gtest/gtest.h>
#include <cmath>
#include <map>
#include "bora/bora.h"
#include "bora/io/checkpoint.h"
#include "bora/job/hugging_face.h"
#include "bora/job/job.h"
#include "bora/job/trained_run.h"
#include "job/averages.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace bora::job::averages_test {
namespace {
using bora::test::error_of;
using Values = std::map<std::string, std::vector<double>>;
struct EmaRun {
  test::TempFolder folder;
  std::string out = folder / "run";
  explicit EmaRun(const std::vector<std::string>& more) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "line " + std::to_string(i) + " of a short text\n";
    std::vector<std::string> items = {"data=" + folder.write("text.txt", text), "out=" + out, "batch=4", "steps=3",
                                      "model={type: gpt2, layers: 1, embed: 8, heads: 2, positions: 16}",
                                      "lr=0.05", "warmup=0", "eval.rows=8", "log.digest=false",
                                      "checkpoint={every: 1, keep: 5}"};
    items.insert(items.end(), more.begin(), more.end());
    EXPECT_EQ(train(Job::open(load_settings("", items))), 0);
  }
  std::string step(int n) const { return out + "/checkpoints/step-" + std::to_string(n); }
  /// The parameters of a step; with the mean in their place.
  Values parameters(int n, std::optional<double> decay = {}, Dtype dtype = f32) const {
    std::map<std::string, Array> all;
    for (auto& leaf : io::read_manifest(step(n)).leaves)
      if (leaf.path.starts_with("params.")) all[leaf.path.substr(7)] = zeros(leaf.type.shape, leaf.type.dtype);
    io::restore_leaves(tree::node(all), step(n), io::place_here(), "params");
    if (decay) take_averages(tree::node(all), step(n), *decay, io::place_here());
    Values v;
    for (auto& [path, x] : all) {
      EXPECT_EQ(x.dtype(), dtype);
      v[path] = x.to_vector<double>();
    }
    return v;
  }
};
TEST(Averages, AreTheMeanOfTheStepsParameters) {
  for (auto more : {"optimizer.multi_steps=1", "optimizer.skip_not_finite=2"}) {
    EmaRun run({"optimizer.ema=0.6", more});
    auto mean = run.parameters(3, 0.6), last = run.parameters(3);
    for (auto& [path, x] : mean)
      for (std::size_t i = 0; i < x.size(); ++i) {
        double sum = 0;
        for (int k = 1; k <= 3; ++k) sum += 0.4 * std::pow(0.6, 3 - k) * run.parameters(k)[path][i];
        ASSERT_NEAR(x[i], sum / (1 - std::pow(0.6, 3)), 1e-6) << path;
        if (i > 2) break;
      }
    EXPECT_NE(mean, last);
    auto plain = evaluate(TrainedRun{run.out}), averaged = evaluate(TrainedRun{.run = run.out, .ema = true});
    EXPECT_TRUE(std::isfinite(averaged.values[0].second));
    EXPECT_NE(plain.values[0].second, averaged.values[0].second);
    auto narrow = evaluate(TrainedRun{.run = run.out, .weights = "bf16", .ema = true});
    EXPECT_NEAR(narrow.values[0].second, averaged.values[0].second, 0.05);
    EXPECT_EQ(export_run({.run = run.out, .ema = true}, {.to = run.folder / "hf"}), 0);
    auto exported = evaluate(TrainedRun{run.folder / "hf", {"data=" + (run.folder / "text.txt"), "tokenizer=bytes",
                                                             "batch=4", "eval.rows=8"}});
    EXPECT_NEAR(exported.values[0].second, averaged.values[0].second, 1e-5);
    std::filesystem::remove_all(run.folder / "hf");
  }
}
TEST(Averages, OfAdaptersAndOfParametersInBf16) {
  EmaRun adapters({"optimizer.ema=0.6", "lora.rank=2"});
  auto plain = evaluate(TrainedRun{adapters.out}), averaged = evaluate(TrainedRun{.run = adapters.out, .ema = true});
  EXPECT_NE(plain.values[0].second, averaged.values[0].second);
  EmaRun frozen({"optimizer.ema=0.6", "freeze=[wte]"});
  auto mean = frozen.parameters(3, 0.6), last = frozen.parameters(3);
  EXPECT_EQ(mean["wte.weight"], last["wte.weight"]);
  EXPECT_NE(mean, last);
  EmaRun narrow({"optimizer.ema=0.6", "policy=p=bf16,c=f32,o=f32"});
  EXPECT_NE(narrow.parameters(3, 0.6, bf16), narrow.parameters(3, {}, bf16));
}
TEST(Averages, ARunWithoutOneIsAnError) {
  EmaRun run({});
  EXPECT_EQ(error_of<ConfigError>([&] { (void)evaluate(TrainedRun{.run = run.out, .ema = true}); }),
            "--ema: " + run.out + " keeps no mean of its parameters; train with optimizer.ema=0.999");
  EXPECT_NE(error_of<ConfigError>([&] { (void)run.parameters(3, 0.5); }).find("has no mean of the parameters"),
            std::string::npos);
}
}  // namespace
}  // namespace bora::job::averages_test
