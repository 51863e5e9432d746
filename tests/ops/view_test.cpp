#include "bora/ops/calculus.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "ops/checks.h"

namespace view_test {
using namespace bora;
using namespace bora::test;

namespace {
/// 100 i + 10 j + k, so that an element says where it came from.
Array cube(std::int64_t a, std::int64_t b, std::int64_t c) {
  return reshape(arange(a), {a, 1, 1}) * 100 + reshape(arange(b), {b, 1}) * 10 + arange(c);
}
}  // namespace

TEST(View, SlicesAreNumpys) {
  auto x = cube(2, 5, 4);
  EXPECT_TRUE(close(view(x, 1, 2, 3), array(123)));
  EXPECT_TRUE(close(view(x, -1, -1, -1), array(143)));
  EXPECT_TRUE(close(view(x, 0, range(1, 5, 2), 0), array({10, 30})));
  EXPECT_TRUE(close(view(x, 0, range(1, none), 0), array({10, 20, 30, 40})));
  EXPECT_TRUE(close(view(x, 0, range(none, 2), 0), array({0, 10})));
  EXPECT_TRUE(close(view(x, 0, range(-2, none), 0), array({30, 40})));
  EXPECT_TRUE(close(view(x, 0, range(0, -3), 0), array({0, 10})));
  EXPECT_TRUE(close(view(x, 0, range(none, none, -1), 0), array({40, 30, 20, 10, 0})));
  EXPECT_TRUE(close(view(x, 0, range(none, none, -2), 0), array({40, 20, 0})));
  EXPECT_TRUE(close(view(x, 0, range(3, 0, -2), 0), array({30, 10})));
  EXPECT_TRUE(close(view(x, 0, range(-1, -4, -1), 0), array({40, 30, 20})));
  EXPECT_TRUE(close(view(x, 0, range(2, 99), 0), array({20, 30, 40})));
  EXPECT_EQ(view(x, 0, range(3, 1), 0).shape(), Shape{0});
  EXPECT_EQ(view(x, 0, range(9, none), 0).shape(), Shape{0});
  EXPECT_EQ(view(x, all(), newaxis(), range(0, 2)).shape(), (Shape{2, 1, 2, 4}));
  EXPECT_EQ(view(x, ellipsis(), newaxis()).shape(), (Shape{2, 5, 4, 1}));
  EXPECT_TRUE(close(view(x, ellipsis(), 1), view(x, all(), all(), 1)));
  EXPECT_TRUE(close(view(x, 1, ellipsis(), 2), view(x, 1, all(), 2)));
  EXPECT_TRUE(close(view(x), x));
  EXPECT_EQ(view(x, std::size_t{1}).shape(), (Shape{5, 4}));
}
TEST(View, MistakesAreNamed) {
  auto x = cube(2, 5, 4);
  EXPECT_MESSAGE(IndexError, view(x, 2), "index 2 is outside of dimension 0, which has 2 elements");
  EXPECT_MESSAGE(IndexError, view(x, all(), -6), "index -6 is outside of dimension 1");
  EXPECT_MESSAGE(IndexError, view(x, 0, 0, 0, 0), "4 slices for an array with 3 dimensions");
  EXPECT_MESSAGE(IndexError, view(x, ellipsis(), ellipsis()), "more than one ellipsis()");
  EXPECT_MESSAGE(ValueError, view(x, range(0, 2, 0)), "the step of a range is 0");
  EXPECT_MESSAGE(IndexError, view(x, x > 3), "a boolean mask");
  EXPECT_MESSAGE(DtypeError, view(x, array({1.})), "an index Array holds integers, not f32");
}
TEST(View, OneIndexArrayReplacesItsDimension) {
  auto x = cube(2, 5, 4);
  EXPECT_TRUE(close(view(x, 0, array({4, 0, -1}), 2), array({42, 2, 42})));
  EXPECT_EQ(view(x, all(), array({{0, 1, 2}})).shape(), (Shape{2, 1, 3, 4}));
  EXPECT_TRUE(close(view(x, all(), array({{0, 1, 2}})), reshape(view(x, all(), range(0, 3)), {2, 1, 3, 4})));
  EXPECT_TRUE(close(view(x, 1, array(3), 2), array(132)));
  EXPECT_TRUE(close(view(x, 0, array({9, -9}), 0), array({40, 0}))) << "outside: the nearest element";
  EXPECT_TRUE(close(view(x, array({1}, i64), array({2}, u8), array({3}, u32)), array({123})));
  EXPECT_TRUE(
      close(view(x, range(none, none, -1), array({1, 2}), newaxis(), 0), reshape(array({110, 10, 120, 20}), {2, 2, 1})))
      << "the new axis stands between";
}
TEST(View, SeveralIndexArraysBroadcastAndArePlaced) {
  auto x = cube(2, 5, 4);
  EXPECT_TRUE(close(view(x, array({0, 1}), array({2, 3})), stack({view(x, 0, 2), view(x, 1, 3)})));
  EXPECT_TRUE(close(view(x, array({{0}, {1}}), array({2, 3}), 1), array({{21, 31}, {121, 131}})));
  // Neighbours: the new dimensions stand in their place; apart: in front.
  EXPECT_EQ(view(x, all(), array({0, 1, 2}), array({0, 1, 2})).shape(), (Shape{2, 3}));
  EXPECT_TRUE(close(view(x, all(), array({0, 1, 2}), array({0, 1, 2})), array({{0, 11, 22}, {100, 111, 122}})));
  EXPECT_EQ(view(x, array({0, 1, 1}), all(), array({0, 1, 2})).shape(), (Shape{3, 5}));
  EXPECT_TRUE(
      close(view(x, array({0, 1, 1}), range(0, 2), array({0, 1, 2})), array({{0, 10}, {101, 111}, {102, 112}})));
  // A number beside an index Array counts as one.
  EXPECT_TRUE(close(view(x, 1, all(), array({0, 1, 2})), transpose(view(x, 1, all(), range(0, 3)))));
  EXPECT_EQ(view(x, all(), 1, array({0, 1, 2})).shape(), (Shape{2, 3}));
  EXPECT_TRUE(close(view(x, array({1, 1}), array({-1, 7}), array({0, -1})), array({140, 143})));
  EXPECT_MESSAGE(ShapeError, view(x, array({0, 1}), array({1, 2, 3})), "view: shapes do not broadcast");
}
TEST(View, HasADerivative) {
  auto x = cube(2, 5, 4).astype(f64);
  auto at = [&](auto&& f) {
    auto g = gradient([&](const Array& v) { return f(v) * f(v); }, x);
    EXPECT_TRUE(close(g, difference([&](const Array& v) { return f(v) * f(v); }, x), 1e-5, 1e-4));
  };
  at([](const Array& v) { return view(v, 0, range(none, none, -2), newaxis(), range(1, 3)); });
  at([](const Array& v) { return view(v, array({1, 1, 0}), all(), array({0, 0, 3})); });
  at([](const Array& v) { return view(v, all(), array(2)); });
}
TEST(At, PartsKnownWithoutData) {
  auto x = cube(1, 3, 4);
  x = view(x, 0);
  auto row = array({7, 8, 9, 6});
  EXPECT_TRUE(close(at(x, 1).set(row), array({{0, 1, 2, 3}, {7, 8, 9, 6}, {20, 21, 22, 23}})));
  EXPECT_TRUE(close(at(x, all(), 3).add(100), array({{0, 1, 2, 103}, {10, 11, 12, 113}, {20, 21, 22, 123}})));
  EXPECT_TRUE(
      close(at(x, range(0, 2), range(1, 3)).multiply(0), array({{0, 0, 0, 3}, {10, 0, 0, 13}, {20, 21, 22, 23}})));
  EXPECT_TRUE(close(at(x, range(none, none, 2), range(1, none, 2)).set(-1),
                    array({{0, -1, 2, -1}, {10, 11, 12, 13}, {20, -1, 22, -1}})));
  EXPECT_TRUE(
      close(at(x, 0, range(none, none, -1)).set(row), array({{6, 9, 8, 7}, {10, 11, 12, 13}, {20, 21, 22, 23}})));
  EXPECT_TRUE(close(at(x, 0, range(none, none, -3)).set(array({-1, -2})),
                    array({{-2, 1, 2, -1}, {10, 11, 12, 13}, {20, 21, 22, 23}})));
  EXPECT_TRUE(close(at(x, 1).min(array({0, 99, 0, 99})), array({{0, 1, 2, 3}, {0, 11, 0, 13}, {20, 21, 22, 23}})));
  EXPECT_TRUE(close(at(x, -1, -1).max(50), array({{0, 1, 2, 3}, {10, 11, 12, 13}, {20, 21, 22, 50}})));
  EXPECT_TRUE(close(at(x).set(5), full({3, 4}, 5)));
  EXPECT_TRUE(close(at(x, range(2, 1)).set(5), x));
  EXPECT_TRUE(close(at(x, newaxis(), 0).set(reshape(row, {1, 4})), at(x, 0).set(row)));
  EXPECT_TRUE(close(at(array({true, false}), 0).set(false), array({false, false})));
}
TEST(At, PositionsThatAreData) {
  auto x = zeros({4});
  EXPECT_TRUE(close(at(x, array({1, 1, 3})).add(array({1., 2., 4.})), array({0., 3., 0., 4.}))) << "duplicates add up";
  EXPECT_TRUE(close(at(x, array({1, 1, 3})).set(array({1., 2., 4.})), array({0., 2., 0., 4.})));
  EXPECT_TRUE(close(at(x + 1, array({1, 1, 3})).multiply(3), array({1., 9., 1., 3.})));
  EXPECT_TRUE(close(at(x, array({1, 1})).max(array({1., 2.})), array({0., 2., 0., 0.})));
  EXPECT_TRUE(close(at(x, array({1, 1})).min(array({-1., -2.})), array({0., -2., 0., 0.})));
  EXPECT_TRUE(close(at(x, array({-1, 4, -5})).add(1), array({0., 0., 0., 1.}))) << "outside: dropped";
  auto y = zeros({2, 3}, i32);
  EXPECT_TRUE(close(at(y, array({0, 1, 1}), array({2, 0, 0})).add(1), array({{0, 0, 1}, {2, 0, 0}})));
  EXPECT_TRUE(close(at(y, array({0, 1, 2}), array({2, -1, 0})).set(array({1, 2, 3})), array({{0, 0, 1}, {0, 0, 2}})));
  EXPECT_TRUE(close(at(y, 1, array({2, 0})).set(array({5, 6})), array({{0, 0, 0}, {6, 0, 5}})));
  EXPECT_TRUE(close(at(y, all(), array(1)).set(7), array({{0, 7, 0}, {0, 7, 0}})));
  EXPECT_TRUE(close(at(y, all(), array(3)).set(7), y));
  EXPECT_TRUE(close(at(y, array({1}), range(none, none, -1)).set(array({1, 2, 3})), array({{0, 0, 0}, {3, 2, 1}})));
  auto z = cube(2, 3, 4), i = array({1, 0}), k = array({3, 1});
  auto w = at(z, i, range(0, 2), k).set(-1);
  EXPECT_TRUE(close(view(w, i, range(0, 2), k), full({2, 2}, -1)));
  EXPECT_EQ(sum((w != z).astype(i32)).item<int>(), 4);
}
TEST(At, MistakesAreNamed) {
  auto x = zeros({2, 3});
  EXPECT_MESSAGE(ShapeError, at(x, 0).set(zeros({2})), "at().set: shapes do not broadcast");
  EXPECT_MESSAGE(ShapeError, at(x, 0).add(zeros({2, 3})), "does not stretch to the part of shape [3]");
  EXPECT_MESSAGE(DtypeError, at(arange(3), 0).set(0.5), "the fraction 0.5 does not fit into i32");
  EXPECT_MESSAGE(DtypeError, at(arange(3), 0).set(array(0.5)), "an update of f32 does not fit into i32");
  EXPECT_MESSAGE(IndexError, at(x, 2).set(0), "at().set: index 2 is outside");
  EXPECT_MESSAGE(IndexError, at(x, x > 0).set(0), "use where(mask, x, other)");
}
TEST(At, HasADerivative) {
  auto x = cube(1, 3, 4).astype(f64), u = array({0.5, 1.5, 2.5}, f64);
  x = view(x, 0) + 1;
  auto check = [&](const std::function<Array(const Array&, const Array&)>& f) {
    auto square_of = [&](const Array& a, const Array& b) { return f(a, b) * f(a, b); };
    auto g = gradients([&](const Arrays& a) { return square_of(a[0], a[1]); }, {x, u});
    EXPECT_TRUE(close(g[0], difference([&](const Array& v) { return square_of(v, u); }, x), 1e-5, 1e-4));
    EXPECT_TRUE(close(g[1], difference([&](const Array& v) { return square_of(x, v); }, u), 1e-5, 1e-4));
  };
  check([](const Array& a, const Array& b) { return at(a, all(), 1).set(b); });
  check([](const Array& a, const Array& b) { return at(a, 2, range(none, 3)).multiply(b); });
  check([](const Array& a, const Array& b) { return at(a, range(none, none, -1), 3).add(b); });
  check([](const Array& a, const Array& b) { return at(a, 0, range(0, 5, 3)).set(view(b, range(0, 2))); });
  check([](const Array& a, const Array& b) { return at(a, array({0, 2, 0}), array({1, 1, 1})).add(b); });
}
}  // namespace view_test
