// Models on rows with padding left or right of the tokens, against transformers (tests/golden/models/make_padded.py):
// padding is not attended to, and the positions are those of each family.
#include <gtest/gtest.h>
#include <cmath>
#include "bora/io/npy.h"
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include "bora/train/trainer.h"
#include "support/places.h"

namespace padding_test {
using namespace bora;
using namespace bora::models;
namespace {
const std::string kFolders = test::source_dir() + "/tests/golden/models/";
}  // namespace
TEST(Padding, LogitsAndLossAreThoseOfTransformers) {
  auto golden = load_npz(kFolders + "padded.npz");
  int models = 0;
  for (auto& [entry, want] : golden) {
    if (!entry.ends_with(".logits")) continue;
    auto name = entry.substr(0, entry.size() - 7);
    SCOPED_TRACE(name);
    ++models;
    auto pretrained = Pretrained::open(kFolders + name);
    auto& ids = golden.at(name + ".ids");
    Axis batch{nn::kBatch, ids.shape(0)}, position{nn::kPosition, ids.shape(1)};
    training::Example e{.tokens = named(ids, {batch, position})};
    e.mask = named(golden.at(name + ".mask"), {batch, position});
    // The label of the next position is the target.
    auto labels = golden.at(name + ".labels").to_vector<std::int32_t>();
    std::vector<std::int32_t> targets(labels.size());
    std::vector<float> weights(labels.size());
    for (std::size_t i = 0; i + 1 < labels.size(); ++i) {
      if ((static_cast<std::int64_t>(i) + 1) % position.size == 0 || labels[i + 1] < 0) continue;
      targets[i] = labels[i + 1];
      weights[i] = 1;
    }
    e.targets = named(asarray(targets, ids.shape()), {batch, position});
    e.weights = named(asarray(weights, ids.shape()), {batch, position});
    for (auto [data, parts] : {std::pair{1, 1}, {2, 2}})
      local_mesh({{"data", data}, {"model", parts}}, [&](const Mesh& mesh) {
        auto mappings = layout_mappings(parse_layout("fsdp+tp"), mesh.shape());
        UseMapping split(mappings.compute);
        auto scorer = pretrained.model->scorer({pretrained.vocabulary}, mappings.storage, random::key(1));
        load_pretrained(scorer->parameters(), pretrained.folder, *pretrained.model, pretrained.vocabulary);
        auto scores = scorer->scores(e).array().to_vector<double>();
        auto loss = scorer->loss(e).array().item<double>();
        if (mesh.rank() != 0) return;
        auto mask = golden.at(name + ".mask").to_vector<std::int32_t>();
        auto numbers = want.to_vector<double>();
        auto vocabulary = static_cast<std::size_t>(pretrained.vocabulary);
        double most = 0, count = 0;
        for (std::size_t i = 0; i < numbers.size(); ++i)
          if (mask[i / vocabulary] == 1) most = std::max(most, std::abs(scores[i] - numbers[i]));
        for (auto w : weights) count += static_cast<double>(w);
        EXPECT_LT(most, 1e-4);
        EXPECT_NEAR(loss / count, golden.at(name + ".loss").item<double>(), 1e-5);
      });
  }
  EXPECT_EQ(models, 14);
}
}  // namespace padding_test
