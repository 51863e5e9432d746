// GGUF files: numbers of each encoding, models of each architecture, tokenizers, and files that are damaged, against
// goldens of gguf and transformers (tests/golden/gguf/make_gguf.py).
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <cstring>
#include "base/api/file.h"
#include "bora/io/safetensors.h"
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include "bora/shard/shard.h"
#include "bora/text/tokenizer.h"
#include "bora/text/tokenizer_files.h"
#include "bora/train/trainer.h"
#include "gguf/api/companions.h"
#include "gguf/api/gguf.h"
#include "json/api/value.h"
#include "models/api/weights.h"
#include "models/hf/gguf_tensors.h"
#include "support/golden.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace gguf_test {
using namespace bora;
using namespace bora::models;
namespace {
using I = std::int64_t;
const std::string kFolder = test::golden_path("gguf/");
const std::vector<std::string> kModels = {"llama", "llama3", "qwen2", "qwen3", "gemma", "gemma2", "gpt2", "mixed"};
const std::vector<std::int32_t> kIds = {3, 17, 40, 5, 62, 90, 33, 71};
std::string file(const std::string& name) { return kFolder + name + ".gguf"; }
std::vector<float> golden(const std::string& name) {
  static const auto files = Safetensors::open(kFolder + "golden.safetensors");
  return files.read(name).astype(f32).to_vector<float>();
}
/// Scores of kIds under a file's model.
std::vector<float> scores_of(const std::string& path, int ranks, const std::string& weights) {
  std::vector<float> r;
  auto p = Pretrained::open(path);
  auto format = weights == "f32" ? std::optional<nn::WeightFormat>() : nn::WeightFormat::parse(weights);
  local_mesh({{"data", 1}, {"model", ranks}}, [&](const Mesh& mesh) {
    auto mappings = layout_mappings(parse_layout("tp"), mesh.shape());
    UseMapping split(mappings.compute);
    ModelOptions how{.vocabulary = p.vocabulary, .weights = format, .drawn = false};
    auto s = p.model->scorer(how, mappings.storage, random::key(0));
    EXPECT_TRUE(load_pretrained(s->parameters(), path, *p.model, p.vocabulary, {.weights = format}).empty());
    auto rows = data::Rows::zeros(0, 1, {.positions = static_cast<I>(kIds.size())});
    std::copy(kIds.begin(), kIds.end(), rows.tokens.begin());
    auto scores = s->scores(make_batch(rows, 1, mesh).example);
    Array all_scores = gather(scores.array());
    auto all = all_scores.astype(f32).to_vector<float>();
    if (mesh.rank() == 0) r = all;
  });
  return r;
}
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double d = 0, n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) d += std::pow(a[i] - b[i], 2), n += std::pow(b[i], 2);
  return a.size() == b.size() ? std::sqrt(d / n) : INFINITY;
}
}  // namespace

