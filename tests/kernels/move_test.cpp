// Copies: every stride pattern against index arithmetic.
#include "kernels/api/move.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "bora/ops/transform.h"
#include "support/throws.h"

namespace bora::kernels::move_test {
namespace {
using I = std::int64_t;
template <class T> struct MoveTest : testing::Test {};
using Sizes = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(MoveTest, Sizes);

/// Copies and compares with a walk over every index. src_strides may be 0 or negative; `origin`: where index 0 lies in
/// src.
template <class T> void check_copy(const Dims& shape, const Dims& dst_strides, const Dims& src_strides) {
  I low = 0, high = 0, size = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (src_strides[i] < 0 ? low : high) += (shape[i] - 1) * src_strides[i];
    size += (shape[i] - 1) * dst_strides[i];
  }
  std::vector<T> src(static_cast<std::size_t>(high - low + 1)), dst(static_cast<std::size_t>(size + 1), T(77)),
      want = dst;
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<T>(i * 2654435761u + 5);
  const T* origin = src.data() - low;
  I total = std::accumulate(shape.begin(), shape.end(), I{1}, std::multiplies<>());
  for (I u = 0; u < total; ++u) {
    I rest = u, to = 0, from = 0;
    for (std::size_t i = shape.size(); i-- > 0;) {
      to += rest % shape[i] * dst_strides[i];
      from += rest % shape[i] * src_strides[i];
      rest /= shape[i];
    }
    want[static_cast<std::size_t>(to)] = origin[from];
  }
  for (int threads : {1, 2, 3}) {
    auto got = dst;
    set_thread_count(threads);
    copy(got.data(), dst_strides, origin, src_strides, shape, sizeof(T));
    set_thread_count(0);
    ASSERT_EQ(got, want) << to_string(shape) << " from " << to_string(src_strides) << " to " << to_string(dst_strides);
  }
}
TYPED_TEST(MoveTest, EveryPermutation) {
  for (Dims shape :
       {Dims{5, 70, 9}, Dims{130, 3, 67}, Dims{1, 200, 130}, Dims{33, 1, 65}, Dims{300, 260, 1}, Dims{2, 3, 4}}) {
    Dims order{0, 1, 2}, in = strides_of(Shape(shape));
    do {
      Dims permuted, from;
      for (auto i : order) {
        permuted.push_back(shape[static_cast<std::size_t>(i)]);
        from.push_back(in[static_cast<std::size_t>(i)]);
      }
      check_copy<TypeParam>(permuted, strides_of(Shape(permuted)), from);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}
TYPED_TEST(MoveTest, RandomStrides) {
  std::mt19937 rng(4);
  for (int round = 0; round < 200; ++round) {
    auto ndim = rng() % 5;
    Dims shape, from;
    for (std::size_t i = 0; i < ndim; ++i) {
      shape.push_back(1 + rng() % 12);
      from.push_back(static_cast<I>(rng() % 41) - 20);
    }
    Dims padded = shape;
    for (auto& n : padded) n += rng() % 2;  // dst may be a part of a larger array
    check_copy<TypeParam>(shape, strides_of(Shape(padded)), from);
  }
}
TYPED_TEST(MoveTest, LongRowsBroadcastsAndParts) {
  check_copy<TypeParam>({100000}, {1}, {1});
  check_copy<TypeParam>({100000}, {1}, {0});
  check_copy<TypeParam>({100000}, {1}, {-1});
  check_copy<TypeParam>({100000}, {2}, {3});
  check_copy<TypeParam>({3, 40000}, {50000, 1}, {0, 1});
  check_copy<TypeParam>({40000, 3}, {3, 1}, {1, 0});
  check_copy<TypeParam>({}, {}, {});
}
TYPED_TEST(MoveTest, ManyShortRows) {
  for (I n = 1; n <= 70; n += n < 20 ? 1 : 7) {
    check_copy<TypeParam>({300, n}, {n, 1}, {n + 3, 1});       // a part of each row
    check_copy<TypeParam>({300, n}, {n + 2, 1}, {n, 1});       // into a part of each row
    check_copy<TypeParam>({150, n}, {n, 1}, {-2 * n, 1});      // every other row, from the last on
    check_copy<TypeParam>({300, n}, {n, 1}, {1, 0});           // each element n times
    check_copy<TypeParam>({5, 60, n}, {60 * n, n, 1}, {0, 7 * n, 1});
  }
}
TEST(Move, ZeroSizes) { EXPECT_NO_THROW(copy(nullptr, {1, 1}, nullptr, {1, 1}, {4, 0}, 4)); }
TEST(Move, Refusals) {
  char x[3] = {};
  bora::test::says<ValueError>([&] { fill(x, 1, 3, x); }, "fill:");
}
TEST(Move, PastTheCaches) {  // 33 MiB
  check_copy<std::uint32_t>({8650, 1000}, {1003, 1}, {1001, 1});
  check_copy<std::uint32_t>({8650, 1000}, {1000, 1}, {1, 8650});
  check_copy<std::uint32_t>({8650 * 1000 + 5}, {1}, {1});
  std::vector<std::uint16_t> x(17 * 1000 * 1000 + 1, 1);
  const std::uint16_t seven = 7;
  fill(x.data(), 17 * 1000 * 1000, sizeof x[0], &seven);
  EXPECT_EQ(std::count(x.begin(), x.end(), 7), 17 * 1000 * 1000);
  EXPECT_EQ(x.back(), 1);
}
TYPED_TEST(MoveTest, Fill) {
  for (I n : {0, 1, 17, 100000}) {
    std::vector<TypeParam> x(static_cast<std::size_t>(n) + 1, TypeParam(1));
    const auto value = static_cast<TypeParam>(0x1122334455667788u);
    fill(x.data(), n, sizeof(TypeParam), &value);
    EXPECT_EQ(std::count(x.begin(), x.end(), value), n);
    EXPECT_EQ(x.back(), TypeParam(1));
  }
}
}  // namespace
}  // namespace bora::kernels::move_test
