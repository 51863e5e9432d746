// Inputs at which a formula's usual way ends: huge parameters, equal coordinates, complex operators,
// tolerances below a number's neighbours.
#include "bora/fx/krylov.h"
#include "bora/fx/optimize.h"
#include "bora/ops/integrate.h"
#include "bora/ops/special.h"
#include "bora/random/random.h"
#include "laws/laws.h"

namespace bora::laws::edges_test {
namespace {
TEST(Edges, ConjugateGradientsOfAHermitianMatrixHaveItsDerivative) {
  auto r = complex(rnd({4, 4}, 3), rnd({4, 4}, 4));
  auto a = matmul(r, conj(transpose(r))) + (3 * eye(4, f64)).astype(complex128);
  auto b = complex(rnd({4}, 5), rnd({4}, 6)), w = complex(rnd({4}, 7), rnd({4}, 8));
  auto of = [&](auto solve) { return grad([&](const Array& v) { return real(sum(w * solve(v))); })(b); };
  close({of([&](const Array& v) { return sparse::linalg::cg(a, v, {.tol = 1e-13}).x; })},
        {of([&](const Array& v) { return squeeze(linalg::solve(a, expand_dims(v, 1)), 1); })}, 1e-9, "cg");
}
TEST(Edges, GammaDrawsOfHugeParametersHaveASlope) {
  for (double a : {1e7, 1e9, 1e12, 1e20, 1e30}) {
    auto slope = grad([](const Array& x) { return sum(random::gamma(random::key(3), x)); })(full({64}, a, f32));
    for (auto s : slope.to_vector<float>()) EXPECT_NEAR(s, 1, 4 / std::sqrt(a)) << a;
  }
  // Both formulas around the parameter where one takes over.
  auto at = [](double a) {
    return grad([](const Array& x) { return sum(random::gamma(random::key(5), x)); })(array(a, f64)).item<double>();
  };
  EXPECT_NEAR(at(0.9999e8), at(1.0001e8), 1e-6);
}
TEST(Edges, SeriesOfHugeParametersEnd) {
  EXPECT_TRUE(std::isinf(special::expn(array(-HUGE_VAL, f64), 1.).item<double>()));
  (void)special::hyp1f1(array(-1e20, f64), array(1., f64), array(0.5, f64)).item<double>();  // returns
  (void)special::hyp2f1(array(-1e20, f64), array(2., f64), array(3., f64), array(-0.5, f64)).item<double>();
}
TEST(Edges, SimpsonPassesOverEqualCoordinates) {
  auto y = array({1., 2., 3., 4.}, f64);
  EXPECT_NEAR(integrate::simpson(y, array({0., 1., 1., 2.}, f64)).item<double>(), 8. / 6 + 4. / 3, 1e-12);
  for (auto x : {array({0., 0., 1., 2.}, f64), array({0., 1., 2., 2.}, f64), zeros({4}, f64)})
    EXPECT_TRUE(isfinite(integrate::simpson(y, x)).item<bool>()) << x;
}
TEST(Edges, NegativeRcondIsTheMachinesPrecision) {
  auto a = array({{1., 0.}, {2., 0.}, {3., 0.}}, f64);
  auto r = linalg::lstsq(a, array({1., 2., 3.}, f64), -1.);
  close({r.x}, {array({1., 0.}, f64)}, 1e-12, "x");
  EXPECT_EQ(r.rank.item<int>(), 1);
}
TEST(Edges, BisectionEndsBetweenNeighbours) {
  for (double root : {0.01, 1., 500., 1e5, 3e8}) {
    auto f = [&](const Array& x) { return x - root * 1.0000001; };
    auto r = optimize::bisect(f, array(0.F), array(static_cast<float>(root * 2.3)));
    EXPECT_TRUE(r.converged.item<bool>()) << root;
    EXPECT_LT(r.iterations.item<int>(), 45) << root;
    EXPECT_NEAR(r.x.item<float>(), root, 1e-5 + 1e-6 * root);
  }
}
}  // namespace
}  // namespace bora::laws::edges_test
