// Reductions: exact bits of the stated order, identities, NaN, every dtype, every number of threads.
#include "kernels/api/reduce.h"
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "kernels/numbers.h"
#include "support/throws.h"

namespace bora::kernels::reduce_test {
namespace {
template <class T> std::vector<T> with_zeros(I n, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<T> x(u(n));
  for (auto& v : x) {
    if constexpr (std::is_integral_v<T>) v = static_cast<T>(rng() >> 8);
    else v = static_cast<T>(rng() % 16 ? std::uniform_real_distribution<float>(-2, 2)(rng) : rng() % 2 ? 0.0f : -0.0f);
  }
  return x;
}
template <class T> using Acc = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
template <class T> Acc<T> combine(Reduction r, Acc<T> a, Acc<T> x) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (r == Reduction::sum) return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(x)));
    if (r == Reduction::prod) return static_cast<T>(static_cast<U>(static_cast<U>(a) * static_cast<U>(x)));
  }
  switch (r) {
    case Reduction::sum: return static_cast<Acc<T>>(a + x);
    case Reduction::prod: return static_cast<Acc<T>>(a * x);
    case Reduction::max: return std::isnan(static_cast<double>(a)) || a > x ? a : x;
    default: return std::isnan(static_cast<double>(a)) || a < x ? a : x;
  }
}
template <class T> Acc<T> identity(Reduction r) {
  using L = std::numeric_limits<Acc<T>>;
  switch (r) {
    case Reduction::sum: return 0;
    case Reduction::prod: return 1;
    case Reduction::max: return L::has_infinity ? -L::infinity() : L::lowest();
    default: return L::has_infinity ? L::infinity() : L::max();
  }
}
/// The order that reduce.cpp states, written plainly.
template <class T> std::vector<T> expected(Reduction r, const std::vector<T>& in, I outer, I n, I inner) {
  std::vector<T> out(u(outer * inner));
  for (I o = 0; o < outer; ++o)
    for (I j = 0; j < inner; ++j) {
      auto x = [&](I i) { return static_cast<Acc<T>>(in[u((o * n + i) * inner + j)]); };
      Acc<T> result = identity<T>(r);
      if (inner == 1) {
        std::vector<Acc<T>> part(32, identity<T>(r));
        for (I from = 0; from < n; from += kSegment) {
          std::vector<Acc<T>> segment(32, identity<T>(r));
          for (I i = from; i < std::min(n, from + kSegment); ++i)
            segment[u(i % 32)] = combine<T>(r, segment[u(i % 32)], x(i));
          for (std::size_t i = 0; i < 32; ++i) part[i] = combine<T>(r, part[i], segment[i]);
        }
        for (std::size_t half = 16; half >= 1; half /= 2)
          for (std::size_t i = 0; i < half; ++i) part[i] = combine<T>(r, part[i], part[i + half]);
        result = part[0];
      } else {
        for (I b = 0; b < n; b += 64) {
          Acc<T> sum = identity<T>(r);
          for (I i = b; i < std::min(n, b + 64); ++i) sum = combine<T>(r, sum, x(i));
          result = b == 0 ? sum : combine<T>(r, result, sum);
        }
      }
      out[u(o * inner + j)] = static_cast<T>(result);
    }
  return out;
}
struct Sizes {
  I outer, n, inner;
};
const std::vector<Sizes> sizes = {{1, 1, 1},
                                  {3, 31, 1},
                                  {2, 32, 1},
                                  {5, 33, 1},
                                  {1, 5000, 1},
                                  {700, 100, 1},
                                  {130, 3, 1},
                                  {65, 2, 1},
                                  {100, 17, 1},
                                  {9, 40, 1},
                                  {7, 47, 1},
                                  {70, 64, 1},
                                  {2, 0, 1},
                                  {2, 0, 5},
                                  {3, 5, 2},
                                  {2, 64, 7},
                                  {1, 65, 300},
                                  {2, 300, 33},
                                  {1, 1000, 257},
                                  {9, 3, 600},
                                  {0, 3, 2},
                                  {2, 3, 0},
                                  {2, 3 * kSegment + 77, 1}};
const std::vector<Sizes> short_rows = [] {  // around the number of rows that are reduced at a time
  std::vector<Sizes> r;
  for (I n = 1; n <= 20; ++n)
    for (I rows : {I{31}, I{32}, I{33}, I{64}, 100 + n}) r.push_back({rows, n, 1});
  return r;
}();

