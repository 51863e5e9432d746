// linearize, linear_transpose, auxiliary results, Jacobians of trees, argnums, custom_jvp, closure_convert,
// custom_root, custom_linear_solve: numbers of JAX or closed forms, and what errors say.
#include "bora/fx/transforms.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ops.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "fx/forms.h"
#include "support/throws.h"

namespace derivative_forms_test {
namespace {
using namespace bora;
using forms_tests::close;
struct Params {
  Array b, w;
};
struct Out {
  Array n, y;
};
Params params() { return {array({0.1, -0.2}), array({{0.3, -0.4}, {0.5, 0.6}, {-0.7, 0.8}})}; }
Array xs() { return array({1., -2., 0.5}); }
Out net(const Params& p, const Array& x) { return {sum(square(p.w)) * view(p.b, 0), tanh(matmul(x, p.w) + p.b)}; }
Array loss(const Params& p, const Array& x) { return sum(square(net(p, x).y)); }
Array solved(const Array& m, const Array& b) { return squeeze(linalg::solve(m, expand_dims(b, 1)), {1}); }
Array flat(const Array& a) { return ravel(a); }

TEST(Linearize, TracesTheFunctionOnce) {
  int calls = 0;
  auto f = [&](const Params& p) {
    ++calls;
    return net(p, xs());
  };
  auto [y, push] = linearize(f, params());
  for (double s : {1., -2.}) {
    Params d{params().b * s, params().w + s};
    auto got = push(d), want = jvp(f, params(), d).second;
    close(got.n, want.n);
    close(got.y, want.y);
  }
  EXPECT_EQ(calls, 3) << "once, and once for each jvp";
  close(y.y, net(params(), xs()).y);
  close(push({Array(), Array()}).n, array(0.));
  auto all = vmap(push)(Params{stack({params().b, params().b * 2}), stack({params().w, params().w * 2})});
  close(view(all.y, 1), view(all.y, 0) * 2);
  EXPECT_MESSAGE(ShapeError, push({array(1.), params().w}),
                 "linearize: tangent: value 0 has type f32[2] but is given f32[]");
}
TEST(LinearTranspose, IsTheTransposeOfLinearFunctionsOnly) {
  auto m = array({{1., 2., 3.}, {4., 5., 6.}});
  auto back = linear_transpose([&](const Array& x) { return matmul(m * m, x); }, zeros({3}));
  close(back(array({1., -1.})), matmul(array({1., -1.}), m * m));
  auto like = eval_shape([] { return std::pair{zeros({2}), zeros({2})}; });
  auto [a, b] = linear_transpose([](const Array& x, const Array& y) { return sum(x * 2 - y); }, like.first,
                                 like.second)(array(3.));
  close(a, array({6., 6.}));
  close(b, array({-3., -3.}));
  close(linear_transpose(jit([&](const Array& x) { return exp(m) * x; }), array(1.))(m), sum(exp(m) * m), 1e-5F);
  auto steps = [&](const Array& x) {
    return scan([](const Array& c, const Array& s) { return std::pair{c * exp(s), c}; }, x, array({1., 2.}));
  };
  close(linear_transpose(steps, array(1.))(std::pair{array(1.), array({1., 1.})}),
        array(std::exp(3.) + 1 + std::exp(1.)), 1e-5F);
  EXPECT_MESSAGE(TraceError, linear_transpose([](const Array& x) { return x * x; }, array(1.)), "f is not linear");
  EXPECT_MESSAGE(TraceError, linear_transpose([](const Array& x) { return where(x > 0, x, 0); }, array(1.)),
                 "f is not linear");
  EXPECT_MESSAGE(DtypeError, linear_transpose([](const Array& x) { return x * 2; }, array(1)), "an argument is i32[]");
  EXPECT_MESSAGE(ShapeError, back(array(1.)),
                 "linear_transpose: cotangent: value 0 has type f32[2] but is given f32[]");
}
TEST(HasAux, RidesAlong) {
  auto f = has_aux([](const Array& x) { return std::pair{sin(x), std::pair{x * 2, array(7)}}; });
  auto x = array({0.5, 1.});
  auto [y, pull, aux] = vjp(f, x);
  close(y, sin(x));
  close(pull(ones_like(x)), cos(x));
  close(aux.first, x * 2);
  EXPECT_EQ(aux.second.item<int>(), 7);
  auto [z, dz, more] = jvp(f, x, x);
  close(dz, cos(x) * x);
  close(more.first, x * 2);
  auto [v, push, rest] = linearize(f, x);
  close(push(x), cos(x) * x);
  for (auto& [j, a] : {jacrev(f)(x), jacfwd(f)(x)}) {
    close(j, diag(cos(x)));
    close(a.first, x * 2);
  }
  auto both = hessian(has_aux([](const Array& a) { return std::pair{sum(sin(a)), a}; }))(x);
  close(both.first, diag(-sin(x)));
  close(both.second, x);
  auto two = has_aux([](const Array& a, const Array& b) { return std::pair{a * b, b}; });
  auto [p, dp, q] = jvp(two, std::tuple{x, x + 1}, std::tuple{x, x});
  close(dp, x * (x + 1) + x * x);
  close(q, x + 1);
}
TEST(Jacobian, HasABlockForEachPairOfLeaves) {  // the numbers of JAX
  auto y_b = array({0.45272088F, 0.F, 0.F, 0.21615231F});
  auto y_w = array(
      {0.45272088F, 0.F, -0.90544176F, 0.F, 0.22636044F, 0.F, 0.F, 0.21615231F, 0.F, -0.43230462F, 0.F, 0.10807616F});
  for (auto& j : {jacrev(net)(params(), xs()), jacfwd(net)(params(), xs()), jit(jacfwd(net))(params(), xs())}) {
    ASSERT_EQ(j.size(), 2U);
    close(flat(j.at("y").b), y_b);
    close(flat(j.at("y").w), y_w);
    EXPECT_EQ(j.at("y").w.shape(), Shape({2, 3, 2}));
    close(flat(j.at("n").w), array({0.06, -0.08, 0.1, 0.12, -0.14, 0.16}));
    close(j.at("n").b, array({1.99, 0.}));
  }
  auto h = hessian(loss)(params(), xs());
  close(flat(h.at("b").b), array({-0.58114624F, 0.F, 0.F, -0.58427835F}));
  close(flat(h.at("b").w), array({-0.58114624F, 0.F, 1.16229248F, 0.F, -0.29057312F, 0.F, 0.F, -0.58427835F, 0.F,
                                  1.16855669F, 0.F, -0.29213917F}));
  EXPECT_EQ(h.at("w").b.shape(), Shape({3, 2, 2}));
  auto v = hvp(loss, params(), Params{params().b + 1, params().w + 1}, xs());
  close(v.b, array({0.26151586F, 0.52585053F}), 3e-6F);
  close(flat(v.w), array({0.26151586F, 0.52585053F, -0.52303171F, -1.05170107F, 0.13075793F, 0.26292527F}), 3e-6F);
  auto counted = jacrev([](const std::pair<Array, Array>& p) { return p.first * 2; })(std::pair{xs(), array(3)});
  EXPECT_FALSE(counted.second.defined()) << "an integer has no derivative";
  EXPECT_MESSAGE(DtypeError, jacrev([](const Array& a) { return a > 0; })(xs()),
                 "a Jacobian needs floating values, got bool[3]");
  EXPECT_MESSAGE(DtypeError, jacfwd([](const Array& a) { return a; })(array(1)),
                 "a Jacobian needs floating values, got i32[]");
  auto turned = [](const Array& a) { return complex(cos(a), sin(a * a)); };
  auto j = jit(jacfwd(turned))(xs());  // a real argument, a complex result
  close(real(j), diag(-sin(xs())));
  close(imag(j), diag(2 * xs() * cos(xs() * xs())));
  EXPECT_MESSAGE(DtypeError, jacrev(turned)(xs()), "got complex64[3]; jacfwd takes complex results");
  EXPECT_MESSAGE(DtypeError, jacfwd([](const Array& a) { return a; })(complex(xs(), xs())),
                 "got complex64[3]; split it into real and imaginary parts, or use jvp");
}
TEST(Argnums, AreTemplateArguments) {
  auto f = [](const Array& a, const std::pair<Array, Array>& b, const Array& c) {
    return sum(a * b.first * b.second * c);
  };
  auto a = array({2., 3.}), c = array({5., 7.});
  std::pair b{a + 1, a * 2};
  close(grad<2>(f)(a, b, c), a * b.first * b.second);
  close(grad<-1>(f)(a, b, c), a * b.first * b.second);
  close(grad<1>(f)(a, b, c).second, a * b.first * c);
  auto [value, g] = value_and_grad<2, 1>(f)(a, b, c);
  close(value, f(a, b, c));
  close(std::get<0>(g), a * b.first * b.second);
  close(std::get<1>(g).first, a * b.second * c);
  auto product = [](const Array& x, const Array& y) { return x * y; };
  close(jacrev<1>(product)(a, c), diag(a));
  auto [ja, jc] = jit(jacfwd<0, 1>(product))(a, c);
  close(ja, diag(c));
  close(jc, diag(a));
  close(hessian<1>([](const Array& x, const Array& y) { return sum(x * y * y); })(a, c), diag(a * 2));
  auto with_aux = grad<1>([](const Array& x, const Array& y) { return std::pair{sum(x * y), y}; })(a, c);
  close(with_aux.first, a);
  close(with_aux.second, c);
  EXPECT_MESSAGE(DtypeError, grad<1>([](const Array& x, const Array& i) { return sum(x * i); })(a, array({1, 2})),
                 "no floating leaves to differentiate with respect to in argument 1 (i32[2])");
}
TEST(CustomJvp, ServesBothDirectionsAndAnyOrder) {
  auto cube = custom_jvp([](const Array& x) { return x * x * x; },
                         [](const Array& x, const Array& dx) {
                           return std::pair{x * x * x, 30 * x * x * dx};  // ten times the derivative, by decree
                         });
  auto x = array({1., 2., -1.});
  auto want = 30 * x * x;
  auto total = [&](const Array& v) { return sum(cube(v)); };
  close(cube(x), x * x * x);
  close(grad(total)(x), want);
  close(jit(grad(total))(x), want);
  close(vmap(grad(cube))(x), want);
  close(jvp(cube, x, x).second, want * x);
  close(hvp(total, x, ones_like(x)), 60 * x);
  auto scanned = grad([&](const Array& v) {
    return scan([&](const Array& c, const Array& s) { return std::pair{cube(c) * s, none}; }, v, array({1., 2.})).first;
  });
  close(scanned(array(0.5)), array(2 * 30 * std::pow(0.125, 2) * 30 * 0.25));
  auto mixed = custom_jvp(  // integers have no tangent; no tangent is zero
      [](const std::pair<Array, Array>& p, const Array& y) { return std::pair{p.first * p.second, y}; },
      [](const auto& x, const auto& dx) {
        auto& [p, y] = x;
        auto& dp = std::get<0>(dx);
        EXPECT_FALSE(dp.second.defined());
        return std::pair{std::pair{p.first * p.second, y}, std::pair{dp.first * 5, Array()}};
      });
  auto g = grad([&](const std::pair<Array, Array>& p, const Array& y) {
    auto r = mixed(p, y);
    return sum(r.first) + sum(r.second);
  })(std::pair{x, array({1, 2, 3})}, x);
  close(g.first, full({3}, 5.));
}
TEST(CustomJvp, SaysWhatIsWrongWithARule) {
  auto f = [](const Array& x) { return x * 2; };
  auto call = [&](auto rule) { return [=] { (void)custom_jvp(f, rule)(array({1., 2.})); }; };
  auto wrong =
      test::error_of<ShapeError>(call([](const Array& x, const Array& dx) { return std::pair{x * 2, sum(dx)}; }));
  EXPECT_NE(wrong.find("custom_jvp: the tangent of the value has type f32[] but the result has f32[2]"),
            std::string::npos)
      << wrong;
  wrong =
      test::error_of<TraceError>(call([](const Array& x, const Array& dx) { return std::pair{x * 2, dx * dx}; }));
  EXPECT_NE(wrong.find("custom_jvp: the rule must be linear in the tangents"), std::string::npos) << wrong;
  wrong = test::error_of<TraceError>(call([](const Array& x, const Array& dx) { return std::pair{x + dx, dx}; }));
  EXPECT_NE(wrong.find("result 0 depends on them"), std::string::npos) << wrong;
  wrong = test::error_of<ShapeError>(
      call([](const Array& x, const Array& dx) { return std::pair{sum(x), sum(dx)}; }));
  EXPECT_NE(wrong.find("custom_jvp: the rule must give what f gives"), std::string::npos) << wrong;
}
TEST(EvalShape, TakesItsOwnResults) {
  auto f = [](const Params& p) { return net(p, xs()); };
  auto shapes = eval_shape(f, params());
  EXPECT_EQ(shapes.y.type(), (Type{{2}, f32}));
  auto again = eval_shape([](const Out& o) { return outer(o.y, o.y); }, shapes);
  EXPECT_EQ(again.type(), (Type{{2, 2}, f32}));
  EXPECT_MESSAGE(TraceError, again.to_vector<float>(), "it comes from eval_shape");
}
TEST(ClosureConvert, HandsOutWhatIsCaptured) {
  auto x = array({1., 2.});
  auto g = grad([&](const Array& w) {
    auto [f, consts] = closure_convert([&](const Array& v) { return v * w * x; }, x);
    EXPECT_EQ(consts.size(), 2U);
    return sum(f(x, consts));
  })(x);
  close(g, x * x);
}
TEST(CustomRoot, HasTheDerivativeOfTheEquation) {  // the numbers of JAX
  auto root = [](const Array& a) {
    auto newton = [a](const auto& f, const Array& guess) {
      (void)a;
      auto more = [](const std::pair<Array, Array>& s) { return s.first < 30; };
      auto step = [&](const std::pair<Array, Array>& s) {
        return std::pair{s.first + 1, s.second - f(s.second) / (3 * s.second * s.second)};
      };
      return while_loop(more, step, std::pair{array(0), guess}).second;
    };
    return custom_root([&](const Array& x) { return x * x * x - a; }, array(1.), newton,
                       [](const auto& g, const Array& y) { return y / g(ones_like(y)); });
  };
  auto a = array(5.);
  close(root(a), array(1.709976F));
  close(grad(root)(a), array(0.113998406F));
  close(grad(grad(root))(a), array(-0.015199788F));
  close(jvp(root, a, array(2.)).second, array(0.227996812F));
  close(jit(vmap(grad(root)))(array({5., 5.})), array({0.113998406F, 0.113998406F}));
  auto plane = [](const Array& b) {  // a vector's equation: m x = b, by its Jacobian
    auto m = array({{2., 1.}, {0., 3.}});
    return custom_root([&](const Array& x) { return matmul(m, x) - b; }, zeros({2}),
                       [&](const auto&, const Array&) { return solved(m, b); },
                       [](const auto& g, const Array& y) { return solved(jacfwd(g)(y), y); });
  };
  close(jacrev(plane)(array({1., 2.})), array({{0.5, -1. / 6}, {0., 1. / 3}}));
  EXPECT_MESSAGE(ShapeError,
       custom_root([](const Array& x) { return sum(x); }, zeros({2}), [](const auto&, const Array& x) { return x; },
                   [](const auto&, const Array& x) { return x; }),
       "custom_root: f must give a value like the guess");
}
TEST(CustomLinearSolve, HasTheDerivativesOfTheEquation) {
  auto m = array({{2., 1.}, {0.5, 3.}}), b = array({1., -2.});
  auto solve = [](const auto& apply, const Array& v) { return solved(stop_gradient(jacfwd(apply)(v)), v); };
  auto f = [&](const Array& a, const Array& v) {
    return custom_linear_solve([&](const Array& x) { return matmul(a, x); }, v, solve, solve);
  };
  auto g = [](const Array& a, const Array& v) { return solved(a, v); };
  close(f(m, b), g(m, b));
  for (auto& [x, y] : {std::pair{jacrev<0, 1>(f)(m, b), jacrev<0, 1>(g)(m, b)},
                       std::pair{jacfwd<0, 1>(f)(m, b), jacrev<0, 1>(g)(m, b)}}) {
    close(std::get<0>(x), std::get<0>(y), 1e-5F);
    close(std::get<1>(x), std::get<1>(y), 1e-5F);
  }
  auto total = [](auto h) { return [h](const Array& a, const Array& v) { return sum(sin(h(a, v))); }; };
  close(hessian<0>(total(f))(m, b), hessian<0>(total(g))(m, b), 2e-5F);
  auto symmetric = [&](const Array& d) {
    return custom_linear_solve([&](const Array& x) { return d * x; }, b,
                               [&](const auto& apply, const Array& v) { return v / apply(ones_like(v)); },
                               {.symmetric = true});
  };
  close(jacrev(symmetric)(array({2., 4.})), diag(array({-0.25, 0.125})));
  auto forward_only = [&](const Array& v) {
    return custom_linear_solve([&](const Array& x) { return x * 2; }, v,
                               [](const auto&, const Array& y) { return y / 2; });
  };
  close(forward_only(b), b / 2);
  EXPECT_MESSAGE(TraceError, grad([&](const Array& v) { return sum(forward_only(v)); })(b),
                 "a derivative needs .transpose_solve");
  EXPECT_MESSAGE(ShapeError, custom_linear_solve([](const Array& x) { return sum(x); }, b, solve, {}),
                 "custom_linear_solve: matvec must give a value like b");
}
}  // namespace
}  // namespace derivative_forms_test
