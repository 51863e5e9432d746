// xtensor: functions and operators of Arrays and xtensor expressions together, in every order and value category.
#include "bora/xtensor.h"
#include <gtest/gtest.h>
#include <xtensor/xhistogram.hpp>
#include <xtensor/xindex_view.hpp>
#include <xtensor/xmasked_view.hpp>
#include <xtensor/xset_operation.hpp>
#include <xtensor/xsort.hpp>
#include "bora/bora.h"
#include "support/throws.h"

namespace xtensor_mixed_test {
namespace {
using namespace bora;
using bora::test::says;
using Matrix = xt::xtensor<double, 2>;
Matrix first() { return {{0.5, -1.25, 2.0}, {3.5, 0.25, -0.75}}; }
Matrix second() { return {{1.5, 2.5, -2.0}, {0.5, 0.125, 4}}; }
xt::xtensor<std::int32_t, 1> integers() { return {6, 5, 3}; }
template <class X> constexpr bool is_array = std::is_same_v<std::remove_cvref_t<X>, Array>;

/// f(a, b) of two Arrays, and the same of mixed arguments: lvalues, const ones, rvalues, lazy expressions, views.
template <class F, class X> void in_every_form(const char* name, const F& f, const X& x, const X& y) {
  SCOPED_TRACE(name);
  Array a = asarray(x), b = asarray(y), want = f(a, b);
  X left = x, right = y;
  auto same = [&]<class R>(const char* form, const R& got) {
    static_assert(is_array<R>);
    EXPECT_EQ(got.type(), want.type()) << form;
    EXPECT_TRUE(array_equal(got, want)) << form;
  };
  same("Array, lvalue", f(a, right));
  same("lvalue, Array", f(left, b));
  same("const, Array", f(x, b));
  same("Array, const", f(a, y));
  same("Array, rvalue", f(a, X(y)));
  same("rvalue, Array", f(X(x), b));
  same("rvalue Array", f(Array(a), right));
  same("lazy, Array", f(x + 0, b));
  same("Array, lazy", f(a, y + 0));
  same("view", f(a, xt::view(y, xt::all())));
  same("adaptor", f(a, as_xarray<typename X::value_type>(b)));
  same("column-major", f(a, xt::xarray<typename X::value_type, xt::layout_type::column_major>(y)));
}
#define FUNCTION(f) #f, [](auto&& a, auto&& b) { return f(static_cast<decltype(a)>(a), static_cast<decltype(b)>(b)); }
#define OPERATOR(op) #op, [](auto&& a, auto&& b) { return static_cast<decltype(a)>(a) op static_cast<decltype(b)>(b); }

TEST(XtensorMixed, OperatorsGiveArrays) {
  auto x = first(), y = second();
  in_every_form(OPERATOR(+), x, y);
  in_every_form(OPERATOR(-), x, y);
  in_every_form(OPERATOR(*), x, y);
  in_every_form(OPERATOR(/), x, y);
  in_every_form(OPERATOR(%), x, y);
  in_every_form(OPERATOR(<), x, y);
  in_every_form(OPERATOR(<=), x, y);
  in_every_form(OPERATOR(>), x, y);
  in_every_form(OPERATOR(>=), x, y);
  in_every_form(OPERATOR(==), x, y);
  in_every_form(OPERATOR(!=), x, y);
  in_every_form(OPERATOR(&&), x, y);
  in_every_form(OPERATOR(||), x, y);
  auto i = integers(), j = xt::xtensor<std::int32_t, 1>{1, 0, 2};
  in_every_form(OPERATOR(&), i, j);
  in_every_form(OPERATOR(|), i, j);
  in_every_form(OPERATOR(^), i, j);
  in_every_form(OPERATOR(<<), i, j);
  in_every_form(OPERATOR(>>), i, j);
  in_every_form(OPERATOR(%), i, xt::xtensor<std::int32_t, 1>{4, 2, 2});
}
TEST(XtensorMixed, ElementwiseFunctionsGiveArrays) {
  auto x = first(), y = second();
  Matrix p = xt::abs(x);
  in_every_form(FUNCTION(fmod), x, y);
  in_every_form(FUNCTION(remainder), x, y);
  in_every_form(FUNCTION(fmax), x, y);
  in_every_form(FUNCTION(fmin), x, y);
  in_every_form(FUNCTION(hypot), x, y);
  in_every_form(FUNCTION(maximum), x, y);
  in_every_form(FUNCTION(minimum), x, y);
  in_every_form(FUNCTION(pow), p, y);
  in_every_form(FUNCTION(atan2), x, y);
  in_every_form(FUNCTION(equal), x, y);
  in_every_form(FUNCTION(not_equal), x, y);
  in_every_form(FUNCTION(less), x, y);
  in_every_form(FUNCTION(less_equal), x, y);
  in_every_form(FUNCTION(greater), x, y);
  in_every_form(FUNCTION(greater_equal), x, y);
  in_every_form(FUNCTION(isclose), x, y);
  auto i = integers(), j = xt::xtensor<std::int32_t, 1>{1, 0, 2};
  in_every_form(FUNCTION(left_shift), i, j);
  in_every_form(FUNCTION(right_shift), i, j);
}
TEST(XtensorMixed, NamesOfBoraAlone) {
  auto x = first(), y = second();
  in_every_form("matmul", [](auto&& a, auto&& b) { return matmul(a, transpose(Array(b))); }, x, y);
  in_every_form(FUNCTION(add), x, y);
  in_every_form(FUNCTION(logaddexp), x, y);
  in_every_form(FUNCTION(kron), x, y);
  in_every_form(FUNCTION(vdot), x, y);
  in_every_form(FUNCTION(arctan2), x, y);
  in_every_form("concatenate", [](auto&& a, auto&& b) { return concatenate({a, b}, 1); }, x, y);
  in_every_form("stack", [](auto&& a, auto&& b) { return stack({a, b}); }, x, y);
  in_every_form("einsum", [](auto&& a, auto&& b) { return einsum("i j, k j -> i k", a, b); }, x, y);
  in_every_form("at", [](auto&& a, auto&& b) { return at(a, range(0, 1)).add(view(Array(b), range(0, 1))); }, x, y);
}
TEST(XtensorMixed, OthersThatBothLibrariesHave) {
  xt::xtensor<double, 1> x{0.5, 1.5, 2.5, 7}, grid{0, 1, 2, 3};
  in_every_form(FUNCTION(searchsorted), grid, x);
  in_every_form(FUNCTION(digitize), x, grid);
  in_every_form(FUNCTION(isin), x, grid);
  in_every_form(FUNCTION(average), x, grid);
  in_every_form(FUNCTION(convolve), x, grid);
  in_every_form("convolve full", [](auto&& a, auto&& b) { return convolve(a, b, Overlap::same); }, x, grid);
  in_every_form("interp", [](auto&& a, auto&& b) { return interp(a, b, b * 2); }, x, grid);
  in_every_form("histogram", [](auto&& a, auto&& b) { return histogram(a, b).counts; }, x, grid);
  in_every_form("filter", [](auto&& a, auto&& b) { return filter(a, b > 1); }, x, grid);
  in_every_form("filtration", [](auto&& a, auto&& b) { return filtration(a, Array(b) > 1).set(0); }, x, grid);
  in_every_form("masked_view", [](auto&& a, auto&& b) { return masked_view(a, b > 1).add(1); }, x, grid);
  in_every_form("setdiff1d", [](auto&& a, auto&& b) { return setdiff1d(a, b); }, x, grid);
  auto a = asarray(x), g = asarray(grid);
  EXPECT_TRUE(array_equal(index_view(a, xt::xtensor<int, 2>{{3}, {0}}), array({7., 0.5}, f64)));
  EXPECT_TRUE(array_equal(view(a, xt::xtensor<int, 1>{3, 0}), array({7., 0.5}, f64)));
  EXPECT_TRUE(array_equal(at(a, xt::xtensor<int, 1>{3}).set(grid(0)), at(a, 3).set(0)));
  EXPECT_TRUE(allclose(a, x));
  EXPECT_TRUE(allclose(x, a, 1e-3, 1e-3));
  EXPECT_FALSE(allclose(x, g));
  EXPECT_TRUE(array_equal(isclose(a, grid, 0., 0.6), isclose(a, g, {.rtol = 0, .atol = 0.6})));
  EXPECT_TRUE(array_equal(isclose(a, grid, {.atol = 0.6}), isclose(a, g, {.atol = 0.6})));
}
TEST(XtensorMixed, ThreeOperandsInEveryPlace) {
  auto x = first(), y = second();
  Array a = asarray(x), b = asarray(y);
  auto same = [](const Array& got, const Array& want) {
    EXPECT_EQ(got.type(), want.type());
    EXPECT_TRUE(array_equal(got, want));
  };
  same(where(x > 0., a, 0.F), where(a > 0, a, 0));
  same(where(a > 0, x, 0), where(a > 0, a, 0));
  same(where(a > 0, 1, y), where(a > 0, 1, b));
  same(where(a > 0, x, y), where(a > 0, a, b));
  same(where(x > 0., a, b), where(a > 0, a, b));
  same(where(x > 0., y, a), where(a > 0, b, a));
  same(where(x > 0., 1, a), where(a > 0, 1, a));
  same(clip(a, xt::minimum(x, y), 3.), clip(a, minimum(a, b), full({}, 3, f64)));
  same(clip(x, b, 3), clip(a, b, full({}, 3, f64)));
  same(clip(x, a, y), clip(a, a, b));
  same(fma(x, a, y), fma(a, a, b));
  same(fma(x, a, 2), fma(a, a, full({}, 2, f64)));
  same(interp(xt::xtensor<double, 1>{1.5}, array({1., 2.}, f64), xt::xtensor<double, 1>{10, 20}), array({15.}, f64));
}
TEST(XtensorMixed, CallsOfXtensorAloneStayXtensors) {
  auto x = first(), y = second();
  static_assert(xt::is_xexpression<decltype(x + y)>::value && xt::is_xexpression<decltype(maximum(x, y))>::value);
  static_assert(xt::is_xexpression<decltype(where(x > 0., x, y))>::value);
  static_assert(xt::is_xexpression<decltype(sum(tanh(x) * 2))>::value);
  static_assert(xt::is_xexpression<decltype(sum(x, {0}))>::value);
  static_assert(xt::is_xexpression<decltype(view(x, 0))>::value && xt::is_xexpression<decltype(transpose(x))>::value);
  auto v = as_xtensor<double, 2>(asarray(x));  // its memory's owner brings in no name of Bora
  static_assert(xt::is_xexpression<decltype(sum(v))>::value && xt::is_xexpression<decltype(v * x)>::value);
  static_assert(xt::is_xexpression<decltype(hypot(v, x))>::value);
  EXPECT_TRUE(array_equal(bora::matmul(x, xt::transpose(y)), matmul(asarray(x), transpose(asarray(y)))));
  static_assert(is_array<decltype(view(x, bora::all(), 1))> && is_array<decltype(bora::view(x, 1))>);
  EXPECT_TRUE(array_equal(view(x, bora::all(), 1), view(asarray(x), all(), 1)));
  EXPECT_TRUE(array_equal(bora::view(x, 1, -1), view(asarray(x), 1, -1)));
  EXPECT_TRUE(array_equal(bora::sum(x, {0}), sum(asarray(x), {0})));
  EXPECT_TRUE(array_equal(bora::maximum(x, y), maximum(asarray(x), asarray(y))));
}
TEST(XtensorMixed, NumbersAndBoolsAreNoArrays) {
  static_assert(!std::is_convertible_v<float, Array> && !std::is_constructible_v<Array, double>);
  static_assert(!std::is_convertible_v<bool, Array> && !std::is_constructible_v<Array, int>);
  static_assert(!std::is_convertible_v<std::vector<float>, Array>);
  static_assert(std::is_convertible_v<Matrix, Array> && std::is_convertible_v<const Matrix&, Array>);
  static_assert(!std::is_convertible_v<Matrix, NamedArray>);
}
TEST(XtensorMixed, AnArrayMadeOfAnXtensorKeepsItsNumbers) {
  auto x = first();
  Array a = x, adopted;
  auto* memory = x.data();
  x(0, 0) = 100;
  EXPECT_EQ(view(a, 0, 0).item<double>(), 0.5);
  adopted = std::move(x);
  EXPECT_EQ(adopted.bytes(), static_cast<const void*>(memory));
  std::vector<double> numbers{1, 2, 3, 4};  // an adaptor owns nothing: also an rvalue is copied
  Array copied = xt::adapt(numbers, std::vector<std::size_t>{2, 2});
  numbers[0] = 100;
  EXPECT_TRUE(array_equal(copied, array({{1., 2.}, {3., 4.}}, f64)));
  EXPECT_EQ(asarray(xt::xtensor<float, 2>()).shape(), (Shape{0, 0}));
  EXPECT_EQ(asarray(xt::xtensor<float, 2>({0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(asarray(xt::xtensor<float, 0>(2.F)).shape(), Shape{});
  EXPECT_EQ((asarray(xt::xtensor_fixed<float, xt::xshape<2, 3>>{{1, 2, 3}, {4, 5, 6}}).shape()), (Shape{2, 3}));
  EXPECT_EQ(asarray(xt::xtensor<std::complex<double>, 1>{{1, 2}}).dtype(), complex128);
  EXPECT_EQ((zeros({2}) + xt::xtensor<float, 0>(2.F)).shape(), Shape{2});
}
TEST(XtensorMixed, ErrorsAreThoseOfArrays) {
  auto x = first();
  says<ShapeError>([&] { return zeros({7, 5}) + x; }, "[7, 5]");
  says<ShapeError>([&] { return matmul(zeros({4, 8}), x); }, "inner sizes differ");
}
}  // namespace
}  // namespace xtensor_mixed_test
