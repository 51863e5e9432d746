// Mixtures and packing: equal to Grain's (tests/golden/make_data.py), and their laws.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include "bora/base/error.h"
#include "bora/data/mix.h"
#include "bora/data/pack.h"
#include "support/golden.h"
#include "support/throws.h"

namespace mix_test {
using namespace bora;
using namespace bora::data;
using namespace bora::test;
namespace {
std::vector<double> reals(const std::string& text) {
  std::vector<double> result;
  for (auto& part : parts(text)) result.push_back(std::stod(part));
  return result;
}
using bora::test::error_of;
}  // namespace

TEST(Mix, EqualsGrain) {
  int seen = 0;
  for (auto& line : golden_lines("data.txt")) {
    if (line.name == "mix") {
      auto mix = Mix::of(reals(line.parameters[0]));
      auto k = std::stoll(line.parameters[1]);
      for (auto& value : line.values) {
        auto expected = numbers(value);
        ASSERT_EQ(mix.at(k), (Mix::Pick{expected[0], expected[1]})) << line.parameters[0] << " " << k;
        ++k, ++seen;
      }
    } else if (line.name == "mix_size") {
      EXPECT_EQ(Mix::of(reals(line.parameters[0])).size(numbers(line.parameters[1])), std::stoll(line.values[0]));
      ++seen;
    }
  }
  EXPECT_GT(seen, 600);
}
TEST(Mix, SharesAreExactAndEachSourceIsInOrder) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> weight(0.01, 3);
  for (int round = 0; round < 60; ++round) {
    std::vector<Mix::Stage> stages;
    auto n = 1 + random() % 8;
    for (std::int64_t from = 0; stages.size() < 1 + random() % 3;
         from += 1 + static_cast<std::int64_t>(random() % 900)) {
      Mix::Stage stage{from, {}};
      for (std::size_t i = 0; i < n; ++i) stage.weights.push_back(random() % 4 == 0 && i > 0 ? 0 : weight(random));
      stages.push_back(stage);
    }
    Mix mix(stages);
    std::vector<std::int64_t> used(n), begin(n);
    for (std::int64_t k = 0, stage = 0; k < 3000; ++k) {
      auto at = static_cast<std::size_t>(stage);
      if (at + 1 < stages.size() && k == stages[at + 1].from) ++stage, ++at, begin = used;
      ASSERT_EQ(mix.counts(k), used) << k;
      auto pick = mix.at(k);
      ASSERT_EQ(pick.index, used[static_cast<std::size_t>(pick.source)]++);
      auto& weights = stages[at].weights;
      std::vector<double> shares;
      double least = 1e9, total = 0, positive = 0;
      for (auto w : weights) least = w > 0 ? std::min(least, w) : least;
      for (auto w : weights) shares.push_back(std::floor(w * (100 / least))), total += shares.back(), positive += w > 0;
      for (std::size_t i = 0; i < n; ++i) {
        auto more =
            static_cast<double>(used[i] - begin[i]) - static_cast<double>(k + 1 - stages[at].from) * shares[i] / total;
        ASSERT_LT(more, 1);
        ASSERT_GT(more, -std::max(1.0, positive - 1));
        ASSERT_TRUE(shares[i] > 0 || used[i] == begin[i]);
      }
    }
  }
}
TEST(Mix, SizesOfStages) {
  Mix mix({{0, {1, 1}}, {100, {1, 3}}});
  EXPECT_EQ(mix.size({30, 1000}), 60);
  EXPECT_EQ(mix.size({1000, 80}), 140);
  EXPECT_EQ(mix.counts(140), (std::vector<std::int64_t>{60, 80}));
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(mix.size({kMost, kMost}), kMost);
  EXPECT_EQ(Mix::of({0, 2, 0}).size({0, 7, 0}), 7);
}
TEST(Mix, ErrorsSayTheWeight) {
  EXPECT_EQ(error_of([] { Mix::of({1.0, -2.0}); }), "mix: the weight -2 is not a finite number of at least 0");
  EXPECT_EQ(error_of([] { Mix::of({1.0, NAN}); }), "mix: the weight nan is not a finite number of at least 0");
  EXPECT_EQ(error_of([] { Mix::of({0.0, 0.0}); }), "mix: all weights from element 0 on are 0");
  EXPECT_EQ(error_of([] { Mix::of({1.0, 1e11}); }), "mix: the weight 1e+11 is more than 10^10 times the weight 1");
  EXPECT_EQ(error_of([] { Mix::of({}); }), "mix: there are no weights");
  EXPECT_EQ(error_of([] { Mix(std::vector<Mix::Stage>{{5, {1}}}); }), "mix: the first stage must begin at element 0");
  EXPECT_EQ(error_of([] { Mix({{0, {1, 2}}, {9, {1}}}); }),
            "mix: the stage from element 9 has 1 weights, the first has 2");
  EXPECT_EQ(error_of([] { Mix({{0, {1, 2}}, {9, {1, 2}}, {9, {2, 1}}}); }),
            "mix: a stage from element 9 follows one from element 9; they must ascend");
  EXPECT_EQ(error_of([] { Mix::of({1.0}).at(-1); }), "mix: there is no element number -1");
  EXPECT_EQ(error_of([] { Mix::of({1.0}).counts(-1); }), "mix: there is no element number -1");
}

