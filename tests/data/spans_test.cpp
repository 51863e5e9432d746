// Span corruption: equal to T5's (tests/golden/make_spans.py), and its laws.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include "bora/base/error.h"
#include "bora/data/spans.h"
#include "support/golden.h"

namespace spans_test {
using namespace bora;
using namespace bora::data;
using namespace bora::test;
namespace {
constexpr SpanTokens kTokens{999, 1};
std::vector<bool> bits(const std::string& text) {
  auto n = numbers(text);
  return {n.begin(), n.end()};
}
std::vector<std::int32_t> ids(const std::string& text) {
  auto n = numbers(text);
  return {n.begin(), n.end()};
}
/// The text of both sequences; false if they do not fit together.
bool restore(const Corrupted& c, std::vector<std::int32_t>& text) {
  std::size_t i = 0, t = 0;
  auto sentinel = [](std::int32_t id) { return id > 500; };
  auto copy = [&](auto& from, std::size_t& at) {
    while (at < from.size() && !sentinel(from[at]) && from[at] != kTokens.end) text.push_back(from[at++]);
  };
  for (auto next = kTokens.sentinel;; --next) {
    copy(c.inputs, i);  // a span of text, which the targets have as a sentinel
    if (c.targets.at(t) == kTokens.end) break;
    if (c.targets.at(t++) != next) return false;
    copy(c.targets, t);
    if (c.inputs.at(i) == kTokens.end) break;
    if (c.inputs.at(i++) != next) return false;
  }
  return i + 1 == c.inputs.size() && t + 1 == c.targets.size();
}
}  // namespace

TEST(Spans, EqualT5) {
  int seen = 0, contradictions = 0;
  for (auto& line : golden_lines("spans.txt")) {
    if (line.name == "lengths") {
      SpanOptions options{std::stod(line.parameters[0]), std::stod(line.parameters[1])};
      auto encoder = std::stoll(line.parameters[2]);
      for (auto& value : line.values) {
        if (value == "-") {
          ++encoder, ++contradictions;
          continue;
        }
        auto expected = numbers(value, '/');
        auto got = span_lengths(encoder, options);
        ASSERT_EQ(got.tokens, expected[0]) << options.noise_density << " " << options.mean_span << " " << encoder;
        ASSERT_EQ(got.decoder, expected[1]) << options.noise_density << " " << options.mean_span << " " << encoder;
        ++encoder, ++seen;
      }
    } else {
      auto length = std::stoll(line.parameters[0]);
      SpanOptions options{std::stod(line.parameters[1]), std::stod(line.parameters[2])};
      SpanStarts starts{bits(line.values[0]), bits(line.values[1])};
      auto [noise, spans] = span_counts(length, options);
      EXPECT_EQ(static_cast<std::int64_t>(starts.noise.size()), noise - 1);
      EXPECT_EQ(std::count(starts.noise.begin(), starts.noise.end(), true), spans - 1);
      EXPECT_EQ(static_cast<std::int64_t>(starts.text.size()), std::max<std::int64_t>(length, 2) - noise - 1);
      auto mask = noise_mask(length, starts);
      EXPECT_EQ(mask, bits(line.values[2])) << length;
      std::vector<std::int32_t> tokens(static_cast<std::size_t>(length));
      std::iota(tokens.begin(), tokens.end(), 100);
      auto corrupted = replace_spans(tokens, mask, kTokens);
      EXPECT_EQ(corrupted.inputs, ids(line.values[3]));
      EXPECT_EQ(corrupted.targets, ids(line.values[4]));
      ++seen;
    }
  }
  EXPECT_EQ(seen, 6 * 536 - contradictions + 36);
  EXPECT_LT(contradictions, 100);
}
TEST(Spans, RestoreTheText) {
  for (double density : {0.05, 0.15, 0.5, 0.8, 0.99})
    for (double mean : {1.0, 2.5, 3.0, 30.0})
      for (std::int64_t length : {0, 1, 2, 3, 7, 30, 64, 200})
        for (std::uint64_t seed : {0, 1, 2, 3}) {
          std::vector<std::int32_t> tokens(static_cast<std::size_t>(length)), text;
          std::iota(tokens.begin(), tokens.end(), 100);
          SpanOptions options{density, mean};
          auto corrupted = corrupt_spans(tokens, options, kTokens, Philox(Philox::key(seed), 5));
          ASSERT_TRUE(restore(corrupted, text)) << density << " " << mean << " " << length;
          ASSERT_EQ(text, tokens) << density << " " << mean << " " << length;
          if (length < 2) continue;
          auto [noise, spans] = span_counts(length, options);
          ASSERT_EQ(static_cast<std::int64_t>(corrupted.inputs.size()), length - noise + spans + 1);
          ASSERT_EQ(static_cast<std::int64_t>(corrupted.targets.size()), noise + spans + 1);
        }
}
TEST(Spans, FillTheEncoder) {
  for (double density : {0.05, 0.15, 0.5, 0.7})
    for (double mean : {1.0, 3.0, 8.0})
      for (std::int64_t encoder = 16; encoder < 1200; encoder += 7) {
        SpanOptions options{density, mean};
        auto lengths = span_lengths(encoder, options);
        auto [noise, spans] = span_counts(lengths.tokens, options);
        auto inputs = lengths.tokens - noise + spans + 1;
        EXPECT_GE(inputs, encoder - 1 - (density == 0.5)) << density << " " << mean;
        EXPECT_LE(inputs, encoder) << density << " " << mean;
        EXPECT_GE(lengths.decoder, noise + spans + 1);
        auto [more_noise, more_spans] = span_counts(lengths.tokens + 1 + (density == 0.5), options);
        EXPECT_GT(lengths.tokens + 1 + (density == 0.5) - more_noise + more_spans + 1, encoder);
      }
  auto t5 = span_lengths(512);  // the lengths of the released models
  EXPECT_EQ(t5.tokens, 568);
  EXPECT_EQ(t5.decoder, 114);
}
TEST(Spans, DrawsDependOnTheKeyAndTheIndexAlone) {
  std::vector<std::int32_t> tokens(100, 7);
  auto draw = [&](std::uint64_t seed, std::uint64_t index) {
    return corrupt_spans(tokens, {}, kTokens, Philox(Philox::key(seed), index)).inputs;
  };
  auto first = draw(3, 9);
  EXPECT_NE(draw(3, 10), first);
  EXPECT_NE(draw(4, 9), first);
  EXPECT_EQ(draw(3, 9), first);
}
TEST(Spans, AllStartsAreEquallyLikely) {
  std::map<std::pair<std::vector<bool>, std::vector<bool>>, int> seen;
  const int n = 20000;
  SpanOptions options{0.5, 2};  // 10 tokens: 5 of noise, 2 spans: 4 starts of noise, 4 of text
  ASSERT_EQ(span_counts(10, options).spans, 2);
  for (int i = 0; i < n; ++i) {
    Philox random(Philox::key(1), static_cast<std::uint64_t>(i));
    auto starts = draw_span_starts(10, options, random);
    ++seen[{starts.noise, starts.text}];
  }
  ASSERT_EQ(seen.size(), 16U);
  for (auto& [starts, count] : seen) EXPECT_NEAR(count, n / 16, 5 * std::sqrt(n / 16.0));
}
TEST(Spans, ErrorsSayTheOption) {
  EXPECT_THROW(span_counts(5, {.noise_density = 0}), ValueError);
  EXPECT_THROW(span_counts(5, {.noise_density = 1}), ValueError);
  EXPECT_THROW(span_counts(5, {.mean_span = 0.5}), ValueError);
  EXPECT_THROW(span_lengths(2), ValueError);
  EXPECT_THROW(noise_mask(5, {{true}, {false}}), ValueError);
  EXPECT_THROW(noise_mask(5, {{true}, {true}}), ValueError);
  std::vector<std::int32_t> tokens(3);
  EXPECT_THROW(replace_spans(tokens, {true}, kTokens), ValueError);
}
}  // namespace spans_test
