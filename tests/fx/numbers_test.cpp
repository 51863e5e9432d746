// Plain numbers where JAX takes Python's scalars: types and values are those of jax 0.4.
#include "bora/fx/numbers.h"
#include "bora/fx/argnums.h"
#include "bora/fx/jit.h"
#include "bora/fx/lower.h"
#include "bora/fx/transforms.h"
#include "bora/named/transforms.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ops.h"
#include "bora/ops/reductions.h"
#include "fx/forms.h"

namespace numbers_test {
namespace {
using namespace bora;
using forms_tests::close;
const Dtype kDtypes[] = {boolean, u8, u16, u32, i8, i16, i32, i64, bf16, f16, f32, f64, Dtype::complex64};
const auto add = [](const Array& c, const Array& x) { return std::pair{c + x, none}; };

TEST(Numbers, ACarryIsWeakUntilTheBodyMeetsAnArray) {
  for (auto d : kDtypes) {
    auto x = ones({3}, d);
    // A number beside an Array keeps the Array's dtype: so does a carry that begins as one.
    EXPECT_EQ(scan(add, 0, x).first.dtype(), (x + 0).dtype()) << to_string(x.type());
    EXPECT_EQ(scan(add, 0., x).first.dtype(), (x + 0.).dtype()) << to_string(x.type());
    auto sum_of = [&](auto first) {
      return fori_loop(0, 3, [&](const Array&, const Array& c) { return c + view(x, 0); }, first);
    };
    EXPECT_EQ(sum_of(0).dtype(), (x + 0).dtype()) << to_string(x.type());
    EXPECT_EQ(sum_of(0.F).dtype(), (x + 0.).dtype()) << to_string(x.type());
    auto until = [&](auto first) {
      return while_loop([](const Array& c) { return real(c) < 3; }, [&](const Array& c) { return c + view(x, 0); },
                        first);
    };
    EXPECT_EQ(until(0).dtype(), (x + 0).dtype()) << to_string(x.type());
    EXPECT_EQ(until(0.).dtype(), (x + 0.).dtype()) << to_string(x.type());
  }
  close(scan(add, 0, array({1.5, 2.5})).first, array(4.));
  close(jit([](const Array& x) { return scan(add, 0, x).first; })(array({1.5, 2.5})), array(4.));
  close(grad([](const Array& x) { return scan(add, 0, x).first; })(array({1.5, 2.5})), ones({2}));
  close(vmap([](const Array& x) { return scan(add, 0, x).first; })(ones({2, 3})), full({2}, 3.));
}
TEST(Numbers, ACarryOfItsOwnHasItsDefault) {
  auto keep = [](const auto& c, const Array& x) { return std::pair{c, x}; };
  auto x = ones({3});
  EXPECT_EQ(scan(keep, 7, x).first.dtype(), i32);
  EXPECT_EQ(scan(keep, 7., x).first.dtype(), f32);
  EXPECT_EQ(scan(keep, true, x).first.dtype(), boolean);
  auto count = while_loop([](const Array& c) { return c < 10; }, [](const Array& c) { return c + 1; }, 0);
  EXPECT_EQ(count.type(), (Type{{}, i32}));
  EXPECT_EQ(count.item<int>(), 10);
  EXPECT_EQ(fori_loop(0, 4, [](const Array& i, const Array& c) { return c + i; }, 0).item<int>(), 6);
  EXPECT_THROW((void)scan([](const Array&, const Array& v) { return std::pair{v > 0, none}; }, 0, ones({3, 2})),
               ShapeError);
}
TEST(Numbers, PartsOfPairsAndTuplesAreArrays) {
  auto body = [](const auto& c, const Array& x) {
    auto& [n, total] = c;
    return std::pair{std::pair{n + 1, total + x}, n};
  };
  auto [last, ys] = scan(body, std::pair{0, 0.}, array({1., 2.}, bf16));
  EXPECT_EQ(last.first.item<int>(), 2);
  EXPECT_EQ(last.second.type(), (Type{{}, bf16}));
  EXPECT_TRUE(array_equal(ys, array({0, 1})));
  auto [k, v] = while_loop([](const std::tuple<Array, Array>& c) { return std::get<0>(c) < 3; },
                           [](const std::tuple<Array, Array>& c) {
                             return std::tuple{std::get<0>(c) + 1, std::get<1>(c) * 2};
                           },
                           std::tuple{0, 1.});
  close(v, array(8.));
  EXPECT_EQ(k.item<int>(), 3);
}
TEST(Numbers, ResultsAreArrays) {
  auto x = ones({3});
  EXPECT_TRUE(array_equal(scan([](const Array& c, const Array&) { return std::pair{c, 5}; }, 0., x).second,
                          array({5, 5, 5})));
  EXPECT_TRUE(array_equal(fx::map([](const Array&) { return 5; }, x), array({5, 5, 5})));
  for (bool p : {true, false}) {
    EXPECT_EQ(cond(p, [] { return 1; }, [] { return 2; }).item<int>(), p ? 1 : 2);
    close(cond(array(p), [](const Array& v) { return v; }, [](const Array&) { return 0.; }, 3.), array(p ? 3. : 0.));
    close(jit([](const Array& q) { return cond(q, [] { return 1.; }, [] { return 2.; }); })(array(p)),
          array(p ? 1. : 2.));
  }
  close(switch_(1, std::tuple{[](const Array& v) { return v; }, [](const Array&) { return 7.; }}, 2.), array(7.));
}
TEST(Numbers, FunctionsOfArraysAreCalledWithThem) {
  auto product = [](const Array& a, const Array& b) { return a * b; };
  auto x = array({1., 2.});
  close(vmap(product, {.in = {0, none}})(x, 3.), x * 3);
  close(jit(product)(x, 3), array({3., 6.}));
  auto f = jit(product);
  (void)f(x, 3.), (void)f(x, 4.);
  EXPECT_EQ(f.traces(), 1);  // the number is an Array, and not part of the key
  close(checkpoint(product)(x, 3.), x * 3);
  EXPECT_EQ(eval_shape(product, x, 3.).shape(), Shape({2}));
  close(lower(product, x, 3.).compile()(x, array(3.)), x * 3);
  // A number stays one where f takes it.
  EXPECT_EQ(jit([](const Array& a, int n) { return reshape(a, {n, 1}); })(x, 2).shape(), Shape({2, 1}));
}
TEST(Numbers, DerivativesByFractions) {
  auto cube = [](const auto& x) { return x * x * x; };
  auto product = [](const auto& a, const auto& b) { return a * sin(b); };
  close(grad(cube)(2.), array(12.));
  close(value_and_grad(cube)(2.F).first, array(8.));
  close(hessian(cube)(2.), array(12.));
  close(jacfwd(cube)(2.), array(12.));
  close(jvp(cube, 2., 1.).second, array(12.));
  close(vjp(cube, 2.).second(array(1.)), array(12.));
  close(linearize(cube, 2.).second(array(1.)), array(12.));
  close(grad<1>(product)(array(3.), 0.), array(3.));
  auto [da, db] = grad<0, 1>(product)(3., 0.);
  close(da, array(0.));
  close(db, array(3.));
  close(jvp(product, std::tuple{array(3.), 0.}, std::tuple{array(0.), 1.}).second, array(3.));
  EXPECT_THROW((void)grad(cube)(2), DtypeError);
}
TEST(Numbers, LoopsOverANamedAxis) {
  Axis rows{"rows", 3};
  auto x = named(array({1., 2., 3.}), rows);
  auto step = [](const Array& c, const NamedArray& v) { return c + v.array(); };
  close(fold(step, rows)(0, x), array(6.));
  auto [last, ys] = scan([](const Array& c, const NamedArray& v) { return std::pair{c + v.array(), v}; }, rows)(0, x);
  close(last, array(6.));
}
}  // namespace
}  // namespace numbers_test
