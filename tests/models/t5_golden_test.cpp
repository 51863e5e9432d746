// T5 against transformers (tests/golden/models/make_t5.py): logits, loss and every gradient.
#include <gtest/gtest.h>
#include <filesystem>
#include "bora/base/file.h"
#include "bora/io/safetensors.h"
#include "models/t5.h"

namespace fs = std::filesystem;
using namespace bora;
using namespace bora::models;
namespace {
/// The tensors that hold a leaf, with this before their names.
std::vector<TensorPart> parts_of(const std::vector<HfWeight>& weights, const std::string& leaf, const Shape& shape,
                                 const std::string& before) {
  for (auto& w : weights) {
    if (w.leaf != leaf || w.copy) continue;
    auto at = w.tensor.find("{}");
    if (at == w.tensor.npos) return {{before + w.tensor, w.view, w.begin, w.end, w.order}};
    std::vector<TensorPart> all;
    for (std::int64_t i = 0; i < shape[0]; ++i)
      all.push_back(
          {before + std::string(w.tensor).replace(at, 2, std::to_string(i)), w.view, w.begin, w.end, w.order});
    return all;
  }
  ADD_FAILURE() << "no tensor for " << leaf;
  return {};
}
void load(T5& m, const T5Config& c, const Safetensors& files, const std::string& before = "") {
  io::load_tensors(tree::node(m), files,
                   {.from = [&](const std::string& path,
                                const Type& t) { return parts_of(T5::hf_weights(c), path, t.shape, before); },
                    .others = true});
}
}  // namespace

TEST(T5Golden, EqualsTransformers) {
  int folders = 0;
  for (auto& entry : fs::directory_iterator(BORA_SOURCE_DIR "/tests/golden/models")) {
    auto name = entry.path().filename().string();
    if (!name.starts_with("t5_")) continue;
    ++folders;
    auto files = Safetensors::open(entry.path().string()),
         golden = Safetensors::open(entry.path() / "golden.safetensors");
    auto json = HfConfig::parse(read_file(entry.path() / "config.json"), "config.json");
    json.set_has_tensor([&](auto& name) { return files.has(name); });
    auto config = T5::from_hf(json);
    json.done();
    auto m = T5::init(config, 96, random::key(0));
    load(m, config, files);
    auto column = [&](const char* what, const char* axis) {
      auto x = golden.read(what);
      return NamedArray(x, {{"batch", x.shape(0)}, {axis, x.shape(1)}});
    };
    auto labels = column("labels", "position");
    training::Example e{.tokens = column("decoder_ids", "position"),
                        .targets = where(labels >= 0, labels, 0),
                        .weights = (labels >= 0).astype(f32),
                        .inputs = column("ids", "input"),
                        .input_mask = column("mask", "input")};
    auto logits = m.head()(m.hidden(e, none, remat::nothing)).array(), want = golden.read("logits");
    EXPECT_LT(amax(abs(logits - want)).item<float>(), 1e-4F) << name;
    auto loss_of = [&](const T5& t) { return task<T5>(config, {.vocabulary = 96}).loss(t, e, none) / sum(e.weights); };
    auto [loss, gradients] = value_and_grad(loss_of)(m);
    EXPECT_NEAR(loss.item<float>(), golden.read("loss").item<float>(), 1e-5) << name;
    auto wanted = m;
    load(wanted, config, golden, "grad.");
    auto a = tree::slots(tree::node(gradients)), b = tree::slots(tree::node(wanted));
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!a[i].leaf.defined()) continue;
      auto x = a[i].leaf.get(), y = b[i].leaf.get();
      auto norm = sqrt(sum(y * y)).item<float>();
      EXPECT_LT(sqrt(sum((x - y) * (x - y))).item<float>(), 1e-4F * norm + 1e-9F) << name << " " << a[i].path;
    }
    HfConfig written;
    T5::to_hf(config, written);
    auto again = HfConfig::parse(written.text(), "config.json");
    again.set_has_tensor([&](auto& name) { return files.has(name); });
    HfConfig third;
    T5::to_hf(T5::from_hf(again), third);
    EXPECT_EQ(third.text(), written.text()) << name;
    again.done();
  }
  EXPECT_EQ(folders, 3);
}
