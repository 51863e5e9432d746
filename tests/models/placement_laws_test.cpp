// Models on every preset and under own rules: the same initial bits and losses, checkpoints that go on under others.
#include <gtest/gtest.h>
#include <filesystem>
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include "bora/optim/config.h"
#include "bora/train/trainer.h"
#include "laws/effort.h"
#include "models/small.h"
#include "support/temp_folder.h"

namespace fs = std::filesystem;
namespace placement_laws_test {
using namespace bora;
using namespace bora::models;
namespace {
using bora::test::kVocabulary;
constexpr std::int64_t kRows = 4, kPositions = 8;
using Settings = training::MeshSettings;

config::Choice<Model> small(const std::string& type) {
  std::vector<std::string> items{"layers=2", "embed=16", "heads=4", "positions=8"};
  if (type == "llama") items = {"layers=2", "embed=16", "heads=8", "kv_heads=4", "hidden=12", "positions=8"};
  return test::model_of(type, items);
}
data::RowShape shape_for(const Model& model) {
  return {.positions = kPositions, .inputs = model.decoder_start() ? 5 : 0};
}
GlobalBatch batch(const Model& model, const Mesh& mesh) {
  auto mine = rows_of_rank(kRows, mesh);
  auto r = test::rows_of_tokens(mine.begin, mine.end, shape_for(model));
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    r.inputs[i] = static_cast<std::int32_t>((mine.begin * 5 + static_cast<std::int64_t>(i)) * 3 % kVocabulary);
    r.input_mask[i] = i % 5 < 4;
  }
  return make_batch(r, kRows, mesh);
}
struct Result {
  std::string digest;
  std::vector<float> losses;
};
/// Two steps. from: the folder of a checkpoint to continue; to: a folder for one at the end.
Result train(const Model& model, const Settings& s, const std::string& from = {}, const std::string& to = {}) {
  Result r;
  auto shape = resolve_mesh(s, static_cast<int>(s.axes.ranks()));
  local_mesh(shape, [&](const Mesh& mesh) {
    auto where = mappings_of(s, shape);
    UseMapping split(where.compute);
    optim::AdamWConfig adamw{.lr = 1e-2, .schedule = {.warmup = 0}};
    auto rate = adamw.schedule.make(adamw.lr, 10);
    auto t = model.trainable({kVocabulary,
                              {},
                              StepOptions{.optimizer = adamw.make(rate),
                                          .learning_rate = rate,
                                          .accumulate = shape.size() == 2 ? 2 : 1,
                                          .storage = where.storage}});
    t->init(random::key(5));
    auto digest = parameter_digest(t->parameters(), mesh);
    if (!from.empty()) io::restore_leaves(t->state(), from, place_of(mesh));
    for (int step = 0; step < 2; ++step) {
      auto report = t->step(batch(model, mesh)).to_vector<float>();
      if (mesh.rank() == 0) r.losses.push_back(report[0]);
    }
    if (!to.empty()) {
      Arrays keep;
      (void)io::save_checkpoint(to, 2, io::leaves_of(t->state(), "", keep), place_of(mesh), {}, 1, nullptr);
    }
    if (mesh.rank() == 0) r.digest = digest;
  });
  return r;
}
std::string name_of(const Settings& s) { return placement_name(s) + " on " + to_string(s.axes); }
const training::RuleSettings several = {
    {{"embed", "data"}, {"mlp", "data", "model"}, {"head_size", "model"}, {"layers", "model"}},
    {{"batch", "replica", "data"}, {"position", "model"}, {"mlp", "model"}, {"vocab"}}};
std::vector<Settings> every_setting() {
  std::vector<Settings> r;
  for (auto [a, p] : {std::pair{0, 0}, {1, 0}, {1, 1}, {2, 1}, {1, 2}, {2, 2}})
    for (auto axes : {"data=2", "model=2", "data=4", "model=4", "data=2,model=2", "replica=2,data=2"})
      if (p > 0 || std::string_view(axes).find("model") == std::string_view::npos)
        r.push_back({.axes = axes, .activation_dims = a, .parameter_dims = p});
  for (auto axes : {"data=2", "model=2", "data=4", "model=4", "data=2,model=2", "replica=2,data=2"})
    r.push_back({.axes = axes, .rules = several});
  r.push_back({.axes = "replica=2,data=2"});  // fsdp
  return r;
}
}  // namespace

