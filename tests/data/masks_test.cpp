// Hidden tokens of masked language modelling: their shares, whole words, what stays, draws that depend on the row.
#include <gtest/gtest.h>
#include <algorithm>
#include "bora/base/error.h"
#include "bora/data/masks.h"
#include "support/places.h"
#include "support/throws.h"

namespace masks_test {
using namespace bora;
using namespace bora::data;
namespace {
using Ids = std::vector<std::int32_t>;
/// Tokens 0 to 3 are special, 3 is the mask; of the others every third one begins a word.
MaskTokens some_tokens() {
  MaskTokens t{.mask = 3, .special = std::vector<bool>(1000), .begins_word = std::vector<bool>(1000)};
  for (std::size_t i = 0; i < 1000; ++i) t.special[i] = i < 4, t.begins_word[i] = i % 3 == 0;
  return t;
}
Ids some_text(std::int64_t n) {
  Ids ids;
  for (std::int64_t i = 0; i < n; ++i) ids.push_back(static_cast<std::int32_t>(i * 7 % 1000));
  return ids;
}
Philox draw(std::uint64_t row) { return {Philox::key(5), row}; }
}  // namespace

TEST(Masks, SharesAreThoseOfTheOptions) {
  auto t = some_tokens();
  auto text = some_text(200'000);
  for (bool whole : {false, true})
    for (MaskOptions o : {MaskOptions{}, MaskOptions{.rate = 0.4, .masked = 0.5, .random = 0.5}}) {
      o.whole_words = whole;
      auto ids = text;
      auto learnt = hide_tokens(ids, o, t, draw(1));
      double n = 0, masked = 0, other = 0, tokens = 0;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        auto special = t.special[static_cast<std::size_t>(text[i])];
        tokens += !special;
        ASSERT_FALSE(special && (learnt[i] || ids[i] != text[i])) << i;
        ASSERT_TRUE(learnt[i] || ids[i] == text[i]) << i;
        if (!learnt[i]) continue;
        n += 1, masked += ids[i] == t.mask, other += ids[i] != t.mask && ids[i] != text[i];
      }
      EXPECT_NEAR(n / tokens, o.rate, 0.01) << whole;
      EXPECT_NEAR(masked / n, o.masked, 0.02) << whole;
      EXPECT_NEAR(other / n, o.random, 0.02) << whole;
    }
}
TEST(Masks, WholeWordsAreLearntOrNot) {
  auto t = some_tokens();
  auto text = some_text(3000), ids = text;
  auto learnt = hide_tokens(ids, {.whole_words = true}, t, draw(2));
  auto goes_on = [&](std::size_t i) {
    auto id = static_cast<std::size_t>(text[i]), before = static_cast<std::size_t>(text[i - 1]);
    return !t.special[id] && !t.special[before] && !t.begins_word[id];
  };
  int words = 0;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (goes_on(i)) { EXPECT_EQ(learnt[i], learnt[i - 1]) << i; }
    else words += learnt[i];
  }
  EXPECT_GT(words, 100);
}
TEST(Masks, DependOnTheRowAlone) {
  auto t = some_tokens();
  auto text = some_text(100), a = text, b = text, c = text;
  auto first = hide_tokens(a, {}, t, draw(7)), again = hide_tokens(b, {}, t, draw(7)),
       other = hide_tokens(c, {}, t, draw(8));
  EXPECT_EQ(first, again);
  EXPECT_EQ(a, b);
  EXPECT_NE(first, other);
}
TEST(Masks, TokensOfATokenizer) {
  auto bert = text::open_tokenizer(
      {"type=huggingface", "path=" + test::source_dir() + "/tests/golden/tokenizer_word_piece.json",
       "add_special_tokens=true"});
  auto t = MaskTokens::of(*bert);
  EXPECT_EQ(t.mask, bert->id_of("[MASK]"));
  for (auto name : {"[CLS]", "[SEP]", "[PAD]", "[MASK]"})
    EXPECT_TRUE(t.special[static_cast<std::size_t>(*bert->id_of(name))]) << name;
  auto ids = bert->encode("exchanges, their");
  std::string begins;
  for (auto id : ids) begins += t.special[static_cast<std::size_t>(id)]       ? 's'
                                : t.begins_word[static_cast<std::size_t>(id)] ? 'b'
                                                                              : '-';
  EXPECT_EQ(begins.front(), 's');
  EXPECT_EQ(std::count(begins.begin(), begins.end(), 'b'), 3) << begins;
  EXPECT_NE(begins.find('-'), begins.npos) << begins;
  auto bytes = text::open_tokenizer({"type=bytes"});
  test::says<ConfigError>([&] { return MaskTokens::of(*bytes); }, "[MASK] or <mask>, which the tokenizer lacks");
  EXPECT_EQ(MaskTokens::of(*bytes, "a").mask, 'a') << "a byte is a token";
}
}  // namespace masks_test
