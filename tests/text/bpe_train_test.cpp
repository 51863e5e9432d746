// Training of byte-level BPE: the tokens and merges of Hugging Face's trainer, and laws of every training.
#include "bora/text/bpe_train.h"
#include <gtest/gtest.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "bora/text/tokenizer.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace bpe_train_test {
using namespace bora;
using nlohmann::json;
using text::BpeTraining, text::TrainedBpe, text::WordCounts;
namespace {
const json& golden() {
  static const auto all = json::parse(std::ifstream(test::source_dir() + "/tests/golden/bpe_training.json"));
  return all;
}
WordCounts count(const std::vector<std::string>& texts, std::string_view pattern = "gpt2") {
  WordCounts words(text::word_pattern(pattern));
  words.add({texts.begin(), texts.end()});
  return words;
}
/// The tokenizer of a tokenizer.json's text.
std::shared_ptr<const text::Tokenizer> open(const std::string& content) {
  test::TempFolder temp;
  auto path = temp / "trained.json";
  std::ofstream(path, std::ios::binary) << content;
  return text::open_tokenizer({"type=bpe", "path=" + path});
}
std::string prose(int seed, std::size_t bytes) {
  std::mt19937 draw(static_cast<unsigned>(seed));
  const std::vector<std::string> parts{"the ", "mesh", "rank's ", "ing ", "é",    "語", "\n", " 12",
                                       "!\n",  "\t",   "  ",      "s",    "\xff", "a",  "b"};
  std::string text;
  while (text.size() < bytes) text += parts[draw() % parts.size()];
  return text;
}
}  // namespace

