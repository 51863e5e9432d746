// Folders of Hugging Face's that differ from those which bora writes: other names, more or fewer tensors, more tokens,
// fields that are not supported.
#include "bora/io/safetensors.h"
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include <gtest/gtest.h>
#include <unistd.h>
#include <cctype>
#include <cstring>
#include <filesystem>
#include "base/api/file.h"
#include "bora/models/gpt2.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/train/trainer.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace pretrained_test {
using namespace bora;
using namespace bora::models;
namespace {
const std::string kFolders = test::source_dir() + "/tests/golden/models", kFolder = kFolders + "/gpt2_plain";
using bora::test::error_of;
struct PretrainedTest : testing::Test {
  test::TempFolder temp;
  std::string folder = temp.path();
  std::map<std::string, Array> tensors;
  PretrainedTest() {
    fs::copy_file(kFolder + "/config.json", folder + "/config.json");
    auto files = Safetensors::open(kFolder);
    for (auto& name : files.names()) tensors[name] = files.read(name);
  }
  void save() const { save_safetensors(folder, tensors); }
  /// Replaces a part of config.json.
  void edit(const std::string& from, const std::string& to) const {
    auto text = read_file(kFolder + "/config.json");
    auto place = text.find(from);
    ASSERT_NE(place, text.npos) << from;
    write_file(folder + "/config.json", text.replace(place, from.size(), to));
  }
  std::string config_error(const std::string& from, const std::string& to) const {
    edit(from, to);
    auto e = error_of([&] { Pretrained::open(folder); });
    auto place = e.find(folder);
    return place == e.npos ? e : e.replace(place, folder.size(), "DIR");
  }
  Gpt2 load(std::int64_t vocabulary, const LoadPretrained& options = {}) const {
    auto p = Pretrained::open(folder);
    auto m = Gpt2::init(*p.model.as<Gpt2Config>(), vocabulary, random::key(3));
    said = load_pretrained(tree::node(m), folder, *p.model, vocabulary, options);
    return m;
  }
  std::string check_error(std::int64_t vocabulary = 96, const LoadPretrained& options = {}) const {
    auto p = Pretrained::open(folder);
    auto e = error_of([&] { check_pretrained(folder, *p.model, vocabulary, options); });
    EXPECT_EQ(error_of([&] { load(vocabulary, options); }), e);
    for (auto place = e.find(folder); place != e.npos; place = e.find(folder)) e.replace(place, folder.size(), "DIR");
    return e;
  }
  mutable std::vector<std::string> said;
};
}  // namespace

