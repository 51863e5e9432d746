// The bytes that the rules of a tokenizer.json make of a text.
#include <gtest/gtest.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include "bora/text/tokenizer.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace growth_test {
using namespace bora;
using nlohmann::json;
namespace {
json llama3() { return json::parse(std::ifstream(test::source_dir() + "/tests/golden/tokenizer_llama3.json")); }
}  // namespace

/// Rules in a row would make a gigabyte of one byte.
TEST(Growth, OfATextIsLimited) {
  test::TempFolder folder;
  auto open = [&](const json& j) {
    auto path = folder.write("tokenizer.json", j.dump());
    return text::open_tokenizer({"type=huggingface", "add_special_tokens=true", "path=" + path});
  };
  auto replace = [](int times) {
    return json{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(times, 'a')}};
  };
  auto in_a_row = [&](const char* list, int steps, int times) {
    json all = json::array();
    for (int i = 0; i < steps; ++i) all.push_back(replace(times));
    return json{{"type", "Sequence"}, {list, all}};
  };
  auto normalized = [&](json rules) {
    auto j = llama3();
    j["normalizer"] = std::move(rules);
    return open(j);
  };
  auto decoded = [&](json rules) {
    auto j = llama3();
    j["decoder"] = std::move(rules);
    return open(j);
  };
  const std::string a(1000, 'a');
  for (auto [steps, times] : {std::pair{3, 1000}, {2, 4096}, {32, 2}, {20, 3}}) {
    auto said = test::error_of<ValueError>([&] { normalized(in_a_row("normalizers", steps, times))->encode("a"); });
    EXPECT_EQ(said, "tokenizer: its normalizer makes more than 65600 bytes of 1; at most 64 times as many and 65536 "
                    "more are made. Give it fewer or shorter replacements");
    auto tokenizer = decoded(in_a_row("decoders", steps, times));
    auto id = *tokenizer->id_of("a");
    said = test::error_of<ValueError>([&] { (void)tokenizer->decode(std::vector{id}); });
    EXPECT_TRUE(said.starts_with("tokenizer: its decoder makes more than 65600 bytes of 1; ")) << said;
  }
  EXPECT_EQ(test::error_of<ValueError>([&] { normalized(replace(200))->encode(a + a); }).substr(0, 57),
            "tokenizer: its normalizer makes more than 193536 bytes of");
  // What files have: every space three bytes, a ligature eighteen characters.
  EXPECT_GT(normalized({{"type", "NFKC"}})->encode(a + "\uFDFA\uFDFA").size(), 100U);
  EXPECT_GT(normalized(in_a_row("normalizers", 2, 8))->encode(a).size(), 1000U);
  auto j = llama3();
  json single = json::array(), ids = json::array();
  for (int i = 0; i < 100; ++i) single.push_back({{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}}), ids.push_back(0);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  j["post_processor"] = {{"type", "TemplateProcessing"},
                         {"single", single},
                         {"pair", json::array()},
                         {"special_tokens", {{"x", {{"id", "x"}, {"ids", ids}, {"tokens", json::array()}}}}}};
  auto said = test::error_of<IoError>([&] { open(j); });
  EXPECT_TRUE(said.ends_with("more than 4096 tokens around a text")) << said;
}
}  // namespace growth_test