TEST(Gguf, NumbersOfEachEncodingAreTheReferences) {
  auto f = gguf::File::open(file("blocks"));
  ASSERT_EQ(f->tensors().size(), 7u);
  for (auto& t : f->tensors()) {
    auto want = golden("blocks." + t.name);
    std::vector<float> got(static_cast<std::size_t>(t.numbers));
    auto blocks = t.numbers / gguf::blocks_of(t.encoding).numbers;
    EXPECT_EQ(gguf::blocks_of(t.encoding).name, t.name);
    gguf::decode(t, 0, blocks, got.data());
    ASSERT_EQ(got.size(), want.size());
    EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * 4), 0) << t.name;
    // Some of the blocks alone.
    std::vector<float> last(static_cast<std::size_t>(t.numbers / blocks));
    gguf::decode(t, blocks - 1, blocks, last.data());
    EXPECT_EQ(std::memcmp(last.data(), &want[want.size() - last.size()], last.size() * 4), 0) << t.name;
  }
}
TEST(Gguf, ScoresAreTransformers) {
  for (auto& name : kModels) {
    auto want = golden(name + ".logits");
    for (int ranks : {1, 2})
      EXPECT_LT(distance(scores_of(file(name), ranks, "f32"), want), 4e-6) << name << " " << ranks;
  }
}
TEST(Gguf, IntegersAreTakenAsTheyAre) {
  for (auto& [name, word] : {std::pair<std::string, std::string>{"llama", "int8"}, {"llama3", "int4"}}) {
    EXPECT_EQ(weights_of(file(name)), word);
    GgufTensors tensors(file(name));
    int packed = 0;
    for (auto& tensor : tensors.names()) {
      if (!tensors.is_quantised(tensor)) continue;
      auto m = tensors.matrix(tensor);
      EXPECT_EQ(m.numbers().to_vector<float>(), tensors.numbers(tensor).to_vector<float>()) << tensor;
      auto words = tensor.find("embed_tokens") != tensor.npos;
      EXPECT_TRUE(m.packed(nn::WeightFormat::parse(words ? "int8" : word)).has_value()) << tensor;
      ++packed;
    }
    EXPECT_GE(packed, 15);
    // Only the inputs of products are rounded, to 8 bits.
    EXPECT_LT(distance(scores_of(file(name), 1, word), golden(name + ".logits")), 0.06) << name;
  }
  EXPECT_EQ(weights_of(file("qwen2")), "f32");
  EXPECT_EQ(weights_of(file("qwen3")), "bf16");
  // Q4_K and Q6_K are rounded to integers of 8 bits.
  EXPECT_EQ(weights_of(file("mixed")), "int8");
  EXPECT_LT(distance(scores_of(file("mixed"), 2, "int8"), golden("mixed.logits")), 0.06);
}
TEST(Gguf, IdsAreThoseOfTheTokenizersFile) {
  auto cases = json::parse(read_file(test::golden_path("tokenizers.json")), "tokenizers.json");
  for (std::string name : {"gpt2", "llama3", "qwen2"}) {
    auto t = text::tokenizer_at(file(name), false), whole = text::tokenizer_at(file(name), true);
    auto other = text::tokenizer_at(test::golden_path("tokenizer_" + name + ".json"), false);
    EXPECT_EQ(t->size(), other->size());  // without the tokens that fill the table
    EXPECT_NE(t->identity(), whole->identity());
    int wholes = 0;
    for (auto& c : cases.find("cases")->list()) {
      auto& s = c.find("text")->text();
      std::vector<std::int32_t> want;
      for (auto& id : c.find(name)->list()) want.push_back(static_cast<std::int32_t>(id.integer()));
      auto ids = t->encode(s);
      EXPECT_EQ(ids, want) << name << ": " << s;
      EXPECT_EQ(t->decode(ids), other->decode(want)) << name << ": " << s;
      if (auto around = c.find(name + " whole")) {
        want.clear();
        for (auto& id : around->list()) want.push_back(static_cast<std::int32_t>(id.integer()));
        EXPECT_EQ(whole->encode(s), want) << name << ": " << s;
        ++wholes;
      }
    }
    EXPECT_EQ(wholes > 20, name == "llama3");
  }
  auto t = text::tokenizer_at(file("llama"), false);
  auto model = text::tokenizer_at(test::golden_path("tokenizer_llama.model"), false);
  auto whole = text::tokenizer_at(file("llama"), true);
  for (auto& c : cases.find("cases")->list()) {
    auto ids = model->encode(c.find("text")->text());
    EXPECT_EQ(t->encode(c.find("text")->text()), ids) << c.find("text")->text();
    EXPECT_EQ(t->decode(ids), model->decode(ids));
    ids.insert(ids.begin(), 1);
    EXPECT_EQ(whole->encode(c.find("text")->text()), ids);
  }
}
TEST(Gguf, CompanionsSayEndsAndTemplate) {
  auto llama = gguf::File::open(file("llama"));
  EXPECT_EQ(gguf::companions(*llama), (std::vector<std::string>{"config.json", "generation_config.json",
                                                                "tokenizer_config.json", "tokenizer.model"}));
  auto config = json::parse(gguf::tokenizer_config_json(*llama), "");
  EXPECT_EQ(*config.find("bos_token"), "<s>");
  EXPECT_EQ(*config.find("add_bos_token"), true);
  EXPECT_TRUE(config.find("chat_template")->text().starts_with("{% for m in messages %}"));
  // <|im_end|> is eos; <|endoftext|> ends an answer by its text.
  auto ends = json::parse(gguf::generation_config_json(*gguf::File::open(file("qwen2"))), "");
  EXPECT_EQ(ends.find("eos_token_id")->list(), (json::Value::List{602, 600}));
  EXPECT_FALSE(gguf::is_there(file("qwen3") + "/tokenizer.json"));
  EXPECT_TRUE(gguf::is_there(file("qwen2") + "/tokenizer.json"));
  auto none = test::error_of([] { text::tokenizer_at(file("qwen3"), false); });
  EXPECT_TRUE(none.ends_with("qwen3.gguf has no tokenizer")) << none;
  test::TempFolder temp;
  EXPECT_EQ(text::copy_companions(file("gpt2"), temp / "to", true),
            (std::vector<std::string>{"config.json", "generation_config.json", "tokenizer.json",
                                      "tokenizer_config.json"}));
  EXPECT_EQ(read_file(temp / "to/config.json"), gguf::read_file(file("gpt2") + "/config.json"));
}

