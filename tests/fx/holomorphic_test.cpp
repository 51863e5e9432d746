// Derivatives of holomorphic functions: f'(z) in closed form, JAX's convention for complex numbers, what is refused.
#include <gtest/gtest.h>
#include <complex>
#include "bora/fx/transforms.h"
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "support/throws.h"

namespace bora::holomorphic_test {
namespace {
using C = std::complex<double>;
const GradOptions kHolomorphic{.holomorphic = true};
Array number(C z, Dtype d = complex128) { return full({}, z, complex128).astype(d); }
void near(const Array& got, const std::vector<C>& want, double tolerance = 1e-13) {
  auto z = ravel(got).astype(complex128).to_vector<C>();
  ASSERT_EQ(z.size(), want.size());
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_LE(std::abs(z[i] - want[i]), tolerance * (1 + std::abs(want[i])));
}
TEST(Holomorphic, AGradientIsTheComplexDerivative) {
  struct Case {
    const char* name;
    Array (*f)(const Array&);
    C (*slope)(C);
    C (*second)(C);
  };
  const Case cases[] = {
      {"z^3", [](const Array& z) { return z * z * z; }, [](C z) { return 3. * z * z; }, [](C z) { return 6. * z; }},
      {"exp", [](const Array& z) { return exp(z); }, [](C z) { return std::exp(z); }, [](C z) { return std::exp(z); }},
      {"log", [](const Array& z) { return log(z); }, [](C z) { return 1. / z; }, [](C z) { return -1. / (z * z); }},
      {"sin", [](const Array& z) { return sin(z); }, [](C z) { return std::cos(z); }, [](C z) { return -std::sin(z); }},
      {"sqrt", [](const Array& z) { return sqrt(z); }, [](C z) { return 0.5 / std::sqrt(z); },
       [](C z) { return -0.25 / (z * std::sqrt(z)); }},
      {"1 / (1 + z)", [](const Array& z) { return 1. / (1. + z); }, [](C z) { return -1. / ((1. + z) * (1. + z)); },
       [](C z) { return 2. / ((1. + z) * (1. + z) * (1. + z)); }},
      {"tanh", [](const Array& z) { return tanh(z); }, [](C z) { return 1. / (std::cosh(z) * std::cosh(z)); },
       [](C z) { return -2. * std::tanh(z) / (std::cosh(z) * std::cosh(z)); }},
      {"i z", [](const Array& z) { return z * C(0, 1); }, [](C) { return C(0, 1); }, [](C) { return C(0); }},
  };
  for (auto& c : cases)
    for (C z : {C(0.3, -0.7), C(1.5, 2), C(-0.4, 0.1)}) {
      SCOPED_TRACE(c.name);
      auto f = c.f;
      near(grad(f, kHolomorphic)(number(z)), {c.slope(z)});
      near(jit(grad(f, {.holomorphic = true}))(number(z)), {c.slope(z)});
      auto [value, slope] = value_and_grad(f, {.holomorphic = true})(number(z));
      near(value, {f(number(z)).item<C>()});
      near(slope, {c.slope(z)});
      near(grad(grad(f, kHolomorphic), kHolomorphic)(number(z)), {c.second(z)}, 1e-12);
      near(jacrev(f, kHolomorphic)(number(z)), {c.slope(z)});
      near(jacfwd(f, kHolomorphic)(number(z)), {c.slope(z)});
      near(hessian(f, kHolomorphic)(number(z)), {c.second(z)}, 1e-12);
      near(jvp(f, number(z), number({0, 1})).second, {c.slope(z) * C(0, 1)});
      near(vmap(grad(f, kHolomorphic))(stack({number(z), number(z)})), {c.slope(z), c.slope(z)});
      near(grad(f, kHolomorphic)(number(z, complex64)), {c.slope(z)}, 2e-6);
      EXPECT_EQ(grad(f, kHolomorphic)(number(z, complex64)).dtype(), complex64);
    }
}
TEST(Holomorphic, JacobiansOfVectorsAndTrees) {
  auto z = complex(array({0.5, -1., 2.}), array({1., 0.25, -0.5})).astype(complex128);
  auto v = z.to_vector<C>();
  auto f = [](const Array& x) { return x * sum(x); };  // d f_i / d x_j = x_i + delta_ij sum(x)
  auto total = v[0] + v[1] + v[2];
  std::vector<C> want, second;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) want.push_back(v[i] + (i == j ? total : C(0)));
  near(jacrev(f, kHolomorphic)(z), want);
  near(jacfwd(f, kHolomorphic)(z), want);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k) second.push_back(C((i == j) + (i == k)));
  near(hessian(f, kHolomorphic)(z), second);
  using Pair = std::pair<Array, Array>;
  auto g = grad([](const Pair& p) { return sum(p.first * p.first) * p.second; }, kHolomorphic)(Pair{z, number({2, 1})});
  near(g.first, {2. * v[0] * C(2, 1), 2. * v[1] * C(2, 1), 2. * v[2] * C(2, 1)});
  near(g.second, {v[0] * v[0] + v[1] * v[1] + v[2] * v[2]});
  near(grad<1>([](const Array& a, const Array& b) { return a * exp(b); }, kHolomorphic)(number({2, 0}), number({0, 1})),
       {2. * std::exp(C(0, 1))});
  auto with_aux = value_and_grad([](const Array& a) { return std::pair{a * a, real(a)}; }, kHolomorphic);
  auto [loss, aux, slope] = with_aux(number({1, 2}));
  near(slope, {C(2, 4)});
  EXPECT_EQ(aux.item<double>(), 1);
  auto det = grad([](const Array& a) { return linalg::det(reshape(a, {2, 2})); }, kHolomorphic);
  near(det(concatenate({z, expand_dims(number({1, 1}), 0)}, 0)), {C(1, 1), -v[2], -v[1], v[0]});
}
TEST(Holomorphic, OfWhatIsNotHolomorphicItIsTheTransposeOfOne) {
  // As jax.grad(f, holomorphic=True): the pullback of 1 without conjugation.
  near(grad([](const Array& z) { return conj(z); }, kHolomorphic)(number({1, 2})), {C(1)});
  near(grad([](const Array& z) { return z * conj(z); }, kHolomorphic)(number({1, 2})), {C(2, -4)});
}
TEST(Holomorphic, RealArgumentsAndResultsAreTold) {
  auto z = number({1, 2});
  auto x = full({}, 1.5, f32);
  auto square_of = [](const Array& a) { return a * a; };
  EXPECT_MESSAGE(DtypeError, grad(square_of, kHolomorphic)(x),
                 "{.holomorphic = true} needs complex arguments, got f32[]");
  EXPECT_MESSAGE(DtypeError, grad([](const Array& a) { return real(a); }, kHolomorphic)(z),
                 "{.holomorphic = true} needs complex results, got f64[]");
  EXPECT_MESSAGE(DtypeError, jacrev(square_of, kHolomorphic)(x), "needs complex arguments, got f32[]");
  EXPECT_MESSAGE(DtypeError, jacfwd(square_of, kHolomorphic)(x), "needs complex arguments, got f32[]");
  EXPECT_MESSAGE(DtypeError, jacfwd([](const Array& a) { return real(a); }, kHolomorphic)(z),
                 "needs complex results, got f64[]");
  EXPECT_MESSAGE(DtypeError, hessian(square_of, kHolomorphic)(x), "needs complex arguments, got f32[]");
  EXPECT_MESSAGE(DtypeError, grad(square_of)(z), "holomorphic function is grad(f, {.holomorphic = true})");
  EXPECT_MESSAGE(DtypeError, jacfwd(square_of)(z), "of holomorphic functions it is jacfwd(f, {.holomorphic = true})");
  EXPECT_MESSAGE(DtypeError, jacrev(square_of)(z), "of holomorphic functions it is jacrev(f, {.holomorphic = true})");
  // A real result of a complex argument has a gradient, so that jacrev has one too, as in JAX.
  near(jacrev([](const Array& a) { return square(real(a)) + square(imag(a)); })(z), {C(2, -4)});
}
}  // namespace
}  // namespace bora::holomorphic_test
