// xtensor: conversions, host functions, and the reference for array functions.
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/ufuncs.h"
#include "bora/xtensor.h"
#include <gtest/gtest.h>
#include <xtensor/xindex_view.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xsort.hpp>
#include "bora/fx/transforms.h"
#include "bora/ops/ops.h"
#include "bora/ops/transform.h"

namespace xtensor_test {
namespace {
using namespace bora;
using Axes = std::vector<std::size_t>;
xt::xarray<double> example() { return {{0.5, -1.25, 2.0}, {3.5, 0.25, -0.75}}; }
template <class E> void same(const Array& a, const E& e, double tolerance = 0) {
  xt::xarray<double> want = xt::cast<double>(e);
  Shape shape;
  for (auto n : want.shape()) shape.push_back(static_cast<std::int64_t>(n));
  ASSERT_EQ(a.shape(), shape);
  auto got = a.to_vector<double>();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want.flat(i), tolerance * (1 + std::abs(want.flat(i)))) << "element " << i;
}

// The same unqualified code serves both worlds.
template <class X> auto both(const X& x) { return sum(tanh(x) * 2 + sqrt(abs(x)) / exp(x)); }
TEST(Xtensor, OneTemplatedFunctionForBoth) {
  auto x = example();
  EXPECT_NEAR(both(asarray(x)).item<double>(), both(x)(), 1e-12);
}
TEST(Xtensor, ExpressionsAreCopiedAndContainersAdopted) {
  auto x = example();
  auto* memory = x.data();
  Array lazy = asarray(xt::sin(x) + 1);
  same(lazy, xt::sin(x) + 1);
  EXPECT_EQ(lazy.dtype(), f64);
  Array copied = asarray(x);
  EXPECT_NE(copied.bytes(), static_cast<const void*>(memory));
  Array row = asarray(xt::view(x, 1, xt::all()));
  same(row, xt::view(x, 1, xt::all()));
  Array column_major = asarray(xt::xarray<double, xt::layout_type::column_major>(x));
  same(column_major, x);
  Array moved = asarray(std::move(x));
  EXPECT_EQ(moved.bytes(), static_cast<const void*>(memory));
  same(moved, example());
  same(asarray(xt::xtensor<std::int32_t, 1>{1, 2, 3}), xt::xarray<double>{1, 2, 3});
  EXPECT_EQ(asarray(xt::xtensor<bool, 1>{true, false}).dtype(), boolean);
  EXPECT_EQ(asarray(xt::xarray<float>(2.5F)).shape(), Shape{});
}
TEST(Xtensor, AdaptorsShareMemoryAndKeepIt) {
  Array a = array({{1., 2.}, {3., 4.}});
  auto v = as_xtensor<float, 2>(a);
  EXPECT_EQ(static_cast<const void*>(&v(0, 0)), a.bytes());
  auto temporary = as_xtensor<float, 2>(a + 1);
  a = Array();
  EXPECT_EQ(temporary(1, 1), 5.F);
  EXPECT_EQ(v(1, 0), 3.F);
  same(asarray(as_xarray<float>(array(2.)) + 1), xt::xarray<double>(3.));
  EXPECT_THROW((void)(as_xtensor<double, 2>(zeros({2, 2}))), DtypeError);
  EXPECT_THROW((void)(as_xtensor<float, 1>(zeros({2, 2}))), ShapeError);
  EXPECT_THROW((void)jit([](const Array& x) { return sum(x) * as_xtensor<float, 1>(x)(0); })(array({1., 2.})),
               TraceError);
}
TEST(Xtensor, HostFunctionsWorkUnderGradVmapAndJit) {
  auto clip6 = custom_op("clip6", {.eval = [](const xt::xarray<float>& x) { return xt::clip(x, 0.F, 6.F); },
                                   .vjp = [](const Array& ct, const Array& x) { return where(x > 0 && x < 6, ct, 0); },
                                   .elementwise = true});
  auto x = array({-1., 2., 7.});
  auto f = [&](const Array& v) { return sum(clip6(v) * v); };
  same(clip6(x), xt::xarray<double>{0, 2, 6});
  same(grad(f)(x), xt::xarray<double>{0, 4, 6});
  same(jit(grad(f))(x), xt::xarray<double>{0, 4, 6});
  auto rows = stack({x, x * 0.5});
  same(vmap(grad(f))(rows), xt::xarray<double>{{0, 4, 6}, {0, 2, 7}});
  same(jit(vmap([&](const Array& v) { return clip6(v); }))(rows), xt::xarray<double>{{0, 2, 6}, {0, 1, 3.5}});
}
TEST(Xtensor, NumbersThatCarryADerivativeAreNotSeen) {
  Array x = array({1.F, 2.F, 3.F});
  EXPECT_THROW((void)grad([](const Array& a) { return sum(a) * as_xtensor<float, 1>(a)(0); })(x), TraceError);
  EXPECT_THROW((void)grad([](const Array& a) { return sum(a) * as_xarray<float>(a)(0); })(x), TraceError);
  Array g = grad([](const Array& a) { return sum(a) * as_xarray<float>(stop_gradient(a))(2); })(x);
  EXPECT_EQ(g.to_vector<float>(), (std::vector<float>{3, 3, 3}));
}
TEST(Xtensor, IsTheReferenceOfReductions) {
  auto x = example();
  Array a = asarray(x);
  same(sum(a), xt::sum(x), 1e-12);
  same(sum(a, 0), xt::sum(x, Axes{0}), 1e-12);
  same(mean(a, 1), xt::mean(x, Axes{1}), 1e-12);
  same(prod(a, 0), xt::prod(x, Axes{0}), 1e-12);
  same(amax(a, -1), xt::amax(x, Axes{1}));
  same(amin(a, {0, 1}), xt::amin(x));
  xt::xarray<double> centre = xt::mean(x, Axes{0});
  same(var(a, 0), xt::mean(xt::square(x - centre), Axes{0}), 1e-12);  // xt::variance over an axis throws in 0.24.3
  same(stddev(a), xt::sqrt(xt::mean(xt::square(x - xt::mean(x)()))), 1e-12);
  same(sum(a, 1, {.keepdims = true}), xt::sum(x, Axes{1}, xt::keep_dims), 1e-12);
  same(argmax(a, 1), xt::argmax(x, 1));
  same(argmin(a, 0), xt::argmin(x, 0));
  same(cumsum(a, 1), xt::cumsum(x, 1), 1e-12);
  same(sort(a, 1), xt::sort(x, 1));
  same(argsort(a, 0), xt::argsort(x, 0));
  EXPECT_EQ(all(a > 0).item<bool>(), xt::all(x > 0.));
  EXPECT_EQ(any(a > 3).item<bool>(), xt::any(x > 3.));
}
TEST(Xtensor, IsTheReferenceOfElementwiseFunctions) {
  auto x = example();
  Array a = asarray(x);
  same(exp(a), xt::exp(x), 1e-14);
  same(expm1(a), xt::expm1(x), 1e-14);
  same(log(abs(a)), xt::log(xt::abs(x)), 1e-14);
  same(log1p(abs(a)), xt::log1p(xt::abs(x)), 1e-14);
  same(sqrt(abs(a)), xt::sqrt(xt::abs(x)), 1e-15);
  same(cbrt(a), xt::cbrt(x), 1e-14);
  same(sin(a), xt::sin(x), 1e-14);
  same(cos(a), xt::cos(x), 1e-14);
  same(tan(a), xt::tan(x), 1e-13);
  same(sinh(a), xt::sinh(x), 1e-14);
  same(cosh(a), xt::cosh(x), 1e-14);
  same(tanh(a), xt::tanh(x), 1e-14);
  same(erf(a), xt::erf(x), 1e-14);
  same(floor(a), xt::floor(x));
  same(ceil(a), xt::ceil(x));
  same(trunc(a), xt::trunc(x));
  same(round(a), xt::nearbyint(x));
  same(sign(a), xt::sign(x));
  same(square(a), xt::square(x));
  same(a / (a + 10), x / (x + 10.), 1e-15);
  same(maximum(a, 0.5), xt::maximum(x, 0.5));
  same(minimum(a, 0.5), xt::minimum(x, 0.5));
  same(pow(abs(a), 1.5), xt::pow(xt::abs(x), 1.5), 1e-13);
  same(fmod(a, 0.7), xt::fmod(x, 0.7), 1e-13);
  same(clip(a, -1, 1), xt::clip(x, -1., 1.));
  same(where(a > 0, a, -a), xt::where(x > 0., x, -x));
  same(isnan(a), xt::isnan(x));
  same(a <= 0.5, x <= 0.5);
}
TEST(Xtensor, IsTheReferenceOfShapesAndCreation) {
  auto x = example();
  Array a = asarray(x);
  same(transpose(a), xt::transpose(x));
  same(reshape(a, {3, 2}), xt::reshape_view(x, {3, 2}));
  same(ravel(a), xt::ravel(x));
  same(flip(a, 1), xt::flip(x, 1));
  same(roll(a, 1, 1), xt::roll(x, 1, 1));
  same(expand_dims(a, 1), xt::expand_dims(x, 1));
  same(squeeze(expand_dims(a, 0)), xt::squeeze(xt::expand_dims(x, 0)));
  same(concatenate({a, a * 2}, 1), xt::concatenate(xt::xtuple(x, xt::xarray<double>(x * 2)), 1));
  same(stack({a, a * 2}, 1), xt::stack(xt::xtuple(x, xt::xarray<double>(x * 2)), 1));
  same(repeat(a, 2, 0), xt::repeat(x, 2, 0));
  same(view(a, all(), range(0, 3, 2)), xt::view(x, xt::all(), xt::range(0, 3, 2)));
  same(view(a, 1, newaxis(), range(1, none)), xt::view(x, 1, xt::newaxis(), xt::range(1, xt::placeholders::_)));
  same(view(a, ellipsis(), -1), xt::strided_view(x, {xt::ellipsis(), 2}));
  same(take(a, array({2, 0}), 1), xt::view(x, xt::all(), xt::keep(2, 0)));
  same(tril(a), xt::tril(x));
  same(triu(a, 1), xt::triu(x, 1));
  same(arange(2, 9, 3), xt::arange<double>(2, 9, 3));
  same(linspace(0, 1, 5, f64), xt::linspace<double>(0, 1, 5));
  same(eye(3), xt::eye<double>(3));
  same(zeros({2, 2}), xt::zeros<double>({2, 2}));
  same(full({2}, 7), 7 * xt::ones<double>({2}));
}
}  // namespace
}  // namespace xtensor_test
