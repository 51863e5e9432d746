// Cuts of sorted parts against a sort of all elements.
#include "ops/primitives/cuts.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <random>
#include <tuple>

namespace bora::ops::cuts_test {
namespace {
using Keys = std::vector<std::uint64_t>;
using Element = std::tuple<std::uint64_t, std::size_t, std::int64_t>;  // key, part, place
struct Rows {
  Dims parts, before;
  std::vector<Keys> sorted;  // of each part, row after row
};
/// n elements a row in even parts: unlike keys, few different ones, one key, or all large ones in the first part.
Rows rows_of(std::int64_t rows, std::int64_t n, std::int64_t parts, int kind, std::mt19937& g) {
  Rows r;
  for (std::int64_t p = 0; p < parts; ++p) {
    r.parts.push_back(n * (p + 1) / parts - n * p / parts);
    if (p > 0) r.before.push_back(n * p / parts);
    auto& all = r.sorted.emplace_back();
    for (std::int64_t row = 0; row < rows; ++row) {
      Keys k(static_cast<std::size_t>(r.parts.back()));
      for (auto& x : k) x = kind == 0 ? g() : kind == 1 ? g() % 3 : kind == 2 ? 7 : p == 0 ? 1000 + g() % 9 : g() % 4;
      std::sort(k.begin(), k.end());
      all.insert(all.end(), k.begin(), k.end());
    }
  }
  return r;
}
/// Finds the cuts; returns the rounds that it took.
int search(Cuts& cuts, const Rows& rows) {
  for (int round = 0;; ++round) {
    if (cuts.found()) return round;
    Keys told;
    for (std::size_t p = 0; p < rows.parts.size(); ++p)
      for (auto place : cuts.asked(p)) told.push_back(rows.sorted[p][static_cast<std::size_t>(place)]);
    if (told.empty()) ADD_FAILURE() << "a round asks for nothing";
    if (told.empty() || round > 40) return round;
    cuts.learn(told);
  }
}
TEST(Cuts, AreThoseOfAllElementsSorted) {
  std::mt19937 g(1);
  for (int sample = 0; sample < 400; ++sample) {
    auto parts = 1 + static_cast<std::int64_t>(g() % 6), count = static_cast<std::int64_t>(g() % 4);
    auto n = static_cast<std::int64_t>(sample % 40 == 0 ? 20000 : g() % 300);
    auto rows = rows_of(count, n, parts, sample % 4, g);
    Cuts cuts(count, rows.parts, rows.before, 16);
    search(cuts, rows);
    for (std::int64_t row = 0; row < count; ++row) {
      std::vector<Element> all;
      for (std::size_t p = 0; p < rows.parts.size(); ++p)
        for (std::int64_t i = 0; i < rows.parts[p]; ++i)
          all.emplace_back(rows.sorted[p][static_cast<std::size_t>(row * rows.parts[p] + i)], p, i);
      std::sort(all.begin(), all.end());
      for (std::size_t k = 0; k < rows.before.size(); ++k) {
        Dims want(rows.parts.size(), 0), got;
        for (std::int64_t i = 0; i < rows.before[k]; ++i) ++want[std::get<1>(all[static_cast<std::size_t>(i)])];
        for (std::size_t p = 0; p < rows.parts.size(); ++p) got.push_back(cuts.at(row, p, k));
        ASSERT_EQ(got, want) << n << " in " << parts << " parts, cut " << k << " of row " << row;
      }
    }
  }
}
TEST(Cuts, OfManyKeysTakeFewRounds) {
  std::mt19937 g(2);
  for (int kind : {0, 1, 2, 3})
    for (std::int64_t parts : {2, 4, 16}) {
      auto rows = rows_of(1, 100000, parts, kind, g);
      Cuts cuts(1, rows.parts, rows.before, 64);
      EXPECT_LE(search(cuts, rows), 4) << "kind " << kind << " in " << parts << " parts";
    }
}
}  // namespace
}  // namespace bora::ops::cuts_test
