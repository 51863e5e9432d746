// Laws of data sources, over their registry: rows do not depend on hosts or threads, and a run resumes at any step.
#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include "bora/array/mesh.h"
#include "bora/data/dataset.h"

namespace fs = std::filesystem;
using namespace bora;
using namespace bora::data;
namespace {
constexpr std::int64_t kPositions = 12;
/// Settings for each type, and a file that suits it.
struct Sample {
  std::string type, file;
  std::vector<std::string> settings = {};
};
std::vector<Sample> samples() {
  std::string text, lines, pairs;
  for (int i = 0; i < 400; ++i) {
    auto n = std::to_string(i * i * 7);
    text += "line " + n + " of the text\n\n";
    lines += R"({"text": "document )" + n +
             R"( \u00e4 of all", "more": [1, {}]})"
             "\n";
    pairs += R"({"prompt": "ask )" + n + R"( ", "answer": "say )" + std::string(static_cast<std::size_t>(i % 15), 'x') +
             R"("})"
             "\n\n";
  }
  return {{"text", text}, {"jsonl", lines}, {"jsonl", pairs, {"completion=answer"}}};
}
struct Sources : testing::Test {
  std::string folder = (fs::temp_directory_path() / ("bora_source_" + std::to_string(::getpid()))).string();
  Sources() { fs::create_directories(folder); }
  ~Sources() override { fs::remove_all(folder); }
  config::Choice<Source> source(const Sample& s, double hold_out = 0.1) {
    std::ofstream(folder + "/data", std::ios::binary) << s.file;
    auto d = config::parse_items(s.settings);
    d.at("type") = config::scalar(s.type);
    d.at("hold_out") = config::scalar(std::to_string(hold_out));
    config::Choice<Source> choice;
    choice.read(d, "data", {});
    choice.edit().set_path(folder + "/data");
    return choice;
  }
  Datasets open(const Sample& s) { return source(s)->open(config::Choice<text::TokenizerKind>()->open(), kPositions); }
};
bool same(const Rows& a, const Rows& b) {
  return a.tokens == b.tokens && a.targets == b.targets && a.weights == b.weights;
}
std::string error_of(const auto& call) {
  try {
    call();
  } catch (const ConfigError& e) { return e.what(); }
  return "no error";
}
}  // namespace

