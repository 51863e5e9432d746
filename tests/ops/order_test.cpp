#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sorting.h"
#include "ops/api/primitives.h"
#include "ops/reference.h"

namespace bora::order_test {
namespace {
using namespace reference;
const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

TEST(Sort, AscendingStableNanLast) {
  auto x = array({{3., nan, -1., inf}, {2., 2., -inf, 0.}});
  expect_values(sort(x), {-1, 3, inf, nan, -inf, 0, 2, 2});
  expect_values(argsort(x), {2, 0, 3, 1, 2, 3, 0, 1});
  expect_values(sort(array({{3, 1}, {2, 5}}), 0), {2, 1, 3, 5});
  expect_values(argsort(array({1, 0, 1, 0})), {1, 3, 0, 2});
  for (auto d : {u8, u32, i32, i64, bf16, f32, f64}) expect_values(sort(array({3, 1, 2}).astype(d)), {1, 2, 3});
  expect_values(sort(array({-3, 2, -1})), {-3, -1, 2});
  expect_values(sort(array({true, false})), {0, 1});
  EXPECT_EQ(sort(numbers({2, 0})).shape(), (Shape{2, 0}));
  EXPECT_EQ(sort(numbers({0, 2})).shape(), (Shape{0, 2}));
  EXPECT_THROW((void)sort(numbers({})), IndexError);
}
TEST(Sort, GradientGoesBackThroughThePermutation) {
  auto x = array({3., 1., 2.}, f64);
  auto r = top_k(x, 2);
  expect_values(r.values, {3, 2});
  for (auto& e : registry()) {
    if (e.name != "sort") continue;
    auto p = e.samples().front().primitive;
    auto out = call(p, {x});
    expect_values(p->vjp({{x}, out, {array({10., 20., 30.}, f64)}, {true}})[0], {30, 10, 20});
  }
}
TEST(TopK, DescendingTiesKeepTheLowerPosition) {
  auto r = top_k(array({{1., 5., 5., 2.}, {nan, 0., 7., -1.}}), 3);
  expect_values(r.values, {5, 5, 2, nan, 7, 0});
  expect_values(r.indices, {1, 2, 3, 0, 2, 1});
  EXPECT_EQ(r.indices.dtype(), i32);
  EXPECT_EQ(top_k(numbers({2, 3}), 0).values.shape(), (Shape{2, 0}));
  says<ValueError>([] { (void)top_k(numbers({2, 3}), 4); }, "k = 4 does not lie in [0, 3]");
}
}  // namespace
}  // namespace bora::order_test