// ---- Damaged files --------------------------------------------------------------------------------------------------
namespace {
/// A file that is written part by part.
struct Writer {
  std::string header, data;
  std::uint64_t values = 0, tensors = 0;
  std::string infos;
  template <class T> static std::string raw(T x) { return {reinterpret_cast<const char*>(&x), sizeof x}; }
  static std::string text(std::string_view s) { return raw(std::uint64_t{s.size()}) + std::string(s); }
  template <class T> Writer& value(std::string_view key, std::uint32_t kind, T x) {
    header += text(key) + raw(kind) + raw(x);
    ++values;
    return *this;
  }
  Writer& word(std::string_view key, std::string_view x) {
    header += text(key) + raw(std::uint32_t{8}) + text(x);
    ++values;
    return *this;
  }
  Writer& tensor(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type, std::uint64_t offset) {
    infos += text(name) + raw(static_cast<std::uint32_t>(dims.size()));
    for (auto d : dims) infos += raw(d);
    infos += raw(type) + raw(offset);
    ++tensors;
    return *this;
  }
  std::string bytes(std::size_t of_data, std::uint32_t version = 3) const {
    auto all = "GGUF" + raw(version) + raw(tensors) + raw(values) + header + infos;
    all.resize((all.size() + 31) / 32 * 32);
    return all + std::string(of_data, '\0');
  }
};
std::string error_of(const std::string& bytes) {
  return test::error_of([&] { (void)gguf::config_json(*gguf::File::of(bytes, "x.gguf")); });
}
}  // namespace