TEST(PlacementLaws, TheSameInitialBitsAndLossesUnderAllRules) {
  // GPT-2 under three of seven, in which each rule and each mesh is; others under one; all if BORA_LAWS=full.
  for (std::string type : {"gpt2", "llama", "t5"}) {
    auto model = small(type);
    auto want = train(*model, {.axes = "data=1"});
    std::size_t turn = type == "t5" ? 0 : 6;
    for (auto& s : every_setting()) {
      if (turn++ % 7 >= (type == "gpt2" ? 3 : 1) && laws::effort() != laws::Effort::full) continue;
      auto got = train(*model, s);
      EXPECT_EQ(got.digest, want.digest) << type << " " << name_of(s);
      for (std::size_t i = 0; i < want.losses.size(); ++i)
        EXPECT_NEAR(got.losses[i], want.losses[i], 1e-5) << type << " " << name_of(s) << " step " << i;
    }
  }
}
TEST(PlacementLaws, ACheckpointGoesOnUnderOtherRules) {
  test::TempFolder temp;
  auto folder = temp / "run";
  Settings none_split{.axes = "data=1"}, both{.axes = "data=2,model=2", .activation_dims = 1, .parameter_dims = 2},
      wide{.axes = "model=2", .activation_dims = 2, .parameter_dims = 1},
      own{.axes = "replica=2,data=2", .rules = several};
  for (auto type : {"gpt2", "llama"}) {
    auto model = small(type);
    fs::remove_all(folder);
    (void)train(*model, none_split, {}, folder);
    auto saved = io::newest_checkpoint(folder)->folder;
    auto want = train(*model, none_split, saved).losses;
    for (auto& [before, after] : {std::pair{both, wide}, {wide, own}, {own, both}}) {
      fs::remove_all(folder);
      (void)train(*model, before, {}, folder);
      auto got = train(*model, after, io::newest_checkpoint(folder)->folder).losses;
      for (std::size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-5) << type << " " << name_of(before) << ", then " << name_of(after);
    }
  }
}
/// A rule of the settings may name every axis that a model has.
TEST(PlacementLaws, AxesOfModelsAreKnown) {
  for (auto& row : config::rows<Model>()) {
    config::Choice<Model> model(row.type);
    local_mesh({{"data", 1}}, [&](const Mesh& mesh) {
      optim::AdamWConfig adamw;
      auto rate = adamw.schedule.make(adamw.lr, 10);
      auto t = model->trainable({kVocabulary, {}, StepOptions{.optimizer = adamw.make(rate), .learning_rate = rate}});
      t->init(random::key(5));
      (void)t->step_program(make_batch(data::Rows::zeros(0, 1, shape_for(*model)), 1, mesh));
      std::vector<std::string_view> known(std::begin(nn::kAxes), std::end(nn::kAxes));
      for (auto& axis : model->axes()) known.push_back(axis.axis);
      auto arrays = t->activations();
      EXPECT_GT(arrays.size(), 4U) << row.type;
      for (auto& slot : tree::slots(t->parameters()))
        if (auto x = slot.leaf.as<NamedArray>()) arrays.push_back(x->axes());
      for (auto& axes : arrays)
        for (auto& axis : axes)
          EXPECT_NE(std::find(known.begin(), known.end(), axis.name), known.end()) << row.type << " " << axis.name;
    });
  }
}
}  // namespace placement_laws_test
