// xtensor: lambdas as operations (eager, staged, mapped, differentiated, on blocks), and its views of single elements.
#include "bora/xtensor_operation.h"
#include <gtest/gtest.h>
#include <xtensor/xindex_view.hpp>
#include <xtensor/xmasked_view.hpp>
#include <xtensor/xstrided_view.hpp>
#include "bora/bora.h"
#include "bora/ops/element_views.h"
#include "support/numbers.h"
#include "support/throws.h"

namespace xtensor_operation_test {
namespace {
using namespace bora;
Array numbers(const Shape& shape, double step = 0.37) { return test::sines(shape, 1, step).astype(f32); }
void near(const Array& a, const Array& b, double tolerance = 1e-6) {
  ASSERT_EQ(a.type(), b.type());
  EXPECT_TRUE(allclose(a, b, tolerance, tolerance));
}
using bora::test::says;
auto sine() {
  return xt_operation("sine", [](auto x, auto y) { return xt::sin(x) * y + 1; },
                      [](auto x, auto y) { return xt::cos(x) * y; }, [](auto x, auto) { return xt::sin(x); });
}
Array sine_of(const Array& x, const Array& y) { return sin(x) * y + 1; }

TEST(XtOperation, IsTheFunctionEagerStagedAndMapped) {
  auto f = sine();
  auto x = numbers({3, 5}), y = numbers({5}, 0.7);
  near(f(x, y), sine_of(x, y));
  near(jit(f)(x, y), sine_of(x, y));
  near(jit([&](const Array& a, const Array& b) { return exp(f(a * 2, b)) + 1; })(x, y), exp(sine_of(x * 2, y)) + 1);
  near(vmap([&](const Array& row) { return f(row, y); })(x), sine_of(x, y));
  near(vmap(f, {.in = {1, 0}})(x, y), transpose(sine_of(x, y)));
  near(jit(vmap([&](const Array& row) { return f(row, y); }))(x), sine_of(x, y));
  EXPECT_EQ(f(zeros({0}), zeros({0})).size(), 0);
  near(f(array(0.5), array(2.)), sine_of(array(0.5), array(2.)));
}
TEST(XtOperation, HasTheDtypesOfItsOperands) {
  auto f = sine();
  auto x = numbers({7}), y = numbers({7}, 0.7);
  EXPECT_EQ(f(x.astype(f64), y).dtype(), f64);
  near(f(x.astype(f64), y.astype(f64)), sine_of(x.astype(f64), y.astype(f64)), 1e-14);
  EXPECT_EQ(f(x.astype(bf16), y.astype(bf16)).dtype(), bf16);
  near(f(array({1, 2}), array({3, 4})), sine_of(array({1., 2.}), array({3., 4.})));
  auto positive = xt_operation("positive", [](auto v) { return v > 0; });
  EXPECT_EQ(positive(x).dtype(), boolean);
  EXPECT_TRUE(array_equal(positive(x), x > 0));
  says<DtypeError>([&] { return positive(x.astype(complex64)); }, "real numbers");
}
TEST(XtOperation, DerivativesAreGivenOrRefused) {
  auto f = sine();
  auto x = numbers({3, 5}), y = numbers({5}, 0.7);
  auto loss = [](const auto& g) { return [&g](const Array& a, const Array& b) { return sum(square(g(a, b))); }; };
  auto want = grad<0, 1>(loss(sine_of))(x, y);
  auto got = grad<0, 1>(loss(f))(x, y);
  auto staged = jit(grad<0, 1>(loss(f)))(x, y);
  near(std::get<0>(got), std::get<0>(want));
  near(std::get<1>(got), std::get<1>(want));
  near(std::get<1>(staged), std::get<1>(want));
  auto each = vmap(grad([&](const Array& row) { return sum(f(row, y)); }))(x);
  near(each, cos(x) * y);
  auto bare = xt_operation("bare", [](auto v) { return xt::exp(v); });
  auto slope = grad([&](const Array& a) { return sum(bare(a)); });
  says<TraceError>([&] { return slope(x); }, "bare cannot be differentiated");
}
TEST(XtOperation, RunsOnEachBlock) {
  auto f = sine();
  auto x = numbers({6, 5}), y = numbers({5}, 0.7);
  auto slope = grad([&](const Array& a) { return sum(square(f(a, y))); });
  for (bool staged : {false, true})
    for (int ranks : {2, 3})
      local_mesh({{"data", ranks}}, [&](const Mesh&) {
        auto mine = with_sharding_constraint(x, Spec{{"data"}, {}});
        auto g = [&](const Array& a) { return f(a, y); };
        auto out = staged ? jit(g)(mine) : g(mine);
        EXPECT_TRUE(spec_of(out) == spec_of(mine)) << "the result stays split";
        near(gather(out), sine_of(x, y));
        near(gather(staged ? jit(slope)(mine) : slope(mine)), slope(x));
      });
}
TEST(XtOperation, RefusesLambdasThatMixElements) {
  auto x = numbers({9});
  says<ValueError>([&] { return xt_operation("total", [](auto v) { return xt::sum(v); })(x); },
                   "total: the lambda gave 1 results in 0 dimensions for 9 elements");
  says<ValueError>([&] { return xt_operation("share", [](auto v) { return v / xt::sum(v); })(x); },
                   "it must be elementwise and pure");
}
TEST(XtOperation, SameBitsWithAnyNumberOfThreads) {
  auto f = sine();
  auto x = numbers({100003}), y = numbers({100003}, 0.7);
  auto whole = f(x, y).to_vector<float>();
  std::vector<float> parts;
  for (std::int64_t i = 0; i < 100003; i += 7919)
    for (auto v : f(view(x, range(i, i + 7919)), view(y, range(i, i + 7919))).to_vector<float>()) parts.push_back(v);
  EXPECT_EQ(whole, parts);
}

// ---- views of elements ----------------------------------------------------------------------------------------------
xt::xarray<double> matrix() { return {{0.5, -1.25, 2.0, 9}, {3.5, 0.25, -0.75, 8}, {1, 2, 3, 4}}; }
template <class E> void same(const Array& a, const E& e) {
  xt::xarray<double> want = e;
  ASSERT_EQ(a.size(), static_cast<std::int64_t>(want.size()));
  auto got = a.to_vector<double>();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], want.flat(i)) << i;
}
TEST(ElementViews, StridedIsXtensors) {
  auto x = matrix();
  auto a = asarray(x);
  same(strided_view(a, {ellipsis(), 2}), xt::strided_view(x, {xt::ellipsis(), 2}));
  same(strided_view(a, {range(0, 2), newaxis(), range(3, none, -1)}),
       xt::strided_view(x, {xt::range(0, 2), xt::newaxis(), xt::range(3, xt::placeholders::_, -1)}));
  std::vector<std::size_t> shape{2, 3};
  std::vector<std::ptrdiff_t> strides{4, 1};
  same(strided_view(a, {2, 3}, {4, 1}, 1), xt::strided_view(x, shape, std::move(strides), 1, xt::layout_type::dynamic));
  same(strided_view(a, {3, 3}, {1, 1}), xt::xarray<double>{{0.5, -1.25, 2}, {-1.25, 2, 9}, {2, 9, 3.5}});
  same(strided_view(a, {3}, {-5}, 11), xt::xarray<double>{4, -0.75, -1.25});
  EXPECT_EQ(strided_view(a, {0, 3}, {100, 1}).shape(), (Shape{0, 3}));
  says<IndexError>([&] { return strided_view(a, {4}, {4}); }, "reads elements 0 to 12 of an array that has 12");
  says<IndexError>([&] { return strided_view(a, {2}, {-1}); }, "reads elements -1 to 0");
  says<ShapeError>([&] { return strided_view(a, {2, 2}, {1}); }, "2 dimensions and 1 strides");
  auto g = grad([](const Array& v) { return sum(strided_view(v, {2, 2}, {1, 1})); })(array({1., 2., 3., 4.}));
  EXPECT_EQ(g.to_vector<float>(), (std::vector<float>{1, 2, 1, 0}));
  auto windows = [](const Array& v) { return strided_view(v, {3, 2}, {1, 1}); };
  near(vmap(windows)(a), stack({windows(view(a, 0)), windows(view(a, 1)), windows(view(a, 2))}));
  near(jit(windows)(ravel(a).astype(f32)), windows(ravel(a)).astype(f32));
}
TEST(ElementViews, PositionsAndFiltersAreXtensors) {
  auto x = matrix();
  auto a = asarray(x);
  std::vector<xt::xindex> two{{0, 0}, {1, 2}}, three{{0, 0}, {1, 2}, {2, 3}};
  same(index_view(a, {{0, 0}, {1, 2}, {-1, -1}}), xt::index_view(x, three));
  same(index_view(a, array({{0, 0}, {1, 2}})), xt::index_view(x, two));
  same(jit([](const Array& m, const Array& at) { return index_view(m, at); })(a, array({{0, 0}, {1, 2}})),
       xt::index_view(x, two));
  same(filter(a, a > 1), xt::filter(x, x > 1.));
  says<IndexError>([&] { return index_view(a, {{0, 4}}); }, "position 4 is outside of dimension 1");
  says<IndexError>([&] { return index_view(a, {{0}}); }, "a position of 1 dimensions");
  says<ShapeError>([&] { return index_view(a, array({0, 1})); }, "they are [n, 2]");
  says<ShapeError>([&] { return filter(a, ravel(a) > 1); }, "a condition of shape [12]");
  EXPECT_THROW((void)jit([](const Array& m) { return filter(m, m > 1); })(a), TraceError);
  auto four = jit([](const Array& m) { return filter(m, m > 1, {.size = 4, .fill = Scalar(0)}); })(a);
  EXPECT_EQ(four.to_vector<double>(), (std::vector<double>{2, 9, 3.5, 8}));
}
TEST(ElementViews, MasksChangeWhereTheyHold) {
  auto x = matrix();
  auto a = asarray(x);
  auto assigned = x;
  xt::filtration(assigned, x > 1.) += 100;
  same(filtration(a, a > 1).add(100), assigned);
  auto masked = x;
  auto part = xt::masked_view(masked, x < 1.);
  part = 7;
  same(masked_view(a, a < 1).set(7), masked);
  same(masked_view(a, a < 1).filled(-1), xt::where(x < 1., x, -1.));
  same(masked_view(a, a < 1).multiply(asarray(std::vector<double>{1, 2, 3, 4})),
       xt::where(x < 1., x * xt::xarray<double>{1, 2, 3, 4}, x));
  same(masked_view(a, a < 1).max(0), xt::where(x < 1., xt::maximum(x, 0.), x));
  same(masked_view(a, a > 1).min(3), xt::where(x > 1., xt::minimum(x, 3.), x));
  says<DtypeError>([&] { return masked_view(a, a).set(1); }, "the mask is boolean");
  auto whole = masked_view(array({1, 2}), array({true, false}));
  says<DtypeError>([&] { return whole.set(array(0.5)); }, "does not fit into");
  says<DtypeError>([&] { return whole.set(0.5); }, "masked_view: the fraction 0.5 does not fit into");
  auto g = grad([](const Array& v) { return sum(masked_view(v, v > 1).multiply(3)); })(array({0.5, 2.}));
  EXPECT_EQ(g.to_vector<float>(), (std::vector<float>{1, 3}));
}
}  // namespace
}  // namespace xtensor_operation_test
