// Models whose weights are integers: every model, near the one of numbers; folders with integers, whole and damaged.
#include <gtest/gtest.h>
#include <filesystem>
#include <random>
#include "base/api/file.h"
#include "bora/io/safetensors.h"
#include "bora/models/pretrained.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/shard/shard.h"
#include "bora/train/trainer.h"
#include "models/api/weights.h"
#include "models/hf/quantised.h"
#include "models/small.h"
#include "support/golden.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace packed_test {
using namespace bora;
using namespace bora::models;
namespace {
using bora::test::kVocabulary;
constexpr std::int64_t kRows = 2, kPositions = 8, kInputs = 5, kMany = 100;  // kMany: tokens of a table in pieces
const nn::WeightFormat kFormats[] = {{8, 32}, {4, 32}, {4, 128}};

training::Example example(const Model& model, const Mesh& mesh) {
  data::RowShape shape{.positions = kPositions, .inputs = model.decoder_start() ? kInputs : 0};
  auto mine = rows_of_rank(kRows, mesh);
  auto r = test::rows_of_tokens(mine.begin, mine.end, shape);
  for (std::size_t i = 0; i < r.inputs.size(); ++i)
    r.inputs[i] = static_cast<std::int32_t>((mine.begin * kInputs + static_cast<std::int64_t>(i)) * 5 % 13),
    r.input_mask[i] = 1;
  return make_batch(r, kRows, mesh).example;
}
ModelOptions options(std::optional<nn::WeightFormat> weights, bool drawn = true) {
  return {.vocabulary = kVocabulary, .weights = weights, .drawn = drawn};
}
NamedArray whole(const NamedArray& x) { return NamedArray(gather(x.array()), x.axes()); }
double distance(const NamedArray& a, const NamedArray& b) {
  auto d = aligned(a, b.axes()) - b;
  return std::sqrt(sum(d * d).item<double>() / sum(b * b).item<double>());
}
/// Scores and loss of a model on a mesh with an axis `model`.
std::pair<NamedArray, double> scores(const Model& model, const ModelOptions& how, int ranks,
                                     const std::function<void(Scorer&)>& fill = {}) {
  std::pair<NamedArray, double> r;
  local_mesh({{"data", 1}, {"model", ranks}}, [&](const Mesh& mesh) {
    auto mappings = layout_mappings(parse_layout("tp"), mesh.shape());
    UseMapping split(mappings.compute);
    auto s = model.scorer(how, mappings.storage, random::key(3));
    if (fill) fill(*s);
    auto e = example(model, mesh);
    auto all = whole(s->scores(e));
    auto loss = s->loss(e).item<double>();
    if (mesh.rank() == 0) r = {all, loss};
  });
  return r;
}
TEST(PackedModels, AreNearThoseOfNumbers) {
  for (auto& model : test::small_models()) {
    auto [want, loss] = scores(*model, options(none), 1);
    for (auto f : kFormats) {
      SCOPED_TRACE(std::string(model->type()) + " " + to_string(f));
      auto [got, mine] = scores(*model, options(f), 1);
      EXPECT_LT(distance(got, want), f.bits == 8 ? 0.03 : 0.35);
      EXPECT_GT(distance(got, want), 1e-6);
      EXPECT_NEAR(mine, loss, f.bits == 8 ? 0.02 * loss : 0.1 * loss);
      if (f != kFormats[1]) continue;
      auto [split, its] = scores(*model, options(f), 2);
      EXPECT_LT(distance(split, got), 0.02);  // a last bit may round an input to another of its 255 values
      EXPECT_NEAR(its, mine, 5e-3 * mine);
    }
  }
}
TEST(PackedModels, FilledLeafByLeafAsDrawnAndPacked) {
  for (auto& model : test::small_models()) {
    for (auto f : {kFormats[0], kFormats[1]}) {
      auto fill = [&](Scorer& s) {
        auto mappings = layout_mappings(parse_layout("tp"), here().mesh ? *here().mesh : MeshShape());
        auto plain = model->scorer(options(none), mappings.storage, random::key(3));
        auto packed = model->packed(kVocabulary, f);
        EXPECT_FALSE(packed.empty());
        for (auto& slot : tree::slots(plain->parameters())) {
          if (!slot.leaf.defined()) continue;
          auto p = std::find_if(packed.begin(), packed.end(), [&](auto& leaf) { return leaf.path == slot.path; });
          if (p != packed.end()) write_all_packed(s.parameters(), *p, *slot.leaf.as<NamedArray>());
          else
            for (auto& to : tree::slots(s.parameters()))
              if (to.path == slot.path) to.leaf.set(slot.leaf.get());
        }
      };
      auto want = scores(*model, options(f), 1).first, got = scores(*model, options(f, false), 1, fill).first;
      EXPECT_EQ(got.to_vector<float>(), want.to_vector<float>()) << model->type();
    }
  }
}
TEST(PackedModels, DecodeAsTheWholeRow) {
  for (auto& model : test::small_models()) {
    if (model->decoder_start() || !model->generates()) continue;
    auto how = options(kFormats[1]);
    auto all = scores(*model, how, 1).first;
    local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
      auto mappings = layout_mappings(parse_layout("tp"), mesh.shape());
      UseMapping split(mappings.compute);
      auto g = model->generator(how, mappings.storage, random::key(3),
                                [](const Array& scores, const Array&) { return scores; });
      auto tokens = example(*model, mesh).tokens.array().to_vector<std::int32_t>();
      for (std::int64_t i = 0; i < 4; ++i) {
        auto one = g->next({tokens[static_cast<std::size_t>(i)]}, random::key(0)).to_vector<float>();
        auto want = all[{{nn::kBatch, 0}, {nn::kPosition, i}}].to_vector<float>();
        double worst = 0, most = 0;
        for (std::size_t k = 0; k < want.size(); ++k)
          worst = std::max<double>(worst, std::abs(one[k] - want[k])), most = std::max<double>(most, std::abs(want[k]));
        EXPECT_LT(worst, 0.02 * most) << model->type() << " " << i;
      }
    });
  }
}

