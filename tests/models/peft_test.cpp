// Adapters of PEFT (tests/golden/models/make_peft.py): read, used, differentiated and written.
#include "bora/io/safetensors.h"
#include "bora/models/lm.h"
#include "bora/models/peft.h"
#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include "base/api/file.h"
#include "bora/models/gpt2.h"
#include "bora/models/pretrained.h"
#include "bora/ops/manipulation.h"
#include "bora/train/trainer.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace peft_test {
using namespace bora;
using namespace bora::models;
namespace {
const std::string kGolden = test::source_dir() + "/tests/golden/models/";
LoraSettings settings(bool dora = false) {
  return {.rank = 3, .alpha = 5, .layers = {"*.mlp.*", "blocks.attn.out"}, .rslora = true, .dora = dora};
}
/// Rows of gpt2_plain's golden results, and the number of their labels.
std::pair<training::Example, double> example() {
  auto files = Safetensors::open(kGolden + "gpt2_plain/golden.safetensors");
  auto ids = files.read("ids").to_vector<std::int32_t>(), labels = files.read("labels").to_vector<std::int32_t>(),
       mask = files.read("mask").to_vector<std::int32_t>();
  auto shape = files.type("ids").shape;
  auto n = static_cast<std::size_t>(shape[1]);
  std::vector<std::int32_t> targets(ids.size());
  std::vector<float> weights(ids.size());
  double total = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    bool learnt = i % n + 1 < n && labels[i + 1] >= 0;
    targets[i] = learnt ? labels[i + 1] : 0;
    weights[i] = learnt ? 1 : 0;
    total += learnt ? 1 : 0;
  }
  auto row = [&](const auto& v) {
    return named(asarray(v, shape), {Axis{nn::kBatch, shape[0]}, Axis{nn::kPosition, shape[1]}});
  };
  training::Example e{row(ids), row(targets), row(weights)};
  e.mask = row(mask);
  return {e, total};
}
using bora::test::error_of;
}  // namespace

