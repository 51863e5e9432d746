// Products: against f64 sums over shapes, strides and dtypes; the same bits for every number of threads and both kernel
// classes.
#include "kernels/api/gemm.h"
#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "kernels/api/cpu.h"
#include "kernels/api/memory.h"
#include "kernels/gemm/bf16.h"
#include "kernels/gemm/block.h"
#include "kernels/numbers.h"

namespace bora::kernels::gemm_test {
namespace {
struct Case {
  I batch = 1, m = 1, n = 1, k = 1;
  bool ta = false, tb = false;
  I pad = 0;             // leading dimensions are larger than the rows by this
  bool share_b = false;  // batch stride of b is 0
  Into into = Into::set;
};
template <class T> struct Product {
  Case s;
  std::vector<T> a, b, c0;
  Gemm g;
  explicit Product(Case s) : s(s) {
    I lda = (s.ta ? s.m : s.k) + s.pad, ldb = (s.tb ? s.k : s.n) + s.pad, ldc = s.n + s.pad;
    I size_a = lda * (s.ta ? s.k : s.m), size_b = ldb * (s.tb ? s.n : s.k);
    a = numbers<T>(s.batch * size_a, 1, 1);
    b = numbers<T>(s.batch * size_b, 2, 1);
    c0 = numbers<T>(s.batch * ldc * s.m, 3, 1);
    g = {.dtype = dtype_of<T>,
         .batch = s.batch,
         .m = s.m,
         .n = s.n,
         .k = s.k,
         .a = a.data(),
         .a_batch = size_a,
         .a_row = s.ta ? 1 : lda,
         .a_col = s.ta ? lda : 1,
         .b = b.data(),
         .b_batch = s.share_b ? 0 : size_b,
         .b_row = s.tb ? 1 : ldb,
         .b_col = s.tb ? ldb : 1,
         .c_batch = ldc * s.m,
         .ldc = ldc,
         .into = s.into};
  }
  std::vector<T> run(int threads = 1) {
    auto c = c0;
    g.c = c.data();
    set_thread_count(threads);
    gemm(g);
    set_thread_count(0);
    return c;
  }
  /// Compares c with a sum in the widest type; elements between the rows must be untouched.
  void verify(const std::vector<T>& c) {
    using W = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
    for (I q = 0; q < s.batch; ++q)
      for (I i = 0; i < s.m; ++i) {
        for (I j = 0; j < g.ldc; ++j) {
          auto at = static_cast<std::size_t>(q * g.c_batch + i * g.ldc + j);
          if (j >= s.n) {
            ASSERT_EQ(static_cast<W>(c[at]), static_cast<W>(c0[at])) << "beyond the row";
            continue;
          }
          W sum = 0;
          for (I p = 0; p < s.k; ++p)
            sum += static_cast<W>(a[static_cast<std::size_t>(q * g.a_batch + i * g.a_row + p * g.a_col)]) *
                   static_cast<W>(b[static_cast<std::size_t>(q * g.b_batch + p * g.b_row + j * g.b_col)]);
          if (s.into != Into::set) sum = static_cast<W>(c0[at]) + (s.into == Into::add ? sum : -sum);
          if constexpr (std::is_integral_v<T>) ASSERT_EQ(c[at], static_cast<T>(sum));
          else {
            double eps = sizeof(T) == 8 ? 1.1e-16 : 6e-8;  // of the sum; bf16 is rounded once more
            double tolerance = eps * (16 + static_cast<double>(s.k)) + (sizeof(T) == 2 ? std::abs(sum) / 256 : 0);
            ASSERT_NEAR(static_cast<double>(c[at]), sum, tolerance) << q << " " << i << " " << j;
          }
        }
      }
  }
};
const std::vector<Case> cases = {{.m = 1, .n = 1, .k = 1},
                                 {.m = 1, .n = 300, .k = 70},
                                 {.m = 300, .n = 1, .k = 70},
                                 {.m = 5, .n = 3, .k = 600},
                                 {.m = 37, .n = 45, .k = 19},
                                 {.m = 37, .n = 45, .k = 19, .ta = true, .tb = true, .pad = 3},
                                 {.m = 14, .n = 32, .k = 256},
                                 {.m = 64, .n = 33, .k = 257, .tb = true},
                                 {.m = 65, .n = 47, .k = 513, .ta = true, .pad = 1},
                                 {.m = 100, .n = 530, .k = 300, .tb = true},
                                 {.m = 1100, .n = 40, .k = 270},
                                 {.batch = 5, .m = 33, .n = 17, .k = 40, .tb = true},
                                 {.batch = 3, .m = 20, .n = 2, .k = 9, .ta = true},
                                 {.batch = 4, .m = 10, .n = 70, .k = 33, .share_b = true},
                                 {.m = 16, .n = 24, .k = 9001, .ta = true},
                                 {.batch = 2, .m = 128, .n = 128, .k = 32, .tb = true},
                                 {.m = 1, .n = 1700, .k = 300, .tb = true},
                                 {.m = 3, .n = 77, .k = 515, .ta = true, .tb = true, .pad = 2},
                                 {.m = 7, .n = 1100, .k = 259, .pad = 1},
                                 {.m = 90, .n = 2, .k = 261},
                                 {.batch = 2, .m = 1030, .n = 8, .k = 31, .ta = true, .pad = 5},
                                 {.m = 30, .n = 1061, .k = 300, .tb = true},
                                 {.m = 14, .n = 60000, .k = 3},  // more columns than sums of bf16 have room for
                                 {.m = 28, .n = 65536, .k = 4},
                                 {.m = 64, .n = 1, .k = 64},
                                 {.m = 1, .n = 64, .k = 1}};

/// The cases, and for numbers that can be added to, the same into sums and differences.
template <class T> std::vector<Case> cases_of() {
  auto all = cases;
  if (!std::is_integral_v<T> && sizeof(T) >= 4)
    for (auto into : {Into::add, Into::subtract})
      for (auto c : cases) {
        c.into = into;
        all.push_back(c);
      }
  return all;
}
template <class T> struct GemmTest : testing::Test {};
using Types = testing::Types<float, double, bfloat16, std::int32_t, std::int64_t, std::uint32_t, std::uint8_t>;
TYPED_TEST_SUITE(GemmTest, Types);
TYPED_TEST(GemmTest, EqualsTheSums) {
  for (const auto& s : cases_of<TypeParam>()) {
    SCOPED_TRACE(testing::Message() << s.batch << " x " << s.m << " " << s.k << " " << s.n << (s.ta ? " ta" : "")
                                    << (s.tb ? " tb" : ""));
    Product<TypeParam> p(s);
    p.verify(p.run(2));
  }
}
/// Every size from 1 to 70 (plain loops of integers: some) as rows, columns and k, in all orders of the operands,
/// beside two odd ones.
TYPED_TEST(GemmTest, OddSizes) {
  for (I n = 1; n <= 70; n += std::is_integral_v<TypeParam> ? 17 : 1)
    for (int order = 0; order < 4; ++order) {
      I x = 1 + n * 13 % 37, y = 1 + n * 29 % 53;
      const Case s[] = {{.m = n, .n = x, .k = y}, {.m = x, .n = n, .k = y}, {.m = x, .n = y, .k = n}};
      for (auto c : s) {
        c.ta = order % 2, c.tb = order / 2, c.pad = n % 3;
        Product<TypeParam> p(c);
        p.verify(p.run());
      }
    }
}
TYPED_TEST(GemmTest, BitsDoNotDependOnThreads) {
  auto more = cases_of<TypeParam>();
  more.push_back({.m = 192, .n = 576, .k = 4096, .ta = true});
  more.push_back({.m = 30, .n = 1000, .k = 400, .tb = true});
  for (const auto& s : more) {
    Product<TypeParam> p(s);
    auto one = p.run(1);
    for (int threads : {2, 3, 7}) {
      auto many = p.run(threads);
      EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(TypeParam)), 0)
          << threads << " threads, " << s.m << " " << s.n;
    }
  }
}
/// An element of a product does not depend on the rows and columns around it: a shard of a product has the bits of the
/// whole.
TYPED_TEST(GemmTest, PartsHaveTheBitsOfTheWhole) {
  Product<TypeParam> p({.m = 90, .n = 120, .k = 700, .tb = true});
  auto whole = p.run(2);
  auto g = p.g;
  g.m = 31, g.n = 50;
  g.a = p.a.data() + 40 * g.a_row;
  g.b = p.b.data() + 60 * g.b_col;
  std::vector<TypeParam> c(31 * 50);
  g.c = c.data(), g.ldc = 50;
  gemm(g);
  for (I i = 0; i < 31; ++i)
    EXPECT_EQ(std::memcmp(c.data() + i * 50, whole.data() + (40 + i) * 120 + 60, 50 * sizeof(TypeParam)), 0);
}
TYPED_TEST(GemmTest, ABatchHasTheBitsOfItsProducts) {
  std::mt19937 rng(7);
  auto draw = [&](I most) { return 1 + static_cast<I>(rng() % static_cast<unsigned>(most)); };
  for (int t = 0; t < 400; ++t) {
    Case s{.batch = draw(40), .m = draw(12), .n = draw(12), .k = draw(t % 4 == 0 ? 130 : 20), .ta = rng() % 2 != 0,
           .tb = rng() % 2 != 0, .pad = static_cast<I>(rng() % 3), .share_b = rng() % 4 == 0};
    if (t % 3 == 0) s.m = s.n = 1;
    if constexpr (std::is_floating_point_v<TypeParam>) s.into = std::array{Into::set, Into::add, Into::subtract}[t % 3];
    Product<TypeParam> p(s);
    auto whole = p.run(1 + t % 2), one = p.c0;
    for (I b = 0; b < s.batch; ++b) {
      auto g = p.g;
      g.batch = 1;
      g.a = p.a.data() + b * g.a_batch, g.b = p.b.data() + b * g.b_batch, g.c = one.data() + b * g.c_batch;
      gemm(g);
    }
    ASSERT_EQ(std::memcmp(one.data(), whole.data(), one.size() * sizeof(TypeParam)), 0)
        << s.batch << " x " << s.m << " " << s.n << " " << s.k << " " << s.ta << s.tb;
  }
}
template <class T> void expect_same_on_both_classes() {
  if (!__builtin_cpu_supports("x86-64-v4")) GTEST_SKIP() << "this CPU has no AVX-512";
  for (const auto& s : cases_of<T>()) {
    Product<T> p(s);
    auto x = p.c0, y = p.c0;
    GemmBlock b{dtype_of<T>, s.m,       s.n,       s.k,      p.a.data(), p.g.a_row, p.g.a_col,
                p.b.data(),  p.g.b_row, p.g.b_col, x.data(), p.g.ldc,    false,   s.into};
    std::vector<char> memory(kScratchBytes + 64);
    // A small and a large cache: columns in other blocks.
    void* aligned = memory.data() + 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
    const GemmScratch small{aligned, 64 << 10}, large{aligned};
    auto same = [&](const char* what) {
      EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(T)), 0)
          << what << " " << s.m << " " << s.n << " " << s.k;
    };
    v3::gemm_block(b, large);
    b.c = y.data();
    v4::gemm_block(b, small);
    same("blocks");
    for (auto thin : {v3::gemm_thin, v4::gemm_thin})
      if (y = p.c0, b.c = y.data(); thin(b, small)) same("thin");
  }
}
TEST(Gemm, OneProductEachWithAnyStrides) {  // k = 1: no stride is 1
  std::vector<float> x(400), y{3, 0}, c(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (bool rows : {false, true}) {
    Gemm g{.dtype = f32, .m = 64, .n = 1, .k = 1, .a = x.data(), .a_row = 5, .a_col = 7, .b = y.data(), .b_row = 7,
           .b_col = 5, .c = c.data(), .ldc = 1};
    if (rows) g.m = 1, g.n = 64, g.a = y.data(), g.b = x.data(), g.ldc = 64;
    gemm(g);
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(c[i], 15.f * static_cast<float>(i)) << rows << " " << i;
  }
}
TEST(Gemm, BothKernelClassesGiveTheSameBits) {
  expect_same_on_both_classes<float>();
  expect_same_on_both_classes<double>();
  expect_same_on_both_classes<bfloat16>();
}
TEST(Gemm, Bf16UnitGivesTheProduct) {
  if (!__builtin_cpu_supports("avx512bw")) GTEST_SKIP() << "oneDNN has no bf16 products on this CPU";
  auto more = cases;
  more.push_back({.m = 1100, .n = 1300, .k = 70});
  for (const auto& s : more) {
    Product<bfloat16> p(s);
    auto run = [&](int threads) {
      auto c = p.c0;
      p.g.c = c.data();
      set_thread_count(threads);
      bool done = gemm_bf16_unit(p.g);
      set_thread_count(0);
      return done ? c : p.run();
    };
    auto one = run(1), two = run(2);
    p.verify(one);
    EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * 2), 0) << s.m << " " << s.n << " " << s.k;
  }
}
TEST(Gemm, Bf16RowsHaveTheSameBitsWhateverRowsThereAre) {
  struct Sizes {
    std::int64_t k, n;
  };
  for (auto [k, n] : {Sizes{16, 16}, {40, 7}, {301, 70}, {768, 100}, {1025, 333}, {96, 1500}})
    for (bool turned : {false, true}) {
      auto rows = std::int64_t{512};
      auto numbers = [](std::int64_t count, unsigned seed) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        std::vector<bfloat16> x(static_cast<std::size_t>(count));
        for (auto& v : x) v = bfloat16(normal(random));
        return x;
      };
      auto a = numbers(rows * k, 1), b = numbers(k * n, 2);
      auto product = [&](std::int64_t m, std::int64_t from) {
        std::vector<bfloat16> c(static_cast<std::size_t>(m * n));
        gemm({.dtype = Dtype::bf16, .m = m, .n = n, .k = k, .a = a.data() + from * k, .a_row = k, .a_col = 1,
              .b = b.data(), .b_row = turned ? 1 : n, .b_col = turned ? k : 1, .c = c.data(), .ldc = n});
        return c;
      };
      auto all = product(rows, 0);
      for (std::int64_t m : {1, 2, 3, 5, 8, 13, 16, 17, 40, 129, 511})
        for (int threads : {1, 3}) {
          set_thread_count(threads);
          auto from = (rows - m) / 2;
          auto some = product(m, from);
          set_thread_count(0);
          EXPECT_EQ(std::memcmp(some.data(), all.data() + from * n, some.size() * 2), 0)
              << m << " rows of " << k << " x " << n << (turned ? " turned, " : ", ") << threads << " threads";
        }
    }
}
TEST(Gemm, Bf16ProductsArePreparedWithTheirScratch) {
  if (!has_bf16_unit()) GTEST_SKIP() << "this CPU has no bf16 unit";
  Gemm g{.dtype = Dtype::bf16, .m = 700, .n = 1500, .k = 3000};
  g.a_row = g.k, g.b_row = g.n, g.ldc = g.n;
  prepare_gemm(g);
  auto bytes = gemm_scratch_bytes();
  std::vector<bfloat16> a(static_cast<std::size_t>(g.m * g.k)), b(static_cast<std::size_t>(g.k * g.n)),
      c(static_cast<std::size_t>(g.m * g.n));
  g.a = a.data(), g.b = b.data(), g.c = c.data();
  auto before = pool_use();
  gemm(g);
  auto now = pool_use();
  EXPECT_EQ(gemm_scratch_bytes(), bytes) << "a run needs what was prepared";
  EXPECT_LE(static_cast<std::int64_t>(now.used + now.kept - before.used - before.kept), bytes * thread_count());
}
TEST(Gemm, ZeroSizes) {
  std::vector<float> c(6, 3);
  Gemm g{.dtype = f32, .m = 2, .n = 3, .k = 0, .a_row = 1, .b_row = 3, .c = c.data(), .ldc = 3};
  gemm(g);
  EXPECT_EQ(c, std::vector<float>(6, 0));
  for (auto* n : {&g.m, &g.n, &g.batch}) {
    auto h = g;
    (n == &g.m ? h.m : n == &g.n ? h.n : h.batch) = 0;
    h.k = 4;
    h.c = nullptr;
    EXPECT_NO_THROW(gemm(h));
  }
}
TEST(Gemm, Refusals) {
  float x[16] = {};
  EXPECT_THROW(gemm({.dtype = boolean, .a = x, .b = x, .c = x}), DtypeError);
  EXPECT_THROW(
      gemm(
          {.dtype = f32, .m = 2, .n = 2, .k = 2, .a = x, .a_row = 4, .a_col = 2, .b = x, .b_row = 2, .c = x, .ldc = 2}),
      ValueError);
}
TEST(Gemm, InfinitiesAndNanStayInTheirRowAndColumn) {
  std::vector<float> a(3 * 5, 1), b(5 * 40, 1), c(3 * 40);
  a[5] = std::nanf("");
  b[39] = INFINITY;
  gemm({.dtype = f32,
        .m = 3,
        .n = 40,
        .k = 5,
        .a = a.data(),
        .a_row = 5,
        .b = b.data(),
        .b_row = 40,
        .c = c.data(),
        .ldc = 40});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 40; ++j) {
      float x = c[static_cast<std::size_t>(i * 40 + j)];
      if (i == 1) {
        EXPECT_TRUE(std::isnan(x));
      }
      else EXPECT_EQ(x, j == 39 ? INFINITY : 5);
    }
}
}  // namespace
}  // namespace bora::kernels::gemm_test
