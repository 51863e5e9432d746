// bigram.h -- the trainer with a model of two matrices: bytes -> vectors -> scores of the next byte.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include "bora/named/random.h"
#include "bora/optim/config.h"
#include "bora/track/metrics.h"
#include "bora/train/trainer.h"
#include "support/temp_folder.h"

namespace bora {
struct Bigram {
  NamedArray table, out;  // [vocab, embed], [embed, next]
};
constexpr std::int64_t kPositions = 8;
/// times: of its loss.
inline TrainTask<Bigram> bigram(double times = 1) {
  return {[](const Array& key) {
            auto keys = random::split<2>(key);
            Axis vocab{"vocab", 256}, embed{"embed", 6}, next{"next", 256};
            return Bigram{random::normal(keys[0], {vocab, embed}) * 0.1, random::normal(keys[1], {embed, next}) * 0.1};
          },
          [times](const Bigram& m, const training::Example& e, const std::optional<Array>&) {
            auto scores = dot(take(m.table, "vocab", e.tokens), m.out, "embed");
            auto loss = sum(nn::cross_entropy(scores, "next", e.targets) * e.weights);
            return times == 1 ? loss : loss * times;
          }};
}
/// A run of the loop, and how its model is trained.
struct Job : LoopSettings {
  std::int64_t accumulate = 1;
  optim::AdamWConfig optimizer = {.lr = 0.05, .schedule = {.warmup = 2}};
  std::optional<optim::LossScaleOptions> loss_scale = none;
  double loss_times = 1;
};
inline std::unique_ptr<Trainable> bigram_trainable(const Job& s, const MeshShape& mesh) {
  auto rate = s.optimizer.schedule.make(s.optimizer.lr, s.steps);
  auto optimizer = s.optimizer.make(rate);
  return trainable(bigram(s.loss_times),
                   {.optimizer = s.loss_scale ? optim::loss_scale(optimizer, *s.loss_scale) : optimizer,
                    .learning_rate = rate,
                    .accumulate = s.accumulate,
                    .storage = layout_mappings(parse_layout(s.layout), mesh).storage,
                    .leaf_norms = s.norms.every > 0});
}
struct TrainerTest : testing::Test {
  test::TempFolder temp;
  std::string folder = temp.path();
  Job settings;
  data::Datasets data;
  TrainerTest() {
    std::ofstream text(folder + "/text");
    for (int i = 0; i < 600; ++i) text << "line " << i * i * 7 << " of the text\n\n";
    text.close();
    open();
    settings.out = folder + "/out";
    settings.layout = "fsdp";
    settings.policy = "f32";
    settings.steps = 6;
    settings.batch = 12;
    settings.eval.rows = 20;
  }
  void open() {
    config::Choice<data::Data> source("text");
    *source.edit().paths()[0] = folder + "/text";
    config::Choice<text::TokenizerKind> tokenizer;
    data = source->open({tokenizer->open(), kPositions});
  }
  /// Losses of a whole run on this mesh; the hooks are those of rank 0.
  std::vector<double> run(const Job& s, int ranks, const std::vector<Hook>& hooks = {}) {
    return run_each(s, ranks, [&](const Mesh& mesh) { return mesh.rank() == 0 ? hooks : std::vector<Hook>(); });
  }
  /// The same with hooks for each rank.
  std::vector<double> run_each(const Job& s, int ranks, const std::function<std::vector<Hook>(const Mesh&)>& hooks) {
    return run_on(s, {{"data", ranks}, {"model", 1}}, hooks);
  }
  std::vector<double> run_on(const Job& s, const std::vector<MeshAxis>& axes,
                             const std::function<std::vector<Hook>(const Mesh&)>& hooks) {
    std::filesystem::create_directories(s.out);
    testing::internal::CaptureStdout();
    local_mesh(axes, [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout(s.layout), mesh.shape()).compute);
      auto model = bigram_trainable(s, mesh.shape());
      LoopSettings loop = s;
      loop.hooks = hooks(mesh);
      EXPECT_EQ(run_training(*model, data, loop, mesh), 0);
    });
    printed = testing::internal::GetCapturedStdout();
    return losses(s.out);
  }
  static std::vector<double> losses(const std::string& out, const std::string& name = "train/loss") {
    std::vector<double> r;
    for (auto& p : track::read_curve(out + "/metrics.jsonl", name)) r.push_back(p.y);
    return r;
  }
  std::string printed;
};
}  // namespace bora
