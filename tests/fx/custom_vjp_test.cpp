// Values that f, fwd and bwd of a custom_vjp close over: constants, under every transform; an error where it is
// differentiated.
#include <gtest/gtest.h>
#include <cmath>
#include "bora/fx/transforms.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ops.h"
#include "bora/ops/reductions.h"
#include "bora/ops/transform.h"
#include "bora/random/random.h"
#include "bora/shard/mesh.h"
#include "bora/shard/shard.h"
#include "fx/forms.h"
#include "support/throws.h"

namespace custom_vjp_test {
namespace {
using namespace bora;
using forms_tests::close;
Array c() { return array({2., 3., 5.}); }
/// x^3, whose gradient is c x^2 by decree: bwd closes over c, over a number array and over what integers take.
auto cube(const Array& c) {
  return custom_vjp([](const Array& x) { return x * x * x; },
                    [](const Array& x) {
                      return std::pair{x * x * x, x};
                    },
                    [c, order = array({0, 1, 2}), one = array(1.)](const Array& x, const Array& ct) {
                      return ct * one * take(c, order) * x * x;
                    });
}
Array x() { return array({1., 2., -1.}); }
Array want() { return c() * x() * x(); }

TEST(CustomVjpConstants, ABackwardFunctionMayCloseOverThem) {
  auto f = cube(c());
  auto loss = [&](const Array& v) { return sum(f(v)); };
  close(f(x()), x() * x() * x());
  close(grad(loss)(x()), want());
  close(jit(grad(loss))(x()), want());
  close(grad(jit(loss))(x()), want());
  close(grad(checkpoint(loss))(x()), want());
  close(vjp(f, x()).second(ones_like(x())), want());
  close(jvp(f, x(), ones_like(x())).second, want());
}
TEST(CustomVjpConstants, Vmap) {
  auto loss = [](const Array& v) { return sum(cube(c())(v)); };
  auto rows = stack({x(), 2 * x()});
  close(vmap(grad(loss))(rows), stack({want(), 4 * want()}));
  close(jit(vmap(grad(loss)))(rows), stack({want(), 4 * want()}));
  auto each = [](const Array& v, const Array& k) { return grad([&](const Array& u) { return sum(cube(k)(u)); })(v); };
  close(vmap(each)(rows, stack({c(), 10 * c()})), stack({want(), 40 * want()}));  // a constant of each example
  close(vmap(each, {.in = {0, none}})(rows, c()), stack({want(), 4 * want()}));
}
TEST(CustomVjpConstants, SecondDerivatives) {
  auto f = cube(c());
  auto g = [&](const Array& v) { return sum(grad([&](const Array& u) { return sum(f(u)); })(v)); };
  close(grad(g)(x()), 2 * c() * x());
  close(jit(grad(g))(x()), 2 * c() * x());
}
TEST(CustomVjpConstants, Loops) {
  auto f = cube(c());
  auto loss = [&](const Array& v) {
    return sum(scan([&](const Array& s, const Array& w) { return std::pair{s + f(v * w), none}; }, zeros({3}),
                    array({1., 2.}))
                   .first);
  };
  close(grad(loss)(x()), want() + 8 * want());
  close(jit(grad(loss))(x()), want() + 8 * want());
  auto branch = [&](const Array& v) {
    return sum(cond(array(true), f, [](const Array& u) { return u; }, v));
  };
  close(grad(branch)(x()), want());
}
TEST(CustomVjpConstants, ValuesOfAnEnclosingJitAreConstantsToo) {
  auto step = jit([](const Array& v, const Array& k) {
    auto made_here = k + zeros({3});
    return grad([&](const Array& u) { return sum(cube(made_here)(u)); })(v);
  });
  close(step(x(), c()), want());
  close(step(x(), 2 * c()), 2 * want());
}
TEST(CustomVjpConstants, OnAMesh) {
  for (auto& axes : {std::vector<std::pair<std::string, int>>{{"a", 2}}, {{"a", 3}}})
    local_mesh({{axes[0].first, axes[0].second}}, [&](const Mesh& mesh) {
      UseMesh scope(mesh);
      for (auto& spec : {Spec{"a"}, Spec{none}})
        for (auto& of_constant : {Spec{"a"}, Spec{none}}) {
          auto f = cube(shard(c(), of_constant));
          auto loss = [&](const Array& v) { return sum(f(v)); };
          close(gather(grad(loss)(shard(x(), spec))), want());
          close(gather(jit(grad(loss))(shard(x(), spec))), want());
        }
    });
}
TEST(CustomVjpConstants, WhatIsDifferentiatedIsAnErrorThatSaysWhatToDo) {
  auto by_constant = [](const Array& k) { return sum(cube(k)(x())); };
  auto said = test::error_of<TraceError>([&] { (void)grad(by_constant)(c()); });
  EXPECT_NE(said.find("custom_vjp: f, fwd or bwd closes over f32[3], which is being differentiated"), said.npos)
      << said;
  EXPECT_NE(said.find("pass it as an argument, or close over stop_gradient of it"), said.npos) << said;
  said = test::error_of<TraceError>([&] { (void)jit(grad(by_constant))(c()); });
  EXPECT_NE(said.find("pass it as an argument"), said.npos) << said;
  auto stopped = [](const Array& k) { return sum(cube(stop_gradient(k))(x()) * k); };
  close(grad(stopped)(c()), x() * x() * x());
}
TEST(CustomVjpConstants, AValueLeftBehindByFwdIsAnError) {
  Array saved;
  auto f = custom_vjp([](const Array& v) { return v * v; },
                      [&](const Array& v) {
                        saved = v;
                        return std::pair{v * v, none};
                      },
                      [&](const std::nullopt_t&, const Array& ct) { return ct * 2 * saved; });
  auto said = test::error_of<TraceError>([&] { (void)grad([&](const Array& v) { return sum(f(v)); })(x()); });
  EXPECT_NE(said.find("custom_vjp: bwd uses a value of fwd"), said.npos) << said;
  EXPECT_NE(said.find("return it from fwd as a residual"), said.npos) << said;
}
}  // namespace
}  // namespace custom_vjp_test
