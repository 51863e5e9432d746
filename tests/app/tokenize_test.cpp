// `bora tokenize` and `bora detokenize`: the golden ids through the command, and lines that are none.
#include <nlohmann/json.hpp>
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace tokenize_test {
using namespace bora;
using nlohmann::json;
namespace {
const std::string kGolden = test::source_dir() + "/tests/golden/";
struct TokenizeTest : CommandTest {
  Result through(const std::string& command, const std::string& input) const {
    std::ofstream(folder + "/input", std::ios::binary) << input;
    return run(command + " < " + folder + "/input");
  }
  static std::vector<json> lines_of(const Result& r) {
    std::vector<json> lines;
    std::istringstream in(r.out);
    for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
    return lines;
  }
};
}  // namespace

TEST_F(TokenizeTest, GivesTheGoldenIdsAndTheTextBack) {
  auto golden = json::parse(std::ifstream(kGolden + "tokenizers.json"));
  std::string texts;
  for (auto& c : golden["cases"]) texts += c["text"].dump() + "\n";
  for (std::string name : {"gpt2", "llama3", "odd"}) {
    auto file = kGolden + "tokenizer_" + name + ".json";
    auto ids = through("tokenize " + file + " --json", texts),
         whole = through("tokenize --json --special " + file, texts);
    ASSERT_EQ(ids.code, 0) << ids.err;
    auto got = lines_of(ids), special = lines_of(whole), back = lines_of(through("detokenize --json " + file, ids.out));
    ASSERT_EQ(got.size(), golden["cases"].size());
    ASSERT_EQ(back.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      auto& c = golden["cases"][i];
      EXPECT_EQ(got[i], c[name]) << name << " " << c["text"];
      if (c.contains(name + " whole")) { EXPECT_EQ(special[i], c[name + " whole"]) << name << " " << c["text"]; }
      if (name == "gpt2" && !c.contains(name + " text")) { EXPECT_EQ(back[i], c["text"]); }
    }
  }
}
TEST_F(TokenizeTest, LinesAreTextsWithoutTheirNewline) {
  auto r = through("tokenize bytes", "ab\n\n\xff\r\nlast");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "[97,98]\n[]\n[255,13]\n[108,97,115,116]\n");
  EXPECT_EQ(through("detokenize bytes", "[97, 98]\n[]\n[ 108 ]").out, "ab\n\nl\n");
  EXPECT_EQ(through("detokenize bytes --json", "[97, 10]\n[255]\n").out, "\"a\\n\"\n\"\xef\xbf\xbd\"\n");
  EXPECT_EQ(through("tokenize bytes", "").out, "");
}
TEST_F(TokenizeTest, ManyLinesKeepTheirOrder) {
  std::string text, want;
  for (int i = 0; i < 300000; ++i) {  // several rounds of lines
    auto line = "line " + std::to_string(i * 7);
    text += line + "\n";
    want += line + "\n";
  }
  auto ids = through("tokenize bytes", text);
  EXPECT_EQ(ids.code, 0) << ids.err;
  EXPECT_EQ(through("detokenize bytes", ids.out).out, want);
}
TEST_F(TokenizeTest, BadInputIsOneLineThatNamesItsLine) {
  auto says = [&](const std::string& command, const std::string& input, const std::string& line) {
    auto r = through(command, input);
    EXPECT_EQ(r.code, 2) << command;
    EXPECT_NE(r.err.find(line), std::string::npos) << command << ": " << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    return r.out;
  };
  EXPECT_EQ(says("tokenize bytes --json", "\"a\"\nb\n", "tokenize: line 2: expected a JSON string"), "[97]\n");
  says("tokenize bytes --json", "3\n", "line 1: expected a JSON string");
  EXPECT_EQ(says("detokenize bytes", "[97]\n[98]\n[256]\n[99]\n", "detokenize: line 3: decode: id 256"), "a\nb\n");
  for (auto line : {"[-1]", "[1.5]", "[\"a\"]", "[99999999999]", "7", "{}", "[1,"})
    says("detokenize bytes", std::string(line) + "\n", "line 1: expected a JSON array of ids");
  says("tokenize no/such.json", "a\n", "no file at no/such.json");
  says("tokenize nonsense", "a\n", "there is no tokenizer 'nonsense'");
  says("tokenize bpe", "a\n", "path: must be the path of a tokenizer.json");
  says("tokenize " + folder, "a\n", folder + " has no tokenizer.json, no tokenizer.model");
  auto unreadable = run("tokenize bytes < " + folder);
  EXPECT_EQ(unreadable.code, 2);
  EXPECT_NE(unreadable.err.find("standard input cannot be read after line 0"), std::string::npos) << unreadable.err;
  fs::copy(kGolden + "tokenizer_gpt2.json", folder + "/tokenizer.json");
  EXPECT_EQ(through("tokenize " + folder, "a\n").code, 0);
}
}  // namespace tokenize_test
