// Laws of forward mode through loops, branches, calls, solvers and meshes. Primitives alone: registry_test.cpp.
#include "bora/ops/contractions.h"
#include "laws/laws.h"

namespace bora::laws::forward_test {
namespace {
using Pair = std::pair<Array, Array>;
/// {body applied while the counter is below n} as a while_loop, and as a scan of n rounds.
Array by_while(const Array& x, const Array& w, int n) {
  return while_loop([n](const Pair& c) { return c.first < n; },
                    [&](const Pair& c) {
                      return Pair{c.first + 1, sin(c.second * w) + c.second};
                    },
                    Pair{array(0), x})
      .second;
}
Array by_scan(const Array& x, const Array& w, int n) {
  return scan([&](const Array& c, const Array&) { return std::pair{sin(c * w) + c, none}; }, x, zeros({n})).first;
}
TEST(Forward, ThroughWhileLoop) {
  auto x = rnd({3}, 1), w = rnd({3}, 2), dx = rnd({3}, 3), dw = rnd({3}, 4);
  auto loop = [](const Array& a, const Array& b) { return by_while(a, b, 5); };
  auto rounds = [](const Array& a, const Array& b) { return by_scan(a, b, 5); };
  std::tuple in{x, w}, t{dx, dw};
  auto [y, dy] = jvp(loop, in, t);
  auto want = jvp(rounds, in, t);
  close({y, dy}, {want.first, want.second}, 1e-14, "while = scan");
  auto j = jit([&](const Array& a, const Array& b) { return jvp(loop, std::tuple{x, w}, std::tuple{a, b}).second; });
  close({j(dx, dw)}, {dy}, 0, "jit");
  close({jvp(loop, in, std::tuple{dx, Array()}).second}, {jvp(rounds, in, std::tuple{dx, Array()}).second}, 1e-14,
        "one argument");
  auto [z, push] = linearize(loop, x, w);
  close({z, push(dx, dw)}, {y, dy}, 1e-14, "linearize");
  close({jacfwd([&](const Array& a) { return loop(a, w); })(x)},
        {jacrev([&](const Array& a) { return rounds(a, w); })(x)}, 1e-13, "jacfwd");
  auto second = [&](auto f) {
    auto first = [&](const Array& a) { return jvp([&](const Array& b) { return f(b, w); }, a, dx).second; };
    return jvp(first, x, dw).second;
  };
  close({second(loop)}, {second(rounds)}, 1e-13, "jvp of jvp");
  EXPECT_THROW((void)grad([&](const Array& a) { return sum(loop(a, w)); })(x), TraceError);
  auto moved = [&](const Array& a) { return sum(jvp([&](const Array& b) { return loop(b, w); }, a, dx).second); };
  EXPECT_THROW((void)grad(moved)(x), TraceError);
  auto many = rnd({4, 3}, 5);
  auto one = [&](const Array& a) { return jvp([&](const Array& b) { return loop(b, w); }, a, dx).second; };
  auto all = vmap(one)(many);
  for (std::int64_t i = 0; i < 4; ++i) close({view(all, i)}, {one(view(many, i))}, 1e-14, "vmap of jvp");
  auto of_vmap = jvp(vmap([&](const Array& a) { return loop(a, w); }), many, broadcast_to(dx, {4, 3})).second;
  close({of_vmap}, {all}, 1e-14, "jvp of vmap");
}
/// An argument that a function gives up is not written over while derivatives still read it.
TEST(Forward, DonatedArgumentsLast) {
  auto w = full({1000}, 2.0);
  auto g = jit([&](const Array& y, const Array& x) { return by_while(y * x, w, 3); });
  auto f = [&](const Array& x) {
    auto y = full({1000}, 3.0) * 1.0;
    return g(std::move(y), x);
  };
  auto kept = [&](const Array& x) {
    auto y = full({1000}, 3.0) * 1.0;
    return g(y, x);
  };
  auto x = full({1000}, 0.25), t = full({1000}, 1.5);
  auto [want, wanted] = jvp(kept, x, t);
  auto [r, push] = linearize(f, x);
  for (int again = 0; again < 2; ++again) close({r, push(t)}, {want, wanted}, 1e-6, "linearize");
  close({jvp(f, x, t).second}, {wanted}, 1e-6, "jvp");
}
TEST(Forward, LanesOfAWhileLoopEndApart) {
  auto up = [](const Array& limit, const Array& a) {
    return while_loop([&](const Pair& c) { return c.first < limit; },
                      [](const Pair& c) {
                        return Pair{c.first + 1, square(c.second)};
                      },
                      Pair{array(0.0, f64), a})
        .second;
  };
  auto limits = array({1., 3., 0.}, f64), x = array({1.5, 1.1, 3.}, f64);
  auto d = vmap([&](const Array& l, const Array& a) {
    return jvp([&](const Array& v) { return up(l, v); }, a, ones({}, f64)).second;
  })(limits, x);
  close({d}, {array({3., 8 * std::pow(1.1, 7), 1.}, f64)}, 1e-14, "2x, 8x^7, 1");
}
TEST(Forward, ScanIsOneLoop) {
  auto x = rnd({3}, 1), w = rnd({3}, 2), dx = rnd({3}, 3);
  auto f = [&](const Array& a) { return by_scan(a, w, 7); };
  auto p = program_of([&](const Array& a, const Array& d) { return jvp(f, a, d); }, x, dx);
  EXPECT_EQ(count(*p, "scan"), 1u) << *p;
  EXPECT_EQ(count(*p, "sin"), 1u) << *p;
  for (bool reverse : {false, true}) {
    auto steps = [&](const Pair& in) {
      auto body = [&](const Array& c, const Array& e) { return std::pair{tanh(c * e) + w, c * e}; };
      return scan(body, in.first, in.second, {.reverse = reverse});
    };
    Pair in{rnd({3}, 4), rnd({5, 3}, 5)}, t{rnd({3}, 6), rnd({5, 3}, 7)};
    auto [y, dy] = jvp(steps, in, t);
    auto [z, pull] = vjp(steps, in);
    auto c = Pair{rnd({3}, 8), rnd({5, 3}, 9)};
    auto g = pull(c);
    EXPECT_NEAR(inner({c.first, c.second}, {dy.first, dy.second}), inner({g.first, g.second}, {t.first, t.second}),
                1e-12);
    auto only_xs = jvp(steps, in, Pair{Array(), t.second}).second;
    auto zero = jvp(steps, in, Pair{zeros_like(t.first), t.second}).second;
    close({only_xs.first, only_xs.second}, {zero.first, zero.second}, 0, "an empty tangent is zero");
  }
  auto none_at_all = scan([](const Array& c, const Array& e) { return std::pair{c * e, none}; }, x, zeros({0, 3}, f64));
  auto empty = jvp([](const Array& a) {
    return scan([](const Array& c, const Array& e) { return std::pair{c * e, c}; }, a, zeros({0, 3}, f64));
  }, x, dx).second;
  close({empty.first, none_at_all.first}, {dx, x}, 0, "no rounds");
}
TEST(Forward, ThroughBranchesAndCalls) {
  auto x = rnd({3}, 1), dx = rnd({3}, 2);
  for (double side : {-1., 1.}) {
    auto f = [side](const Array& a) {
      return cond(
          array(side, f64) > 0, [](const Array& v) { return sin(v) * v; }, [](const Array& v) { return v * 0 + 2; }, a);
    };
    auto want = side > 0 ? (cos(x) * x + sin(x)) * dx : zeros({3}, f64);
    auto along = [&](const Array& a) { return jvp(f, a, dx).second; };
    close({along(x), jit(along)(x), jvp(jit(f), x, dx).second, jvp(checkpoint(f), x, dx).second,
           linearize(f, x).second(dx)},
          {want, want, want, want, want}, 1e-14, "cond");
  }
  auto pick = [](const Array& i, const Array& a) {
    return switch_(i,
                   std::tuple{[](const Array& v) { return exp(v); }, [](const Array& v) { return v * v; },
                              [](const Array& v) { return v; }},
                   a);
  };
  for (int i = 0; i < 3; ++i) {
    auto want = (i == 0 ? exp(x) : i == 1 ? 2 * x : ones({3}, f64)) * dx;
    close({jvp([&](const Array& a) { return pick(array(i), a); }, x, dx).second}, {want}, 1e-14, "switch");
  }
  auto lanes = jvp(vmap([](const Array& a) {
    return cond(a > 0, [](const Array& v) { return log(v); }, [](const Array& v) { return v * 3; }, a);
  }), array({0.5, -2., 0.}, f64), ones({3}, f64)).second;
  close({lanes}, {array({2., 3., 3.}, f64)}, 0, "the untaken branch leaks nothing");
}
TEST(Forward, ThroughCustomRulesAndSolvers) {
  auto x = rnd({3}, 1) + 2, dx = rnd({3}, 2);
  auto ten = custom_vjp([](const Array& a) { return exp(a); },
                        [](const Array& a) {
                          auto y = exp(a);
                          return std::pair{y, y};
                        },
                        [](const Array& y, const Array& ct) { return ct * y * 10; });
  auto tenfold = exp(x) * dx * 10;
  close({jvp(ten, x, dx).second, linearize(ten, x).second(dx)}, {tenfold, tenfold}, 1e-13, "custom_vjp");
  auto rule = custom_jvp([](const Array& a) { return sin(a); },
                         [](const Array& a, const Array& d) { return std::pair{sin(a), 3 * d}; });
  close({jvp(rule, x, dx).second}, {3 * dx}, 1e-14, "custom_jvp");
  auto root = [](const Array& a) {
    return custom_root([&](const Array& y) { return y * y - a; }, ones({3}, f64),
                       [](const auto& g, const Array& guess) {
                         return fori_loop(0, 30, [&](const Array&, const Array& y) {
                           auto value = g(y);
                           return y - value / (2 * y);
                         }, guess);
                       },
                       [](const auto& g, const Array& y) { return y / g(ones_like(y)); });
  };
  auto want = 0.5 / sqrt(x) * dx;
  close({jvp(root, x, dx).second, jit([&](const Array& a) { return jvp(root, a, dx).second; })(x)}, {want, want}, 1e-9,
        "custom_root");
  auto solve = [](const Array& a) {  // no transpose is needed forward
    return custom_linear_solve([&](const Array& y) { return a * y; }, a * a,
                               [](const auto& f, const Array& b) { return b / f(ones_like(b)); });
  };
  close({jvp(solve, x, dx).second}, {dx}, 1e-13, "custom_linear_solve: y = a");
}
TEST(Forward, SecondDerivativesAgree) {
  auto f = [](const Array& x) {
    auto h = tanh(matmul(reshape(x, {2, 2}), reshape(sin(x), {2, 2})));
    return sum(h * h) + prod(x) + amax(x) * logsumexp(x);
  };
  auto x = rnd({4}, 3);
  auto want = jacrev(jacrev(f))(x);
  close({jacfwd(jacrev(f))(x), jacrev(jacfwd(f))(x), jacfwd(jacfwd(f))(x), hessian(f)(x), jit(hessian(f))(x)},
        {want, want, want, want, want}, 1e-12, "hessian");
  auto v = rnd({4}, 4);
  close({jvp(grad(f), x, v).second, grad([&](const Array& a) { return jvp(f, a, v).second; })(x)},
        {matmul(want, v), matmul(want, v)}, 1e-12, "hvp");
}
TEST(Forward, ZerosStaySymbolic) {
  auto f = [](const Array& x, const Array& y) { return sin(x) * exp(y) + cosh(y); };
  auto x = rnd({3}, 1), y = rnd({3}, 2), d = rnd({3}, 3);
  auto p = program_of([&](const Array& a, const Array& b, const Array& t) {
    return jvp(f, std::tuple{a, b}, std::tuple{t, Array()}).second;
  }, x, y, d);
  EXPECT_EQ(count(*p, "sinh") + count(*p, "cosh") + count(*p, "add"), 0u) << *p;
  auto [v, t] = fx::jvp_flat([](const Arrays& a) { return Arrays{stop_gradient(a[0]), floor(a[0]), a[0] * 0 + a[1]}; },
                             {x, y}, {d, Array()});
  EXPECT_FALSE(t[0].defined());
  EXPECT_FALSE(t[1].defined());
  EXPECT_TRUE(t[2].defined());
  EXPECT_THROW((void)jvp([](const Array& a) { return a * a.item<double>(); }, rnd({}, 1), rnd({}, 2)), TraceError);
}
TEST(Forward, InsideShardMap) {
  auto x = rnd({6, 2}, 1), dx = rnd({6, 2}, 2), w = rnd({2}, 3), dw = rnd({2}, 4);
  auto local = [](const Array& a, const Array& b) { return tanh(a * b) / sum(a * a); };
  auto want = jvp(local, std::tuple{x, w}, std::tuple{dx, dw}).second;
  for (auto& axes : meshes()) {
    if (axes.size() > 1) continue;
    local_mesh(axes, [&](const Mesh& mesh) {
      auto blocks = shard_map([](const Array& a, const Array& b) { return tanh(a * b) / psum(sum(a * a), "data"); },
                              mesh, {Spec{"data"}, Spec{}}, Spec{"data"});
      auto f = [&](const Array& a, const Array& b) { return blocks(a, b); };
      auto in = with_sharding_constraint(x, Spec{"data"});
      auto t = jvp(f, std::tuple{in, w}, std::tuple{dx, dw}).second;
      close({gather(t)}, {want}, 1e-13, "jvp of shard_map");
      auto s = jit([&](const Array& a) { return jvp(f, std::tuple{a, w}, std::tuple{dx, dw}).second; })(in);
      close({gather(s)}, {want}, 1e-13, "jit(jvp of shard_map)");
    });
  }
}
}  // namespace
}  // namespace bora::laws::forward_test
