// JSON as text: members, lists by lines, strings, numbers.
#include "base/api/json.h"
#include <gtest/gtest.h>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace json_test {
using namespace bora;

TEST(Json, ObjectsAndLists) {
  JsonWriter w;
  w.object()("rank", 3)("name", "a")("x", 0.5)("none", nullptr)("yes", true);
  w("peers").list().add(0).add(1).end()("empty").object().end()("raw", JsonWriter::Json{"1.500"}).end();
  EXPECT_EQ(w.take(),
            "{\"rank\":3,\"name\":\"a\",\"x\":0.5,\"none\":null,\"yes\":true,\"peers\":[0,1],\"empty\":{},"
            "\"raw\":1.500}\n");
  w.object().end().object()("a", std::uint64_t{1} << 63).end();
  EXPECT_EQ(w.take(), "{}\n{\"a\":9223372036854775808}\n");
}
TEST(Json, SpacesAndLines) {
  JsonWriter w(JsonWriter::Style::spaced);
  using enum JsonWriter::Elements;
  w.object()("n", -1)("all").list(lines);
  w.object()("a", 1)("b", 2).end();
  EXPECT_EQ(w.take(), "{\"n\": -1, \"all\": [\n{\"a\": 1, \"b\": 2}");  // a long text is taken in parts
  w.object().end().add(3).end()("none").list(lines).end()("side").list().add(1).add("x").end().end();
  EXPECT_EQ(w.take(), ",\n{},\n3\n], \"none\": [], \"side\": [1, \"x\"]}\n");
}
TEST(Json, StringsComeBack) {
  std::string all;
  for (int ch = 0; ch < 128; ++ch) all += static_cast<char>(ch);
  all += "\xc3\xa4";
  JsonWriter w;
  w.object()(all, std::string_view(all)).end();
  auto back = nlohmann::json::parse(w.take());
  EXPECT_EQ(back.at(all).get<std::string>(), all);
}
TEST(Json, NumbersComeBack) {
  std::uint32_t bits = 12345;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 1664525 + 1013904223;
    float x;
    std::memcpy(&x, &bits, 4);
    if (!std::isfinite(x)) continue;
    ASSERT_EQ(nlohmann::json::parse(number_text(static_cast<double>(x))).get<float>(), x);
    double y = std::sqrt(std::abs(static_cast<double>(x)));
    if (static_cast<double>(static_cast<float>(y)) == y) continue;
    ASSERT_EQ(nlohmann::json::parse(number_text(y)).get<double>(), y);
  }
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(static_cast<double>(0.1F)), "0.1");
  EXPECT_EQ(number_text(std::nan("")), "null");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "null");
}
}  // namespace json_test