TEST_F(PretrainedTest, OtherNamesAreTheSameModel) {
  save();
  auto want = tree::leaves(load(96));
  EXPECT_TRUE(said.empty());
  std::map<std::string, Array> bare;  // as OpenAI's files: of the base model, with buffers
  for (auto& [name, x] : tensors) bare[name.substr(std::string("transformer.").size())] = x;
  for (std::string layer : {"h.0.", "h.1."}) {
    bare[layer + "attn.bias"] = ones({1, 1, 16, 16});
    bare[layer + "attn.masked_bias"] = ones({});
  }
  bare["lm_head.weight"] = tensors["transformer.wte.weight"];
  tensors = bare;
  save();
  auto got = tree::leaves(load(96));
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(array_equal(got[i], want[i])) << i;
  EXPECT_TRUE(said.empty());
  tensors.erase("wte.weight");  // the other name of the tied table suffices
  save();
  got = tree::leaves(load(96));
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(array_equal(got[i], want[i])) << i;
}
TEST_F(PretrainedTest, TiedTensorsThatDifferAreRefused) {
  tensors["lm_head.weight"] = tensors["transformer.wte.weight"] + 1.0F;
  save();
  EXPECT_EQ(error_of([&] { load(96); }), folder +
                                             "/model.safetensors: lm_head.weight: it differs from "
                                             "transformer.wte.weight, but config.json says that both are one");
}
TEST_F(PretrainedTest, MissingAndUnexpectedTensors) {
  auto wpe = tensors.extract("transformer.wpe.weight");
  save();
  EXPECT_EQ(check_error(),
            "DIR: transformer.wpe.weight: there is no such tensor, which 'wpe' is read from; "
            "init_from.missing=init would initialise it");
  auto fresh = Gpt2::init(*Pretrained::open(kFolder).model.as<Gpt2Config>(), 96, random::key(3));
  EXPECT_TRUE(array_equal(load(96, {.init_missing = true}).wpe.array(), fresh.wpe.array()));
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0], "not in " + folder + ", initialised: wpe");
  tensors.insert(std::move(wpe));
  auto bias = tensors.extract("transformer.h.1.ln_2.bias");  // of one layer only: not even init
  save();
  for (bool init : {false, true})
    EXPECT_EQ(check_error(96, {.init_missing = init}),
              "DIR: transformer.h.1.ln_2.bias: there is no such tensor, but there is transformer.h.0.ln_2.bias");
  tensors.insert(std::move(bias));
  tensors["transformer.h.2.ln_2.bias"] = tensors["score.weight"] = zeros({16});
  save();
  EXPECT_EQ(check_error(),
            "DIR/model.safetensors: score.weight: no leaf of the gpt2 takes this tensor (nor 1 others); "
            "init_from.unexpected=ignore would leave it out");
  load(96, {.ignore_unexpected = true});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0], "in " + folder + " and not used: score.weight, transformer.h.2.ln_2.bias");
}
TEST_F(PretrainedTest, SizesThatDifferAreRefused) {
  auto& wpe = tensors["transformer.wpe.weight"];
  wpe = concatenate({wpe, wpe});
  save();
  EXPECT_EQ(check_error(),
            "DIR/model.safetensors: transformer.wpe.weight: it is f32[32, 16], f32[16, 16] is wanted for 'wpe'");
  wpe = zeros({16, 16}, i32);
  save();
  EXPECT_EQ(check_error(),
            "DIR/model.safetensors: transformer.wpe.weight: it is i32[16, 16], f32[16, 16] is wanted for 'wpe'");
  wpe = zeros({16, 16});
  tensors["transformer.h.1.attn.c_attn.weight"] = zeros({16, 32});
  save();
  EXPECT_EQ(check_error(),
            "DIR/model.safetensors: transformer.h.1.attn.c_attn.weight: its shape is [16, 32], a view as "
            "[16, 12, 4] is wanted");
}
/// The bytes of a file of tensors in which one of them has another shape of as many elements.
std::string with_shape(const std::string& bytes, const std::string& name, const Shape& shape) {
  std::uint64_t n = 0;
  std::memcpy(&n, bytes.data(), sizeof n);
  auto header = bytes.substr(8, n), numbers = bytes.substr(8 + n);
  auto at = header.find("\"shape\":[", header.find("\"" + name + "\":{")) + 8, end = header.find(']', at) + 1;
  std::string text;
  for (auto d : shape) text += (text.empty() ? "" : ",") + std::to_string(d);
  header.replace(at, end - at, "[" + text + "]");
  n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), sizeof n) + header + numbers;
}
TEST_F(PretrainedTest, EveryTensorOfEveryFamilyHasTheShapeOfItsLayer) {
  int tried = 0;
  for (auto& entry : fs::directory_iterator(kFolders)) {
    if (!fs::exists(entry.path() / "config.json")) continue;
    auto from = entry.path().string();
    auto p = Pretrained::open(from);
    auto files = Safetensors::open(from);
    auto bytes = read_file(from + "/model.safetensors");
    for (auto& name : files.names()) {
      auto shape = files.type(name).shape;
      if (name.find(".1.") != name.npos) continue;  // a layer like the one before
      Shape turned;
      for (std::size_t d = shape.size(); d-- > 0;) turned.push_back(shape[d]);
      for (auto& other : {turned, Shape{volume(shape)}, Shape{1, 1, 1, 1, 1, 1, 1, volume(shape)}}) {
        if (other == shape) continue;
        write_file(folder + "/model.safetensors", with_shape(bytes, name, other));
        auto e = error_of<CheckpointError>([&] { check_pretrained(folder, *p.model, p.vocabulary); });
        EXPECT_NE(e.find(": " + name + ": "), e.npos) << from << " " << other << ": " << e;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 500);
}
TEST_F(PretrainedTest, NewTokensAreTheMeanOfTheOthers) {
  save();
  EXPECT_EQ(check_error(90),
            "DIR/model.safetensors: transformer.wte.weight: it has 96 tokens, the model 90; give "
            "vocabulary=96 or more");
  edit("\"vocab_size\": 96", "\"vocab_size\": 101");  // config.json itself is no wish for more
  EXPECT_EQ(check_error(101),
            "DIR/model.safetensors: transformer.wte.weight: it has 96 tokens, but config.json says vocab_size: 101");
  edit("", "");
  auto old = tensors["transformer.wte.weight"].to_vector<float>();
  std::vector<double> mean(16);
  for (std::size_t i = 0; i < old.size(); ++i) mean[i % 16] += static_cast<double>(old[i]) / 96;
  for (auto [data, parts, layout] : {std::tuple{1, 1, "dp"}, {1, 2, "tp"}, {2, 1, "fsdp"}, {2, 2, "fsdp+tp"}})
    local_mesh({{"data", data}, {"model", parts}}, [&, parts = parts, layout = std::string(layout)](const Mesh& mesh) {
      auto storage = layout_mappings(parse_layout(layout), mesh.shape()).storage;
      auto p = Pretrained::open(folder);
      auto g = p.model->generator({101}, storage, random::key(1), [](const Array& s, const Array&) { return s; });
      auto before = tree::slots(g->parameters())[0].leaf.get();
      auto spec = local_block(before).spec;
      auto lines = load_pretrained(g->parameters(), folder, *p.model, 101);
      ASSERT_EQ(lines.size(), 1U);
      EXPECT_EQ(lines[0], folder + " has 96 tokens, the model 101: new rows are the mean of the others in wte.weight");
      auto slot = tree::slots(g->parameters())[0];
      EXPECT_EQ(slot.path, "wte.weight");
      EXPECT_EQ(local_block(slot.leaf.get()).spec, spec);
      auto now = slot.leaf.get().to_vector<float>();
      ASSERT_EQ(now.size(), 101U * 16);
      EXPECT_TRUE(std::equal(old.begin(), old.end(), now.begin()));
      for (std::size_t i = old.size(); i < now.size(); ++i) EXPECT_NEAR(now[i], mean[i % 16], 1e-6) << i;
    });
}
TEST_F(PretrainedTest, FieldsThatAreNotSupportedAreNamed) {
  save();
  EXPECT_EQ(config_error("\"gelu_new\"", "\"gelu_10\""),
            "DIR/config.json: activation_function: gelu_10 is not supported; relu, gelu, gelu_new, silu, tanh, "
            "sigmoid, leaky_relu, relu6, mish, quick_gelu, linear, gelu_fast, gelu_pytorch_tanh, swish and relu2 are");
  EXPECT_EQ(config_error("\"add_cross_attention\": false", "\"add_cross_attention\": true"),
            "DIR/config.json: add_cross_attention: true is not supported; only false is");
  EXPECT_EQ(config_error("\"n_embd\": 16", "\"n_embd\": 16, \"rotary_dim\": 4"),
            "DIR/config.json: rotary_dim: 4 is not supported: the field is not known here for the model type gpt2, and "
            "could change the result; remove it if it does not");
  EXPECT_EQ(config_error("\"n_embd\": 16", "\"n_embd\": \"16\""),
            "DIR/config.json: n_embd: expected an integer, got 16");
  EXPECT_EQ(config_error("\"n_embd\": 16", "\"n_embd\": 15"),
            "DIR/config.json: as a model of type gpt2: heads: model.embed 15 cannot be cut into 4 equal heads");
  EXPECT_EQ(config_error("\"vocab_size\": 96", "\"vocab_size\": 0"),
            "DIR/config.json: vocab_size: 0 is no number of tokens");
  EXPECT_EQ(config_error("\"vocab_size\": 96", "\"n_vocab\": 96"),
            "DIR/config.json: n_vocab: 96 is not supported: the field is not known here for the model type gpt2, and "
            "could change the result; remove it if it does not");
  EXPECT_EQ(config_error("\"n_embd\": 16", "\"n_embd\": 16, \"n_embd\": 17"),
            "DIR/config.json: the field 'n_embd' is given twice");
  auto unknown = config_error("\"gpt2\"", "\"mamba\"");
  EXPECT_TRUE(unknown.starts_with("DIR/config.json: model_type: mamba is not supported; there are ")) << unknown;
  EXPECT_NE(unknown.find("gpt2"), unknown.npos);
  EXPECT_EQ(config_error("\"model_type\": \"gpt2\",", ""), "DIR/config.json: model_type: the field is missing");
  EXPECT_TRUE(config_error("}", "").starts_with("DIR/config.json: broken JSON: "));
  fs::remove(folder + "/config.json");
  EXPECT_EQ(error_of([&] { Pretrained::open(folder); }),
            folder + " is no folder of Hugging Face's: it has no config.json");
  EXPECT_EQ(error_of([&] { Pretrained::open(folder + "/none"); }),
            folder +
                "/none: there is no such folder; a folder of Hugging Face's is expected, with config.json and "
                "model.safetensors, or FILE.gguf");
}
TEST_F(PretrainedTest, SizesOfZeroAreRefused) {  // in all families; settings of models here mean another number by 0
  int tried = 0;
  for (auto& entry : fs::directory_iterator(kFolders)) {
    if (!fs::exists(entry.path() / "config.json")) continue;
    auto text = read_file((entry.path() / "config.json").string());
    bool no_window = text.find("\"use_sliding_window\": false") != text.npos;
    for (std::string field :
         {"n_layer", "n_embd", "n_head", "n_positions", "n_inner", "num_hidden_layers", "hidden_size",
          "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size", "max_position_embeddings",
          "sliding_window", "ffn_dim", "word_embed_proj_dim", "num_layers", "num_decoder_layers", "d_model",
          "num_heads", "d_kv", "d_ff"}) {
      auto at = text.find("\n  \"" + field + "\": ");
      auto number = text.find(": ", at) + 2;
      if (at == text.npos || !std::isdigit(text[number]) || (field == "sliding_window" && no_window)) continue;
      auto zero = text;
      write_file(folder + "/config.json", zero.replace(number, zero.find_first_of(",\n", number) - number, "0"));
      EXPECT_EQ(error_of([&] { Pretrained::open(folder); }),
                folder + "/config.json: " + field + ": 0 is not supported; 1 or more is")
          << entry.path();
      ++tried;
    }
  }
  EXPECT_GT(tried, 100);
}
TEST_F(PretrainedTest, FieldsOfPublishedFilesThatChangeNothingAreKnown) {
  save();
  auto error_with = [&](const std::string& name, const std::string& fields) {
    auto text = read_file(kFolders + "/" + name + "/config.json");
    write_file(folder + "/config.json", "{" + fields + "," + text.substr(1));
    auto e = error_of([&] { Pretrained::open(folder); });
    return e.starts_with(folder) ? e.substr(folder.size() + std::string("/config.json: ").size()) : e;
  };
  const std::string old = R"("chunk_size_feed_forward": 0, "pruned_heads": {}, "tie_encoder_decoder": false)";
  for (auto [name, fields] : {std::pair{"gpt2_plain", R"("n_special": 0, "predict_special_tokens": true)"},
                              {"gpt2_options", R"("_num_labels": 1, "is_decoder": false)"},
                              {"opt_plain", R"("is_encoder_decoder": false, "add_cross_attention": false)"},
                              {"gptj_plain", R"("is_decoder": false)"},
                              {"gpt_neox_plain", R"("rotary_pct": 0.25, "rotary_emb_base": 10000)"},
                              {"llama_linear", R"("is_llama_config": true, "rope_interleaved": false)"},
                              {"llama_llama3", R"("max_sequence_length": 2048, "unsloth_fixed": true)"},
                              {"llama_yarn", R"("transformers.js_config": {"dtype": "q4"})"},
                              {"mistral", R"("is_decoder": false)"},
                              {"qwen2", R"("use_mrope": false)"},
                              {"gemma2", R"("sliding_window_size": 3)"},
                              {"t5_v1_1", R"("output_past": true)"}})
    EXPECT_EQ(error_with(name, fields + (", " + old)), "no error") << name;
  EXPECT_EQ(error_with("llama_linear", R"("rope_interleaved": true)"),
            "rope_interleaved: true is not supported; only false is");
  EXPECT_EQ(error_with("qwen2", R"("use_mrope": true)"), "use_mrope: true is not supported; only false is");
  for (std::string off : {R"("is_encoder_decoder": true)", R"("pruned_heads": {"0": [1]})",
                          R"("chunk_size_feed_forward": 2)"})
    EXPECT_NE(error_with("llama_linear", off).find("is not supported: the field is not known here"), std::string::npos)
        << off;
}
TEST_F(PretrainedTest, FieldsOfAnyModelAreTakenWhereTheyChangeNothing) {
  save();
  int folders = 0;
  for (auto& entry : fs::directory_iterator(kFolders)) {
    if (!fs::exists(entry.path() / "config.json")) continue;
    ++folders;
    auto text = read_file((entry.path() / "config.json").string());
    auto error_with = [&](const std::string& field, const std::string& value) {
      if (text.find("\"" + field + "\"") != text.npos) return std::string("it is there");
      write_file(folder + "/config.json", "{\"" + field + "\": " + value + "," + text.substr(1));
      return error_of([&] { Pretrained::open(folder); });
    };
    auto is_taken = [&](const std::string& field, const std::string& value) {
      auto e = error_with(field, value);
      EXPECT_TRUE(e == "no error" || e == "it is there") << entry.path() << ": " << e;
    };
    auto is_refused = [&](const std::string& field, const std::string& value) {
      auto e = error_with(field, value);
      EXPECT_TRUE(e.starts_with(folder + "/config.json: " + field + ": ") || e == "it is there")
          << entry.path() << ": " << field << " " << value << " " << e;
    };
    auto type = entry.path().filename().string();
    bool windows = false;
    for (auto name : {"mistral", "mixtral_windows", "gemma2", "gemma3", "gemma3_options", "phi3", "qwen3_moe_options",
                      "gpt_oss", "gpt_oss_options"})
      windows = windows || type == name;
    auto count = [&] {
      for (std::string field : {"num_hidden_layers", "n_layer", "num_layers", "n_layers"})
        if (auto at = text.find("\"" + field + "\": "); at != text.npos)
          return std::stoi(text.substr(at + field.size() + 4));
      return 0;
    }();
    std::string full, sliding;
    for (int i = 0; i < count; ++i) {
      full += std::string(i ? ", " : "[") + "\"full_attention\"";
      sliding += std::string(i ? ", " : "[") + "\"sliding_attention\"";
    }
    if (!windows) {
      is_taken("layer_types", full + "]");
      is_taken("use_sliding_window", type == "gemma2_plain" ? "true" : "false");
      is_refused("layer_types", sliding + "]");
      if (type != "gemma2_plain") is_refused("use_sliding_window", "true");
    } else {
      is_refused("layer_types", full + "]");
      is_refused("use_sliding_window", "false");
      is_taken("use_sliding_window", "true");
    }
    for (std::string how : {"\"sdpa\"", "\"eager\"", "\"flash_attention_2\"", "null"})
      is_taken("_attn_implementation", how);
    for (auto [field, value] : {std::pair{"use_mrope", "false"}, {"rope_interleaved", "false"}, {"pretraining_tp", "1"},
                                {"max_sequence_length", "2048"}, {"_flash_attn_2_enabled", "true"},
                                {"max_new_tokens", "50"}, {"min_p", "0.1"}, {"_commit_hash", "\"ab12\""},
                                {"quantization_config", "null"}, {"cache_implementation", "\"hybrid\""}})
      is_taken(field, value);
    for (auto [field, value] : {std::pair{"use_mrope", "true"}, {"rope_interleaved", "true"},
                                {"quantization_config", "{\"bits\": 4}"}, {"auto_map", "{\"AutoModel\": \"x.Y\"}"},
                                {"layer_types", "[\"linear_attention\"]"}, {"layer_types", "3"},
                                {"qk_layernorm", "true"}, {"num_experts", "8"}, {"logit_scale", "0.5"}})
      is_refused(field, value);
  }
  EXPECT_GT(folders, 20);
  // Windows that are switched off are none.
  for (std::string type : {"llama_llama3", "gemma", "gpt_neox_plain"}) {
    auto text = read_file(kFolders + "/" + type + "/config.json");
    auto with = [&](const std::string& fields) {
      write_file(folder + "/config.json", "{" + fields + "," + text.substr(1));
      return error_of([&] { Pretrained::open(folder); });
    };
    EXPECT_EQ(with(R"("use_sliding_window": false, "sliding_window": 4, "max_window_layers": 1)"), "no error") << type;
    EXPECT_NE(with(R"("sliding_window": 4)").find("sliding_window: 4 is not supported"), std::string::npos) << type;
  }
}
TEST_F(PretrainedTest, AModelWithoutATableIsInNoFolder) {
  for (auto& row : config::rows<Model>()) {
    config::Choice<Model> m(row.type);
    EXPECT_EQ(m->hf_names().types.empty(), m->hf_weights().empty()) << row.type;
    std::set<std::string> leaves;
    for (auto& w : m->hf_weights()) leaves.insert(w.leaf);
    for (auto& p : m->parameters(50)) EXPECT_EQ(leaves.erase(p.path) == 1, !m->hf_names().types.empty()) << p.path;
    EXPECT_TRUE(leaves.empty()) << row.type << ": " << *leaves.begin();
  }
}
}  // namespace pretrained_test
