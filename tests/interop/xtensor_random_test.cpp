// xtensor: draws as containers are those of Arrays, and adaptors and conversions of every layout keep the numbers.
#include "bora/xtensor.h"
#include <gtest/gtest.h>
#include <xtensor/xsort.hpp>
#include <xtensor/xstrided_view.hpp>
#include "bora/bora.h"
#include "support/throws.h"

namespace xtensor_random_test {
namespace {
using namespace bora;
using bora::test::says;
using Matrix = xt::xtensor<float, 2>;
template <class X> void same(const X& got, const Array& want) {
  EXPECT_EQ(asarray(got).type(), want.type());
  EXPECT_TRUE(array_equal(asarray(got), want));
}
TEST(XtensorRandom, DrawsAreThoseOfArrays) {
  auto k = random::key(7);
  using D = xt::xtensor<double, 2>;
  same(random::normal<Matrix>(k, {3, 4}), random::normal(k, {3, 4}));
  same(random::normal<D>(k, {3, 4}), random::normal(k, {3, 4}, f64));
  same(random::normal<xt::xarray<float>>(k, {3}), random::normal(k, {3}));
  same(random::normal<xt::xtensor<float, 2, xt::layout_type::column_major>>(k, {3, 4}), random::normal(k, {3, 4}));
  same(random::normal<xt::xtensor<float, 0>>(k), random::normal(k));
  same(random::uniform<D>(k, {3, 4}, -1, 1), random::uniform(k, {3, 4}, f64, -1, 1));
  same(random::gumbel<Matrix>(k, {3, 4}), random::gumbel(k, {3, 4}));
  same(random::exponential<Matrix>(k, {3, 4}), random::exponential(k, {3, 4}));
  same(random::laplace<Matrix>(k, {3, 4}), random::laplace(k, {3, 4}));
  same(random::logistic<Matrix>(k, {3, 4}), random::logistic(k, {3, 4}));
  same(random::cauchy<Matrix>(k, {3, 4}), random::cauchy(k, {3, 4}));
  same(random::maxwell<Matrix>(k, {3, 4}), random::maxwell(k, {3, 4}));
  same(random::rademacher<xt::xtensor<int, 2>>(k, {3, 4}), random::rademacher(k, {3, 4}));
  same(random::bits<xt::xtensor<std::uint32_t, 1>>(k, {3}), random::bits(k, {3}));
  same(random::randint<xt::xtensor<int, 1>>(k, {9}, 0, 5), random::randint(k, {9}, 0, 5));
  same(random::randint<xt::xtensor<std::int64_t, 1>>(k, {9}, 0, 5), random::randint(k, {9}, 0, 5, i64));
  same(random::bernoulli<xt::xtensor<bool, 1>>(k, 0.3, Shape{9}), random::bernoulli(k, 0.3, {9}));
  same(random::permutation<xt::xtensor<int, 1>>(k, 5), random::permutation(k, 5));
  xt::xtensor<float, 1> a{0.5, 2, 3};
  auto b = asarray(a);
  same(random::gamma<xt::xtensor<float, 1>>(k, a), random::gamma(k, b));
  same(random::loggamma<xt::xtensor<float, 1>>(k, a), random::loggamma(k, b));
  same(random::dirichlet<Matrix>(k, a, Shape{2}), random::dirichlet(k, b, Shape{2}));
  same(random::lognormal<Matrix>(k, 0.5, Shape{3, 4}), random::lognormal(k, 0.5, Shape{3, 4}));
  same(random::pareto<xt::xtensor<float, 1>>(k, a), random::pareto(k, b));
  same(random::rayleigh<xt::xtensor<float, 1>>(k, a), random::rayleigh(k, b));
  same(random::wald<xt::xtensor<float, 1>>(k, a), random::wald(k, b));
  same(random::geometric<xt::xtensor<int, 1>>(k, a / 4), random::geometric(k, b / 4));
  same(random::chisquare<xt::xtensor<float, 1>>(k, a), random::chisquare(k, b));
  same(random::t<xt::xtensor<float, 1>>(k, a), random::t(k, b));
  same(random::poisson<xt::xtensor<int, 1>>(k, a), random::poisson(k, b));
  same(random::generalized_normal<Matrix>(k, 1.5, {3, 4}), random::generalized_normal(k, 1.5, {3, 4}));
  same(random::truncated_normal<Matrix>(k, -1, 1, Shape{3, 4}),
       random::truncated_normal(k, random::Parameter(-1), random::Parameter(1), Shape{3, 4}));
  same(random::beta<xt::xtensor<float, 1>>(k, a, 2), random::beta(k, b, 2));
  same(random::f<xt::xtensor<float, 1>>(k, a, 2), random::f(k, b, 2));
  same(random::binomial<xt::xtensor<float, 1>>(k, 9, a / 4), random::binomial(k, 9, b / 4));
  same(random::double_sided_maxwell<Matrix>(k, a, 2), random::double_sided_maxwell(k, b, 2));
  same(random::weibull_min<xt::xtensor<float, 1>>(k, a, 2), random::weibull_min(k, b, 2));
  same(random::triangular<xt::xtensor<float, 1>>(k, 0, a, 4), random::triangular(k, 0, b, 4));
  same(random::multinomial<xt::xtensor<float, 1>>(k, 9, a / 5.5F), random::multinomial(k, 9, b / 5.5F));
  same(random::ball<Matrix>(k, 3, 2, {4}), random::ball(k, 3, 2, {4}));
  same(random::orthogonal<Matrix>(k, 3), random::orthogonal(k, 3));
  same(random::categorical<xt::xtensor<int, 1>>(k, xt::xtensor<float, 2>{{1, 2}, {3, 4}}),
       random::categorical(k, array({{1., 2.}, {3., 4.}})));
  same(random::multivariate_normal<Matrix>(k, a, xt::xtensor<float, 2>{{2, 0, 0}, {0, 2, 0}, {0, 0, 2}}, Shape{4}),
       random::multivariate_normal(k, b, eye(3) * 2, Shape{4}));
}
TEST(XtensorRandom, WrongContainersSaySo) {
  auto k = random::key(7);
  says<ShapeError>([&] { return random::normal<Matrix>(k, {3}); },
                   "a result is f32[3], and its container an xtensor of rank 2; draw into");
  says<DtypeError>([&] { return random::normal<xt::xtensor<int, 1>>(k, {3}); }, "normal");
}
TEST(XtensorRandom, FunctionsOfXtensorTakeAnArraysMemory) {
  Array a = array({{1., -2.}, {3., 4.}});
  auto v = as_xtensor<float, 2>(a);
  EXPECT_EQ(static_cast<const void*>(v.data()), a.bytes());
  auto x = as_xarray<float>(a);
  EXPECT_EQ(static_cast<const void*>(x.data()), a.bytes());
  EXPECT_EQ((std::vector<std::ptrdiff_t>(v.strides().begin(), v.strides().end())), (std::vector<std::ptrdiff_t>{2, 1}));
  EXPECT_EQ(xt::sum(xt::view(v, xt::all(), 1))(), 2);
  EXPECT_EQ(xt::amax(xt::abs(x))(), 4);
  EXPECT_EQ(xt::sum(as_xtensor<float, 2>(transpose(a)) * v)(), 1 - 6 - 6 + 16);
  static_assert(!std::is_assignable_v<decltype(v(0, 0)), float>, "the adaptor is const");
  xt::xtensor<float, 2> own = v;  // a copy of one's own
  own(0, 0) = 100;
  EXPECT_EQ(view(a, 0, 0).item<float>(), 1);
  auto gone = as_xarray<float>(a + 1);  // holds the memory of the temporary
  a = Array();
  EXPECT_EQ(gone(1, 1), 5);
  EXPECT_EQ((as_xtensor<float, 0>(array(2.))()), 2);
  EXPECT_EQ((as_xtensor<float, 2>(zeros({0, 3})).size()), 0U);
  EXPECT_EQ(as_xarray<bool>(array({true, false}))(0), true);
}
TEST(XtensorRandom, EveryLayoutGivesTheSameNumbers) {
  xt::xtensor<double, 3> x = xt::reshape_view(xt::arange<double>(24), {2, 3, 4});
  Array a = reshape(arange(24).astype(f64), {2, 3, 4});
  same(x, a);
  same(xt::xtensor<double, 3, xt::layout_type::column_major>(x), a);
  same(xt::xarray<double, xt::layout_type::column_major>(x), a);
  same(xt::xarray<double, xt::layout_type::dynamic>(x), a);
  same(xt::transpose(x, {2, 0, 1}), transpose(a, {2, 0, 1}));
  same(xt::view(x, xt::all(), xt::range(0, 3, 2), 1), view(a, all(), range(0, 3, 2), 1));
  same(xt::view(x, 1, xt::range(2, xt::placeholders::_, -1)), view(a, 1, range(2, none, -1)));
  same(xt::strided_view(x, {xt::ellipsis(), 2}), view(a, ellipsis(), 2));
  same(xt::view(xt::xtensor<double, 3, xt::layout_type::column_major>(x), xt::all(), 1), view(a, all(), 1));
  same(xt::broadcast(xt::xtensor<double, 1>{1, 2}, {3, 2}), broadcast_to(array({1., 2.}, f64), {3, 2}));
  same(xt::sum(x, {1}), sum(a, 1));
  const auto frozen = x;
  same(frozen, a);
  same(xt::view(frozen, 0), view(a, 0));
  auto moved = std::move(frozen);  // const: a copy
  same(moved, a);
  same(xt::argmax(x, 1), argmax(a, 1).astype(u64));
  // Back: an Array in every layout.
  auto check = [&]<class X>(X) { same(X(as_xarray<double>(a)), a); };
  check(xt::xtensor<double, 3>()), check(xt::xarray<double>());
  check(xt::xtensor<double, 3, xt::layout_type::column_major>());
  check(xt::xarray<double, xt::layout_type::column_major>());
}
}  // namespace
}  // namespace xtensor_random_test
