// GGUF files from outside: generate, score, inspect, import, export and serve's checks read them; damaged files are one
// line, before anything begins.
#include "bora/io/safetensors.h"
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace gguf_test {
using namespace bora;
namespace {
const std::string kFolder = test::source_dir() + "/tests/golden/gguf/";
struct GgufTest : CommandTest {
  std::string out(const std::string& arguments) const {
    auto r = run(arguments);
    EXPECT_EQ(r.code, 0) << arguments << "\n" << r.out << r.err;
    return r.out;
  }
};
std::string golden_ids(const std::string& name) {
  std::string text;
  for (auto id : Safetensors::open(kFolder + "golden.safetensors").read(name).to_vector<std::int32_t>())
    text += " " + std::to_string(id);
  return text;
}
}  // namespace

TEST_F(GgufTest, GeneratesAsTransformers) {
  for (std::string name : {"qwen3", "gemma", "gemma2"}) {
    auto words = "generate " + kFolder + name + ".gguf --weights f32 --temperature 0 --length 8 --prompt ";
    std::string prompt = "3 17 40 5 62 90 33 71";
    auto text = out(words + "'" + prompt + "'");
    EXPECT_EQ(text, prompt + golden_ids(name + ".more") + "\n") << name;
    if (name == "gemma2") {
      EXPECT_EQ(out("launch -n 2 -- " + words + "'" + prompt + "'"), text);
    }
  }
}
TEST_F(GgufTest, IsAFolderToEveryCommand) {
  auto llama = kFolder + "llama.gguf", run_a = folder + "/run", dir = folder + "/dir", pairs = folder + "/pairs";
  std::ofstream(pairs) << "{\"context\": \"Hello\", \"continuation\": \" there, all of you\"}\n";
  out("import " + llama + " " + run_a);
  EXPECT_TRUE(fs::exists(run_a + "/hugging_face/tokenizer.model"));
  EXPECT_TRUE(fs::exists(run_a + "/hugging_face/config.json"));
  out("export " + llama + " " + dir);
  for (auto name : {"config.json", "generation_config.json", "tokenizer.model", "tokenizer_config.json",
                    "model.safetensors"})
    EXPECT_TRUE(fs::exists(dir + "/" + name)) << name;
  auto scores = out("score --weights f32 " + llama + " " + pairs);  // by default the file's own 8 bits
  EXPECT_EQ(out("score --weights f32 " + dir + " " + pairs), scores);
  EXPECT_EQ(scores.find("\"logprob\":0"), std::string::npos) << scores;
  auto words = " --weights f32 --temperature 0 --length 5 --chat --prompt Hello";
  EXPECT_EQ(out("generate " + llama + words), out("generate " + dir + words));
  auto r = run("inspect " + llama);
  EXPECT_NE(r.out.find("Q8_0 [32, 32]"), std::string::npos) << r.out;
  EXPECT_NE(r.line("model: ").find("21 tensors"), std::string::npos) << r.out;
}
TEST_F(GgufTest, DamageIsOneLine) {
  auto cut = folder + "/cut.gguf", whole = slurp(kFolder + "llama3.gguf");
  std::ofstream(cut, std::ios::binary) << whole.substr(0, whole.size() - 100);
  is_bad_input("generate " + cut + " --prompt a", "of all tensors: the file is not whole");
  std::ofstream(cut, std::ios::binary) << whole.substr(0, 1000);
  is_bad_input("serve " + cut, "cut.gguf: ends at byte 1000, within its header");
  std::ofstream(cut, std::ios::binary) << "no such thing at all, but long enough";
  is_bad_input("import " + cut + " " + folder + "/x", "cut.gguf: is no GGUF file");
  is_bad_input("generate " + folder + "/none.gguf --prompt a", "there is no such folder");
}
}  // namespace gguf_test
