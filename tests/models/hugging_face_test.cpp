// Every folder in tests/golden/models against its results from transformers: logits, loss, gradients, four steps, on
// several meshes; decoding with the cache; import and export as the same bits.
#include <gtest/gtest.h>
#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include "bora/io/safetensors.h"
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include "bora/optim/optim.h"
#include "bora/train/trainer.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace fs = std::filesystem;
namespace hugging_face_test {
using namespace bora;
using namespace bora::models;
namespace {
const std::string kFolders = test::source_dir() + "/tests/golden/models/";
std::vector<std::string> names() {
  std::vector<std::string> all;
  for (auto& entry : fs::directory_iterator(kFolders))
    if (fs::exists(entry.path() / "golden.safetensors") && fs::exists(entry.path() / "config.json"))
      all.push_back(entry.path().filename().string());
  std::sort(all.begin(), all.end());
  return all;
}
struct Case {
  std::string layout;
  int data, parts;
};
const std::vector<Case> kCases{{"dp", 1, 1}, {"fsdp", 2, 1}, {"tp", 1, 2}, {"fsdp+tp", 2, 2}, {"fsdp", 3, 1}};
using Tensors = std::map<std::string, std::vector<double>>;
Tensors numbers_of(const std::string& path) {
  Tensors all;
  auto files = Safetensors::open(path);
  for (auto& name : files.names()) all[name] = files.read(name).to_vector<double>();
  return all;
}
/// The bits of all tensors, and their types.
std::map<std::string, std::string> bits_of(const std::string& path) {
  std::map<std::string, std::string> all;
  auto files = Safetensors::open(path);
  for (auto& name : files.names()) {
    auto x = files.read(name);
    all[name] = to_string(x.type()) + std::string(static_cast<const char*>(x.bytes()), x.nbytes());
  }
  return all;
}
struct Temporary {
  test::TempFolder temp;
  std::string path = temp / "files";
};
std::vector<std::string> at(const fs::path& folder) {
  std::vector<std::string> all;
  for (auto& e : fs::directory_iterator(folder)) all.push_back(e.path().filename().string());
  std::sort(all.begin(), all.end());
  return all;
}

class HuggingFace : public testing::TestWithParam<std::string> {
 protected:
  std::string folder = kFolders + GetParam();
  Pretrained pretrained = Pretrained::open(folder);
  Tensors golden = numbers_of(folder + "/golden.safetensors");
  std::int64_t batch = 0, positions = 0, inputs = 0;
  Temporary temporary;

