// A small Llama against its formulas in JAX: losses and gradient norms over three AdamW steps
// (tests/golden/make_llama.py).
#include <gtest/gtest.h>
#include <cmath>
#include <fstream>
#include <sstream>
#include "bora/models/lm.h"
#include "bora/optim/config.h"
#include "bora/train/trainer.h"
#include "models/small.h"
#include "support/places.h"

namespace llama_golden_test {
using namespace bora;
TEST(LlamaGolden, ThreeSteps) {
  constexpr std::int64_t batch = 3, positions = 8, vocabulary = 13;
  auto model = test::model_of(
      "llama", {"layers=2", "embed=16", "heads=4", "kv_heads=2", "hidden=24", "positions=8"});
  optim::AdamWConfig adamw{
      .lr = 1e-2, .clip = 0, .schedule = {.shape = optim::ScheduleConfig::Shape::constant, .warmup = 0}};
  auto rate = adamw.schedule.make(adamw.lr, 3);
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
    auto t = model->trainable({vocabulary, {}, StepOptions{.optimizer = adamw.make(rate), .learning_rate = rate}});
    t->init(random::key(0));
    double k = 0;
    for (auto& slot : tree::slots(t->parameters())) {
      auto& leaf = slot.leaf.get();
      bool norm = slot.path.find("norm") != std::string::npos;
      std::vector<float> v(static_cast<std::size_t>(leaf.size()));
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = static_cast<float>((norm ? 0.2 : 0.3) * std::sin(k + 0.37 * static_cast<double>(i)) + (norm ? 1 : 0));
      slot.leaf.set(asarray(v, leaf.shape()));
      ++k;
    }
    EXPECT_EQ(k, 12);
    auto rows = data::Rows::zeros(0, batch, {positions});
    for (std::int64_t i = 0; i < batch * positions; ++i) {
      auto at = static_cast<std::size_t>(i);
      rows.tokens[at] = static_cast<std::int32_t>(i * 7 % vocabulary);
      rows.targets[at] = static_cast<std::int32_t>((i + 1) * 7 % vocabulary);
      rows.weights[at] = i % 5 == 4 ? 0 : 1;
    }
    std::ifstream file(test::source_dir() + "/tests/golden/llama.txt");
    int steps = 0;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("#")) continue;
      std::istringstream in(line);
      double step = 0, loss = 0, norm = 0;
      in >> step >> loss >> norm;
      auto r = t->step(make_batch(rows, batch, mesh)).to_vector<float>();
      EXPECT_NEAR(r[0] / loss, 1, 1e-5) << line;
      EXPECT_NEAR(r[1] / norm, 1, 2e-5) << line;
      ++steps;
    }
    EXPECT_EQ(steps, 3);
  });
}
}  // namespace llama_golden_test
