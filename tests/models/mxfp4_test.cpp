// gpt-oss with experts of 4 bits (tests/golden/gpt_oss_mxfp4): the numbers and scores of transformers, its
// export, and files that are damaged.
#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include "base/api/file.h"
#include "bora/io/safetensors.h"
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include "bora/shard/shard.h"
#include "bora/train/trainer.h"
#include "models/api/weights.h"
#include "models/hf/quantised.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace mxfp4_test {
using namespace bora;
using namespace bora::models;
namespace {
const std::string kFolder = test::source_dir() + "/tests/golden/gpt_oss_mxfp4";
const std::string kExperts = "model.layers.0.mlp.experts.gate_up_proj";
Array golden(const std::string& name) { return Safetensors::open(kFolder + "/scores.safetensors").read(name); }
/// The scores of the golden rows; done(scorer) before the ranks part.
std::vector<float> scores(
    const std::string& folder, const std::string& layout = "dp", int data = 1, int parts = 1,
    const std::function<void(Scorer&, const Pretrained&)>& done = [](Scorer&, const Pretrained&) {}) {
  auto p = Pretrained::open(folder);
  auto ids = golden("ids");
  std::vector<float> r;
  local_mesh({{"data", data}, {"model", parts}}, [&](const Mesh& mesh) {
    auto mappings = layout_mappings(parse_layout(layout), mesh.shape());
    UseMapping split(mappings.compute);
    auto s = p.model->scorer({p.vocabulary}, mappings.storage, random::key(1));
    load_pretrained(s->parameters(), folder, *p.model, p.vocabulary);
    training::Example e{.tokens = named(ids, {Axis{nn::kBatch, ids.shape(0)}, Axis{nn::kPosition, ids.shape(1)}})};
    auto all = s->scores(e).array().to_vector<float>();
    if (mesh.rank() == 0) r = all;
    done(*s, p);
  });
  return r;
}
/// A copy of the folder with other tensors.
struct Changed {
  test::TempFolder temp;
  std::string folder = temp.path();
  explicit Changed(const std::function<void(std::map<std::string, Array>&)>& change) {
    fs::copy_file(kFolder + "/config.json", folder + "/config.json");
    auto files = Safetensors::open(kFolder + "/model.safetensors");
    std::map<std::string, Array> tensors;
    for (auto& name : files.names()) tensors[name] = files.read(name);
    change(tensors);
    save_safetensors(folder + "/model.safetensors", tensors);
  }
  std::string error() const {
    return test::error_of<CheckpointError>([&] { return scores(folder); });
  }
};
}  // namespace

TEST(Mxfp4, NumbersAreThoseOfTransformers) {
  auto files = FolderTensors::open(kFolder);
  EXPECT_EQ(files.type(kExperts), (Type{Shape{3, 32, 64}, bf16}));
  EXPECT_TRUE(array_equal(files.read({.name = kExperts}), golden("experts")));
  EXPECT_FALSE(files.has(kExperts + "_blocks") && files.is_quantised(kExperts + "_blocks"));
  EXPECT_EQ(weights_of(kFolder), "bf16");
}
TEST(Mxfp4, ScoresAreThoseOfTransformers) {
  auto want = golden("logits").to_vector<float>();
  for (auto [layout, data, parts] : {std::tuple{"dp", 1, 1}, {"fsdp", 2, 1}, {"tp", 1, 2}, {"fsdp+tp", 2, 2}}) {
    auto got = scores(kFolder, layout, data, parts);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << layout << " " << i;
  }
}
TEST(Mxfp4, ExportedAsBf16HasTheSameScores) {
  test::TempFolder temp;
  auto to = temp / "out";
  auto want = scores(kFolder, "dp", 1, 1, [&](Scorer& s, const Pretrained& p) {
    save_pretrained(to, s.parameters(), *p.model, p.vocabulary, {}, {.dtype = bf16});
  });
  EXPECT_EQ(Safetensors::open(to).type(kExperts), (Type{Shape{3, 32, 64}, bf16}));
  EXPECT_EQ(read_file(to + "/config.json").find("quantization_config"), std::string::npos);
  EXPECT_EQ(scores(to), want);
}
TEST(Mxfp4, DamageIsAnErrorOfOneLine) {
  auto blocks = kExperts + "_blocks", scales = kExperts + "_scales";
  auto says = [&](const std::function<void(std::map<std::string, Array>&)>& change, const std::string& words) {
    auto text = Changed(change).error();
    EXPECT_NE(text.find(words), text.npos) << text;
    EXPECT_EQ(text.find('\n'), text.npos) << text;
  };
  says([&](auto& t) { t.erase(scales); }, blocks + ": there is no " + scales + " beside it");
  says([&](auto& t) { t[blocks] = t[blocks].astype(i32); }, blocks + ": it is i32[3, 64, 1, 16], but blocks");
  says([&](auto& t) { t[blocks] = zeros({3, 64, 2, 8}, u8); }, blocks + ": it is u8[3, 64, 2, 8], but blocks");
  says([&](auto& t) { t[scales] = zeros({3, 64, 2}, u8); }, scales + ": it is u8[3, 64, 2], u8[3, 64, 1] is wanted");
  says([&](auto& t) { t[scales] = full({3, 64, 1}, 253, u8); }, scales + ": a scale of 2^126 makes numbers that");
  says([&](auto& t) { t[blocks] = zeros({3, 64, 2, 16}, u8), t[scales] = zeros({3, 64, 2}, u8); },
       blocks + ": it stands for bf16[3, 64, 64], [3, 32, 32, 2] is wanted");
  says([&](auto& t) { t[kExperts] = zeros({3, 32, 64}, bf16); }, "both as numbers and as integers");
}
}  // namespace mxfp4_test
