// Least squares: SciPy's minima, bounds and counts; derivatives of the solution; transforms.
#include "bora/fx/least_squares.h"
#include "bora/fx/solve_ivp.h"
#include "laws/golden.h"
#include "support/throws.h"

namespace bora::laws::fit_test {
namespace {
using namespace optimize;
using test::says_line;
Array at_index(const Array& p, std::int64_t i) { return index_in_dim(p, 0, i); }
std::function<Array(const Array&)> residuals(const std::string& name, const Array& x, const Array& y) {
  if (name.starts_with("rosenbrock"))
    return [](const Array& p) {
      return stack({10. * (at_index(p, 1) - square(at_index(p, 0))), 1. - at_index(p, 0)});
    };
  return [=](const Array& p) { return at_index(p, 0) * exp(-at_index(p, 1) * x) + at_index(p, 2) - y; };
}
TEST(LeastSquares, HasSciPysMinima) {
  GoldenCases cases;
  read_golden("science.txt", cases);
  int count = 0;
  for (auto& [name, g] : cases) {
    if (!name.starts_with("fit/")) continue;
    ++count;
    auto f = residuals(name.substr(4), g.in[3], g.in[4]);
    for (auto method : {LeastSquaresMethod::lm, LeastSquaresMethod::gn}) {
      if (method == LeastSquaresMethod::gn && name.ends_with("bounded")) continue;
      auto r = least_squares(f, g.in[0], {.method = method, .lower = g.in[1], .upper = g.in[2], .ftol = 1e-14,
                                          .xtol = 1e-14, .gtol = 1e-12});
      EXPECT_TRUE(r.success.item<bool>()) << name << r.message();
      close({r.x, r.cost, r.fun, r.active_mask}, {g.out[0], g.out[1], g.out[2], g.out[3].astype(i32)}, 1e-7, name);
      EXPECT_LT(r.optimality.item<double>(), 1e-6) << name;
      EXPECT_LE(r.njev.item<int>(), r.nfev.item<int>()) << name;
      EXPECT_LT(r.nfev.item<int>(), 100) << name;
      close({r.grad}, {matmul(transpose(r.jac), r.fun)}, 1e-14, "its slope");
    }
  }
  EXPECT_EQ(count, 4);
}
TEST(LeastSquares, IsStagedMappedAndDifferentiated) {
  auto x = linspace(0., 2., 9, f64);
  auto target = [&](const Array& a) { return 2. * exp(-a * x); };
  auto fitted = [&](const Array& a) {
    auto y = target(a);
    return least_squares([=](const Array& p) { return at_index(p, 0) * exp(-at_index(p, 1) * x) - y; },
                         array({1., 1.}, f64), {.gtol = 1e-12})
        .x;
  };
  auto a = array(0.7, f64);
  close({fitted(a)}, {array({2., 0.7}, f64)}, 1e-9, "the parameters");
  close({jit(fitted)(a)}, {fitted(a)}, 1e-12, "staged");
  auto many = array({0.5, 0.9}, f64);
  close({vmap(fitted)(many)}, {array({{2., 0.5}, {2., 0.9}}, f64)}, 1e-9, "mapped");
  close({grad([&](const Array& a) { return sum(fitted(a) * array({3., 1.}, f64)); })(a)}, {array(1., f64)}, 1e-7,
        "the slope of p[1] by a is 1, that of p[0] is 0");
  auto bounded = [&](const Array& top) {
    return least_squares([](const Array& p) { return stack({at_index(p, 0) - 3., at_index(p, 1) - at_index(p, 0)}); },
                         array({0., 0.}, f64), {.upper = stack({top, array(10., f64)})});
  };
  auto r = bounded(array(2., f64));
  close({r.x, r.active_mask}, {array({2., 2.}, f64), array({1, 0})}, 1e-9, "at a bound");
  close({grad([&](const Array& top) { return sum(bounded(top).x); })(array(2., f64))}, {array(2., f64)}, 1e-9,
        "by the bound");
  auto user = least_squares([](const Array& p) { return p * 2. - 3.; }, array({0., 1.}, f64),
                            {.jac = [](const Array& p) { return 2. * eye(p.size(), f64); }});
  close({user.x}, {array({1.5, 1.5}, f64)}, 1e-9, "its own Jacobian");
}
TEST(LeastSquares, FitsADifferentialEquation) {
  auto t = linspace(0., 2., 6, f64);
  auto path = [&](const Array& p) {
    auto r = integrate::solve_ivp(
        [&](const Array&, const Array& y) { return at_index(p, 0) * y * (1. - y / at_index(p, 1)); }, t,
        array({0.1}, f64), {.rtol = 1e-9, .atol = 1e-10, .adjoint = integrate::OdeAdjoint::forward});
    return ravel(r.y);
  };
  auto seen = path(array({3., 2.}, f64));
  auto r = least_squares([&](const Array& p) { return path(p) - seen; }, array({2., 1.5}, f64));
  close({r.x}, {array({3., 2.}, f64)}, 1e-6, "growth and capacity");
}
TEST(LeastSquares, SaysWhatIsWrong) {
  auto id = [](const Array& p) { return p; };
  auto v = ones({3});
  says_line<ShapeError>([&] { return least_squares(id, ones({2, 3})); }, "least_squares: x0 must be a vector");
  says_line<ShapeError>([&] { return least_squares([](const Array& p) { return sum(p); }, v); },
                        "least_squares: f must give a vector, got f32[]");
  says_line<ShapeError>([&] { return least_squares(id, v, {.lower = ones({2})}); },
                        "least_squares: .lower is f32[2], x0 is f32[3]");
  says_line<DtypeError>([&] { return least_squares(id, array({1})); }, "x0 must be f32 or f64, got i32[1]");
  says_line<ValueError>([&] { return least_squares(id, v, {.max_nfev = 0}); }, "max_nfev = 0");
  auto r = least_squares([](const Array& p) { return exp(p); }, array({1.}, f64), {.max_nfev = 3});
  EXPECT_EQ(r.status.item<int>(), 0);
  EXPECT_EQ(r.nfev.item<int>(), 3);
}
}  // namespace
}  // namespace bora::laws::fit_test
