// take and scatters: against plain loops, out-of-range indices included.
#include "kernels/api/index.h"
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "kernels/numbers.h"

namespace bora::kernels::index_test {
namespace {
std::vector<std::int32_t> positions(I m, I n) {
  std::mt19937 rng(3);
  std::vector<std::int32_t> x(u(m));
  for (auto& v : x) v = static_cast<std::int32_t>(rng() % u(n + 4)) - 2;  // some lie outside
  return x;
}
struct Sizes {
  I outer, n, m, inner;
};
const std::vector<Sizes> sizes = {{1, 5, 7, 1},    {1, 50, 400, 1},    {3, 9, 40, 5},  {1, 30, 200, 700},
                                  {2, 7, 50, 130}, {4, 1000, 3000, 2}, {40, 5, 30, 6}, {2, 5, 0, 3},
                                  {0, 5, 2, 3},    {2, 5, 4, 0},       {3, 9, 40, 3},  {2, 20, 50, 17}};
template <class T> struct IndexTest : testing::Test {};
using Types = testing::Types<float, double, bfloat16, std::int32_t, std::int64_t, std::uint32_t, std::uint8_t>;
TYPED_TEST_SUITE(IndexTest, Types);

TYPED_TEST(IndexTest, Take) {
  using T = TypeParam;
  for (auto s : sizes)
    for (auto mode : {OutOfRange::clamp, OutOfRange::fill}) {
      auto in = numbers<T>(s.outer * s.n * s.inner, 1);
      auto at = positions(s.m, s.n);
      std::vector<T> out(u(s.outer * s.m * s.inner));
      auto filler = static_cast<T>(3);
      take(in.data(), at.data(), out.data(), s.outer, s.n, s.m, s.inner, sizeof(T), mode, &filler);
      for (I o = 0; o < s.outer; ++o)
        for (I i = 0; i < s.m; ++i)
          for (I j = 0; j < s.inner; ++j) {
            I k = at[u(i)];
            bool outside = k < 0 || k >= s.n;
            auto want = outside && mode == OutOfRange::fill
                            ? filler
                            : in[u((o * s.n + std::clamp<I>(k, 0, s.n - 1)) * s.inner + j)];
            ASSERT_EQ(static_cast<double>(out[u((o * s.m + i) * s.inner + j)]), static_cast<double>(want));
          }
    }
}
template <class T> void run(ScatterMode how, const T* in, const std::int32_t* at, const T* x, T* out, Sizes s) {
  scatter(how, dtype_of<T>, in, at, x, out, s.outer, s.n, s.m, s.inner);
}
TYPED_TEST(IndexTest, ScattersCombineInOrder) {
  using T = TypeParam;
  using A = std::conditional_t<std::is_same_v<T, bfloat16>, float,
                               std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>>;
  for (auto s : sizes)
    for (auto how : {ScatterMode::add, ScatterMode::set, ScatterMode::multiply, ScatterMode::min, ScatterMode::max}) {
      auto in = numbers<T>(s.outer * s.n * s.inner, 1), x = numbers<T>(s.outer * s.m * s.inner, 2), want = in;
      auto at = positions(s.m, s.n);
      for (I o = 0; o < s.outer; ++o)
        for (I row = 0; row < s.n; ++row)
          for (I j = 0; j < s.inner; ++j) {
            T& to = want[u((o * s.n + row) * s.inner + j)];
            auto sum = static_cast<A>(to);
            for (I i = 0; i < s.m; ++i) {
              if (at[u(i)] != row) continue;
              T v = x[u((o * s.m + i) * s.inner + j)];
              if (how == ScatterMode::add) sum = sum + static_cast<A>(v);
              else if (how == ScatterMode::multiply) sum = sum * static_cast<A>(v);
              else if (how == ScatterMode::set ||
                       (how == ScatterMode::min ? v < static_cast<T>(sum) : v > static_cast<T>(sum)))
                sum = static_cast<A>(v);
            }
            to = static_cast<T>(sum);
          }
      for (int threads : {1, 2, 3}) {
        std::vector<T> out(in.size()), same = in;
        set_thread_count(threads);
        run<T>(how, in.data(), at.data(), x.data(), out.data(), s);
        run<T>(how, same.data(), at.data(), x.data(), same.data(), s);
        set_thread_count(0);
        if (out.empty()) continue;
        ASSERT_EQ(std::memcmp(out.data(), want.data(), out.size() * sizeof(T)), 0)
            << word(how) << " " << s.n << " " << s.m << " " << s.inner;
        ASSERT_EQ(std::memcmp(same.data(), want.data(), out.size() * sizeof(T)), 0) << "in place";
      }
    }
}
TEST(Index, ManyNumbersCombineInOrder) {
  constexpr I m = 100000;
  for (I n : {1, 8192, 100003}) {
    auto in = numbers<float>(n, 1), x = numbers<float>(m, 2);
    auto at = positions(m, n);
    for (auto how : {ScatterMode::add, ScatterMode::set, ScatterMode::multiply, ScatterMode::min, ScatterMode::max}) {
      auto want = in;
      for (I i = 0; i < m; ++i) {
        if (at[u(i)] < 0 || at[u(i)] >= n) continue;
        float& to = want[u(at[u(i)])];
        float v = x[u(i)];
        to = how == ScatterMode::add                                                  ? to + v
             : how == ScatterMode::multiply                                           ? to * v
             : how == ScatterMode::set || (how == ScatterMode::min ? v < to : v > to) ? v
                                                                                      : to;
      }
      for (int threads : {1, 2, 3}) {
        std::vector<float> out(in.size());
        set_thread_count(threads);
        run<float>(how, in.data(), at.data(), x.data(), out.data(), {1, n, m, 1});
        set_thread_count(0);
        ASSERT_EQ(std::memcmp(out.data(), want.data(), out.size() * sizeof(float)), 0) << word(how) << " " << n;
      }
    }
  }
}
TEST(Index, NanWinsInMinAndMax) {
  float in[1] = {1}, x[2] = {NAN, 5}, out[1];
  std::int32_t at[2] = {0, 0};
  for (auto how : {ScatterMode::min, ScatterMode::max}) {
    scatter(how, f32, in, at, x, out, 1, 1, 2, 1);
    EXPECT_TRUE(std::isnan(out[0]));
  }
}
TEST(Index, BoolsAndKeysAreSet) {
  bool in[3] = {}, x[2] = {true, true}, out[3];
  std::int32_t at[2] = {2, -1};
  scatter(ScatterMode::set, boolean, in, at, x, out, 1, 3, 2, 1);
  EXPECT_EQ(out[0] + 2 * out[1] + 4 * out[2], 4);
  std::uint64_t keys[2] = {1, 2}, one[1] = {9}, result[2];
  scatter(ScatterMode::set, Dtype::key, keys, at + 1, one, result, 1, 2, 1, 1);
  EXPECT_EQ(result[0] * 10 + result[1], 12u);
}
TEST(Index, Refusals) {
  float x[2] = {};
  std::int32_t at[1] = {0};
  EXPECT_THROW(take(x, at, x, 1, 0, 1, 1, 4, OutOfRange::clamp, 0), IndexError);
  EXPECT_THROW(scatter(ScatterMode::add, boolean, x, at, x, x, 1, 1, 1, 1), DtypeError);
}
}  // namespace
}  // namespace bora::kernels::index_test
