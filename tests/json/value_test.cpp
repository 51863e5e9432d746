// Documents are what nlohmann's library makes of them: the same texts, numbers, orders of members and errors.
#include "json/api/value.h"
#include <gtest/gtest.h>
#include <cstdint>
#include <nlohmann/json.hpp>
#include "bora/base/error.h"
#include "json/api/events.h"
#include "support/throws.h"

namespace value_test {
using namespace bora;
using json::Value;
namespace {
const std::string kTexts[] = {
    "null", "true", "0", "-0", "-1", "18446744073709551615", "18446744073709551616", "-9223372036854775808",
    "-9223372036854775809", "1.0", "1e-5", "-0.0", "2.31", "1e300", "0.1", "123456789012345678", "1E5",
    R"("")", R"("\u00e4\n\t\"\\\/ \ud83d\ude00 \u0001 \u007f")", "[]", "{}", "[[], {}, [1, [2]]]",
    R"({"b": 1, "a": {"z": [true, null], "y": -3.5}, "": "x", "B": 2})", " [1 , 2]\n", "\xef\xbb\xbf[1]"};
const std::string kBroken[] = {"",     "[1, ]",        "{\"a\" 1}",  "nul",        "[1] 2", "\"\x01\"", "\"\xff\"",
                               "1e999", "\"\\ud800\"", "{\"a\": 1,}", "[1\n, 2\n; 3]", "01",    "'a'",     "// a\n1"};
using bora::test::error_of;

TEST(Json, TextsReadAndWriteAsTheLibraryDoes) {
  for (auto& text : kTexts) {
    auto sorted = json::parse(text, "f"), written = json::parse(text, "f", "key", json::Order::as_written);
    for (int indent : {-1, 0, 2}) {
      EXPECT_EQ(sorted.dump(indent), nlohmann::json::parse(text).dump(indent)) << text;
      EXPECT_EQ(written.dump(indent), nlohmann::ordered_json::parse(text).dump(indent)) << text;
    }
    auto library = nlohmann::json::parse(text);
    EXPECT_EQ(sorted.type_name(), library.type_name()) << text;
    EXPECT_EQ(sorted.is_natural(), library.is_number_unsigned()) << text;
    EXPECT_EQ(sorted.is_integer(), library.is_number_integer()) << text;
    if (library.is_number()) { EXPECT_EQ(sorted.number(), library.get<double>()) << text; }
    if (library.is_number_integer()) { EXPECT_EQ(sorted.integer(), library.get<std::int64_t>()) << text; }
    EXPECT_EQ(json::parse_or_null(text), sorted) << text;
  }
}
TEST(Json, BrokenTextsAreErrorsInTheLibrarysWords) {
  for (auto& text : kBroken) {
    EXPECT_TRUE(json::parse_or_null(text).is_null()) << text;
    try {
      auto document = nlohmann::json::parse(text);
      FAIL() << text << document;
    } catch (const nlohmann::json::exception& e) {
      auto words = std::string(e.what());
      auto start = error_of([&] { json::parse(text, "f"); });
      EXPECT_TRUE(start.starts_with("f: broken JSON: " + words.substr(words.find("] ") + 2, 40))) << start << words;
    }
  }
}
TEST(Json, StrictReadingRefusesNamesTwiceAndDeepNesting) {
  EXPECT_EQ(error_of([] { json::parse(R"({"a": {"b": 1, "b": 2}})", "f"); }), "f: the key 'b' is given twice");
  EXPECT_EQ(error_of([] { json::parse(R"({"a": 1, "a": 2})", "f", "field"); }), "f: the field 'a' is given twice");
  auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(error_of([&] { json::parse(nested(32), "f"); }), "no error");
  EXPECT_EQ(error_of([&] { json::parse(nested(33), "f"); }), "f: nested deeper than 32 levels");
  EXPECT_TRUE(json::parse_or_null(nested(1000)).is_list());
  EXPECT_TRUE(json::parse_or_null(nested(1'000'000)).is_null());
  auto twice = json::parse_or_null(R"({"b": 1, "a": 2, "b": 3, "a": 4, "c": 5})");
  EXPECT_EQ(twice.dump(), R"({"a":4,"b":3,"c":5})");
}
TEST(Json, DocumentsAreBuilt) {
  Value v;
  EXPECT_EQ(v.set("b", 1), 1);
  v.set("a", std::vector<std::int64_t>{1, -2});
  v.set("b", Value::object({{"y", true}, {"x", nullptr}}, json::Order::as_written));
  v.set("c", Value()).add("text");
  v.find("c")->add(0.5);
  EXPECT_EQ(v.dump(), R"({"a":[1,-2],"b":{"y":true,"x":null},"c":["text",0.5]})");
  EXPECT_EQ(v, json::parse(v.dump(), "f", "key", json::Order::as_written));
  EXPECT_EQ(Value(INT64_C(3)), Value(3.0));
  EXPECT_NE(Value(1), Value(true));
  EXPECT_EQ(v.find("none"), nullptr);
  EXPECT_EQ(Value(1).find("a"), nullptr);
  EXPECT_EQ(json::quoted("a\xff\n"), "\"a\ufffd\\n\"");
  EXPECT_TRUE(error_of([] { Value("\xff").dump(); }).ends_with("invalid UTF-8 byte at index 0: 0xFF"));
}
}  // namespace
}  // namespace value_test
