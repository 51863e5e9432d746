#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "ops/reference.h"

namespace bora::index_test {
namespace {
using namespace reference;
const double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Take, AnyAxisAnyIndices) {
  auto x = numbers({3, 4, 2});
  Table t(x);
  auto i = array({{0, 3, 1}, {2, 2, -1}});
  Table k(i);
  auto of = [&](const Index& j) {
    auto v = static_cast<std::int64_t>(k(j));
    return v < 0 ? v + 4 : v;
  };
  expect_equal(take(x, i, 1), Table({3, 2, 3, 2}, [&](const Index& o) { return t({o[0], of({o[1], o[2]}), o[3]}); }));
  expect_equal(take(x, array(1), -1), Table({3, 4}, [&](const Index& o) { return t({o[0], o[1], 1}); }));
  expect_equal(take(x, array({2, 0})), Table({2, 4, 2}, [&](const Index& o) { return t({o[0] ? 0 : 2, o[1], o[2]}); }));
  for (auto d : {i32, i64, u32, u8}) expect_values(take(array({5., 6., 7.}), array({2, 0}).astype(d)), {7, 5});
  EXPECT_EQ(take(x, zeros({0}, i32), 1).shape(), (Shape{3, 0, 2}));
  EXPECT_EQ(take(numbers({0, 2}), array({1})).shape(), (Shape{1, 2}));
}
TEST(Take, OutsideOfTheDimension) {
  auto x = array({1., 2., 3.});
  auto i = array({-4, -3, 2, 3});
  expect_values(take(x, i), {nan, 1, 3, nan});
  expect_values(take(x, i, 0, IndexMode::clamp), {1, 1, 3, 3});
  expect_values(take(array({1, 2, 3}), i), {0, 1, 3, 0});
  expect_values(take(array({true, true, true}), i), {0, 1, 1, 0});
  expect_values(take(x, array({1}, i64) * Scalar(4294967297ll)), {nan});  // not 1 after losing bits
  expect_values(take(x, array({1}, i64) * Scalar(-4294967297ll), 0, IndexMode::clamp), {1});
  EXPECT_THROW((void)take(numbers({0}), array({1}), 0, IndexMode::clamp), IndexError);
  EXPECT_THROW((void)take(x, array({1.5})), DtypeError);
  EXPECT_THROW((void)take(x, array({1}), 1), IndexError);
}
TEST(TakeAlongAxis, OneElementPerRow) {
  auto x = numbers({3, 5});
  Table t(x);
  expect_values(take_along_axis(x, array({{4}, {0}, {-2}}), 1), {t({0, 4}), t({1, 0}), t({2, 3})});
  expect_values(take_along_axis(x, array({{9}, {0}, {1}}), 1), {nan, t({1, 0}), t({2, 1})});
  auto i = array({{1, 0, 2, 2, 1}, {0, 0, 1, 1, 2}});
  Table k(i);
  expect_equal(take_along_axis(x, i, 0), Table({2, 5}, [&](const Index& o) {
                 return t({static_cast<std::int64_t>(k(o)), o[1]});
               }));
  expect_equal(take_along_axis(numbers({1, 5}), array({{1}, {2}}), 1), Table({2, 1}, [&](const Index& o) {
                 return Table(numbers({1, 5}))({0, o[0] + 1});
               }));
  EXPECT_THROW((void)take_along_axis(x, array({1}), 0), ShapeError);
  EXPECT_THROW((void)take_along_axis(x, array({{1}, {2}}), 1), ShapeError);
}
TEST(Take, BatchDimensions) {
  auto x = numbers({2, 3, 4, 2});
  auto i = array({{0, 2, 1}, {3, 3, 9}});
  Table t(x), k(i);
  expect_equal(call_one(ops::Take{2, true, 1}, {x, i}), Table({2, 3, 3, 2}, [&](const Index& o) {
                 auto v = static_cast<std::int64_t>(k({o[0], o[2]}));
                 return v < 4 ? t({o[0], o[1], v, o[3]}) : nan;
               }));
}
TEST(Scatter, EveryWay) {
  auto x = array({{1., 2.}, {3., 4.}, {5., 6.}});
  auto i = array({2, 0, 2});
  auto u = array({{10., 20.}, {30., 40.}, {50., 60.}});
  expect_values(scatter_add(x, i, u), {31, 42, 3, 4, 65, 86});
  expect_values(scatter_set(x, i, u), {30, 40, 3, 4, 50, 60});
  expect_values(scatter_multiply(x, i, u), {30, 80, 3, 4, 2500, 7200});
  expect_values(scatter_min(x, i, -u), {-30, -40, 3, 4, -50, -60});
  expect_values(scatter_max(x, i, array({{4., 70.}})), {4, 70, 3, 4, 5, 70});
  expect_values(x, {1, 2, 3, 4, 5, 6});
  expect_values(scatter_add(x, array({-1, 3, -4}), array(1.)), {1, 2, 3, 4, 6, 7});  // outside: dropped
  expect_values(scatter_add(x, array({1}), array(1.), 1), {1, 3, 3, 5, 5, 7});
  expect_values(scatter_add(x.astype(bf16), array({0, 0}), array(0.5, bf16)), {2, 3, 3, 4, 5, 6});
  expect_values(scatter_set(x, array(1), array(9.)), {1, 2, 9, 9, 5, 6});
  EXPECT_EQ(scatter_add(x, zeros({0}, i32), zeros({0, 2})).to_vector<double>(), x.to_vector<double>());
  EXPECT_THROW((void)scatter_add(array({1, 2}), array({0}), array({1.5})), DtypeError);
  EXPECT_THROW((void)scatter_add(x, i, zeros({2, 2})), ShapeError);
}
TEST(Scatter, GradientOfSetFollowsTheWinner) {
  auto x = array({1., 2.}, f64), u = array({3., 4.}, f64);
  auto i = array({1, 1});
  auto p = primitive(ops::Scatter{kernels::ScatterMode::set, 0});
  auto out = call(p, {x, i, u});
  auto g = p->vjp({{x, i, u}, out, {array({10., 20.}, f64)}, {true, false, true}});
  expect_values(g[0], {10, 0});
  expect_values(g[2], {0, 20});
}
TEST(DynamicSlice, ClampsAndCountsFromTheEnd) {
  auto x = numbers({4, 5});
  Table t(x);
  auto window = [&](int a, int b) { return dynamic_slice(x, {array(a), array(b)}, {2, 3}); };
  auto want = [&](int a, int b) { return Table({2, 3}, [&](const Index& i) { return t({a + i[0], b + i[1]}); }); };
  expect_equal(window(1, 2), want(1, 2));
  expect_equal(window(3, 9), want(2, 2));
  expect_equal(window(-3, -5), want(1, 0));
  expect_equal(window(-1, 0), want(2, 0));  // JAX: the size is added first, then the clamp
  expect_equal(window(-9, 0), want(0, 0));
  expect_equal(dynamic_slice(x, {array(1, i64), array(1, u32)}, {2, 3}), want(1, 1));
  EXPECT_EQ(dynamic_slice(x, {array(1), array(1)}, {0, 3}).shape(), (Shape{0, 3}));
  says<ShapeError>([&] { (void)dynamic_slice(x, {array(0), array(0)}, {5, 1}); },
                   "window [5, 1] does not fit into [4, 5]");
  EXPECT_THROW((void)dynamic_slice(x, {array(0)}, {1, 1}), ShapeError);
  EXPECT_THROW((void)dynamic_slice(x, {array(0.5), array(0)}, {1, 1}), DtypeError);
}
TEST(DynamicUpdateSlice, WritesTheWindow) {
  auto x = numbers({4, 5});
  Table t(x);
  auto u = full({2, 3}, 100, f64);
  auto inside = [](std::int64_t i, std::int64_t from, std::int64_t n) { return i >= from && i < from + n; };
  auto want = [&](int a, int b) {
    return Table({4, 5}, [&](const Index& i) { return inside(i[0], a, 2) && inside(i[1], b, 3) ? 100 : t(i); });
  };
  expect_equal(dynamic_update_slice(x, u, {array(1), array(2)}), want(1, 2));
  expect_equal(dynamic_update_slice(x, u, {array(9), array(-1)}), want(2, 2));
  expect_equal(x, t);
  EXPECT_THROW((void)dynamic_update_slice(x, full({5, 1}, 1, f64), {array(0), array(0)}), ShapeError);
  EXPECT_THROW((void)dynamic_update_slice(x.astype(f32), u, {array(0), array(0)}), DtypeError);
}
TEST(DynamicIndex, DropsTheDimension) {
  auto x = numbers({3, 4});
  Table t(x);
  expect_equal(dynamic_index_in_dim(x, array(2)), Table({4}, [&](const Index& i) { return t({2, i[0]}); }));
  expect_equal(dynamic_index_in_dim(x, array(-1), 1), Table({3}, [&](const Index& i) { return t({i[0], 3}); }));
  EXPECT_THROW((void)dynamic_index_in_dim(numbers({0, 2}), array(0)), IndexError);
}
}  // namespace
}  // namespace bora::index_test