// ---- folders --------------------------------------------------------------------------------------------------------
config::Choice<Model> llama() {
  return test::model_of("llama", {"layers=2", "embed=128", "heads=4", "kv_heads=2", "hidden=128", "positions=8"});
}
struct Folder {
  test::TempFolder temp;
  std::string path = temp.path() + "/model";
  explicit Folder(std::optional<nn::WeightFormat> weights) {
    auto model = llama();
    auto s = model->scorer(options(none), {}, random::key(3));
    save_pretrained(path, s->parameters(), *model, kVocabulary, {}, {.dtype = bf16, .weights = weights});
  }
};
NamedArray loaded(const std::string& folder, std::optional<nn::WeightFormat> weights,
                  std::int64_t piece = LoadPretrained().piece) {
  auto model = llama();
  return scores(*model, options(weights, false), 1, [&](Scorer& s) {
    load_pretrained(s.parameters(), folder, *model, kVocabulary, {.piece = piece, .weights = weights});
  }).first;
}
TEST(PackedFolders, AreWrittenAndRead) {
  Folder plain(none);
  EXPECT_EQ(weights_of(plain.path), "bf16");
  for (auto f : kFormats) {
    Folder folder(f);
    EXPECT_EQ(weights_of(folder.path), to_string(f));
    auto opened = Pretrained::open(folder.path);
    EXPECT_EQ(opened.vocabulary, kVocabulary);
    auto want = loaded(plain.path, f), got = loaded(folder.path, f), numbers = loaded(folder.path, none);
    EXPECT_LT(distance(got, want), 0.02) << to_string(f);       // scales are rounded to bf16
    EXPECT_LT(distance(numbers, got), 0.02) << to_string(f);    // products round their inputs
    EXPECT_LT(distance(loaded(folder.path, kFormats[0]), numbers), 0.02);
    auto files = FolderTensors::open(folder.path);
    std::string name = "model.layers.1.mlp.up_proj.weight";
    EXPECT_TRUE(files.is_quantised(name) && files.has(name));
    EXPECT_EQ(files.type(name), (Type{Shape{128, 128}, f32}));
    auto as_stored = files.matrix(name).packed(f);
    ASSERT_TRUE(as_stored.has_value());  // without rounding again
  }
  auto gpt2 = test::model_of("gpt2", {"layers=1", "embed=32", "heads=2", "positions=8"});
  auto s = gpt2->scorer(options(none), {}, random::key(3));
  test::says<ConfigError>([&] {
    save_pretrained(plain.path + "2", s->parameters(), *gpt2, kVocabulary, {}, {.weights = kFormats[1]});
    return 0;
  }, "[inputs, outputs]");
}
TEST(PackedFolders, TablesInPiecesAsAtOnce) {
  for (std::string tied : {"true", "false"}) {
    auto model =
        test::model_of("llama", {"layers=1", "embed=64", "heads=2", "hidden=64", "positions=8", "tied=" + tied});
    test::TempFolder temp;
    auto path = temp.path() + "/model";
    auto numbers = model->scorer({.vocabulary = kMany}, {}, random::key(3));
    save_pretrained(path, numbers->parameters(), *model, kMany, {}, {.dtype = bf16});
    std::vector<Arrays> all;
    for (std::int64_t piece : {64 * 16, 64 * 48, 1 << 20}) {
      auto s = model->scorer({.vocabulary = kMany, .weights = kFormats[1], .drawn = false}, {}, random::key(3));
      load_pretrained(s->parameters(), path, *model, kMany, {.piece = piece, .weights = kFormats[1]});
      all.emplace_back();
      for (auto& slot : tree::slots(s->parameters()))
        if (slot.leaf.defined()) all.back().push_back(slot.leaf.get());
    }
    for (std::size_t k = 1; k < all.size(); ++k)
      for (std::size_t i = 0; i < all[k].size(); ++i) EXPECT_TRUE(array_equal(all[k][i], all[0][i])) << k << " " << i;
  }
}
/// A folder whose weights are GPTQ's: of the integers and scales of one of ours, with groups in another order.
struct Gptq {
  std::map<std::string, Array> tensors = {};
  std::string config;
};
Gptq gptq_of(const std::string& folder, bool ordered, bool symmetric, bool second_version) {
  Gptq r;
  auto files = FolderTensors::open(folder);
  std::mt19937 draw(4);
  for (auto& name : files.names()) {
    if (!files.is_quantised(name)) {
      r.tensors[name] = files.safetensors()->read(name);
      continue;
    }
    auto m = files.matrix(name);
    auto layer = name.substr(0, name.size() - 7);
    auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    std::vector<std::int32_t> q(at(m.k / 8 * m.n)), zeros(at(m.groups * m.n / 8)), order(at(m.k));
    std::vector<float> scales(at(m.groups * m.n));
    for (std::int64_t i = 0; i < m.k; ++i) order[at(i)] = m.group_of[at(i)];
    if (!ordered) std::shuffle(order.begin(), order.end(), draw);
    auto put = [](std::int32_t& word, int u, std::int64_t i) {
      word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | static_cast<std::uint32_t>(u)
                                                                              << static_cast<unsigned>(i % 8 * 4));
    };
    for (std::int64_t o = 0; o < m.n; ++o) {
      for (std::int64_t i = 0; i < m.k; ++i) put(q[at(i / 8 * m.n + o)], m.q[at(o * m.k + i)] + 8, i);
      for (std::int64_t g = 0; g < m.groups; ++g) {
        auto zero = symmetric ? 8 : static_cast<int>(3 + o % 9);
        put(zeros[at(g * m.n / 8 + o / 8)], zero - (second_version ? 0 : 1), o);
        scales[at(g * m.n + o)] = m.scales[at(o * m.groups + g)];
      }
    }
    r.tensors[layer + ".qweight"] = asarray(q, Shape{m.k / 8, m.n});
    r.tensors[layer + ".qzeros"] = asarray(zeros, Shape{m.groups, m.n / 8});
    r.tensors[layer + ".scales"] = asarray(scales, Shape{m.groups, m.n}).astype(f16);
    r.tensors[layer + ".g_idx"] = asarray(order);
  }
  r.config = std::string("{\"bits\": 4, \"group_size\": 32, \"desc_act\": ") + (ordered ? "false" : "true") +
             ", \"sym\": " + (symmetric ? "true" : "false") + ", \"damp_percent\": 0.01, \"quant_method\": \"gptq\"" +
             (second_version ? ", \"checkpoint_format\": \"gptq_v2\"}" : "}");
  return r;
}
/// The folder's config.json with another quantization_config.
std::string with_config(const std::string& folder, const std::string& quantization) {
  auto text = read_file(folder + "/config.json");
  auto begin = text.find("\"quantization_config\""), open = text.find('{', begin);
  int depth = 0;
  auto end = open;
  do depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
  while (++end, depth > 0);
  return text.substr(0, open) + quantization + text.substr(end);
}
TEST(PackedFolders, GptqIsRead) {
  Folder ours(kFormats[1]);
  auto same = loaded(ours.path, kFormats[1]);
  for (bool ordered : {true, false})
    for (bool symmetric : {true, false})
      for (bool second : {false, true}) {
        auto g = gptq_of(ours.path, ordered, symmetric, second);
        test::TempFolder temp;
        auto path = temp.path() + "/gptq";
        fs::create_directories(path);
        save_safetensors(path, g.tensors);
        write_file(path + "/config.json", with_config(ours.path, g.config));
        EXPECT_EQ(weights_of(path), ordered && symmetric ? "int4" : "int8");
        auto plain = loaded(path, none);
        if (ordered && symmetric) {  // the same integers
          EXPECT_EQ(loaded(path, kFormats[1]).to_vector<float>(), same.to_vector<float>());
        } else {
          EXPECT_LT(distance(loaded(path, kFormats[0]), plain), 0.02);
          EXPECT_GT(distance(plain, same), 0.05) << "the order and the zero points are read";
        }
        auto m = FolderTensors::open(path).matrix("model.layers.0.self_attn.o_proj.weight");
        auto of_ours = FolderTensors::open(ours.path).matrix("model.layers.0.self_attn.o_proj.weight");
        auto row = 17, column = 45;
        auto group = m.group_of[45];
        EXPECT_EQ(m.q[row * m.k + column], of_ours.q[row * m.k + column] + 8 - (symmetric ? 8 : 3 + row % 9));
        EXPECT_EQ(m.scales[row * m.groups + group], of_ours.scales[row * m.groups + group]);
      }
}
/// What compressed-tensors itself wrote, and read again (tests/golden/make_quantised.py).
TEST(PackedFolders, CompressedTensorsOwnAreRead) {
  auto numbers = [](const std::string& name) { return test::golden_numbers("quantised.txt", name); };
  for (std::string name : {"int4", "int4_zeros", "int8", "int4_channel"}) {
    auto shape = numbers(name + ".shape");
    ASSERT_EQ(shape.size(), 7u) << name;
    auto size = [&](int i) { return static_cast<std::int64_t>(shape[static_cast<std::size_t>(i)]); };
    auto tensor = [&](const std::string& part, Shape s) { return asarray(numbers(name + part), s); };
    std::map<std::string, Array> all{
        {"x.weight_packed", tensor(".weight_packed", {size(3), size(4)}).astype(i32)},
        {"x.weight_scale", tensor(".weight_scale", {size(5), size(6)}).astype(f16)},
        {"x.weight_shape", tensor(".weight_shape", {2}).astype(i64)}};
    if (size(2) == 0)
      all["x.weight_zero_point"] = tensor(".weight_zero_point", {size(3) / 8, size(6)}).astype(i32);
    test::TempFolder temp;
    save_safetensors(temp.path(), all);
    std::string group = size(1) ? "\"group\", \"group_size\": " + std::to_string(size(1)) : "\"channel\"";
    write_file(temp.path() + "/config.json",
               "{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"format\": "
               "\"pack-quantized\", \"config_groups\": {\"group_0\": {\"weights\": {\"num_bits\": " +
                   std::to_string(size(0)) + ", \"type\": \"int\", \"strategy\": " + group +
                   ", \"symmetric\": " + (size(2) ? "true" : "false") + "}}}}}");
    auto m = FolderTensors::open(temp.path()).matrix("x.weight");
    auto got = m.numbers().to_vector<float>();
    auto want = numbers(name + ".numbers");
    ASSERT_EQ(got.size(), want.size()) << name;
    for (std::size_t i = 0; i < want.size(); ++i)  // theirs are rounded to f16
      EXPECT_NEAR(got[i], want[i], 1e-3 * std::abs(want[i])) << name << " " << i;
    EXPECT_EQ(m.packed({static_cast<int>(size(0)), 32}).has_value(), name != "int4_zeros") << name;
  }
}
TEST(PackedFolders, OtherLayoutsAreRefusedByName) {
  Folder ours(kFormats[1]);
  auto original = read_file(ours.path + "/config.json");
  auto refused = [&](const std::string& quantization, const std::string& words) {
    write_file(ours.path + "/config.json", with_config(ours.path, quantization));
    test::says<IoError>([&] { return Pretrained::open(ours.path); }, words);
    write_file(ours.path + "/config.json", original);
  };
  refused("{\"quant_method\": \"awq\", \"bits\": 4}", "quantization_config.quant_method: \"awq\" is not supported");
  refused("{\"quant_method\": \"bitsandbytes\"}", "bitsandbytes");
  refused("{\"quant_method\": \"gptq\", \"bits\": 3, \"group_size\": 32}", ".bits: 3 is not supported; 4 and 8 are");
  refused("{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 0}", ".group_size: 0");
  refused("{\"quant_method\": \"gptq\", \"bits\": 4, \"checkpoint_format\": \"marlin\"}", "marlin");
  refused("{\"quant_method\": \"gptq\", \"bits\": \"4\"}", ".bits");
  refused("{\"quant_method\": \"compressed-tensors\", \"format\": \"int-quantized\"}", "int-quantized");
  refused("{\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\"}", ".config_groups");
  refused("{\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\", \"config_groups\": {\"g\": "
          "{\"weights\": {\"num_bits\": 4, \"type\": \"float\"}}}}", "float");
  refused("{\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\", \"config_groups\": {\"g\": "
          "{\"weights\": {\"num_bits\": 4}, \"input_activations\": {\"num_bits\": 8}}}}", "input_activations");
  refused("[]", "quant_method");
}
/// Tensors with other shapes, dtypes and numbers, and without some: errors that name a tensor, never a crash.
TEST(PackedFolders, DamagedTensorsAreErrors) {
  Folder ours(kFormats[1]);
  auto model = llama();
  auto gptq = gptq_of(ours.path, false, false, false);
  std::map<std::string, Array> packed;
  {
    auto files = Safetensors::open(ours.path);
    for (auto& name : files.names()) packed[name] = files.read(name);
  }
  test::TempFolder temp;
  int tried = 0;
  for (auto* tensors : {&packed, &gptq.tensors}) {
    auto path = temp.path() + (tensors == &packed ? "/packed" : "/gptq");
    fs::create_directories(path);
    write_file(path + "/config.json",
               tensors == &packed ? read_file(ours.path + "/config.json") : with_config(ours.path, gptq.config));
    auto fails = [&](const std::map<std::string, Array>& damaged, const std::string& what) {
      ++tried;
      save_safetensors(path, damaged);
      try {
        (void)loaded(path, kFormats[1]);
        ADD_FAILURE() << what << " was read";
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("proj"), std::string::npos) << what << ": " << e.what();
      }
    };
    for (auto& [name, x] : *tensors) {
      if (name.find("layers.1.mlp.down_proj") == name.npos) continue;
      auto with = [&](const Array& y) {
        auto all = *tensors;
        all[name] = y;
        return all;
      };
      auto without = *tensors;
      without.erase(name);
      fails(without, name + " removed");
      fails(with(x.astype(x.dtype() == i32 || x.dtype() == i64 ? f32 : i32)), name + " of another dtype");
      fails(with(slice_in_dim(reshape(x, {x.size()}), 0, 0, x.size() - 1)), name + " in one dimension");
      fails(with(concatenate({x, x}, 0)), name + " doubled");
      if (x.ndim() == 2) {
        fails(with(transpose(concatenate({x, x}, 1))), name + " turned");
        fails(with(slice_in_dim(x, 1, 0, x.shape(1) - 1)), name + " without a column");
      }
      if (is_float(x.dtype())) fails(with(x * std::nan("")), name + " of NaN");
      if (name.ends_with("g_idx")) {
        fails(with(x - 1), "a group below 0");
        fails(with(x + 1), "a group too many");
      }
      if (name.ends_with("_shape")) fails(with(x + 1), "another shape");
    }
  }
  EXPECT_GT(tried, 30);
}
}  // namespace
}  // namespace packed_test
