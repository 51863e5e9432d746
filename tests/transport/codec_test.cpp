// Laws of every codec and every class of instructions: error bounds, equal bits, what is not finite; and sums.
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include "base/api/int4.h"
#include "schedule/codec.h"
#include "support/bits.h"
#include "values.h"

namespace bora::transport::codec_test {
namespace {
using Numbers = std::vector<float>;
constexpr auto kMost = std::numeric_limits<float>::max(), kInf = std::numeric_limits<float>::infinity();
constexpr std::int64_t kSizes[] = {0, 1, 31, 63, 64, 65, 128, 1000, 4097, 9011};

std::vector<Wire> wires() {
  std::vector<Wire> r;
  for (auto& row : codecs())
    for (std::uint16_t block : {64, 128, 256, 4096})
      if (row.gap > 0 || block == 64) r.push_back({row.codec, block});
  return r;
}
std::string text(const Wire& w) { return std::string(word(w.codec)) + "/" + std::to_string(w.block); }
/// Inputs by kind.
std::map<std::string, Numbers> inputs(std::int64_t n) {
  std::mt19937 g(17);
  std::normal_distribution<float> normal;
  auto made = [&](auto f) {
    Numbers x(at(n));
    for (std::int64_t i = 0; i < n; ++i) x[at(i)] = f(i);
    return x;
  };
  return {{"normal", made([&](auto) { return normal(g); })},
          {"zero", made([](auto) { return 0.0F; })},
          {"constant", made([](auto) { return -3.7F; })},
          {"denormal", made([&](auto) { return normal(g) * 1e-40F; })},
          {"around the least normal", made([&](auto) { return normal(g) * 2e-38F; })},
          {"small", made([&](auto) { return normal(g) * 1e-30F; })},
          {"huge", made([&](auto i) { return i % 3 ? normal(g) * 1e37F : i % 2 ? kMost : -kMost; })},
          {"the largest", made([](auto i) { return i % 2 ? kMost : -kMost * 0.997F; })},
          {"mixed", made([&](auto i) { return normal(g) * std::pow(10.0F, static_cast<float>(i % 61 - 30)); })}};
}
std::vector<std::byte> encoded(const Wire& w, const Numbers& x, const CodecKernels& k) {
  std::vector<std::byte> bytes(at(encoded_bytes(w, static_cast<std::int64_t>(x.size()))));
  k.encode(x.data(), static_cast<std::int64_t>(x.size()), w.block, bytes.data());
  return bytes;
}
Numbers decoded(const Wire& w, const std::vector<std::byte>& bytes, std::size_t n, const CodecKernels& k) {
  Numbers y(n);
  k.decode(bytes.data(), static_cast<std::int64_t>(n), w.block, y.data());
  return y;
}
Numbers there_and_back(const Wire& w, const Numbers& x) {
  auto& k = codec(w.codec).kernels[0];
  return decoded(w, encoded(w, x, k), x.size(), k);
}
using test::same_bits;

TEST(Codec, AnErrorIsAtMostHalfOfTheWidestGap) {
  for (auto& w : wires())
    for (auto n : kSizes)
      for (auto& [kind, x] : inputs(n)) {
        auto y = there_and_back(w, x);
        auto& row = codec(w.codec);
        double most = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          if (i % w.block == 0) most = 0;
          for (auto k = i; i % w.block == 0 && k < std::min(n, i + w.block); ++k)
            most = std::max(most, std::abs(static_cast<double>(x[at(k)])));
          double here = x[at(i)];
          // s is rounded up to bf16; where s is the least normal number, smaller ones than that are zero
          auto& rounded = info(info(w.codec).dtype);
          auto bound = row.gap == 0 ? std::ldexp(std::max(std::abs(here), rounded.least), -rounded.fraction - 1)
                                    : row.gap * std::max(most / 127 * (1 + 1.0 / 128), 0x1p-126 * 2) / 2 * (1 + 1e-5);
          if (row.gap == 0 && std::abs(here) > rounded.largest) continue;  // rounds to infinity
          ASSERT_LE(std::abs(here - static_cast<double>(y[at(i)])), bound)
              << text(w) << " " << kind << " n=" << n << " i=" << i << " x=" << x[at(i)];
        }
      }
}
TEST(Codec, IntegersOfInt4BecomeTheNearestLevel) {
  Numbers x(64, 0.0F);
  x[63] = 127;  // the scale is 1
  for (int q = -127; q <= 127; ++q) {
    x[0] = x[40] = static_cast<float>(q);
    auto y = there_and_back(Wire::int4(), x);
    auto nearest = 1000;
    for (int level : kInt4Levels) {
      auto d = std::abs(level - q) - std::abs(nearest - q);
      if (d < 0 || (d == 0 && std::abs(level) < std::abs(nearest))) nearest = level;
    }
    EXPECT_EQ(y[0], static_cast<float>(nearest)) << q;
    EXPECT_EQ(y[40], y[0]) << q;
    EXPECT_EQ(y[63], 127);
    EXPECT_EQ(y[1], 0);
  }
}
TEST(Codec, EveryClassOfInstructionsGivesTheSameBits) {
  std::size_t cases = 0;
  for (auto& w : wires())
    for (auto n : kSizes)
      for (auto& [kind, x] : inputs(n)) {
        auto odd = x;
        if (n > 3) odd[at(n / 2)] = kInf, odd[at(n / 3)] = -kInf;
        if (n > 200) odd[at(n - 1)] = std::nanf("");
        for (auto& in : {x, odd}) {
          auto& all = codec(w.codec).kernels;
          auto plain = encoded(w, in, all[0]);
          auto y = decoded(w, plain, in.size(), all[0]);
          for (auto& k : all) {
            EXPECT_EQ(encoded(w, in, k), plain) << text(w) << " " << k.name << " " << kind << " n=" << n;
            EXPECT_TRUE(same_bits(decoded(w, plain, in.size(), k), y)) << text(w) << " " << k.name << " " << kind;
            ++cases;
          }
        }
      }
  EXPECT_GT(cases, 1000u);
}
TEST(Codec, SumsOfEveryClassOfInstructionsAreThoseOfDecodedParts) {
  std::size_t cases = 0;
  for (auto& w : wires())
    for (std::int64_t n : {1, 64, 130, 1000, 4100})
      for (std::size_t ranks : {1, 2, 5, 70})
        for (std::size_t odd : {0, 1}) {  // with parts that are not finite, huge or zero
          std::vector<std::vector<std::byte>> parts;
          std::vector<const std::byte*> places;
          Numbers expected(at(n));
          auto& plain = codec(w.codec).kernels[0];
          for (auto& [kind, x] : inputs(n)) {
            if (parts.size() == ranks || (odd == 0 && kind != "normal" && kind != "mixed")) continue;
            auto mine = x;
            if (odd && kind == "normal" && n > 100) mine[at(n - 2)] = kInf, mine[3] = std::nanf("");
            parts.push_back(encoded(w, mine, plain));
          }
          while (parts.size() < ranks) parts.push_back(std::vector<std::byte>(parts[parts.size() % 2]));
          for (std::size_t p = 0; p < ranks; ++p) {
            auto y = decoded(w, parts[p], at(n), plain);
            for (std::size_t i = 0; i < y.size(); ++i) expected[i] = p == 0 ? y[i] : expected[i] + y[i];
            places.push_back(parts[p].data());
          }
          auto first = codec(w.codec).unit(w.block);  // a part that begins behind a unit
          for (auto& k : codec(w.codec).kernels)
            for (std::int64_t from : {std::int64_t{0}, std::min(first, n)}) {
              Numbers sums(at(n - from));
              k.sum(places, encoded_bytes(w, from), n - from, w.block, sums.data());
              EXPECT_TRUE(same_bits(sums, {expected.begin() + from, expected.end()}))
                  << text(w) << " " << k.name << " n=" << n << " from " << from << ", " << ranks << " ranks";
              ++cases;
            }
        }
  std::printf("%zu sums\n", cases);
}
TEST(Codec, BitsDependNeitherOnPiecesNorOnThreads) {
  for (auto& w : wires()) {
    constexpr std::int64_t n = 20011;
    auto x = inputs(n).at("mixed");
    std::vector<std::byte> whole(at(encoded_bytes(w, n))), parts(whole.size());
    encode(w, x.data(), n, whole.data());
    auto unit = codec(w.codec).unit(w.block);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        auto cut = [&](int k) { return k == 4 ? n : n * k / 4 / unit * unit; };
        encode(w, x.data() + cut(t), cut(t + 1) - cut(t), parts.data() + encoded_bytes(w, cut(t)));
      });
    for (auto& t : threads) t.join();
    EXPECT_EQ(whole, parts) << text(w);
  }
}
TEST(Codec, ANaNTakesItsBlockAndAnInfinityStays) {
  for (auto& w : wires()) {
    if (!w.blocks()) continue;
    Numbers x(at(3 * w.block), 1.0F);
    x[1] = std::nanf("");
    x[2] = kInf;
    x[at(w.block + 5)] = kInf, x[at(w.block + 6)] = -kInf;
    auto y = there_and_back(w, x);
    for (std::int64_t i = 0; i < w.block; ++i) {
      EXPECT_TRUE(std::isnan(y[at(i)])) << text(w);
      auto beside = y[at(w.block + i)];
      bool infinite = i == 5 || i == 6;
      EXPECT_TRUE(infinite ? beside == (i == 5 ? kInf : -kInf) : std::isnan(beside)) << text(w) << " " << i;
      EXPECT_NEAR(y[at(2 * w.block + i)], 1, 0.01) << text(w);
    }
  }
}
TEST(Codec, BytesAreThoseOfWholeUnits) {
  EXPECT_EQ(encoded_bytes(Wire::bf16(), 7), 14);
  EXPECT_EQ(encoded_bytes(Wire::int8(), 64), 66);
  EXPECT_EQ(encoded_bytes(Wire::int8(), 65), 132);
  EXPECT_EQ(encoded_bytes(Wire::int4({256}), 1024), 4 * 130);
  for (auto& w : wires()) EXPECT_EQ(encoded_bytes(w, 0), 0);
}
TEST(Codec, ASumIsThatOfTheDecodedPartsInTheirOrder) {
  for (auto& w : wires())
    for (std::int64_t n : {1, 64, 1000, 9000})
      for (auto r : {Reduction::sum, Reduction::mean}) {
        std::vector<std::vector<std::byte>> parts;
        std::vector<const std::byte*> places;
        Numbers expected(at(n), 0.0F), sums(at(n));
        for (int p = 0; p < 4; ++p) {
          auto x = inputs(n + p).at("mixed");
          x.resize(at(n));
          parts.push_back(encoded(w, x, codec(w.codec).kernels[0]));
          auto y = there_and_back(w, x);
          for (std::size_t i = 0; i < y.size(); ++i) expected[i] = p == 0 ? y[i] : expected[i] + y[i];
        }
        if (r == Reduction::mean)
          for (auto& e : expected) e /= 4;
        for (auto& p : parts) places.push_back(p.data());
        std::vector<std::byte> again(parts[0].size());
        sum_encoded(w, r, places, n, sums.data(), again.data());
        EXPECT_TRUE(same_bits(sums, expected)) << text(w) << " n=" << n;
        EXPECT_EQ(again, encoded(w, expected, codec(w.codec).kernels[0])) << text(w) << " n=" << n;
      }
}
TEST(Codec, BlocksOfOtherLengthsAreRefused) {
  for (std::uint16_t block : {0, 1, 32, 100, 4160, 65535}) {
    EXPECT_THROW(check_block(Wire::int8({block}), "test"), ValueError) << block;
    EXPECT_NO_THROW(check_block({Codec::bf16, block}, "test"));
  }
  for (auto& w : wires()) EXPECT_NO_THROW(check_block(w, "test"));
}
}  // namespace
}  // namespace bora::transport::codec_test
