#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "ops/api/primitives.h"
#include "bora/ops/statistics.h"
#include "ops/reference.h"

namespace bora::reduce_test {
namespace {
using namespace reference;
const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

TEST(Sum, EverySetOfAxes) {
  Shape s{2, 3, 4, 2};
  for (auto dtype : {f32, f64, i32, bf16}) {
    auto x = numbers(s, dtype);
    Table t(x);
    for (int mask = 0; mask < 16; ++mask) {
      Dims dims;
      Shape kept, ones;
      for (std::size_t d = 0; d < 4; ++d) {
        if (mask >> d & 1) dims.push_back(static_cast<std::int64_t>(d));
        else kept.push_back(s[d]);
        ones.push_back(mask >> d & 1 ? 1 : s[d]);
      }
      Table want(kept, [&](const Index& k) {
        double total = 0;
        each(s, [&](std::int64_t, const Index& i) {
          std::size_t at = 0;
          bool same = true;
          for (std::size_t d = 0; d < 4; ++d)
            if (!(mask >> d & 1)) same = same && i[d] == k[at++];
          if (same) total += t(i);
        });
        return total;
      });
      expect_equal(sum(x, dims), want);
      want.shape = ones;
      expect_equal(sum(x, dims, {.keepdims = true}), want);
    }
  }
}
TEST(Sum, Dtypes) {
  EXPECT_EQ(sum(array({true, true, false})).dtype(), i32);
  EXPECT_EQ(sum(array({true, true, false})).item<int>(), 2);
  EXPECT_EQ(sum(full({300}, 1, u8)).item<int>(), 300);
  EXPECT_EQ(sum(array({1, 2}), none, {.dtype = f64}).dtype(), f64);
  EXPECT_EQ(sum(full({1000}, 1, bf16)).item<float>(), 1000);  // bf16 one by one would stop at 256
  EXPECT_EQ(sum(full({3, 1000, 2}, 1, bf16), {0, 2}).to_vector<float>(), std::vector<float>(1000, 6));
  EXPECT_EQ(sum(numbers({2, 0})).item<double>(), 0);
  expect_values(sum(numbers({2, 0}), 1), {0, 0});
  EXPECT_EQ(sum(numbers({2, 3}), {}).shape(), (Shape{2, 3}));
  EXPECT_THROW((void)sum(numbers({2, 3}), 2), IndexError);
  EXPECT_THROW((void)sum(numbers({2, 3}), {0, -2}), ValueError);
}
TEST(Mean, RoundsOnce) {
  EXPECT_EQ(mean(array({1, 2})).dtype(), f32);
  EXPECT_FLOAT_EQ(mean(array({1, 2})).item<float>(), 1.5f);
  EXPECT_EQ(mean(full({1000}, 1.5, bf16)).dtype(), bf16);
  EXPECT_EQ(mean(full({1000}, 1.5, bf16)).item<float>(), 1.5f);
  EXPECT_EQ(mean(full({4}, 1.5, f32), none, {.dtype = f64}).dtype(), f64);
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item<float>()));
  EXPECT_THROW((void)mean(array({1, 2}), none, {.dtype = i32}), DtypeError);
}
TEST(Var, IsBiasedAndKeepsDims) {
  auto x = array({{1., 2., 3., 4.}, {2., 2., 2., 2.}});
  expect_values(var(x, 1), {1.25, 0}, 1e-6);
  expect_values(stddev(x, -1), {std::sqrt(1.25), 0}, 1e-6);
  EXPECT_EQ(var(x, 0, {.keepdims = true}).shape(), (Shape{1, 4}));
  EXPECT_EQ(stddev(x.astype(bf16)).dtype(), bf16);
  auto far = array({10000.25, 10000.75, 10000.5});  // two passes: no cancellation
  EXPECT_NEAR(var(far).item<float>(), 0.0416667, 1e-4);
}
TEST(Extremes, TakeNan) {
  auto x = array({{1., -2., 3.}, {nan, 5., -7.}});
  expect_values(amax(x, 1), {3, nan});
  expect_values(amin(x, 1), {-2, nan});
  expect_values(amax(array({-inf, -inf})), {-inf});
  expect_values(amin(array({3, -4, 7})), {-4});
  expect_values(argmax(x, 1), {2, 0});
  expect_values(argmin(x, 1), {1, 0});
  expect_values(argmax(array({1, 3, 3})), {1});
  expect_values(argmin(array({{2, 1}, {2, 1}}), 0), {0, 0});
  EXPECT_EQ(argmax(x).dtype(), i32);
  EXPECT_EQ(amax(numbers({2, 0}), 0).shape(), Shape{0});
  says<ShapeError>([] { (void)amax(numbers({2, 0})); }, "the extreme of nothing does not exist");
  EXPECT_THROW((void)argmin(numbers({2, 0})), ShapeError);
  EXPECT_THROW((void)argmax(numbers({}), 0), IndexError);
}
TEST(Logic, AllAndAny) {
  auto x = array({{true, false}, {true, true}});
  expect_values(all(x, 1), {0, 1});
  expect_values(any(x, 0), {1, 1});
  expect_values(all(array({1., 2.})), {1});
  expect_values(any(array({0, 0})), {0});
  expect_values(all(zeros({0})), {1});
  expect_values(any(zeros({0})), {0});
  EXPECT_EQ(any(x).dtype(), boolean);
}
TEST(Prod, AndItsDtypes) {
  expect_values(prod(array({{1., 2.}, {3., 4.}}), 0), {3, 8});
  expect_values(prod(array({2, 3, 4})), {24});
  expect_values(prod(zeros({0})), {1});
  EXPECT_EQ(prod(array({true, true})).dtype(), i32);
}
TEST(Sum, SmallIntegersAreAddedUpIn32Bits) {
  for (auto d : {boolean, i8, i16, u8, u16, i32, u32, i64, u64, f16, bf16, f32, f64, complex64, complex128}) {
    auto want = d == boolean || d == i8 || d == i16 ? i32 : d == u8 || d == u16 ? u32 : d;
    auto x = ones({300}, d);
    for (auto& y : {sum(x), prod(x), cumsum(x), reverse_cumsum(x), cumprod(x), nansum(x), trace(ones({3, 3}, d)),
                    masked::sum(x, x.astype(boolean)), masked::prod(x, x.astype(boolean))})
      EXPECT_EQ(y.dtype(), want) << "of " << d;
    if (d == bf16) continue;  // 300 is none of its numbers
    EXPECT_EQ(amax(real(cumsum(x))).item<double>(), 300) << d;
  }
  EXPECT_EQ(amax(cumprod(full({3}, 100, i8))).item<int>(), 1000000);
  EXPECT_EQ(sum(full({300}, 1, i8), 0, {.dtype = i8}).dtype(), i8);
}
TEST(Prod, GradientWithZeros) {
  auto gradient = [](const Array& x) {
    auto p = primitive(ops::Reduce{Reduction::prod, {0}});
    auto out = call(p, {x});
    return p->vjp({{x}, out, {array(1., f64)}, {true}})[0];
  };
  expect_values(gradient(array({2., 3., 4.}, f64)), {12, 8, 6}, 1e-12);
  expect_values(gradient(array({2., 0., 4.}, f64)), {0, 8, 0});
  expect_values(gradient(array({0., 0., 4.}, f64)), {0, 0, 0});
  expect_values(gradient(array({1e-25, 1e-25, 1.})), {1e-25f, 1e-25f, 0});
  expect_values(gradient(array({inf, 2., 3.})), {6, inf, inf});
  expect_values(gradient(array({1., nan, 3.})), {nan, 3, nan});
}
TEST(Max, GradientIsSharedByTies) {
  auto p = primitive(ops::Reduce{Reduction::max, {1}});
  auto x = array({{1., 3., 3.}, {4., 2., 0.}}, f64);
  auto out = call(p, {x});
  expect_values(p->vjp({{x}, out, {array({2., 6.}, f64)}, {true}})[0], {0, 1, 1, 6, 0, 0});
}
TEST(Cumsum, BothDirections) {
  expect_values(cumsum(array({{1, 2, 3}, {4, 5, 6}}), 1), {1, 3, 6, 4, 9, 15});
  expect_values(cumsum(array({{1, 2, 3}, {4, 5, 6}})), {1, 2, 3, 5, 7, 9});
  expect_values(reverse_cumsum(array({1., 2., 3.})), {6, 5, 3});
  expect_values(cumsum(array({true, true})), {1, 2});
  EXPECT_EQ(cumsum(numbers({0, 2})).shape(), (Shape{0, 2}));
}
}  // namespace
}  // namespace bora::reduce_test
