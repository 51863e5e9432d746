// Laws of every dtype, of which a new one must have its row in each table.
#include "bora/named/named.h"
#include "bora/ops/manipulation.h"
#include <limits>
#include "bora/named/index.h"
#include "bora/named/reduce.h"
#include "bora/ops/convolution.h"
#include "bora/ops/creation.h"
#include "ops/checks.h"

namespace dtypes_test {
namespace {
using namespace bora;
using bora::test::close;

std::vector<Dtype> ordered_dtypes() {
  std::vector<Dtype> r;
  for (std::size_t d = 0; d < kDtypes; ++d)
    if (auto dtype = static_cast<Dtype>(d); dtype != Dtype::boolean && (is_integer(dtype) || is_float(dtype)))
      r.push_back(dtype);
  return r;
}
bool is_signed(Dtype d) { return info(d).kind != Kind::unsigned_integer; }
/// Numbers of one sign, or of the upper half of an unsigned dtype, so that no padding may win.
std::pair<Array, Array> far_from_zero(Dtype d) {  // all low, all high
  auto few = array({5, 3, 7});
  return {is_signed(d) ? (-few).astype(d) : few.astype(d), d == u64 ? few.astype(d) - 100 : (few + 100).astype(d)};
}

TEST(EveryDtype, WhatIsLeftOutIsNoExtreme) {
  for (auto d : ordered_dtypes()) {
    SCOPED_TRACE(dtype_name(d));
    Axis a{"a", 3};
    auto [low, high] = far_from_zero(d);
    auto keep = named(array({true, false, true}), a);
    for (auto& x : {low, high}) {
      auto left = take(x, array({0, 2}), 0);
      EXPECT_TRUE(close(amax(named(x, a), none, {.where = keep}).array(), amax(left)));
      EXPECT_TRUE(close(amin(named(x, a), none, {.where = keep}).array(), amin(left)));
      EXPECT_TRUE(close(nanmax(named(x, a), none, {.where = keep}).array(), amax(left)));
      EXPECT_TRUE(close(nanmin(named(x, a), none, {.where = keep}).array(), amin(left)));
    }
  }
}
TEST(EveryDtype, PaddingOfAPoolIsNoExtreme) {
  for (auto d : ordered_dtypes()) {
    SCOPED_TRACE(dtype_name(d));
    auto [low, high] = far_from_zero(d);
    for (auto& x : {low, high}) {
      auto image = reshape(x, {1, 3, 1});
      PoolOptions o{.window = {2}, .stride = {1}, .padding = Padding::same};
      auto at = [&](int i, int j) { return take(x, array({i, j}), 0); };
      EXPECT_TRUE(close(ravel(max_pool(image, o)), stack({amax(at(0, 1)), amax(at(1, 2)), amax(at(2, 2))})));
      EXPECT_TRUE(close(ravel(min_pool(image, o)), stack({amin(at(0, 1)), amin(at(1, 2)), amin(at(2, 2))})));
    }
  }
}
TEST(EveryDtype, SumsOfWindowsDoNotStop) {
  for (auto d : {bf16, f16, f32, f64}) {
    SCOPED_TRACE(dtype_name(d));
    auto one = array(1.).astype(d);
    EXPECT_TRUE(close(ravel(avg_pool(ones({1, 64, 64, 1}, d), {.window = {64, 64}})), reshape(one, {1})));
    EXPECT_TRUE(close(ravel(sum_pool(ones({1, 64, 64, 1}, d), {.window = {64, 64}})), reshape(one * 4096, {1})));
    auto y = conv(ones({1, 32, 32, 2}, d), ones({32, 32, 1, 2}, d), {.groups = 2});
    EXPECT_TRUE(close(ravel(y), stack({one * 1024, one * 1024})));
  }
}
TEST(EveryDtype, NoPositionWrapsAround) {
  auto x = array({5., 6., 7.});
  for (auto d : ordered_dtypes()) {
    if (!is_integer(d)) continue;
    SCOPED_TRACE(dtype_name(d));
    auto wide = dtype_size(d) == 8;
    EXPECT_TRUE(close(take(x, array({0, 2}).astype(d), 0), array({5., 7.})));
    auto one = std::int64_t{1};
    for (auto beyond : {3 * one, wide ? (one << 32) + 1 : 100, wide ? one << 62 : 127}) {
      auto i = array({beyond}, i64).astype(d);
      EXPECT_TRUE(isnan(take(x, i, 0)).item<bool>()) << beyond;
      EXPECT_TRUE(close(take(x, i, 0, IndexMode::clamp), array({7.}))) << beyond;
      Axis a{"a", 3};
      EXPECT_TRUE(close(take(named(x, a), a, named(i, Axis{"b", 1})).array(), take(x, i, 0))) << beyond;
    }
    if (is_signed(d)) EXPECT_TRUE(close(take(x, array({-1}).astype(d), 0), array({7.})));
    else EXPECT_TRUE(isnan(take(x, array({-1}).astype(d), 0)).item<bool>());
  }
  EXPECT_MESSAGE(ShapeError, ravel_multi_index({array({50000}), array({7})}, {100000, 100000}), "positions are i32");
}
TEST(EveryDtype, ReplacedInfinitiesAreFinite) {
  auto inf = std::numeric_limits<double>::infinity();
  for (auto d : {bf16, f16, f32, f64}) {
    SCOPED_TRACE(dtype_name(d));
    auto y = nan_to_num(array({inf, -inf}).astype(d));
    EXPECT_TRUE(all(isfinite(y)).item<bool>()) << y;
    EXPECT_TRUE(isinf(y * 1.01).to_vector<bool>()[0]) << "the largest number of its dtype";
  }
}
TEST(EveryDtype, LinspaceRoundsWholeNumbersDown) {
  for (auto d : ordered_dtypes()) {
    SCOPED_TRACE(dtype_name(d));
    auto low = is_signed(d) ? -5. : 0.;
    EXPECT_TRUE(close(linspace(array(low), array(5.), 4, {.dtype = d}), linspace(low, 5, 4, d), 1e-2));
    EXPECT_TRUE(close(linspace(array(0.), array(41.), 42, {.dtype = d}), arange(42).astype(d), 1e-2));
  }
}
TEST(Quantile, OfManyNumbers) {  // f32 does not hold their positions
  auto n = std::int64_t{20'000'000};
  auto x = concatenate({zeros({n - 2}, u8), full({2}, 9, u8)}, 0);
  EXPECT_EQ(percentile(x, 100).item<float>(), 9);
  EXPECT_EQ(percentile(x, 0).item<float>(), 0);
  auto second = 1 - 1.0 / static_cast<double>(n - 1);
  EXPECT_EQ(quantile(x, second, none, {.method = Between::nearest}).item<float>(), 9);
}
}  // namespace
}  // namespace dtypes_test