namespace {
/// The loss, the gradients and the files of PEFT's adapters in the folder, on every layout.
void is_as_peft(const std::string& folder, bool dora) {
  auto p = Pretrained::open(kGolden + "gpt2_plain");
  auto config = *p.model.as<Gpt2Config>();
  auto golden = Safetensors::open(folder + "/golden.safetensors");
  auto theirs = Safetensors::open(folder + "/adapter_model.safetensors");
  Tuning tuning{.lora = settings(dora)};
  test::TempFolder temp;
  auto written = temp / "written", gradients = temp / "gradients";
  struct Case {
    std::string layout;
    int data, parts;
  };
  for (auto& c : {Case{"dp", 1, 1}, {"fsdp", 2, 1}, {"fsdp", 3, 1}, {"tp", 1, 2}, {"fsdp+tp", 2, 2}}) {
    local_mesh({{"data", c.data}, {"model", c.parts}}, [&](const Mesh& mesh) {
      auto mappings = layout_mappings(parse_layout(c.layout), mesh.shape());
      UseMapping split(mappings.compute);
      auto t = tuned(task<Gpt2>(config, {.vocabulary = p.vocabulary}), tuning);
      auto m = named_jit(t.init, {.out = mappings.storage})(random::key(0));
      load_pretrained(tree::node(m), kGolden + "gpt2_plain", *p.model, p.vocabulary);
      load_adapters(tree::node(m), folder, *p.model, tuning.lora);
      auto [e, labels] = example();
      auto base = training::part_of(m, [](auto& path) { return !nn::in_adapter(path); });
      auto f = [&, e = e, labels = labels](const Gpt2& part) {
        return t.loss(training::joined(part, base), e, none) / labels;
      };
      auto [loss, g] = value_and_grad(f)(training::part_of(m, nn::in_adapter));
      EXPECT_NEAR(loss.item<float>(), golden.read("loss").to_vector<float>()[0], 1e-5) << c.layout;
      g = training::placed_like(g, training::part_of(m, nn::in_adapter));
      save_adapters(written, tree::node(m), *p.model, tuning.lora, "gpt2_plain");
      save_adapters(gradients, tree::node(g), *p.model, tuning.lora);
      auto merged = nn::merged(m);
      EXPECT_NEAR(t.loss(merged, e, none).item<float>() / labels, loss.item<float>(), 1e-5) << c.layout;
      merge_adapters(tree::node(base), tree::node(m), tuning.lora);
      auto sums = tree::slots(tree::node(base)), whole = tree::slots(tree::node(merged));
      for (auto& slot : sums) {
        auto other = std::find_if(whole.begin(), whole.end(), [&](auto& o) { return o.path == slot.path; });
        if (!slot.leaf.defined()) continue;
        ASSERT_NE(other, whole.end()) << slot.path;
        EXPECT_TRUE(allclose(gather(slot.leaf.get()), gather(other->leaf.get()), 1e-6, 1e-6)) << slot.path;
      }
    });
    auto ours = Safetensors::open(written + "/adapter_model.safetensors"),
         grads = Safetensors::open(gradients + "/adapter_model.safetensors");
    EXPECT_EQ(ours.names(), theirs.names()) << c.layout;
    for (auto& name : theirs.names()) {
      EXPECT_EQ(ours.read(name).to_vector<float>(), theirs.read(name).to_vector<float>()) << c.layout << " " << name;
      auto got = grads.read(name).to_vector<float>(), want = golden.read("grad." + name).to_vector<float>();
      ASSERT_EQ(got.size(), want.size()) << name;
      double norm = 0, wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        norm += want[i] * want[i], wrong += (got[i] - want[i]) * (got[i] - want[i]);
      EXPECT_LT(wrong, 1e-8 * norm) << c.layout << " " << name;
    }
    fs::remove_all(written);
    fs::remove_all(gradients);
  }
}
}  // namespace
TEST(Peft, GivesTheLossTheGradientsAndTheFilesOfPeft) { is_as_peft(kGolden + "peft_gpt2", false); }
TEST(Peft, GivesThoseOfDora) { is_as_peft(kGolden + "peft_dora", true); }
TEST(Peft, RefusesWhatDoesNotFit) {
  auto p = Pretrained::open(kGolden + "gpt2_plain");
  auto config = *p.model.as<Gpt2Config>();
  test::TempFolder temp;
  auto made = temp / "refused";
  fs::create_directories(made);
  auto with = [&](const LoraSettings& s, const std::string& at) {
    return error_of([&] {
      auto m = tuned(task<Gpt2>(config, {.vocabulary = p.vocabulary}), {.lora = s}).init(random::key(0));
      load_adapters(tree::node(m), at, *p.model, s);
    });
  };
  auto s = settings();
  auto at = kGolden + "peft_gpt2";
  EXPECT_EQ(with(s, at), "no error");
  EXPECT_NE(with({.rank = 3, .alpha = 5, .rslora = true}, at).find("blocks.layer.attn.q is a part of the tensor"),
            std::string::npos);
  auto other = s;
  other.rank = 4;
  EXPECT_NE(with(other, at).find("adapter_config.json: r: 3, but lora.rank is 4; they must be the same"),
            std::string::npos)
      << with(other, at);
  other = s;
  other.layers = {"*.mlp.*"};
  EXPECT_NE(with(other, at).find("attn.c_proj.lora_A.weight"), std::string::npos) << with(other, at);
  EXPECT_NE(with(s, made).find("adapter_config.json"), std::string::npos);
  fs::copy_file(at + "/adapter_model.safetensors", made + "/adapter_model.safetensors");
  auto text = read_file(at + "/adapter_config.json");
  auto changed = [&](const std::string& from, const std::string& to) {
    auto t = text;
    EXPECT_NE(t.find(from), t.npos);
    t.replace(t.find(from), from.size(), to);
    std::ofstream(made + "/adapter_config.json") << t;
    return with(s, made);
  };
  EXPECT_NE(changed("\"use_dora\": false", "\"use_dora\": true").find("use_dora"), std::string::npos);
  EXPECT_NE(changed("\"peft_type\": \"LORA\"", "\"peft_type\": \"IA3\"").find("peft_type"), std::string::npos);
  EXPECT_NE(changed("\"rank_pattern\": {}", "\"rank_pattern\": {\"c_fc\": 2}").find("rank_pattern"), std::string::npos);
  EXPECT_NE(changed("\"modules_to_save\": null", "\"modules_to_save\": [\"wte\"]").find("modules_to_save"),
            std::string::npos);
  auto begun = [&](const std::string& how) {
    return changed("\"init_lora_weights\": true", "\"init_lora_weights\": \"" + how + "\"");
  };
  for (std::string how : {"pissa", "pissa_niter_4", "olora", "corda", "loftq"})
    EXPECT_NE(begun(how).find("init_lora_weights"), std::string::npos) << how;
  EXPECT_EQ(begun("gaussian"), "no error");
  auto files = Safetensors::open(at + "/adapter_model.safetensors");
  std::map<std::string, Array> tensors;
  for (auto& name : files.names()) tensors[name] = files.read(name);
  for (auto& [name, x] : tensors) {  // as many numbers in another shape
    auto shape = x.shape();
    for (auto& other : {Shape{shape[1], shape[0]}, Shape{x.size()}, Shape{1, 1, 1, x.size()}}) {
      auto changed = tensors;
      changed[name] = reshape(x, other);
      save_safetensors(made + "/adapter_model.safetensors", changed);
      EXPECT_NE(with(s, made).find(name + ": it is "), std::string::npos) << other << with(s, made);
    }
  }
  fs::copy_file(at + "/adapter_model.safetensors", made + "/adapter_model.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(changed("\"lora_alpha\": 5", "\"lora_alpha\": 5.0"), "no error");
}
TEST(Peft, ABaseHasNoPathOfThisComputer) {
  auto p = Pretrained::open(kGolden + "gpt2_plain");
  test::TempFolder temp;
  auto m = tuned(task<Gpt2>(*p.model.as<Gpt2Config>(), {.vocabulary = p.vocabulary}), {.lora = settings()})
               .init(random::key(0));
  auto said = [&](const std::string& base) {
    save_adapters(temp / "out", tree::node(m), *p.model, settings(), base);
    auto c = HfConfig::parse(read_file(temp / "out/adapter_config.json"), "");
    return c.word("base_model_name_or_path", "");
  };
  EXPECT_EQ(said("gpt2"), "gpt2");
  EXPECT_EQ(said("openai-community/gpt2"), "openai-community/gpt2");
  EXPECT_EQ(said("/models/tiny"), "tiny");
  EXPECT_EQ(said("/models/tiny/"), "tiny");
  EXPECT_EQ(said("/models/./big/../tiny//"), "tiny");
  EXPECT_EQ(said("/"), "");
  EXPECT_EQ(said(""), "");
  auto name = [&](const std::string& known) {
    temp.write("base/config.json", "{\"_name_or_path\": " + known + "}");
    return said(temp / "base");
  };
  EXPECT_EQ(name("\"meta-llama/Llama-3.2-1B\""), "meta-llama/Llama-3.2-1B");
  for (auto other : {"\"/srv/models\"", "\"./there\"", "\"~/there\"", "\"a/b/c\"", "\"x\"", "\"x/\"", "3", "null"})
    EXPECT_EQ(name(other), "base") << other;
}
}  // namespace peft_test