TEST(Pack, EqualsGrain) {
  int seen = 0;
  for (auto& line : golden_lines("data.txt")) {
    if (line.name != "pack") continue;
    PackOptions options{std::stoll(line.parameters[1])};
    options.packing = line.parameters[0] == "first_fit" ? Packing::first_fit : Packing::best_fit;
    options.open_rows = std::stoll(line.parameters[2]);
    options.max_segments = std::stoll(line.parameters[3]);
    auto packed = pack(numbers(line.parameters[4]), options);
    ASSERT_EQ(packed.size(), static_cast<std::int64_t>(line.values.size())) << line.parameters[0];
    for (std::int64_t row = 0; row < packed.size(); ++row) {
      std::vector<std::int64_t> documents;
      for (auto& segment : packed.at(row)) documents.push_back(segment.document);
      ASSERT_EQ(documents, numbers(line.values[static_cast<std::size_t>(row)])) << line.parameters[0] << " " << row;
    }
    ++seen;
  }
  EXPECT_EQ(seen, 12);
}
// Every token of every document is in one row, rows hold what they may, and cutting is packing of the pieces.
TEST(Pack, EveryTokenHasOnePlace) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    PackOptions o{1 + static_cast<std::int64_t>(random() % 40)};
    o.packing = random() % 2 ? Packing::first_fit : Packing::best_fit;
    o.open_rows = 1 + static_cast<std::int64_t>(random() % 9);
    o.max_segments = static_cast<std::int64_t>(random() % 4);
    o.too_long = random() % 3 ? TooLong::cut : TooLong::drop;
    std::vector<std::int64_t> lengths(random() % 80), pieces;
    for (auto& n : lengths) n = static_cast<std::int64_t>(random() % 100);
    for (auto n : lengths)
      if (n <= o.capacity) pieces.push_back(n);
      else if (o.too_long == TooLong::cut)
        for (; n > 0; n -= o.capacity) pieces.push_back(std::min(n, o.capacity));
    auto packed = pack(lengths, o), of_pieces = pack(pieces, o);
    std::vector<std::vector<bool>> seen;
    for (auto n : lengths) seen.emplace_back(n);
    std::int64_t tokens = 0, dropped = 0;
    ASSERT_EQ(packed.size(), of_pieces.size());
    for (std::int64_t row = 0; row < packed.size(); ++row) {
      auto segments = packed.at(row), same = of_pieces.at(row);
      ASSERT_EQ(segments.size(), same.size());
      ASSERT_FALSE(segments.empty());
      ASSERT_TRUE(o.max_segments == 0 || static_cast<std::int64_t>(segments.size()) <= o.max_segments);
      std::int64_t offset = 0;
      for (std::size_t i = 0; i < segments.size(); ++i) {
        auto& s = segments[i];
        ASSERT_EQ(s.offset, offset);
        ASSERT_EQ(s.length, same[i].length);
        offset += s.length;
        for (auto t = s.begin; t < s.begin + s.length; ++t) {
          auto place = seen[static_cast<std::size_t>(s.document)].begin() + t;
          ASSERT_FALSE(*place);
          *place = true;
        }
      }
      ASSERT_LE(offset, o.capacity);
      tokens += offset;
    }
    for (auto& document : seen) {
      auto left = std::count(document.begin(), document.end(), false);
      if (left == 0) continue;
      ASSERT_EQ(o.too_long, TooLong::drop);
      ASSERT_EQ(left, static_cast<std::int64_t>(document.size()));
      ++dropped;
    }
    ASSERT_EQ(packed.tokens(), tokens);
    ASSERT_EQ(packed.dropped(), dropped);
  }
}
TEST(Pack, ManyOpenRowsWasteLittle) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> length(5.5, 1);
  std::vector<std::int64_t> lengths(100000);
  for (auto& n : lengths) n = 1 + static_cast<std::int64_t>(length(random));
  auto first = pack(lengths, {.capacity = 1024}),
       best = pack(lengths, {.capacity = 1024, .packing = Packing::best_fit});
  EXPECT_GT(first.efficiency(), 0.97);
  EXPECT_GE(best.efficiency(), first.efficiency() - 0.001);
  EXPECT_LT(pack(lengths, {.capacity = 1024, .open_rows = 1}).efficiency(), 0.9);
  EXPECT_EQ(pack(std::vector<std::int64_t>{}, {.capacity = 5}).efficiency(), 1);
}
TEST(Pack, ErrorsSayTheDocument) {
  std::vector<std::int64_t> lengths = {3, 9, -1};
  EXPECT_EQ(error_of([&] { pack(lengths, {.capacity = 8}); }), "pack: document 2 has the length -1");
  EXPECT_EQ(error_of([&] { pack(lengths, {.capacity = 8, .too_long = TooLong::error}); }),
            "pack: document 1 has 9 tokens, a row has room for 8; cut or drop long documents");
  EXPECT_EQ(error_of([&] { pack(lengths, {}); }), "pack: a row of 0 tokens; capacity must be in [1, 2^32)");
  EXPECT_EQ(error_of([&] { pack(lengths, {.capacity = 8, .open_rows = 0}); }),
            "pack: 0 open rows; open_rows must be in [1, 2^32)");
  EXPECT_EQ(error_of([&] { pack(lengths, {.capacity = 8, .max_segments = -1}); }),
            "pack: max_segments is -1; 0 means any number");
  lengths.pop_back();
  EXPECT_EQ(error_of([&] { pack(lengths, {.capacity = 8}).at(2); }), "pack: there is no row 2 of 2");
}
}  // namespace mix_test
