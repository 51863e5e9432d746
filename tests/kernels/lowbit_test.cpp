// Weights of 8 and 4 bits: products equal plain loops, bit for bit, on every instruction set, for every number of
// threads and rows; packing finds the integers of least error.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include "bora/base/dtype.h"
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/amx.h"
#include "kernels/api/cpu.h"
#include "kernels/api/lowbit.h"
#include "kernels/lowbit/layout.h"
#include "kernels/lowbit/tile.h"

namespace bora::kernels::lowbit_test {
namespace {
using I = std::int64_t;
const Lowbit kFormats[] = {{8, 32}, {4, 32}, {4, 128}};
std::vector<float> numbers(I n, unsigned seed) {
  std::mt19937 draw(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(static_cast<std::size_t>(n));
  for (auto& x : v) x = normal(draw);
  return v;
}
struct Packed {
  Lowbit f;
  I n, k;
  std::vector<std::int8_t> q;
  std::vector<std::uint16_t> scales;
  std::vector<unsigned char> bytes;
  Packed(Lowbit f, I n, I k, const std::vector<float>& w) : f(f), n(n), k(k), bytes(size(f.bytes(n, k))) {
    lowbit_pack(f, {w.data(), n, k, k, 1}, bytes.data());
    q.resize(size(n * k)), scales.resize(size(n * f.groups(k)));
    lowbit_unpack(f, bytes.data(), n, k, q.data(), scales.data());
  }
  static std::size_t size(I n) { return static_cast<std::size_t>(n); }
  float scale(I o, I i) const {
    float16 s;
    s.bits = scales[size(o * f.groups(k) + i / f.group)];
    return static_cast<float>(s);
  }
  /// The product in plain loops.
  std::vector<float> product(const std::vector<float>& x, I m) const {
    std::vector<float> y(size(m * n));
    for (I r = 0; r < m; ++r)
      for (I i = 0; i < k; i += kLowbitPart) {
        I end = std::min(k, i + kLowbitPart);
        float most = 0;
        for (I j = i; j < end; ++j) most = std::max(most, std::abs(x[size(r * k + j)]));
        float inverse = most < 1e-36f ? 0 : 127 / most, of_x = most < 1e-36f ? 0 : most / 127;
        for (I o = 0; o < n; ++o) {
          std::int32_t sum = 0;
          for (I j = i; j < end; ++j)
            sum += static_cast<std::int32_t>(std::nearbyint(x[size(r * k + j)] * inverse)) * q[size(o * k + j)];
          auto& to = y[size(r * n + o)];
          to = std::fma(scale(o, i) * of_x, static_cast<float>(sum), to);
        }
      }
    return y;
  }
  std::vector<float> run(const std::vector<float>& x, I m) const {
    std::vector<float> y(size(m * n), -1.f);
    lowbit_product({f, m, n, k, x.data(), bytes.data(), y.data()});
    return y;
  }
};
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
struct Sizes {
  I n, k;
};
const Sizes kSizes[] = {{1, 1}, {16, 32}, {17, 33}, {5, 200}, {40, 128}, {100, 257}, {64, 512}};

TEST(Lowbit, ProductsArePlainLoopsForAllRowsAndThreads) {
  for (auto f : kFormats)
    for (auto [n, k] : kSizes) {
      Packed w(f, n, k, numbers(n * k, 1));
      auto x = numbers(40 * k, 2);
      auto want = w.product(x, 40);
      for (I m : {1, 2, 3, 4, 7, 8, 15, 16, 17, 40}) {
        auto part = std::vector(want.begin(), want.begin() + m * n);
        for (int threads : {1, 2, 4}) {
          ThreadScope few(threads);
          EXPECT_TRUE(same(w.run(x, m), part)) << f.bits << "/" << f.group << " " << m << " " << n << " " << k;
        }
      }
    }
}
TEST(Lowbit, AllInstructionSetsGiveTheSameBits) {
  if (!has_vnni()) GTEST_SKIP() << "this CPU has no AVX512-VNNI";
  for (auto f : kFormats)
    for (auto [n, k] : kSizes) {
      auto w = numbers(n * k, 3), x = numbers(9 * k, 4);
      Packed packed(f, n, k, w);
      std::vector<unsigned char> tile(Packed::size(f.bytes(kLowbitTile, k)));
      I parts = f.groups(k) * (f.group / kLowbitPart);
      for (I t = 0; t < f.tiles(n); ++t) {
        auto* mine = packed.bytes.data() + t * static_cast<I>(tile.size());
        for (auto pack : {v3::lowbit_pack_tile, v4::lowbit_pack_tile}) {
          pack(f, {w.data(), n, k, k, 1}, t, tile.data());
          EXPECT_EQ(std::memcmp(tile.data(), mine, tile.size()), 0) << f.bits << " " << n << " " << k;
        }
        std::vector<std::vector<float>> results;
        auto run = [&](auto round, auto product, I block = 1) {
          std::vector<std::int8_t> q(Packed::size(kLowbitBlock * parts * kLowbitPart));
          std::vector<float> scales(Packed::size(kLowbitBlock * parts)), y(9 * 16);
          std::vector<std::int32_t> corrections(scales.size());
          LowbitRows rows{q.data(), scales.data(), corrections.data(), parts, block};
          for (I r = 0; r < 9; ++r) round(x.data() + r * k, k, f.zero(), rows, r);
          product({f, rows, 0, 9, std::min<I>(16, n - 16 * t), mine, y.data(), 16});
          results.push_back(y);
        };
        run(v3::lowbit_round, v3::lowbit_tile);
        run(v4::lowbit_round, v4::lowbit_tile);
        if (has_byte_tiles()) run(v4::lowbit_round, lowbit_tile_amx, kLowbitBlock);
        for (auto& r : results) EXPECT_TRUE(same(results[0], r)) << f.bits << "/" << f.group << " " << n << " " << k;
      }
    }
}
TEST(Lowbit, LargestSumsDoNotOverflow) {
  for (auto f : kFormats) {
    const I n = 16, k = 128;
    std::vector<std::int8_t> q(n * k, static_cast<std::int8_t>(f.bits == 8 ? -128 : -8));
    std::vector<std::uint16_t> scales(Packed::size(n * f.groups(k)), 0x3c00);  // 1
    std::vector<unsigned char> bytes(Packed::size(f.bytes(n, k)));
    for (int sign : {1, -1}) {
      for (I i = 0; i < n * k; i += 2) q[Packed::size(i)] = static_cast<std::int8_t>(f.bits == 8 ? 127 : 7);
      lowbit_pack(f, LowbitGiven{q.data(), scales.data(), n, k}, bytes.data());
      std::vector<float> x(k), y(n);
      for (I i = 0; i < k; ++i) x[Packed::size(i)] = static_cast<float>(i % 2 ? -sign : sign);
      lowbit_product({f, 1, n, k, x.data(), bytes.data(), y.data()});
      auto each = f.bits == 8 ? 127 + 128 : 7 + 8;
      for (auto v : y) EXPECT_NEAR(v, sign * each * k / 2, 1e-3 * each * k);
    }
  }
}
TEST(Lowbit, GivenIntegersAndScalesComeBack) {
  for (auto f : kFormats)
    for (auto [n, k] : kSizes) {
      std::mt19937 draw(5);
      std::uniform_int_distribution<int> any(f.bits == 8 ? -128 : -8, f.bits == 8 ? 127 : 7), bits(0, 0x7bff);
      std::vector<std::int8_t> q(Packed::size(n * k)), q2(q.size());
      std::vector<std::uint16_t> s(Packed::size(n * f.groups(k))), s2(s.size());
      for (auto& v : q) v = static_cast<std::int8_t>(any(draw));
      for (auto& v : s) v = static_cast<std::uint16_t>(bits(draw));
      std::vector<unsigned char> bytes(Packed::size(f.bytes(n, k)));
      lowbit_pack(f, LowbitGiven{q.data(), s.data(), n, k}, bytes.data());
      lowbit_unpack(f, bytes.data(), n, k, q2.data(), s2.data());
      EXPECT_EQ(q, q2);
      EXPECT_EQ(s, s2);
      std::vector<std::int32_t> rows{static_cast<std::int32_t>(n - 1), 0, -1, static_cast<std::int32_t>(n)};
      std::vector<float> y(Packed::size(4 * k));
      lowbit_rows(f, bytes.data(), n, k, rows.data(), 4, y.data());
      for (I r = 0; r < 2; ++r)
        for (I i = 0; i < k; ++i) {
          float16 scale;
          scale.bits = s[Packed::size(rows[Packed::size(r)] * f.groups(k) + i / f.group)];
          EXPECT_EQ(y[Packed::size(r * k + i)],
                    static_cast<float>(scale) * static_cast<float>(q[Packed::size(rows[Packed::size(r)] * k + i)]));
        }
      for (I i = 2 * k; i < 4 * k; ++i) EXPECT_TRUE(std::isnan(y[Packed::size(i)]));
    }
}
TEST(Lowbit, ErrorsAreAsSmallAsTheBitsAllow) {
  const double most[] = {0.0065, 0.085, 0.11};  // of a normal distribution: relative to its deviation
  for (int c = 0; c < 3; ++c) {
    const I n = 64, k = 512;
    auto w = numbers(n * k, 6);
    Packed p(kFormats[c], n, k, w);
    double squares = 0, error = 0;
    for (I o = 0; o < n; ++o)
      for (I i = 0; i < k; ++i) {
        double x = w[Packed::size(o * k + i)], d = x - p.scale(o, i) * p.q[Packed::size(o * k + i)];
        squares += x * x, error += d * d;
      }
    EXPECT_LT(std::sqrt(error / squares), most[c]) << kFormats[c].bits << "/" << kFormats[c].group;
    EXPECT_GT(std::sqrt(error / squares), most[c] / 2);
  }
}
TEST(Lowbit, WeightsMayBeStoredInputsFirst) {
  for (auto f : kFormats) {
    const I n = 37, k = 150;
    auto w = numbers(n * k, 7);
    std::vector<float> turned(w.size());
    for (I o = 0; o < n; ++o)
      for (I i = 0; i < k; ++i) turned[Packed::size(i * n + o)] = w[Packed::size(o * k + i)];
    Packed p(f, n, k, w);
    std::vector<unsigned char> bytes(p.bytes.size());
    lowbit_pack(f, {turned.data(), n, k, 1, n}, bytes.data());
    EXPECT_EQ(bytes, p.bytes);
  }
}
TEST(Lowbit, NumbersThatAreNotFiniteAreSeen) {
  for (auto f : kFormats) {
    const I n = 20, k = 64;
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    for (float bad : {inf, -inf, nan, 3e38f}) {
      auto w = numbers(n * k, 8);
      w[3 * k + 5] = bad;
      auto y = Packed(f, n, k, w).run(numbers(k, 9), 1);
      for (I o = 0; o < n; ++o) EXPECT_EQ(std::isnan(y[Packed::size(o)]), o == 3) << bad;
    }
    for (float bad : {inf, -inf, nan}) {
      auto x = numbers(2 * k, 10);
      x[k + 40] = bad;
      auto y = Packed(f, n, k, numbers(n * k, 8)).run(x, 2);
      for (I i = 0; i < 2 * n; ++i) EXPECT_EQ(std::isnan(y[Packed::size(i)]), i >= n) << bad;
    }
    std::vector<float> tiny(k, 1e-40f), zero(k, 0.f);
    Packed p(f, n, k, numbers(n * k, 8));
    EXPECT_TRUE(same(p.run(tiny, 1), std::vector<float>(n, 0.f)));
    EXPECT_TRUE(same(Packed(f, n, k, std::vector<float>(n * k, 1e-35f)).run(numbers(k, 9), 1),
                     std::vector<float>(n, 0.f)));
  }
}
TEST(Lowbit, OtherFormatsAreRefused) {
  std::vector<float> w(64);
  std::vector<unsigned char> bytes(4096);
  for (Lowbit f : {Lowbit{8, 128}, Lowbit{4, 64}, Lowbit{3, 32}})
    EXPECT_THROW(lowbit_pack(f, LowbitSource{w.data(), 1, 64, 64, 1}, bytes.data()), ValueError);
}
}  // namespace
}  // namespace bora::kernels::lowbit_test
