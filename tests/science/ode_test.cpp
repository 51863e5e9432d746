// Ordinary differential equations: against SciPy's solutions at small tolerances, Diffrax's steps, and closed forms;
// events, dense output and derivatives.
#include "bora/fx/solve_ivp.h"
#include "laws/golden.h"
#include "support/throws.h"

namespace bora::laws::ode_test {
namespace {
using namespace integrate;
using test::says_line;
using Field = std::function<Array(const Array& t, const Array& y)>;
/// tests/golden/make_science.py has the same equations.
Field problem(const std::string& name) {
  auto of = [](const Array& y, std::int64_t i) { return index_in_dim(y, 0, i); };
  if (name == "lorenz")
    return [of](const Array&, const Array& y) {
      auto a = of(y, 0), b = of(y, 1), c = of(y, 2);
      return stack({10. * (b - a), a * (28. - c) - b, a * b - 8. / 3 * c});
    };
  if (name == "van_der_pol")
    return [of](const Array&, const Array& y) {
      return stack({of(y, 1), 100. * (1. - square(of(y, 0))) * of(y, 1) - of(y, 0)});
    };
  if (name == "robertson")
    return [of](const Array&, const Array& y) {
      auto slow = 0.04 * of(y, 0), back = 1e4 * of(y, 1) * of(y, 2), fast = 3e7 * square(of(y, 1));
      return stack({back - slow, slow - back - fast, fast});
    };
  return [of](const Array& t, const Array& y) {
    return stack({of(y, 1), cos(2. * t) - 0.3 * of(y, 1) - of(y, 0)});
  };
}
const GoldenCases& golden() {
  static const auto all = [] {
    GoldenCases c;
    read_golden("science.txt", c);
    return c;
  }();
  return all;
}
OdeMethod method_of(const std::string& name) {
  return name == "tsit5" ? OdeMethod::tsit5 : name == "dopri8" ? OdeMethod::dopri8 : OdeMethod::kvaerno5;
}
std::vector<std::string> words(const std::string& name) {
  std::vector<std::string> r(1);
  for (char c : name)
    if (c == '/') r.emplace_back();
    else r.back() += c;
  return r;
}
TEST(Ivp, HasDiffraxsStepsOfOneLength) {
  int count = 0;
  for (auto& [name, g] : golden()) {
    auto w = words(name);
    if (w[0] != "fixed") continue;
    auto h = g.in[2].item<double>();
    bool implicit = w[1] == "kvaerno5";  // its equations are solved to a part of the tolerance
    auto r = solve_ivp(problem(w[2]), g.in[1], g.in[0],
                       {.method = method_of(w[1]), .rtol = 0, .atol = implicit ? 1e-3 : 1e30, .first_step = h,
                        .max_step = h});
    close({r.y}, {g.out[0]}, implicit ? 2e-4 : 1e-11, name);
    ++count;
  }
  EXPECT_EQ(count, 6);
}
TEST(Ivp, HasDiffraxsAdaptiveSteps) {
  for (auto& [name, g] : golden()) {
    auto w = words(name);
    if (w[0] != "adaptive") continue;
    auto r = solve_ivp(problem(w[2]), g.in[1], g.in[0],
                       {.method = method_of(w[1]), .rtol = 1e-7, .atol = 1e-9, .first_step = 0.01});
    close({r.y}, {g.out[0]}, 1e-9, name);
    EXPECT_EQ(r.num_steps.item<int>(), g.out[1].item<int>()) << name;
    EXPECT_EQ(r.num_accepted.item<int>(), g.out[2].item<int>()) << name;
    EXPECT_EQ(r.status.item<int>(), 0) << name;
    EXPECT_TRUE(r.success.item<bool>()) << r.message();
  }
}
TEST(Ivp, IsSciPysSolution) {
  for (auto& [name, g] : golden()) {
    auto w = words(name);
    if (w[0] != "exact") continue;
    bool stiff = w[1] == "van_der_pol" || w[1] == "robertson";
    for (auto method : stiff ? std::vector{OdeMethod::kvaerno5} : std::vector{OdeMethod::tsit5, OdeMethod::dopri8}) {
      auto r = solve_ivp(problem(w[1]), g.in[1], g.in[0],
                         {.method = method, .rtol = 1e-8, .atol = 1e-11, .max_steps = 100000});
      EXPECT_EQ(r.status.item<int>(), 0) << name << " " << r.num_steps;
      close({r.y}, {g.out[0]}, 2e-5, name);
      if (stiff) {
        EXPECT_LT(r.num_steps.item<int>(), 4000) << name;
      }
    }
  }
}
TEST(Ivp, FindsEventsWithDerivatives) {
  const Golden* g = nullptr;
  for (auto& c : golden())
    if (c.first == "events/ball") g = &c.second;
  ASSERT_NE(g, nullptr);
  auto of = [](const Array& y, std::int64_t i) { return index_in_dim(y, 0, i); };
  std::vector<OdeEvent<Array>> events{
      {.g = [&](const Array&, const Array& y) { return of(y, 1); }, .terminal = false},
      {.g = [&](const Array&, const Array& y) { return of(y, 0); }, .direction = -1},
      {.g = [&](const Array&, const Array& y) { return of(y, 0) + 1.; }, .terminal = false}};
  auto ball = [&](const Array& drag) {
    return [&, drag](const Array&, const Array& y) {
      return stack({of(y, 1), -9.81 - drag * of(y, 1) * abs(of(y, 1))});
    };
  };
  IvpOptions o{.method = OdeMethod::dopri8, .rtol = 1e-10, .atol = 1e-12, .max_steps = 200};
  auto t = array({0., 1., 2., 10.}, f64);
  auto r = solve_ivp(ball(array(0.1, f64)), t, g->in[0], o, events);
  EXPECT_EQ(r.status.item<int>(), 1);
  EXPECT_EQ(r.message(), "A termination event occurred.");
  close({view(r.t_events, range(0, 2)), view(r.y_events, range(0, 2))}, {g->out[0], g->out[1]}, 1e-8, "the ball");
  EXPECT_TRUE(std::isnan(view(r.t_events, 2).item<double>()));
  EXPECT_TRUE(std::isnan(view(r.y, 3, 0).item<double>()));
  EXPECT_FALSE(std::isnan(view(r.y, 2, 0).item<double>()));
  for (auto adjoint : {OdeAdjoint::direct, OdeAdjoint::forward}) {
    o.adjoint = adjoint;
    auto landing = [&](const Array& drag) {
      auto r = solve_ivp(ball(drag), t, g->in[0], o, events);
      return view(r.t_events, 1) + 0.1 * view(r.y_events, 1, 1) + view(r.y, 1, 0);
    };
    auto d = array(0.1, f64);
    auto slope = adjoint == OdeAdjoint::direct ? grad(landing)(d) : jvp(landing, d, ones_like(d)).second;
    auto apart = (landing(d + 1e-5) - landing(d - 1e-5)) / 2e-5;
    close({slope}, {apart}, 1e-7, "by the drag");
  }
}
/// y' = -k y + sin(t) from y0 at t[0].
Array decay(const Array& k, const Array& y0, const Array& t) {
  auto part = [&](const Array& x) { return (k * sin(x) - cos(x)) / (square(k) + 1); };
  auto from = view(t, 0), x = expand_dims(t, 1);
  return exp(-k * (x - from)) * (y0 - part(from)) + part(x);
}
TEST(Ivp, HasTheDerivativesOfTheSolution) {
  auto k = array({0.3, 1.2}, f64), y0 = array({1., -2.}, f64), w = rnd({3, 2}, 4);
  for (auto t : {array({0.2, 0.5, 2.}, f64), array({1., 0.5, -0.4}, f64)})
    for (auto method : {OdeMethod::tsit5, OdeMethod::dopri8, OdeMethod::kvaerno5})
      for (auto adjoint : {OdeAdjoint::direct, OdeAdjoint::backsolve, OdeAdjoint::forward}) {
        auto what = std::to_string(static_cast<int>(method)) + " " + std::to_string(static_cast<int>(adjoint));
        bool implicit = method == OdeMethod::kvaerno5;
        auto f = [&](const Array& k, const Array& y0, const Array& t) {
          return solve_ivp([&](const Array& t, const Array& y) { return sin(t) - k * y; }, t, y0,
                           {.method = method, .rtol = implicit ? 1e-7 : 1e-9, .atol = implicit ? 1e-8 : 1e-10,
                            .max_steps = implicit ? 100 : 60, .adjoint = adjoint})
              .y;
        };
        double near = implicit ? 2e-5 : 1e-6;
        close({f(k, y0, t)}, {decay(k, y0, t)}, near, "the solution " + what);
        close({jit(f)(k, y0, t)}, {f(k, y0, t)}, 1e-12, "staged " + what);
        auto loss = [&](auto g) {
          return [&w, g](const Array& k, const Array& y0, const Array& t) { return sum(w * square(g(k, y0, t))); };
        };
        for (int which : {0, 1, 2}) {
          auto by = [&](auto g) {
            auto x = which == 0 ? k : which == 1 ? y0 : t;
            auto at = [&](const Array& v) {
              return which == 0 ? loss(g)(v, y0, t) : which == 1 ? loss(g)(k, v, t) : loss(g)(k, y0, v);
            };
            if (adjoint == OdeAdjoint::forward) return jvp(at, x, arange(x.size(), f64) + 1.).second;
            return grad(at)(x);
          };
          close({by(f)}, {by(decay)}, 20 * near, "by " + std::to_string(which) + " " + what);
        }
      }
}
TEST(Ivp, RunsUnderVmapAndOnRanks) {
  auto t = array({0., 0.5, 1.}, f64), ks = array({0.5, 20., 3.}, f64);
  for (auto method : {OdeMethod::tsit5, OdeMethod::kvaerno5}) {
    auto f = [&](const Array& k) {
      return solve_ivp([&](const Array&, const Array& y) { return -k * y; }, t, array({1., 2.}, f64),
                       {.method = method, .max_steps = 80})
          .y;
    };
    auto want = stack({f(view(ks, 0)), f(view(ks, 1)), f(view(ks, 2))});
    close({vmap(f)(ks)}, {want}, 1e-12, "mapped");
    auto slopes = vmap(grad([&](const Array& k) { return sum(f(k)); }))(ks);
    auto alone = grad([&](const Array& k) { return sum(vmap(f)(k)); })(ks);
    close({slopes}, {alone}, 1e-10, "gradients, mapped");
    local_mesh({{"data", 2}}, [&](const Mesh&) {
      auto x = with_sharding_constraint(ks, Spec{"data"});
      close(gathered({jit(vmap(f))(x)}), {want}, 1e-12, "on ranks");
    });
  }
}
struct Pair {
  Array u, v;
};
TEST(Ivp, HasDenseOutputOfTrees) {
  auto turn = [](const Array&, const Pair& p) { return Pair{-reshape(p.v, {1}), reshape(p.u, {1, 1})}; };
  Pair start{array({1.}, f64), array({{0.}}, f64)};
  for (auto ends : {array({0., 6.}, f64), array({0., -6.}, f64)})
    for (auto method : {OdeMethod::tsit5, OdeMethod::dopri8, OdeMethod::kvaerno5}) {
      auto r = solve_ivp(turn, ends, start,
                         {.method = method, .rtol = 1e-8, .atol = 1e-9, .max_steps = 500, .dense = true});
      ASSERT_TRUE(r.sol.has_value());
      auto at = linspace(0., view(ends, 1).item<double>(), 40, f64);
      auto y = (*r.sol)(reshape(at, {4, 10}));
      close({y.u, y.v}, {reshape(cos(at), {4, 10, 1}), reshape(sin(at), {4, 10, 1, 1})}, 1e-5, "between steps");
      EXPECT_TRUE(std::isnan((*r.sol)(view(ends, 1) * 1.5).u.item<double>()));
    }
  auto loss = [&](const Array& k) {
    auto r = solve_ivp([&](const Array&, const Array& y) { return -k * y; }, array({0., 1.}, f64), ones({1}, f64),
                       {.rtol = 1e-9, .atol = 1e-10, .max_steps = 50, .dense = true});
    return sum((*r.sol)(array({0.3, 0.77}, f64)));
  };
  auto k = array(1.5, f64);
  auto exact = [](const Array& k) { return exp(-0.3 * k) + exp(-0.77 * k); };
  close({loss(k), grad(loss)(k)}, {exact(k), grad(exact)(k)}, 1e-6, "of dense output");
}
TEST(Ivp, SaysWhenItFails) {
  auto square_of = [](const Array&, const Array& y) { return y * y; };
  auto r = solve_ivp(square_of, array({0., 2.}, f64), array({1.}, f64));
  EXPECT_EQ(r.status.item<int>(), -1);
  EXPECT_FALSE(r.success.item<bool>());
  EXPECT_TRUE(std::isnan(view(r.y, 1, 0).item<double>()));
  r = solve_ivp(square_of, array({0.}, f64), array({1.}, f64));
  close({r.y}, {array({{1.}}, f64)}, 0, "one time");
  auto f32s = solve_ivp(square_of, array({0., 0.5}), array({1.}), {.rtol = 1e-5});
  close({f32s.y}, {array({{1.}, {2.}})}, 1e-4, "f32");
  auto v = ones({3}), x = ones({2, 3});
  auto decays = [](const Array&, const Array& y) { return -y; };
  says_line<ShapeError>([&] { return solve_ivp(decays, x, v); },
                        "solve_ivp: the times must be a vector, got f32[2, 3]");
  says_line<DtypeError>([&] { return solve_ivp(decays, v, array({1})); },
                        "solve_ivp: y0 must be f32 or f64, got i32[1]");
  says_line<ValueError>([&] { return solve_ivp(decays, v, v, {.rtol = 0, .atol = 0}); }, "nor both 0");
  says_line<ValueError>([&] { return solve_ivp(decays, v, v, {.max_steps = 0}); }, "max_steps = 0 must be positive");
  says_line<ValueError>([&] { return solve_ivp(decays, v, v, {.adjoint = OdeAdjoint::backsolve, .dense = true}); },
                        "have no derivative by .adjoint = backsolve");
  says_line<ShapeError>([&] { return solve_ivp([](const Array&, const Array& y) { return sum(y); }, v, v); },
                        "solve_ivp: f");
  auto no_scalar = [](const Array&, const Array& y) { return y; };
  says_line<ShapeError>([&] { return solve_ivp(decays, v, v, {}, {{.g = no_scalar}}); },
                        "an event gives a scalar, not f32[3]");
}
}  // namespace
}  // namespace bora::laws::ode_test