  HuggingFace() {
    auto files = Safetensors::open(folder + "/golden.safetensors");
    auto shape = files.type("ids").shape;
    batch = shape[0], positions = shape[1];
    if (golden.contains("decoder_ids")) inputs = positions, positions = files.type("decoder_ids").shape[1];
  }
  /// The model without any dropout, as the results were made.
  config::Choice<Model> model() const {
    auto d = pretrained.model.write();
    for (auto& [key, value] : d.members)
      if (key.find("dropout") != std::string::npos && value.text != "true" && value.text != "false")
        value = config::scalar("0");
    auto m = pretrained.model;
    m.read(d, "model", config::schema(m));
    return m;
  }
  /// Rows of a batch as training has them.
  data::Rows rows(std::int64_t begin, std::int64_t end) const {
    data::RowShape shape{.positions = positions};
    shape.inputs = inputs;
    shape.token_types = golden.contains("token_types");
    shape.prediction = pretrained.model->prediction();
    auto r = data::Rows::zeros(begin, end, shape);
    auto& ids = golden.at(inputs ? "decoder_ids" : "ids");
    auto& labels = golden.at("labels");
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t i = 0; i < positions; ++i) {
        auto to = static_cast<std::size_t>((row - begin) * positions + i),
             from = static_cast<std::size_t>(row * positions + i);
        r.tokens[to] = static_cast<std::int32_t>(ids[from]);
        bool shifts = !inputs && pretrained.model->generates();
        auto label = !shifts ? labels[from] : i + 1 < positions ? labels[from + 1] : -100;
        if (shape.token_types) r.token_types[to] = static_cast<std::int32_t>(golden.at("token_types")[from]);
        r.targets[to] = label < 0 ? 0 : static_cast<std::int32_t>(label);
        r.weights[to] = label < 0 ? 0 : 1;
      }
    for (std::int64_t row = begin; row < end && !r.values.empty(); ++row)
      r.values[static_cast<std::size_t>((row - begin) * positions)] =
          static_cast<float>(golden.at("values")[static_cast<std::size_t>(row)]);
    for (std::int64_t i = begin * inputs; i < end * inputs; ++i) {
      auto to = static_cast<std::size_t>(i - begin * inputs), from = static_cast<std::size_t>(i);
      r.inputs[to] = static_cast<std::int32_t>(golden.at("ids")[from]);
      r.input_mask[to] = static_cast<std::int32_t>(golden.at("mask")[from]);
    }
    return r;
  }
  GlobalBatch example(const Mesh& mesh) const {
    auto mine = rows_of_rank(batch, mesh);
    auto b = make_batch(rows(mine.begin, mine.end), batch, mesh);
    if (inputs) return b;
    std::vector<std::int32_t> mask;
    for (auto i = mine.begin * positions; i < mine.end * positions; ++i)
      mask.push_back(static_cast<std::int32_t>(golden.at("mask")[static_cast<std::size_t>(i)]));
    auto& tokens = b.example.tokens;
    auto block = asarray(mask, Shape{mine.size(), positions});
    b.example.mask =
        NamedArray(from_local_block(block, tokens.array().shape(), local_block(tokens.array()).spec), tokens.axes());
    return b;
  }
  ModelOptions options(const Case& c, const Mesh& mesh, const optim::Transform& optimizer) const {
    return {pretrained.vocabulary,
            {},
            StepOptions{.optimizer = optimizer,
                        .learning_rate = optim::constant_schedule(1),
                        .storage = layout_mappings(parse_layout(c.layout), mesh.shape()).storage}};
  }
  /// Calls f(mesh, a model in training that has the folder's parameters).
  template <class F> void train(const Case& c, const optim::Transform& optimizer, const F& f) const {
    auto m = model();
    local_mesh({{"data", c.data}, {"model", c.parts}}, [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout(c.layout), mesh.shape()).compute);
      auto t = m->trainable(options(c, mesh, optimizer));
      t->init(random::key(1));
      EXPECT_TRUE(load_pretrained(t->parameters(), folder, *m, pretrained.vocabulary).empty());
      f(mesh, *t);
    });
  }
  /// The parameters after `steps` updates by an optimizer, by the names of their tensors, and the first loss.
  std::pair<Tensors, double> after(const Case& c, const optim::Transform& optimizer, int steps) const {
    double loss = 0;
    train(c, optimizer, [&](const Mesh& mesh, Trainable& t) {
      auto b = example(mesh);
      for (int i = 0; i < steps; ++i) {
        auto report = t.step(b).to_vector<float>();
        if (i == 0 && mesh.rank() == 0) loss = static_cast<double>(report[0]);
      }
      save_pretrained(temporary.path, t.parameters(), *pretrained.model, pretrained.vocabulary);
    });
    return {numbers_of(temporary.path), loss};
  }
  static std::string name_of(const Case& c) { return c.layout + " " + std::to_string(c.data * c.parts); }
};
std::string config_of(const Model& model) {
  HfConfig c;
  model.to_hf(c);
  return c.text();
}
double norm(const std::vector<double>& x) {
  double sum = 0;
  for (auto v : x) sum += v * v;
  return std::sqrt(sum);
}
}  // namespace