TEST(BpeTraining, GivesTheMergesOfTokenizers) {
  EXPECT_GE(golden()["cases"].size(), 50U);
  for (auto& c : golden()["cases"]) {
    auto specials = c["specials"].get<std::vector<std::string>>();
    auto pattern = c["pattern"].get<std::string>();
    auto words = count(c["texts"].get<std::vector<std::string>>(), pattern);
    auto bpe = text::train_bpe(words.words(), {c["vocab"], specials, c["min_count"]});
    auto written = text::tokenizer_json_of(bpe, specials.size(), pattern);
    auto j = json::parse(written)["model"];
    std::vector<std::string> merges, tokens;
    for (auto& m : j["merges"]) merges.push_back(m[0].get<std::string>() + " " + m[1].get<std::string>());
    EXPECT_EQ(merges, c["merges"].get<std::vector<std::string>>()) << c["texts"];
    ASSERT_EQ(j["vocab"].size(), 256 + specials.size() + c["tokens"].size()) << c["texts"];
    for (std::size_t i = 0; i < c["tokens"].size(); ++i)
      EXPECT_EQ(j["vocab"][c["tokens"][i].get<std::string>()], 256 + specials.size() + i) << c["tokens"][i];
    auto t = open(written);
    for (std::size_t i = 0; i < golden()["check"].size(); ++i)
      EXPECT_EQ(t->encode(golden()["check"][i].get<std::string>()), c["ids"][i].get<std::vector<std::int32_t>>())
          << c["texts"] << golden()["check"][i];
  }
}
TEST(BpeTraining, TextsComeBackAndIdsAreBelowTheVocabulary) {
  for (std::string pattern : {"gpt2", "llama3", "qwen2"})
    for (int seed = 0; seed < 4; ++seed) {
      auto text = prose(seed, 20000);
      auto bpe = text::train_bpe(count({text}, pattern).words(), {400, {"<|endoftext|>"}, 0});
      EXPECT_EQ(bpe.tokens.size(), 400U);
      auto t = open(text::tokenizer_json_of(bpe, 1, pattern));
      EXPECT_EQ(t->size(), 400);
      EXPECT_EQ(t->end_of_text(), 0);
      std::erase(text, '\xff');
      auto ids = t->encode(text);
      EXPECT_LT(ids.size(), text.size() * 3 / 5);
      for (auto id : ids) ASSERT_TRUE(id > 0 && id < 400);
      EXPECT_EQ(t->decode(ids), text);
    }
}
TEST(BpeTraining, MergesOfASmallVocabularyBeginThoseOfALargeOne) {
  auto words = count({prose(7, 100000)});
  auto large = text::train_bpe(words.words(), {700, {}, 0});
  for (std::int64_t n : {256, 257, 300, 511, 700}) {
    auto small = text::train_bpe(words.words(), {n, {}, 0});
    EXPECT_EQ(small.tokens.size(), static_cast<std::size_t>(n));
    ASSERT_LE(small.merges.size(), large.merges.size());
    EXPECT_TRUE(std::equal(small.merges.begin(), small.merges.end(), large.merges.begin()));
  }
}
TEST(BpeTraining, MinCountEndsIt) {
  auto words = count({"aaab aaab aaab cd cd ef"});
  auto tokens = [&](std::int64_t min_count) {
    return text::train_bpe(words.words(), {1000, {}, min_count}).tokens.size() - 256;
  };
  EXPECT_EQ(tokens(1), 8U);  // aa aaa aaab, cd, and both with a space; two of the last word
  EXPECT_LT(tokens(2), tokens(1));
  EXPECT_LT(tokens(3), tokens(2));
  EXPECT_EQ(tokens(100), 0U);
}
TEST(BpeTraining, CountsDoNotDependOnThreadsOrParts) {
  // Lines end with a letter, so that a cut changes no word.
  std::string text;
  for (int i = 0; i < 55000; ++i) text += "line " + std::to_string(i % 977) + " it's\r\n\n  so\n";
  ASSERT_GT(text.size(), std::size_t{1} << 20);
  auto whole = count({text}, "llama3").words();
  for (int threads : {1, 2, 7}) {
    ThreadScope scope(threads);
    EXPECT_EQ(count({text}, "llama3").words(), whole);
  }
  WordCounts parts(text::word_pattern("llama3"));
  std::int64_t bytes = 0;
  for (std::string_view rest = text; !rest.empty();) {
    auto cut = rest.size() > 5000 ? text::last_cut(rest.substr(0, 5000)) : rest.size();
    parts.add({rest.substr(0, cut)});
    rest.remove_prefix(cut);
  }
  EXPECT_EQ(parts.words(), whole);
  for (auto& [word, n] : whole) bytes += n * static_cast<std::int64_t>(word.size());
  EXPECT_EQ(bytes, static_cast<std::int64_t>(text.size()));
}
TEST(BpeTraining, CutsAreOfWholeCharacters) {
  EXPECT_EQ(text::last_cut("abc\ndef\nghi"), 7U);
  EXPECT_EQ(text::last_cut("abc\n1.\n2"), 3U);  // a line that ends with a letter is better
  EXPECT_EQ(text::last_cut("1\n2.\n3"), 4U);
  EXPECT_EQ(text::last_cut("one two  3 4"), 7U);  // before a blank behind a letter
  EXPECT_EQ(text::last_cut("1 2  3"), 3U);        // before any blank
  EXPECT_EQ(text::last_cut(" ab語"), 3U);
  EXPECT_EQ(text::last_cut("ab語"), 2U);
  EXPECT_EQ(text::last_cut("ab語\xe8"), 5U);
  EXPECT_EQ(text::last_cut("語"), 1U);  // it must cut somewhere
  EXPECT_EQ(text::last_cut("\n"), 1U);
  EXPECT_EQ(text::last_cut("a"), 1U);
}
TEST(BpeTraining, BytesThatAreNoUtf8AreReplaced) {
  auto words = count({"a\xff\x80 b \xe8\xaa c\xe8"}).words();
  WordCounts::Map want = count({"a\uFFFD\uFFFD b \uFFFD c\uFFFD"}).words();
  EXPECT_EQ(words, want);
  EXPECT_TRUE(words.count("\uFFFD"));
}
}  // namespace bpe_train_test
