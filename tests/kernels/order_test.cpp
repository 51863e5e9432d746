// Sorting: against std::stable_sort under the stated total order.
#include "kernels/api/order.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "support/throws.h"

namespace bora::kernels::order_test {
namespace {
using I = std::int64_t;
/// An array, since std::vector<bool> has no data().
template <class T> std::unique_ptr<T[]> numbers(std::size_t n, unsigned seed) {
  std::mt19937_64 rng(seed);
  auto x = std::make_unique<T[]>(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    T& v = x[i];
    if constexpr (std::is_same_v<T, bool>) v = rng() % 2;
    else if constexpr (std::is_integral_v<T>) v = rng() % 4 ? static_cast<T>(rng()) : static_cast<T>(rng() % 5);
    else {
      switch (rng() % 8) {
        case 0: v = static_cast<T>(NAN); break;
        case 1: v = static_cast<T>(-0.0f); break;
        case 2: v = static_cast<T>(0.0f); break;
        case 3: v = static_cast<T>(rng() % 2 ? INFINITY : -INFINITY); break;
        default: v = static_cast<T>(std::normal_distribution<float>()(rng));
      }
    }
  }
  return x;
}
template <class T> bool less(T a, T b) {
  if constexpr (std::is_integral_v<T>) return a < b;
  else return std::isnan(static_cast<double>(a)) ? false : std::isnan(static_cast<double>(b)) ? true : a < b;
}
template <class T> struct OrderTest : testing::Test {};
using Types = testing::Types<float, double, bfloat16, std::int32_t, std::int64_t, std::uint32_t, std::uint8_t, bool>;
TYPED_TEST_SUITE(OrderTest, Types);
TYPED_TEST(OrderTest, ArgsortIsTheStableSort) {
  using T = TypeParam;
  for (auto [rows, n] : {std::pair<I, I>{1, 1}, {3, 40}, {2, 255}, {2, 256}, {4, 5000}, {1, 70000}, {0, 5}, {3, 0}}) {
    auto in = numbers<T>(static_cast<std::size_t>(rows * n), 5);
    for (int threads : {1, 3}) {
      std::vector<std::int32_t> out(static_cast<std::size_t>(rows * n));
      set_thread_count(threads);
      argsort(dtype_of<T>, in.get(), out.data(), rows, n);
      set_thread_count(0);
      for (I r = 0; r < rows; ++r) {
        std::vector<std::int32_t> want(static_cast<std::size_t>(n));
        std::iota(want.begin(), want.end(), 0);
        std::stable_sort(want.begin(), want.end(), [&](int a, int b) { return less<T>(in[r * n + a], in[r * n + b]); });
        ASSERT_TRUE(std::equal(want.begin(), want.end(), out.begin() + r * n)) << n;
      }
    }
  }
}
TYPED_TEST(OrderTest, SortGivesWhatTheStableSortGives) {
  using T = TypeParam;
  for (auto [rows, n] :
       {std::pair<I, I>{1, 1}, {3, 40}, {2, 255}, {4, 5000}, {1, 65535}, {1, 70001}, {2, 100000}, {0, 5}, {3, 0},
        {50, 1}, {301, 2}, {299, 3}, {100, 7}, {64, 16}, {33, 31}, {70, 64}, {41, 100}, {40, 127}, {35, 128},
        {9, 129}}) {
    auto in = numbers<T>(static_cast<std::size_t>(rows * n), 7);
    auto want = std::make_unique<T[]>(static_cast<std::size_t>(rows * n) + 1),
         out = std::make_unique<T[]>(static_cast<std::size_t>(rows * n) + 1);
    std::copy_n(in.get(), rows * n, want.get());
    for (I r = 0; r < rows; ++r) std::stable_sort(want.get() + r * n, want.get() + (r + 1) * n, less<T>);
    for (int threads : {1, 2, 3, 5}) {
      set_thread_count(threads);
      sort(dtype_of<T>, in.get(), out.get(), rows, n);
      set_thread_count(0);
      ASSERT_EQ(std::memcmp(out.get(), want.get(), static_cast<std::size_t>(rows * n) * sizeof(T)), 0)
          << rows << " " << n << " " << threads;
    }
  }
}
TYPED_TEST(OrderTest, TopKIsTheHeadOfTheStableDescendingSort) {
  using T = TypeParam;
  for (auto [rows, n, k] : {std::tuple<I, I, I>{1, 1, 1}, {3, 40, 40}, {3, 40, 3}, {2, 3000, 50}, {2, 3000, 2000},
                            {1, 30000, 1}, {1, 30000, 40}, {2, 7, 0}, {0, 7, 2}}) {
    auto in = numbers<T>(static_cast<std::size_t>(rows * n), 6);
    auto values = std::make_unique<T[]>(static_cast<std::size_t>(rows * k) + 1);
    std::vector<std::int32_t> at(static_cast<std::size_t>(rows * k));
    top_k(dtype_of<T>, in.get(), values.get(), at.data(), rows, n, k);
    for (I r = 0; r < rows; ++r) {
      std::vector<std::int32_t> want(static_cast<std::size_t>(n));
      std::iota(want.begin(), want.end(), 0);
      std::stable_sort(want.begin(), want.end(), [&](int a, int b) { return less<T>(in[r * n + b], in[r * n + a]); });
      for (I i = 0; i < k; ++i) {
        ASSERT_EQ(at[static_cast<std::size_t>(r * k + i)], want[static_cast<std::size_t>(i)])
            << n << " " << k << " " << i;
        auto a = static_cast<double>(values[r * k + i]),
             b = static_cast<double>(in[r * n + want[static_cast<std::size_t>(i)]]);
        ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)));
      }
    }
  }
}
TEST(Order, Refusals) {
  float x[2] = {};
  std::int32_t at[3];
  EXPECT_THROW(top_k(f32, x, x, at, 1, 2, 3), ValueError);
  EXPECT_THROW(argsort(Dtype::key, x, at, 1, 1), DtypeError);
  auto text = bora::test::error_of<ShapeError>([&] { top_k(f32, x, x, at, 1, std::int64_t{1} << 31, 1); });
  EXPECT_NE(text, "no error");
  EXPECT_EQ(text.find("sort"), std::string::npos) << text;
}
}  // namespace
}  // namespace bora::kernels::order_test