TEST_P(HuggingFace, LossAndGradientsAreThoseOfTransformers) {
  auto before = numbers_of(folder);
  double all = 0;
  for (auto& [name, g] : golden)
    if (name.starts_with("grad.")) all = std::hypot(all, norm(g));
  constexpr double rate = 1024;  // the difference is the gradient, with its own rounding
  for (auto& c : kCases) {
    auto [stepped, loss] = after(c, optim::sgd({.learning_rate = rate}), 1);
    EXPECT_NEAR(loss, golden.at("loss")[0], 1e-5) << name_of(c);
    ASSERT_EQ(stepped.size(), before.size());
    for (auto& [name, x] : before) {
      auto& want = golden.at("grad." + name);
      std::vector<double> diff;
      for (std::size_t i = 0; i < x.size(); ++i) diff.push_back((x[i] - stepped.at(name)[i]) / rate - want[i]);
      EXPECT_LE(norm(diff), 1e-4 * norm(want) + 1e-7 * all) << name_of(c) << ": " << name << ", norm " << norm(want);
    }
  }
}
TEST_P(HuggingFace, FourStepsOfAdamWAreThoseOfTransformers) {
  for (auto& c : kCases) {
    auto stepped = after(c, optim::adamw({.learning_rate = 1e-2, .weight_decay = 0.1}), 4).first;
    for (auto& [name, x] : stepped) {
      auto& want = golden.at("adamw4." + name);
      double most = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (!std::isnan(want[i])) most = std::max(most, std::abs(x[i] - want[i]));
      EXPECT_LT(most, 4e-5) << name_of(c) << ": " << name;  // Adam divides small gradients by their size
    }
  }
}
TEST_P(HuggingFace, LogitsAreThoseOfTransformers) {
  auto m = model();
  auto shape = Safetensors::open(folder + "/golden.safetensors").type("logits").shape;
  auto scores_of_one = static_cast<std::size_t>(shape[shape.size() - 1]);
  bool of_texts = shape.size() == 2;  // the scores of a text stand at its first token
  for (auto& c : kCases)
    local_mesh({{"data", c.data}, {"model", c.parts}}, [&](const Mesh& mesh) {
      auto mappings = layout_mappings(parse_layout(c.layout), mesh.shape());
      UseMapping split(mappings.compute);
      auto scorer = m->scorer({pretrained.vocabulary}, mappings.storage, random::key(1));
      load_pretrained(scorer->parameters(), folder, *m, pretrained.vocabulary);
      auto scores = scorer->scores(example(mesh).example).array().to_vector<float>();
      if (mesh.rank() != 0) return;
      auto per_text = static_cast<std::size_t>(positions);
      ASSERT_EQ(scores.size(), golden.at("logits").size() * (of_texts ? per_text : 1));
      double most = 0;
      for (std::size_t i = 0; i < scores.size(); ++i) {
        auto place = i / scores_of_one, k = of_texts ? place / per_text * scores_of_one + i % scores_of_one : i;
        if (of_texts ? place % per_text == 0 : inputs || golden.at("mask")[place] == 1)
          most = std::max(most, std::abs(static_cast<double>(scores[i]) - golden.at("logits")[k]));
      }
      EXPECT_LT(most, 1e-4) << name_of(c);
    });
}
TEST_P(HuggingFace, DecodingIsTheForwardPass) {
  auto m = model();
  if (!m->generates()) return;  // an encoder
  auto vocabulary = static_cast<std::size_t>(pretrained.vocabulary);
  auto scores_of = [](const Array& scores, const Array&) { return scores; };
  for (auto& c : {kCases[0], kCases[2], kCases[4]})
    local_mesh({{"data", c.data}, {"model", c.parts}}, [&](const Mesh& mesh) {
      auto mappings = layout_mappings(parse_layout(c.layout), mesh.shape());
      UseMapping split(mappings.compute);
      auto g = m->generator({pretrained.vocabulary}, mappings.storage, random::key(1), scores_of);
      load_pretrained(g->parameters(), folder, *m, pretrained.vocabulary);
      for (std::int64_t row = 0; row < batch; ++row) {
        auto r = rows(row, row + 1);
        auto mask = golden.at("mask").begin() + row * (inputs ? inputs : positions);
        auto known = std::count(mask, mask + (inputs ? inputs : positions), 1);
        auto read = [&](auto& generator) {  // an encoder's tokens
          if constexpr (requires { generator.read(r.inputs); })
            if (inputs) generator.read({r.inputs.begin(), r.inputs.begin() + known});
        };
        g->restart();
        read(*g);
        double most = 0;
        auto last = inputs ? positions : known;
        for (std::int64_t from = 0, to = 3; from < last; from = to++) {
          auto scores = g->next({r.tokens.begin() + from, r.tokens.begin() + to}, random::key(0)).to_vector<float>();
          for (std::size_t v = 0; v < vocabulary; ++v) {
            auto i = static_cast<std::size_t>(row * positions + to - 1) * vocabulary + v;
            most = std::max(most, std::abs(static_cast<double>(scores[v]) - golden.at("logits")[i]));
          }
        }
        EXPECT_LT(most, 1e-4) << name_of(c) << " row " << row;
      }
    });
}
TEST_P(HuggingFace, ExportGivesTheSameBits) {
  auto want = bits_of(folder);
  for (auto& c : kCases) {
    train(c, optim::sgd({}), [&](const Mesh&, Trainable& t) {
      save_pretrained(temporary.path, t.parameters(), *pretrained.model, pretrained.vocabulary, {},
                      {.shard_bytes = c.data == 2 ? 3'000 : 0});
    });
    EXPECT_EQ(at(temporary.path).size() > 2, c.data == 2) << name_of(c);
    EXPECT_EQ(bits_of(temporary.path), want) << name_of(c);
    auto again = Pretrained::open(temporary.path);
    EXPECT_EQ(config_of(*again.model), config_of(*pretrained.model));
    EXPECT_EQ(again.vocabulary, pretrained.vocabulary);
  }
}
TEST_P(HuggingFace, RoundedFilesStayAsTheyAre) {
  auto rounded = temporary.path + "/bf16", back = temporary.path + "/back";
  fs::create_directories(temporary.path);
  auto save = [&](const std::string& from, const std::string& to) {
    local_mesh({{"data", 2}, {"model", 1}}, [&](const Mesh& mesh) {
      auto t = pretrained.model->trainable(options(kCases[1], mesh, optim::sgd({})));
      t->init(random::key(1));
      load_pretrained(t->parameters(), from, *pretrained.model, pretrained.vocabulary);
      save_pretrained(to, t->parameters(), *pretrained.model, pretrained.vocabulary, {}, {.dtype = bf16});
    });
  };
  save(folder, rounded);
  save(rounded, back);
  EXPECT_EQ(bits_of(rounded), bits_of(back));
  EXPECT_EQ(Safetensors::open(rounded).type(Safetensors::open(rounded).names()[0]).dtype, bf16);
  EXPECT_EQ(
      HfConfig::parse(std::string(std::istreambuf_iterator<char>(std::ifstream(rounded + "/config.json").rdbuf()), {}),
                      "config.json")
          .word("torch_dtype"),
      "bfloat16");
}
INSTANTIATE_TEST_SUITE_P(Golden, HuggingFace, testing::ValuesIn(names()), [](auto& info) { return info.param; });
}  // namespace hugging_face_test
