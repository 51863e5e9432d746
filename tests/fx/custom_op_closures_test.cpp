// Values that the rules of custom operations close over: constants and traced ones, under every transform, also where
// the operation was staged before a derivative is taken.
#include <gtest/gtest.h>
#include <cmath>
#include "bora/bora.h"
#include "bora/ops/custom.h"
#include "bora/ops/transform.h"
#include "fx/forms.h"

namespace custom_op_closures_test {
namespace {
using namespace bora;
using forms_tests::close;
Array c() { return array({2., 3., 5.}); }
Array x() { return array({1., 2., -1.}); }
/// x^3, whose gradient is c x^2 by decree.
HostOp cube(const Array& c, bool elementwise) {
  return custom_op("cube", {.eval = [](const Array& a) { return a * a * a; },
                            .vjp = [c](const Array& ct, const Array& a) { return ct * c * a * a; },
                            .elementwise = elementwise});
}
Array want() { return c() * x() * x(); }

struct CustomOpClosures : testing::TestWithParam<bool> {
  HostOp op(const Array& constant) const { return cube(constant, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, CustomOpClosures, testing::Values(true, false),
                         [](auto& p) { return p.param ? "elementwise" : "whole"; });

TEST_P(CustomOpClosures, AConstant) {
  auto f = op(c());
  auto loss = [&](const Array& v) { return sum(f(v)); };
  close(jit(f)(x()), x() * x() * x());
  close(grad(loss)(x()), want());
  close(jit(grad(loss))(x()), want());
  close(grad(jit(loss))(x()), want());
  close(jit(grad(jit(loss)))(x()), want());
  close(grad(checkpoint(loss))(x()), want());
  close(jit(grad(checkpoint(loss)))(x()), want());
  close(vjp(jit(f), x()).second(ones_like(x())), want());
  close(jvp(f, x(), ones_like(x())).second, want());
  close(jvp(jit(f), x(), ones_like(x())).second, want());
  close(jit([&](const Array& v) { return jvp(jit(f), v, ones_like(v)).second; })(x()), want());
  close(linearize(jit(f), x()).second(ones_like(x())), want());
}
TEST_P(CustomOpClosures, Vmap) {
  auto rows = stack({x(), 2 * x()}), wants = stack({want(), 4 * want()});
  auto loss = [&](const Array& v) { return sum(op(c())(v)); };
  close(vmap(grad(loss))(rows), wants);
  close(vmap(grad(jit(loss)))(rows), wants);
  close(jit(vmap(grad(loss)))(rows), wants);
  close(grad([&](const Array& r) { return sum(vmap(jit(loss))(r)); })(rows), wants);
  close(jit(grad([&](const Array& r) { return sum(vmap(jit(loss))(r)); }))(rows), wants);
  close(vmap(grad(jit(loss)), {.in = 1})(transpose(rows)), wants);
  // A constant of each example.
  auto each = [&](const Array& v, const Array& k) {
    return grad(jit([&](const Array& u) { return sum(op(k)(u)); }))(v);
  };
  close(vmap(each)(rows, stack({c(), 10 * c()})), stack({want(), 40 * want()}));
  close(jit(vmap(each))(rows, stack({c(), 10 * c()})), stack({want(), 40 * want()}));
  auto outside = [&](const Array& r) {
    return sum(vmap([&](const Array& v, const Array& k) { return sum(op(k)(v)); })(r, stack({c(), 10 * c()})));
  };
  close(grad(outside)(rows), stack({want(), 40 * want()}));
  close(jit(grad(outside))(rows), stack({want(), 40 * want()}));
  close(jvp(outside, rows, ones_like(rows)).second, sum(want() + 40 * want()));
  close(vmap(each, {.in = {0, none}})(rows, c()), wants);
  close(vmap(each, {.in = {none, 0}})(x(), stack({c(), 10 * c()})), stack({want(), 10 * want()}));
}
TEST_P(CustomOpClosures, AConstantOfAnotherShape) {
  auto f = op(array({{2.}, {3.}}));
  auto at = stack({x(), 2 * x()});
  auto slopes = array({{2.}, {3.}}) * at * at;
  auto loss = [&](const Array& v) { return sum(f(v)); };
  close(grad(jit(loss))(at), slopes);
  auto both = stack({at, -3 * at});
  close(grad([&](const Array& v) { return sum(vmap(jit(loss))(v)); })(both), stack({slopes, 9 * slopes}));
}
TEST_P(CustomOpClosures, SecondDerivatives) {
  auto f = op(c());
  auto loss = [&](const Array& v) { return sum(f(v)); };
  auto slope = [&](const auto& l) { return [l](const Array& v) { return sum(grad(l)(v)); }; };
  close(grad(slope(loss))(x()), 2 * c() * x());
  close(grad(slope(jit(loss)))(x()), 2 * c() * x());
  close(grad(jit(slope(loss)))(x()), 2 * c() * x());
  close(jit(grad(jit(slope(jit(loss)))))(x()), 2 * c() * x());
  close(grad(slope([&](const Array& v) { return sum(f(v) * f(v)); }))(x()),
        grad(jit(slope([&](const Array& v) { return sum(f(v) * f(v)); })))(x()));
  close(hessian(jit(loss))(x()), diag(2 * c() * x()));
  close(grad(jit(slope(slope(jit(loss)))))(x()), 2 * c());
}
TEST_P(CustomOpClosures, LoopsAndBranches) {
  auto f = op(c());
  auto loss = [&](const Array& v) {
    return sum(scan([&](const Array& s, const Array& w) { return std::pair{s + f(v * w), none}; }, zeros({3}),
                    array({1., 2.}))
                   .first);
  };
  close(grad(loss)(x()), want() + 8 * want());
  close(jit(grad(loss))(x()), want() + 8 * want());
  close(grad(jit(loss))(x()), want() + 8 * want());
  auto branch = [&](const Array& v) { return sum(cond(array(true), f, [](const Array& u) { return u; }, v)); };
  close(grad(branch)(x()), want());
  close(grad(jit(branch))(x()), want());
  auto round = [&](const Array&, const Array& s) { return f(s); };
  auto rounds = [&](const Array& v) { return sum(fori_loop(0, 1, round, v)); };
  close(jvp(rounds, x(), x()).second, sum(want() * x()));
  close(jvp(jit(rounds), x(), x()).second, sum(want() * x()));
}
TEST_P(CustomOpClosures, TracedValues) {
  auto step = [&](const auto& inner) {
    return jit([&, inner](const Array& v, const Array& k) {
      auto made_here = k + zeros({3});
      return grad(inner([&, made_here](const Array& u) { return sum(op(made_here)(u)); }))(v);
    });
  };
  auto plain = step([](const auto& f) { return f; });
  auto jitted = step([](const auto& f) { return jit(f); });
  auto again = step([](const auto& f) { return checkpoint(f); });
  for (auto k : {1, 2}) {
    close(plain(x(), k * c()), k * want());
    close(jitted(x(), k * c()), k * want());
    close(again(x(), k * c()), k * want());
  }
  // Its value does not depend on c, but its slope does.
  auto of_constant = [&](const Array& k) {
    return sum(grad(jit([&](const Array& u) { return sum(op(k)(u)); }))(x()));
  };
  close(grad(of_constant)(c()), x() * x());
  close(jit(grad(of_constant))(c()), x() * x());
  auto value = [&](const Array& k) { return sum(jit([&](const Array& u) { return op(k)(u); })(x()) * k); };
  close(grad(value)(c()), x() * x() * x());
}
/// A rule that calls its own operation.
TEST(CustomOpClosuresOf, ItsOwnOperation) {
  const Array half = array({0.5F, 0.25F});
  std::shared_ptr<HostOp> self;
  auto rule = [&](const Array& ct, const Array& a) { return ct * half * (*self)(a); };
  self = std::make_shared<HostOp>(custom_op("growth", {.eval = [&](const Array& a) { return exp(half * a); },
                                                       .vjp = rule, .elementwise = true}));
  auto at = array({1.F, 2.F});
  auto f = [&](const Array& v) { return sum((*self)(v)); };
  auto slope = [](const auto& l) { return [l](const Array& v) { return sum(grad(l)(v)); }; };
  close(grad(jit(f))(at), half * exp(half * at));
  close(grad(jit(slope(jit(f))))(at), half * half * exp(half * at));
  close(grad(slope(jit(slope(f))))(at), half * half * half * exp(half * at));
}
TEST(CustomOpClosuresOf, SeveralInputsAndDtypes) {
  for (auto d : {f32, f64, bf16, f16}) {
    const Array w = array({1., 4.}).astype(d);
    auto f = custom_op("blend", {.eval = [](const Array& a, const Array& b) { return a * b; },
                                 .vjp =
                                     [w](const Array& ct, const Array& a, const Array& b) {
                                       return std::pair{ct * b * w, ct * a};
                                     },
                                 .elementwise = true});
    auto a = array({1., 2.}).astype(d), b = array(3.).astype(d);
    auto loss = [&](const Array& p, const Array& q) { return sum(f(p, q)); };
    auto [ga, gb] = grad<0, 1>(jit(loss))(a, b);
    EXPECT_EQ(ga.dtype(), d);
    close(ga.astype(f32), array({3., 12.}));
    close(gb.astype(f32), array(3.));
    close(grad(jit([&](const Array& q) { return loss(a, q); }))(b).astype(f32), array(3.));
  }
}
/// A rule that cannot be staged is no error until a derivative is taken.
TEST(CustomOpClosuresOf, ARuleThatReadsNumbers) {
  auto f = custom_op("reads", {.eval = [](const Array& a) { return a + 1; },
                               .vjp = [](const Array& ct, const Array& a) { return ct * a.to_vector<float>()[0]; }});
  close(jit(f)(x()), x() + 1);
  close(grad([&](const Array& v) { return sum(f(v)); })(x()), ones({3}));
  EXPECT_THROW(grad(jit([&](const Array& v) { return sum(f(v)); }))(x()), TraceError);
}
TEST(CustomOpClosuresOf, OnAMesh) {
  local_mesh({{"a", 3}}, [&](const Mesh& mesh) {
    UseMesh scope(mesh);
    for (bool elementwise : {true, false})
      for (auto& spec : {Spec{"a"}, Spec{none}})
        for (auto& of_constant : {Spec{"a"}, Spec{none}}) {
          auto f = cube(shard(c(), of_constant), elementwise);
          auto loss = [&](const Array& v) { return sum(f(v)); };
          close(gather(grad(jit(loss))(shard(x(), spec))), want());
          close(gather(jit(grad(checkpoint(loss)))(shard(x(), spec))), want());
        }
  });
}
/// Its siblings: rules of custom_vjp and custom_jvp, host functions with derivatives, solvers.
TEST(CustomOpClosuresOf, Siblings) {
  const Array k = c();
  auto by_jvp = custom_jvp([](const Array& a) { return a * a * a; },
                           [k](const Array& a, const Array& t) { return std::pair{a * a * a, k * a * a * t}; });
  auto by_vjp = custom_vjp([](const Array& a) { return a * a * a; },
                           [](const Array& a) { return std::pair{a * a * a, a}; },
                           [k](const Array& a, const Array& ct) { return ct * k * a * a; });
  auto check_all = [&](const auto& f) {
    auto loss = [&](const Array& v) { return sum(f(v)); };
    auto slope = [&](const Array& v) { return sum(grad(loss)(v)); };
    close(grad(jit(loss))(x()), want());
    close(jit(grad(checkpoint(loss)))(x()), want());
    close(grad([&](const Array& r) { return sum(vmap(jit(loss))(r)); })(stack({x(), 2 * x()})),
          stack({want(), 4 * want()}));
    close(grad(jit(slope))(x()), 2 * c() * x());
  };
  check_all(by_jvp);
  check_all(by_vjp);
  auto root = [&](const Array& v) {
    return sum(custom_root([&](const Array& y) { return y * k - v; }, zeros({3}),
                           [&](const auto&, const Array&) { return v / k; },
                           [&](const auto& g, const Array& b) { return b / g(ones_like(b)); }));
  };
  close(grad(jit(root))(x()), 1 / k);
  auto solve = [&](const Array& v) {
    return sum(custom_linear_solve([&](const Array& y) { return y * k; }, v,
                                   [&](const auto&, const Array& b) { return b / k; }, {.symmetric = true}));
  };
  close(grad(jit(solve))(x()), 1 / k);
}
}  // namespace
}  // namespace custom_op_closures_test