TEST_F(Sources, EveryTypeHasASample) {
  for (auto& row : config::rows<Source>()) {
    bool there = false;
    for (auto& s : samples()) there = there || s.type == row.type;
    EXPECT_TRUE(there) << row.type;
  }
}
TEST_F(Sources, RowsDoNotDependOnTheRanks) {
  for (auto& s : samples()) {
    auto data = open(s);
    for (std::int64_t step : {0, 3, 1000}) {
      auto whole = training_rows(*data.train, kPositions, step, 5, 0, 5, 1);
      EXPECT_EQ(whole.tokens.size(), 5U * kPositions);
      for (int ranks : {1, 2, 3, 5, 8}) {
        Rows joined;
        for (int r = 0; r < ranks; ++r) {
          auto b = block_of(5, ranks, r);
          auto mine = training_rows(*data.train, kPositions, step, 5, b.begin, b.end, 1);
          joined.tokens.insert(joined.tokens.end(), mine.tokens.begin(), mine.tokens.end());
          joined.targets.insert(joined.targets.end(), mine.targets.begin(), mine.targets.end());
          joined.weights.insert(joined.weights.end(), mine.weights.begin(), mine.weights.end());
        }
        EXPECT_TRUE(same(joined, whole)) << s.type << " " << ranks;
      }
      EXPECT_FALSE(same(whole, training_rows(*data.train, kPositions, step, 5, 0, 5, 2))) << s.type;
      EXPECT_FALSE(same(whole, training_rows(*data.train, kPositions, step + 1, 5, 0, 5, 1))) << s.type;
    }
  }
}
TEST_F(Sources, AnotherProcessReadsTheSameRows) {  // the state of a run is its step
  for (auto& s : samples()) {
    auto a = open(s), b = open(s);
    ASSERT_EQ(a.train->size(), b.train->size());
    for (std::int64_t step : {77, 3, 12})
      EXPECT_TRUE(same(training_rows(*a.train, kPositions, step, 7, 0, 7, 5),
                       training_rows(*b.train, kPositions, step, 7, 0, 7, 5)))
          << s.type;
    std::vector<Rows> rows(4);
    std::vector<std::thread> threads;
    for (auto& r : rows) threads.emplace_back([&] { r = training_rows(*a.train, kPositions, 9, 50, 0, 50, 5); });
    for (auto& t : threads) t.join();
    for (auto& r : rows) EXPECT_TRUE(same(r, rows[0])) << s.type;
  }
}
TEST_F(Sources, APassHasEveryRowAndNoneIsHeldOutToo) {
  for (auto& s : samples()) {
    auto data = open(s);
    auto n = data.train->size(), held = data.held_out->size();
    EXPECT_GT(held, 0) << s.type;
    EXPECT_LT(held, n / 4) << s.type;
    std::map<std::vector<std::int32_t>, int> seen;
    auto rows = training_rows(*data.train, kPositions, 0, n, 0, n, 3);
    for (std::int64_t r = 0; r < n; ++r) {
      auto at = rows.targets.begin() + r * kPositions;
      ++seen[{at, at + kPositions}];
    }
    std::map<std::vector<std::int32_t>, int> want;
    for (std::int64_t i = 0; i < n; ++i) {
      auto one = Rows::zeros(0, 1, kPositions);
      data.train->at({i}, one.row(0));
      ++want[one.targets];
    }
    EXPECT_EQ(seen, want) << s.type;
    for (auto id : rows.tokens) ASSERT_TRUE(id >= 0 && id < 256);
  }
}
TEST_F(Sources, OnlyCompletionsCount) {
  auto data = open(samples()[2]);
  for (std::int64_t i = 0; i < data.train->size(); ++i) {
    auto rows = Rows::zeros(0, 1, kPositions);
    data.train->at({i}, rows.row(0));
    std::string text, learned;
    for (std::size_t p = 0; p < kPositions; ++p) {
      text += static_cast<char>(rows.tokens[p]);
      if (rows.weights[p] > 0) learned += static_cast<char>(rows.targets[p]);
    }
    EXPECT_TRUE(text.starts_with("ask ")) << text;
    EXPECT_TRUE(std::string("say xxxxxxxxxxxxxxx\n").starts_with(learned.substr(0, 4))) << learned;
    EXPECT_FALSE(learned.empty());
  }
}
TEST_F(Sources, BadFilesAreNamed) {
  auto tokenizer = config::Choice<text::TokenizerKind>()->open();
  auto of = [&](const std::string& file) {
    return error_of([&] { source({"jsonl", file})->open(tokenizer, kPositions); });
  };
  auto path = "data: " + folder + "/data";
  EXPECT_EQ(of("{\"text\": \"a\"}\nnot json\n"), path + ":2: expected a JSON object");
  EXPECT_EQ(of("[1]\n"), path + ":1: expected a JSON object");
  EXPECT_EQ(of("{\"txt\": \"a\"}\n"), path + ":1: there is no text in the field 'text'");
  EXPECT_EQ(of("{\"text\": 3}\n"), path + ":1: there is no text in the field 'text'");
  EXPECT_TRUE(of("").starts_with(path + " has 0 documents: too few tokens")) << of("");
  EXPECT_TRUE(of("{\"text\": \"a\"}\n").starts_with(path + " has 1 documents: too few tokens"));
  Sample pairs{"jsonl", R"({"prompt": "thirteen byte", "answer": "a"})", {"completion=answer"}};
  EXPECT_TRUE(error_of([&] {
                source(pairs)->open(tokenizer, kPositions);
              }).starts_with(path + ":1: the prompt has 13 tokens and leaves none of a row of 12"));
  pairs.file = R"({"prompt": "", "answer": ""})";
  EXPECT_EQ(error_of([&] { source(pairs)->open(tokenizer, kPositions); }),
            path + ":1: prompt and completion are empty; there is nothing to learn");
  for (auto& row : config::rows<Source>()) {
    auto gone = source({std::string(row.type), "x"});
    gone.edit().set_path("/none");
    EXPECT_NE(error_of([&] { gone->check_files(kPositions); }).find("/none"), std::string::npos) << row.type;
    gone.edit().set_path("/dev/zero");
    EXPECT_NE(error_of([&] { gone->check_files(kPositions); }).find("/dev/zero"), std::string::npos) << row.type;
  }
}