template <class T> struct ReduceTest : testing::Test {};
using Types = testing::Types<float, double, bfloat16, std::int32_t, std::int64_t, std::uint32_t, std::uint8_t>;
TYPED_TEST_SUITE(ReduceTest, Types);
template <class T> void has_the_stated_bits(const std::vector<Sizes>& all) {
  for (auto s : all)
    for (auto r : {Reduction::sum, Reduction::prod, Reduction::max, Reduction::min}) {
      auto in = with_zeros<T>(s.outer * s.n * s.inner, 7);
      auto want = expected<T>(r, in, s.outer, s.n, s.inner);
      for (int threads : {1, 2, 3}) {
        std::vector<T> out(want.size());
        set_thread_count(threads);
        reduce(r, dtype_of<T>, in.data(), out.data(), s.outer, s.n, s.inner);
        set_thread_count(0);
        if (out.empty()) continue;
        ASSERT_EQ(std::memcmp(out.data(), want.data(), out.size() * sizeof(T)), 0)
            << s.outer << " " << s.n << " " << s.inner << " " << static_cast<int>(r);
      }
    }
}
TYPED_TEST(ReduceTest, HasTheBitsOfTheStatedOrder) {
  has_the_stated_bits<TypeParam>(sizes);
  has_the_stated_bits<TypeParam>(short_rows);
}
TYPED_TEST(ReduceTest, PositionsOfExtremes) {
  using T = TypeParam;
  for (auto s : sizes) {
    if (s.n == 0) continue;
    auto in = with_zeros<T>(s.outer * s.n * s.inner, 9);
    for (auto& x : in) x = static_cast<T>(static_cast<int>(static_cast<float>(x)) % 5);  // many ties
    if constexpr (!std::is_integral_v<T>)
      if (in.size() > 50) in[in.size() / 2] = in[in.size() / 2 + 9] = static_cast<T>(NAN);
    for (bool max : {true, false}) {
      std::vector<std::int32_t> out(u(s.outer * s.inner));
      arg_reduce(max, dtype_of<T>, in.data(), out.data(), s.outer, s.n, s.inner);
      for (I o = 0; o < s.outer; ++o)
        for (I j = 0; j < s.inner; ++j) {
          auto x = [&](I i) { return static_cast<double>(in[u((o * s.n + i) * s.inner + j)]); };
          I best = 0;
          for (I i = 1; i < s.n; ++i)
            if (!std::isnan(x(best)) && (std::isnan(x(i)) || (max ? x(i) > x(best) : x(i) < x(best)))) best = i;
          ASSERT_EQ(out[u(o * s.inner + j)], best);
        }
    }
  }
}
TYPED_TEST(ReduceTest, RunningSums) {
  using T = TypeParam;
  for (auto s : sizes)
    for (bool reverse : {false, true}) {
      auto in = with_zeros<T>(s.outer * s.n * s.inner, 11);
      auto out = in, want = in;
      for (I o = 0; o < s.outer; ++o)
        for (I j = 0; j < s.inner; ++j) {
          Acc<T> sum = 0, before = 0;
          for (I i = 0; i < s.n; ++i) {
            auto at = u((o * s.n + (reverse ? s.n - 1 - i : i)) * s.inner + j);
            constexpr I block = 16384;  // of a long row: from the front in both directions
            auto place = reverse ? s.n - 1 - i : i;
            if (s.inner == 1 && s.n >= 65536 &&
                (i == 0 || (reverse ? place % block == block - 1 : place % block == 0))) {
              auto first = place / block * block, count = std::min(block, s.n - first);
              std::vector<Acc<T>> part(u(count));
              for (I k = 0; k < count; ++k) part[u(k)] = static_cast<Acc<T>>(in[u(o * s.n + first + k)]);
              Acc<T> all = 0;
              reduce(Reduction::sum, dtype_of<Acc<T>>, part.data(), &all, 1, count, 1);
              sum = before;
              before = static_cast<Acc<T>>(before + all);
            }
            sum = combine<T>(Reduction::sum, sum, in[at]);
            want[at] = static_cast<T>(sum);
          }
        }
      cumsum(dtype_of<T>, out.data(), out.data(), s.outer, s.n, s.inner, reverse);  // in place
      if (out.empty()) continue;
      EXPECT_EQ(std::memcmp(out.data(), want.data(), out.size() * sizeof(T)), 0);
    }
}
template <class T> struct FloatReduceTest : testing::Test {};
using Floats = testing::Types<float, double, bfloat16>;
TYPED_TEST_SUITE(FloatReduceTest, Floats);
TYPED_TEST(FloatReduceTest, NanIsKeptAndInfinitiesOrder) {
  using T = TypeParam;
  for (I inner : {1, 3})
    for (I where = 0; where < 70; ++where) {
      std::vector<T> in(u(70 * inner), T(1)), out(u(inner));
      in[u(where * inner)] = static_cast<T>(NAN);
      in[u((69 - where) * inner)] = where == 69 - where ? in[0] : static_cast<T>(INFINITY);
      for (auto r : {Reduction::max, Reduction::min, Reduction::sum}) {
        reduce(r, dtype_of<T>, in.data(), out.data(), 1, 70, inner);
        EXPECT_TRUE(std::isnan(static_cast<double>(out[0]))) << where;
      }
    }
}
TEST(Reduce, Bools) {
  for (I n : {0, 1, 31, 32, 100})
    for (I inner : {1, 3})
      for (int set = 0; set < 3; ++set) {
        std::vector<char> in(u(n * inner), set == 1);
        if (set == 2 && n > 0) in[u((n - 1) * inner)] = 1;
        bool all[3], any[3];
        reduce(Reduction::all, boolean, in.data(), all, 1, n, inner);
        reduce(Reduction::any, boolean, in.data(), any, 1, n, inner);
        EXPECT_EQ(all[0], n == 0 || set == 1 || (set == 2 && n == 1));
        EXPECT_EQ(any[0], n > 0 && set > 0);
      }
}
TEST(Reduce, Refusals) {
  float x = 0;
  EXPECT_THROW(reduce(Reduction::sum, boolean, &x, &x, 1, 1, 1), DtypeError);
  EXPECT_THROW(reduce(Reduction::all, f32, &x, &x, 1, 1, 1), DtypeError);
  std::int32_t at;
  EXPECT_THROW(arg_reduce(true, f32, &x, &at, 1, 0, 1), ShapeError);
  bora::test::says<ShapeError>([&] { arg_reduce(false, f32, &x, &at, 1, I{1} << 31, 1); }, "argmin:");
}
}  // namespace
}  // namespace bora::kernels::reduce_test
