// Mixtral beyond what the laws of models and of Hugging Face's folders say: experts over ranks, the routers' loss,
// tensors of experts that are missing.
#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include "bora/io/safetensors.h"
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include "bora/optim/optim.h"
#include "bora/train/trainer.h"
#include "models/small.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace mixtral_test {
using namespace bora;
using namespace bora::models;
namespace {
using bora::test::kVocabulary;
constexpr std::int64_t kRows = 4, kPositions = 8;
config::Choice<Model> small(std::vector<std::string> items) {
  for (auto common : {"layers=2", "embed=16", "heads=4", "positions=8", "hidden=12"}) items.emplace_back(common);
  return test::model_of("mixtral", items);
}
GlobalBatch batch(const Mesh& mesh) {
  auto mine = rows_of_rank(kRows, mesh);
  return make_batch(test::rows_of_tokens(mine.begin, mine.end, {.positions = kPositions}), kRows, mesh);
}
struct Split {
  std::vector<MeshAxis> mesh;
  AxisMapping mapping;
};
std::vector<float> losses(const Model& model, const Split& s, std::int64_t accumulate = 1) {
  std::vector<float> r;
  local_mesh(s.mesh, [&](const Mesh& mesh) {
    UseMapping split(s.mapping);
    auto t = model.trainable({kVocabulary,
                              {},
                              StepOptions{.optimizer = optim::sgd({.learning_rate = 0.1}),
                                          .learning_rate = optim::constant_schedule(0.1),
                                          .accumulate = accumulate,
                                          .storage = s.mapping}});
    t->init(random::key(5));
    auto b = batch(mesh);
    for (int step = 0; step < 3; ++step) {
      auto report = t->step(b).to_vector<float>();
      if (mesh.rank() == 0) r.push_back(report[0]);
    }
  });
  return r;
}
const Rule kExperts{"experts", "model"}, kBatch{"batch", "data"}, kHeads{"heads", "model"}, kVocab{"vocab", "model"};

TEST(Mixtral, ExpertsOverRanksAreThoseOfOne) {
  for (std::int64_t accumulate : {1, 2}) {
    auto model = small({"experts=4", "router_loss=0.1", "router_z_loss=0.01"});
    auto want = losses(*model, {{{"data", 1}}, {}}, accumulate);
    EXPECT_LT(want[2], want[0]);
    for (auto& s : {Split{{{"model", 2}}, {kExperts}}, Split{{{"model", 3}}, {kExperts}},
                    Split{{{"model", 4}}, {kExperts, kHeads, kVocab}},
                    Split{{{"data", 2}, {"model", 2}}, {kExperts, kHeads, kVocab, kBatch}}}) {
      auto got = losses(*model, s, accumulate);
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-5) << s.mesh.size() << " " << i;
    }
  }
}
TEST(Mixtral, TheRoutersLossIsAddedInTraining) {
  auto first = [](const std::vector<std::string>& items) {
    return static_cast<double>(losses(*small(items), {{{"data", 1}}, {}})[0]);
  };
  auto plain = first({"router_loss=0"}), one = first({"router_loss=1"}), two = first({"router_loss=2"});
  EXPECT_NEAR(one - plain, 2, 0.2) << "a young router is nearly even: 2 experts a token";
  EXPECT_NEAR(two - plain, 2 * (one - plain), 1e-4);
  auto z = first({"router_loss=0", "router_z_loss=1"});
  EXPECT_NEAR(z - plain, std::pow(std::log(8), 2), 0.5) << "8 nearly equal scores";
}
TEST(Mixtral, AnExpertThatIsMissingIsNamed) {
  auto golden = test::source_dir() + "/tests/golden/models/mixtral";
  test::TempFolder temp;
  auto folder = temp.path();
  fs::copy_file(golden + "/config.json", folder + "/config.json");
  auto files = Safetensors::open(golden);
  std::map<std::string, Array> tensors;
  auto gone = "model.layers.1.block_sparse_moe.experts.2.w3.weight";
  for (auto& name : files.names())
    if (name != gone) tensors[name] = files.read(name);
  save_safetensors(folder, tensors);
  auto p = Pretrained::open(folder);
  test::says<CheckpointError>([&] { check_pretrained(folder, *p.model, p.vocabulary); },
                              std::string(gone) + ": there is no such tensor");
}
TEST(Mixtral, SettingsAreChecked) {
  auto problem = [](const std::vector<std::string>& items) {
    return test::error_of<ConfigError>([&] { (void)small(items); });
  };
  EXPECT_NE(problem({"experts=2", "chosen=3"}).find("a token passes 3 of model.experts 2"), std::string::npos);
  EXPECT_NE(problem({"router_loss=-1"}).find("router_loss"), std::string::npos);
  EXPECT_EQ(problem({"experts=1", "chosen=1"}), "no error");
}
}  // namespace
}  // namespace mixtral_test