TEST(Gguf, WrongFilesAreNamed) {
  using W = Writer;
  auto word = [](const std::string& s) { return W().word("general.architecture", s); };
  EXPECT_EQ(error_of("GGU"), "x.gguf: is no GGUF file: it does not begin with GGUF and its counts");
  EXPECT_EQ(error_of(W().bytes(0, 1)), "x.gguf: GGUF version 1 is not supported; 2 and 3 are");
  EXPECT_EQ(error_of(W().bytes(0, 3u << 24)),
            "x.gguf: GGUF version 50331648 is not supported; 2 and 3 are (its numbers are big-endian)");
  EXPECT_EQ(error_of(W().bytes(0)), "x.gguf: general.architecture: the value is missing");
  EXPECT_EQ(error_of(word("gemma3").bytes(0)), "x.gguf: general.architecture: 'gemma3' is not supported; supported: "
                                               "llama, qwen2, qwen3, gemma, gemma2, gpt2");
  EXPECT_EQ(error_of(word("llama").bytes(0)), "x.gguf: there is no matrix token_embd.weight");
  EXPECT_EQ(error_of(word("llama").word("general.architecture", "a").bytes(0)),
            "x.gguf: general.architecture: the value is given twice");
  EXPECT_EQ(error_of(W().tensor("w", {256, 2}, 13, 0).bytes(4096)),
            "x.gguf: w: its type Q5_K is not supported; supported: F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q6_K");
  EXPECT_EQ(error_of(W().tensor("w", {48, 2}, 8, 0).bytes(4096)),
            "x.gguf: w: rows of 48 numbers are no blocks of 32, as Q8_0 has them");
  EXPECT_EQ(error_of(W().tensor("w", {8}, 0, 0).tensor("w", {8}, 0, 32).bytes(64)),
            "x.gguf: w: the tensor is there twice");
  EXPECT_EQ(error_of(W().tensor("w", {9}, 0, 0).tensor("v", {8}, 0, 32).bytes(64)),
            "x.gguf: v: its bytes are also those of w");
  EXPECT_EQ(error_of(W().tensor("w", {8}, 0, 8).bytes(64)), "x.gguf: w: its offset 8 is no multiple of 32");
  EXPECT_EQ(error_of(W().tensor("w", {17}, 0, 0).bytes(64)),
            "x.gguf: w: its 68 bytes from 0 on exceed the 64 of all tensors: the file is not whole");
  EXPECT_EQ(error_of(W().tensor("w", {std::uint64_t{1} << 40, 1 << 20}, 0, 0).bytes(64)),
            "x.gguf: w: a dimension of 1048576 is not possible");
  EXPECT_EQ(error_of(W().tensor("w", {0}, 0, 0).bytes(64)), "x.gguf: w: a dimension of 0 is not possible");
  EXPECT_EQ(error_of(W().value("general.alignment", 4, std::uint32_t{24}).bytes(0)),
            "x.gguf: general.alignment: 24 is no power of two from 8 to 1048576");
  EXPECT_EQ(error_of(W().value("a", 99, 0).bytes(0)), "x.gguf: a: type 99 of a value is not known");
  auto list = [](std::uint32_t item, std::uint64_t n) {
    W w;
    w.header = W::text("a") + W::raw(std::uint32_t{9}) + W::raw(item) + W::raw(n);
    w.values = 1;
    return w.bytes(64);
  };
  EXPECT_EQ(error_of(list(4, std::uint64_t{1} << 62)),
            "x.gguf: a: 4611686018427387904 items are more than the file can hold");
  EXPECT_EQ(error_of(list(9, 1)), "x.gguf: a: a list of lists is not supported");
  EXPECT_TRUE(error_of(list(8, std::uint64_t{1} << 62)).ends_with("within its header"));
  auto many = W();
  many.values = std::uint64_t{1} << 60;
  EXPECT_TRUE(error_of(many.bytes(0)).starts_with("x.gguf: ")) << error_of(many.bytes(0));
}
TEST(Gguf, CutAnywhereIsAnError) {
  auto whole = read_file(file("llama3"));
  for (std::size_t n = 0; n < whole.size(); n += 1 + n / 50)
    EXPECT_NE(error_of(whole.substr(0, n)), "no error") << n;
  EXPECT_EQ(error_of(whole), "no error");
}
TEST(Gguf, WrongTokenizersAreNamed) {
  auto f = [](const std::string& model, const std::string& pre) {
    Writer w;
    w.word("tokenizer.ggml.model", model);
    if (!pre.empty()) w.word("tokenizer.ggml.pre", pre);
    return w.bytes(0);
  };
  auto error = [](const std::string& bytes) {
    return test::error_of([&] { (void)gguf::tokenizer_json(*gguf::File::of(bytes, "x.gguf")); });
  };
  EXPECT_EQ(error(f("t5", "")), "x.gguf: tokenizer.ggml.model: 't5' is not supported; supported: gpt2 (byte-level "
                                "BPE), llama (SentencePiece)");
  EXPECT_EQ(error(f("gpt2", "gpt-2")), "x.gguf: tokenizer.ggml.tokens: the value is missing");
  Writer w;
  w.word("tokenizer.ggml.model", "gpt2").word("tokenizer.ggml.pre", "odd");
  w.header += Writer::text("tokenizer.ggml.tokens") + Writer::raw(std::uint32_t{9}) + Writer::raw(std::uint32_t{8}) +
              Writer::raw(std::uint64_t{1}) + Writer::text("a");
  ++w.values;
  EXPECT_TRUE(error(w.bytes(0)).starts_with("x.gguf: tokenizer.ggml.pre: 'odd' is not supported, so that it is not "
                                            "known how texts are cut into words; known: gpt-2, "));
}
}  // namespace gguf_test
