// xtensor: transforms called with its containers give what the same transform gives of Arrays, in containers.
#include "bora/xtensor.h"
#include <gtest/gtest.h>
#include "bora/bora.h"
#include "support/throws.h"

namespace xtensor_transforms_test {
namespace {
using namespace bora;
using bora::test::says;
using Vector = xt::xtensor<double, 1>;
using Matrix = xt::xtensor<double, 2>;
template <class A, class B> constexpr bool same_type = std::is_same_v<std::remove_cvref_t<A>, B>;
Vector vector() { return {0.5, -1.25, 2.0}; }
Matrix matrix() { return {{0.5, -1.25, 2.0}, {3.5, 0.25, -0.75}}; }
/// xtensor's numbers are those of the Array, bit for bit.
template <class X> void same(const X& got, const Array& want) {
  EXPECT_EQ(asarray(got).type(), want.type());
  EXPECT_TRUE(array_equal(asarray(got), want)) << asarray(got) << " and " << want;
}
const auto cubes = [](const auto& x) { return sum(x * x * x); };

TEST(XtensorTransforms, AGradientHasTheContainerOfItsArgument) {
  auto check = [](const auto& x) {
    auto g = grad(cubes)(x);
    static_assert(same_type<decltype(g), std::remove_cvref_t<decltype(x)>>);
    same(g, grad(cubes)(asarray(x)));
    auto [value, slope] = value_and_grad(cubes)(x);
    static_assert(same_type<decltype(slope), std::remove_cvref_t<decltype(x)>>);
    same(value, cubes(asarray(x)));
    same(slope, asarray(g));
  };
  check(vector());
  check(matrix());
  check(xt::xtensor<float, 2>(xt::cast<float>(matrix())));
  check(xt::xarray<double>(matrix()));
  check(xt::xarray<float>(xt::cast<float>(matrix())));
  check(xt::xtensor<double, 2, xt::layout_type::column_major>(matrix()));
  check(xt::xarray<double, xt::layout_type::column_major>(matrix()));
  check(xt::xtensor_fixed<double, xt::xshape<2, 2>>{{1, 2}, {3, 4}});
  check(xt::xtensor<double, 0>(3.0));
  check(xt::xarray<double>(3.0));
  check(xt::xtensor<double, 2>({0, 3}));
}
TEST(XtensorTransforms, AnExpressionsGradientIsAnEvaluatedOne) {
  auto x = matrix();
  auto lazy = grad(cubes)(x + 1);
  auto row = grad(cubes)(xt::view(x, 0, xt::all()));
  auto column = grad(cubes)(xt::view(x, xt::all(), 1));
  auto dynamic = grad(cubes)(xt::xarray<double>(x) * 2);
  Array a = asarray(x);
  auto adaptor = grad(cubes)(as_xtensor<double, 2>(a));
  static_assert(same_type<decltype(lazy), Matrix> && same_type<decltype(row), Vector>);
  static_assert(same_type<decltype(adaptor), Matrix> && same_type<decltype(dynamic), xt::xarray<double>>);
  same(lazy, grad(cubes)(a + 1));
  same(row, grad(cubes)(view(a, 0)));
  same(column, grad(cubes)(view(a, all(), 1)));
  same(dynamic, grad(cubes)(a * 2));
  same(adaptor, grad(cubes)(a));
}
TEST(XtensorTransforms, ResultsOfOtherRanks) {
  auto x = vector();
  auto m = matrix();
  Array a = asarray(x), b = asarray(m);
  auto twice = [](const auto& v) { return v * 2; };
  auto [value, slope] = value_and_grad(cubes)(x);
  static_assert(same_type<decltype(value), xt::xtensor<double, 0>>);
  EXPECT_EQ(value(), cubes(a).item<double>());
  auto [flat, of_flat] = value_and_grad(cubes)(xt::xarray<double>(x));
  static_assert(same_type<decltype(flat), xt::xarray<double>>);
  static_assert(same_type<decltype(hessian(cubes)(x)), Matrix>);
  static_assert(same_type<decltype(hessian(cubes)(m)), xt::xtensor<double, 4>>);
  static_assert(same_type<decltype(hessian(cubes)(xt::xarray<double>(x))), xt::xarray<double>>);
  same(hessian(cubes)(x), hessian(cubes)(a));
  same(hessian(cubes)(m), hessian(cubes)(b));
  same(jacrev(twice)(x), jacrev(twice)(a));
  same(jacfwd(twice)(m), jacfwd(twice)(b));
  same(jit(twice)(m), b * 2);
  same(vmap(cubes)(m), vmap(cubes)(b));
  same(vmap(twice, {.in = 1, .out = 1})(m), b * 2);
  same(vmap(grad(cubes))(m), vmap(grad(cubes))(b));
  same(checkpoint(twice, remat::dots)(m), b * 2);
  Matrix y = jit(twice)(m);  // an xarray becomes an xtensor of its rank
  same(y, b * 2);
  EXPECT_EQ(jit([](const auto& v) { return v > 0; })(x)(1), 0);  // booleans as the value type
}
struct Model {
  Matrix w;
  Vector b;
  int n = 3;
  bool operator==(const Model&) const = default;
};
const auto loss = [](const auto& p, const auto& x) {
  const auto& [w, b, n] = p;
  return mean(square(matmul(x, w) + b)) * n;
};
Model model() { return {matrix(), vector()}; }
TEST(XtensorTransforms, AStructOfContainersComesAsTheTupleOfItsFields) {
  xt::xtensor<double, 2> x{{1, 2}, {3, 4}, {5, 6}};
  auto m = model();
  std::tuple t{asarray(m.w), asarray(m.b), 3};
  auto [value, g] = value_and_grad(loss)(m, x);
  static_assert(same_type<decltype(g), Model> && same_type<decltype(value), xt::xtensor<double, 0>>);
  auto want = grad(loss)(t, asarray(x));
  same(g.w, std::get<0>(want));
  same(g.b, std::get<1>(want));
  EXPECT_EQ(g.n, 3);
  same(value, loss(t, asarray(x)));
  auto staged = jit(grad(loss))(m, x);
  static_assert(same_type<decltype(staged), Model>);
  same(staged.w, std::get<0>(want));
  auto step = jit([](const auto& p, const auto& in) {
    auto [l, d] = value_and_grad(loss)(p, in);
    return std::pair{tree::map([](const Array& a, const Array& b) { return a - 0.1 * b; }, p, d), l};
  });
  auto [next, l] = step(m, x);  // what has p's type becomes a Model
  static_assert(same_type<decltype(next), Model> && same_type<decltype(l), xt::xarray<double>>);
  same(next.w, std::get<0>(t) - 0.1 * std::get<0>(want));
  auto per_row = [](const auto& p, const auto& row) { return sum(matmul(row, std::get<0>(p))); };
  auto [dw, db, n] = vmap(grad(per_row), {.in = {none, 0}})(m, x);  // one more dimension: no Model
  static_assert(same_type<decltype(dw), xt::xarray<double>>);
  EXPECT_EQ(asarray(dw).shape(), (Shape{3, 2, 3}));
  auto [sw, sb, sn] = jit(vmap(grad(per_row), {.in = {none, 0}}))(m, x);
  same(sw, asarray(dw));
  auto twice = tree::paths(eval_shape([](const auto& p) { return p; }, m));
  EXPECT_EQ(twice, (std::vector<std::string>{"w", "b"}));
}
struct Mixed {
  xt::xtensor<float, 2> w;
  Array b;
};
TEST(XtensorTransforms, FieldsMayBeArraysToo) {
  Mixed m{xt::ones<float>({2, 2}), ones({2})};
  auto f = [](const auto& p) {
    const auto& [w, b] = p;
    return sum(matmul(w, b));
  };
  auto [value, g] = value_and_grad(f)(m);
  static_assert(same_type<decltype(g), Mixed> && same_type<decltype(value), Array>);
  EXPECT_EQ(value.item<float>(), 4);
  same(g.w, ones({2, 2}));
  EXPECT_TRUE(array_equal(g.b, array({2., 2.})));
  auto x = xt::xtensor<float, 1>{1, 2};
  Array y = jit([](const auto& a, const auto& b) { return a + b; })(x, ones({2}));  // an Array beside it: Arrays
  EXPECT_TRUE(array_equal(y, array({2., 3.})));
}
template <class W, class B> struct Linear {
  W weight;
  B bias;
  template <class X> auto operator()(const X& x) const { return matmul(x, weight) + bias; }
};
TEST(XtensorTransforms, AStructTemplateIsRebound) {
  Linear<Matrix, Vector> layer{matrix(), vector()};
  xt::xtensor<double, 2> x{{1, 2}, {3, 4}};
  auto f = [](const Linear<Array, Array>& l, const Array& in) { return sum(square(l(in))); };
  auto g = grad(f)(layer, x);
  static_assert(same_type<decltype(g), Linear<Matrix, Vector>>);
  auto want = grad(f)(Linear<Array, Array>{asarray(layer.weight), asarray(layer.bias)}, asarray(x));
  same(g.weight, want.weight);
  same(g.bias, want.bias);
  auto same_layer = jit([](const Linear<Array, Array>& l) { return l; })(layer);
  static_assert(same_type<decltype(same_layer), Linear<Matrix, Vector>>);
  same(same_layer.weight, asarray(layer.weight));
}
struct Nested {
  Model inner;
  std::vector<Vector> list;
  std::optional<xt::xarray<double>> maybe;
  std::map<std::string, Matrix> named;
};
TEST(XtensorTransforms, Containers) {
  Nested n{model(), {vector(), vector() * 2}, xt::xarray<double>(matrix()), {{"a", matrix()}}};
  auto f = [](const auto& p) {
    const auto& [inner, list, maybe, named] = p;
    const auto& [w, b, k] = inner;
    return sum(w) + k * sum(b * list[0]) + sum(square(list[1])) + sum(*maybe * named.at("a"));
  };
  auto g = grad(f)(n);
  static_assert(same_type<decltype(g), Nested>);
  same(g.inner.w, ones({2, 3}, f64));
  same(g.list[1], asarray(n.list[1]) * 2);
  same(*g.maybe, asarray(matrix()));
  same(g.named.at("a"), asarray(matrix()));
  auto pair = grad([](const auto& p) { return sum(p.first * p.second); })(std::pair{vector(), vector()});
  same(pair.first, asarray(vector()));
  auto two = grad([](const auto& p) { return sum(p[0] * p[1]); })(std::array{vector(), vector()});
  same(two[1], asarray(vector()));
  auto [g0, g1] = grad<0, 1>([](const auto& a, const auto& b) { return sum(a * b); })(vector(), vector());
  static_assert(same_type<decltype(g0), Vector>);
  same(g1, asarray(vector()));
  same((grad<1>([](const auto& a, const auto& b) { return sum(a * b); })(matrix(), vector())),
       sum(asarray(matrix()), 0));
}
TEST(XtensorTransforms, AuxResults) {
  auto f = [](const auto& x) { return std::pair{sum(x * x), std::tuple{x * 2, 7}}; };
  auto [value, aux, g] = value_and_grad(f)(vector());
  static_assert(same_type<decltype(std::get<0>(aux)), xt::xarray<double>>);
  same(std::get<0>(aux), asarray(vector()) * 2);
  EXPECT_EQ(std::get<1>(aux), 7);
  auto [only, with] = grad(f)(vector());
  same(only, asarray(vector()) * 2);
  same(std::get<0>(with), asarray(vector()) * 2);
  auto [j, jaux] = jacrev(has_aux(f))(vector());
  same(j, asarray(vector()) * 2);
}
TEST(XtensorTransforms, LinearizedFunctions) {
  auto x = vector();
  Array a = asarray(x);
  auto f = [](const auto& v) { return v * v; };
  auto [y, dy] = jvp(f, x, Vector(xt::ones_like(x)));
  same(y, a * a);
  same(dy, a * 2);
  auto lazy = jvp(f, x, xt::ones_like(x));
  same(lazy.second, a * 2);
  auto [z, dz] = jvp([](const auto& u, const auto& v) { return u * v; }, std::tuple{x, x}, std::tuple{x, x});
  same(dz, a * a * 2);
  auto [out, pull] = vjp(f, x);
  auto back = pull(xt::ones_like(x));
  static_assert(same_type<decltype(back), Vector>);
  same(back, a * 2);
  same(pull(out), a * 2 * a * a);
  same(pull(ones({3}, f64)), a * 2);
  auto [out2, pull2] = vjp([](const auto& u, const auto& v) { return sum(u * v); }, x, x);
  auto [gu, gv] = pull2(xt::xtensor<double, 0>(1));
  same(gu, a);
  same(gv, a);
  auto [o3, pull3, aux3] = vjp(has_aux([](const auto& v) { return std::pair{v * 2, sum(v)}; }), x);
  same(pull3(x), a * 2);
  same(aux3, sum(a));
  auto [l, push] = linearize(f, x);
  same(push(x), a * a * 2);
  same(hvp(cubes, x, x), hvp(cubes, a, a));
  same(linear_transpose([](const auto& v) { return v * 3; }, x)(x), a * 3);
}
TEST(XtensorTransforms, LoopsAndBranches) {
  auto x = vector();
  auto m = matrix();
  Array a = asarray(x), b = asarray(m);
  auto body = [](const auto& c, const auto& row) { return std::pair{c + row, sum(c)}; };
  auto [last, ys] = scan(body, x, m);
  auto [want, wants] = scan(body, a, b);
  static_assert(same_type<decltype(last), Vector> && same_type<decltype(ys), xt::xarray<double>>);
  same(last, want);
  same(ys, wants);
  auto twice = [](const auto& c, const auto&) { return std::pair{c * 2, none}; };
  auto [rest, no_ys] = scan(twice, x, none, {.length = 3});
  same(rest, a * 8);
  same(cond(xt::sum(x) > 0., [](const auto& v) { return v; }, [](const auto& v) { return -v; }, x), a);
  same(while_loop([](const auto& v) { return sum(v) < 100; }, [](const auto& v) { return v * 2; }, x), a * 128);
  same(fori_loop(0, 3, [](const Array&, const auto& v) { return v * 2; }, x), a * 8);
  same(switch_(array(1), std::tuple{[](const auto& v) { return v; }, [](const auto& v) { return v * 5; }}, x), a * 5);
  same(fx::map([](const auto& row) { return sum(row); }, m), sum(b, 1));
  same(associative_scan([](const auto& u, const auto& v) { return u + v; }, m), cumsum(b, 0));
  auto decay = [](const auto& y, const Array&) { return -y; };
  same(integrate::odeint(decay, x, xt::xtensor<double, 1>{0, 1}),
       integrate::odeint(decay, a, array({0., 1.}, f64)));
  EXPECT_EQ(eval_shape(cubes, m).shape(), Shape{});
  Array compiled = lower(cubes, m).compile()(m);
  EXPECT_TRUE(array_equal(compiled, cubes(b)));
  EXPECT_NE(print(*program_of(cubes, m)).find("f64[2, 3]"), std::string::npos);
}
TEST(XtensorTransforms, CustomRulesAndOperations) {
  auto f = custom_vjp([](const Array& x) { return x * x; },
                      [](const Array& x) { return std::pair{x * x, x}; },
                      [](const Array& x, const Array& ct) { return 10 * ct * x; });
  same(f(vector()), asarray(vector() * vector()));
  same(grad([&](const auto& x) { return sum(f(x)); })(vector()), 10 * asarray(vector()));
  auto h = custom_jvp([](const Array& x) { return x * 2; },
                      [](const Array& x, const Array& dx) { return std::pair{x * 2, dx * 7}; });
  same(grad([&](const auto& x) { return sum(h(x)); })(vector()), full({3}, 7, f64));
  same(h(vector()), asarray(vector()) * 2);
  auto op = custom_op("halved", {.eval = [](const xt::xarray<double>& x) { return x / 2; }, .elementwise = true});
  EXPECT_TRUE(array_equal(op(vector()), asarray(vector()) / 2));
}
TEST(XtensorTransforms, JittedTwiceIsStagedOnce) {
  auto f = jit([](const auto& x, const auto& y) { return x + y; });
  same(f(vector(), vector()), asarray(vector()) * 2);
  auto x = vector();
  same(f(x, xt::xtensor<double, 1>(x)), asarray(x) * 2);
  same(x, asarray(vector()));
  EXPECT_EQ(f.traces(), 1);
}
TEST(XtensorTransforms, ValueTypesArePromoted) {
  auto add = jit([](const auto& x, const auto& y) { return x + y; });
  auto both = add(xt::xtensor<int, 1>{1, 2}, xt::xtensor<float, 1>{1, 2});
  static_assert(same_type<decltype(both), xt::xarray<float>>);
  auto wide = add(xt::xtensor<float, 1>{1, 2}, xt::xtensor<double, 1>{1, 2});
  static_assert(same_type<decltype(wide), xt::xarray<double>>);
  auto complex = add(xt::xtensor<std::complex<float>, 1>{{1, 2}}, xt::xtensor<float, 1>{1});
  static_assert(same_type<decltype(complex), xt::xarray<std::complex<float>>>);
  auto each = [&]<class A, class B>(A, B) {
    using V = typename decltype(fx::promoted<A, B>())::type;
    EXPECT_EQ(dtype_of<V>, promote(dtype_of<A>, dtype_of<B>)) << dtype_of<A> << " " << dtype_of<B>;
  };
  auto with_all = [&](auto a) {
    each(a, true), each(a, std::int8_t()), each(a, std::uint8_t()), each(a, std::int16_t()), each(a, std::uint16_t());
    each(a, std::int32_t()), each(a, std::uint32_t()), each(a, std::int64_t()), each(a, std::uint64_t());
    each(a, 0.F), each(a, 0.), each(a, std::complex<float>()), each(a, std::complex<double>());
  };
  with_all(true), with_all(std::int8_t()), with_all(std::uint8_t()), with_all(std::int16_t());
  with_all(std::uint16_t()), with_all(std::int32_t()), with_all(std::uint32_t()), with_all(std::int64_t());
  with_all(std::uint64_t()), with_all(0.F), with_all(0.), with_all(std::complex<float>());
  with_all(std::complex<double>());
}
struct Counted {
  Vector x;
  xt::xtensor<int, 1> n;
  xt::xarray<int> k;
};
TEST(XtensorTransforms, WrongValuesSaySo) {
  auto ints = xt::xtensor<int, 1>{1, 2};
  says<DtypeError>([&] { return grad([](const auto& x) { return sum(x * 1.5); })(ints); }, "grad");
  says<DtypeError>([&] { return jit([](const auto& x) { return x * 1.5; })(ints); },
                   "a result is f32[2], and the value type of its container i32; call the transform with asarray(x)");
  says<ShapeError>([&] { return hessian([](const auto& x) { return x * x; })(vector()); },
                   "a result is f64[3, 3, 3], and its container an xtensor of rank 2");
  says<ShapeError>([&] { return grad([](const auto& x) { return x * 2; })(vector()); }, "scalar");
  says<ShapeError>([&] { return vmap(cubes)(xt::xtensor<double, 0>(1)); }, "vmap");
  auto g = grad([](const auto& p) { return sum(std::get<0>(p) * std::get<1>(p)); })(Counted{{1, 2}, {3, 4}, {5, 6}});
  same(g.x, array({3., 4.}, f64));
  EXPECT_EQ(g.n.size() + g.k.size(), 0U) << "integers have no gradient";
  auto analytic = [](const auto& z) { return z * z; };
  EXPECT_THROW((void)grad(analytic)(xt::xtensor<std::complex<double>, 0>({1, 2})), DtypeError);
}
}  // namespace
}  // namespace xtensor_transforms_test
