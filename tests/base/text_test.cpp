#include "bora/base/text.h"
#include "bora/base/visible.h"
#include <gtest/gtest.h>
#include <random>

namespace text_test {
using namespace bora;
namespace {
std::string xs(std::size_t n) { return std::string(n, 'x'); }
}  // namespace

TEST(Text, LongLinesAreBrokenAtBlanks) {
  EXPECT_EQ(wrapped("short\n  a bb ccc dddd\n\nxxxxxxxxxxxxx yy\n", 10),
            "short\n  a bb ccc\n      dddd\n\nxxxxxxxxxxxxx\n    yy\n");
  EXPECT_EQ(wrapped(""), "");
  EXPECT_EQ(wrapped("no end"), "no end");
}
TEST(ParseAs, WholeTextsOnly) {
  for (auto text : {"true", "yes", "on", "1"}) EXPECT_EQ(parse_as<bool>(text), true);
  for (auto text : {"false", "no", "off", "0"}) EXPECT_EQ(parse_as<bool>(text), false);
  for (auto text : {"", "True", "2", "on "}) EXPECT_EQ(parse_as<bool>(text), std::nullopt) << text;
  EXPECT_EQ(parse_as<int>("-12"), -12);
  EXPECT_EQ(parse_as<int>("+12"), 12);
  EXPECT_EQ(parse_as<double>("3e-4"), 3e-4);
  EXPECT_EQ(parse_as<std::int64_t>("9223372036854775807"), 9223372036854775807);
  for (auto text : {"", "+", "-", "+-1", "++1", "1 ", " 1", "1x", "0x1", "2147483648", "1.5"})
    EXPECT_EQ(parse_as<int>(text), std::nullopt) << text;
  EXPECT_EQ(parse_as<double>("1.5s"), std::nullopt);
}
TEST(OneLine, WhatIsFineStaysAsItIs) {
  for (std::string text : {"", "batch: must be 1 or more rows, got 0", "rank 1's peer, 'a b' and the ranks' axes",
                           "größer als 2³ → \U0001F600", "it's 'x"})
    EXPECT_EQ(one_line(text), text);
}
TEST(OneLine, ControlCharactersAndOtherBytesAreEscaped) {
  EXPECT_EQ(one_line("a\nb\r\tc\x1b[2K\x7f"), "a\\nb\\r\\tc\\x1b[2K\\x7f");
  EXPECT_EQ(one_line(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(one_line("\xff\xc3(\xe0\x80\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xc3"),
            "\\xff\\xc3(\\xe0\\x80\\x80 \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xc3");
  EXPECT_EQ(one_line("\xc2\x85 next line"), "\\xc2\\x85 next line");
}
TEST(OneLine, LongValuesLoseTheirMiddleAndTheRestStays) {
  EXPECT_EQ(one_line("got '" + xs(198) + "' here"), "got '" + xs(198) + "' here");
  EXPECT_EQ(one_line("got '" + xs(10000000) + "'; did you mean y?"),
            "got '" + xs(132) + "..." + xs(66) + "'; did you mean y?");
  EXPECT_EQ(one_line("no file at /" + xs(5000) + "/end: no"), "no file at /" + xs(132) + "..." + xs(62) + "/end: no");
  auto words = one_line("got 'a b" + std::string(3000, ' ') + "c'; do this");
  EXPECT_EQ(words.size(), 4 + 203 + 9U);
  EXPECT_TRUE(words.ends_with("c'; do this")) << words;
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "word" + std::to_string(i) + " ";
  EXPECT_EQ(one_line(many).size(), 2003U);
  EXPECT_TRUE(one_line(many).ends_with("word999 "));
}
TEST(Utf8, TheFirstBadByteIsFoundWhereverItStands) {
  std::vector<std::string> good = {"a", "\u00e9", "\u20ac", "\U0001f600"}, bad = {"\x80", "\xc3", "\xe2\x82", "\xff"};
  for (std::size_t ascii = 0; ascii < 40; ++ascii)
    for (auto& before : good)
      for (auto& wrong : bad)
        for (std::size_t behind : {0, 1, 7, 8, 33}) {
          auto text = std::string(ascii, 'x') + before + std::string(behind, 'y');
          EXPECT_EQ(first_not_utf8(text), std::string::npos) << one_line(text);
          EXPECT_EQ(first_not_utf8(text + wrong + "z"), text.size()) << one_line(text);
          EXPECT_EQ(first_not_utf8(text + wrong), text.size()) << one_line(text);
        }
}
TEST(OneLine, AnyBytesGiveOneShortLineOfUtf8InLinearTime) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string s;
    const char* some[] = {"'", "'a", "a'", " '", "\n", "\xc3", "\xc3\xa4", "\xe2\x82\xac", " ", "xyz", "(", "\xff"};
    for (auto n = random() % 3000; n > 0; --n) s += some[random() % std::size(some)];
    auto line = one_line(s);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_LE(line.size(), 2003U);
    EXPECT_EQ(first_not_utf8(line), std::string::npos);
  }
  for (std::string part : {"('a", "' ", "'", "'a'"}) {
    std::string s;
    while (s.size() < 5'000'000) s += part;
    EXPECT_LE(one_line(s).size(), 2003U);  // quadratic, this would take hours
  }
}
TEST(Visible, PiecesGiveTheTextOfTheWhole) {
  const std::string text("a\tb\n\x1b[31m\r\x7f\xc2\x9b\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xff\xe2\x82z\xc3"),
      shown =
          "a\tb\n\\x1b[31m\\r\\x7f\\xc2\\x9b\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\\xff\\xe2\\x82z\\xc3";
  for (std::size_t a = 0; a <= text.size(); ++a)
    for (std::size_t b = a; b <= text.size(); ++b) {
      Visible v;
      auto got = v.next(text.substr(0, a));
      got += v.next(text.substr(a, b - a));
      got += v.next(text.substr(b));
      got += v.finish();
      ASSERT_EQ(got, shown) << a << " " << b;
    }
}
}  // namespace text_test
