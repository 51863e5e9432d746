// Interpreters nest in any order: combinations of transformations, levels, closures, control flow.
#include "bora/base/parallel.h"
#include "compile/api/program.h"
#include "bora/ops/collectives.h"
#include "laws/laws.h"
#include "bora/ops/contractions.h"

namespace bora::laws::nesting_test {
namespace {
struct Rnn {
  Array w, h, xs;
};
/// A recurrent cell over xs, by scan or unrolled.
Array rnn(const Rnn& p, bool scanned, bool reverse) {
  auto cell = [&](const Array& h, const Array& x) {
    auto n = tanh(matmul(h, p.w) + x);
    return std::pair{n, n * h};
  };
  if (scanned) {
    auto [h, ys] = scan(cell, p.h, p.xs, {.reverse = reverse});
    return sum(h * h) + sum(ys);
  }
  Array h = p.h, s = array(0.0, f64);
  auto n = p.xs.shape(0);
  for (std::int64_t t = 0; t < n; ++t) {
    auto r = cell(h, view(p.xs, reverse ? n - 1 - t : t));
    h = r.first;
    s = s + sum(r.second);
  }
  return sum(h * h) + s;
}
Arrays of(const Rnn& r) { return {r.w, r.h, r.xs}; }
const Rnn kRnn{rnd({3, 3}, 1), rnd({2, 3}, 2), rnd({5, 2, 3}, 3)};
Array f64_of(double v) { return array(v, f64); }

TEST(Levels, AnInnerDerivativeDoesNotSeeTheOuterVariable) {
  auto x = f64_of(0.7), y = f64_of(1.3);
  close({grad([&](const Array& a) { return a * grad([&](const Array& b) { return a + b; })(y); })(x)}, {f64_of(1)}, 0,
        "d/dx x * d/dy(x + y)");
  close({grad([&](const Array& a) { return grad([&](const Array& b) { return a * a * b; })(y) * a; })(x)}, {x * x * 3},
        1e-15, "d/dx x * d/dy(x^2 y)");
  auto j = jvp([&](const Array& a) { return a * jvp([&](const Array& b) { return a * b; }, y, f64_of(1)).second; }, x,
               f64_of(1))
               .second;
  close({j}, {x * 2}, 1e-15, "jvp in jvp");
  auto third = grad([](const Array& a) {
    return grad([](const Array& b) { return grad([](const Array& c) { return exp(c * 2); })(b); })(a);
  })(x);
  close({third}, {exp(x * 2) * 8}, 1e-12, "three times");
}
TEST(Levels, VmapInVmapClosesOverTheOuterTracer) {
  auto v = vmap([&](const Array& a) { return vmap([&](const Array& b) { return a * b; })(rnd({3}, 2)); })(rnd({2}, 1));
  close({v}, {reshape(rnd({2}, 1), {2, 1}) * reshape(rnd({3}, 2), {1, 3})}, 0, "outer product");
}
TEST(Levels, ALeakedTracerIsAnError) {
  Array leaked;
  (void)jit([&](const Array& a) {
    leaked = a;
    return a * 2;
  })(f64_of(1));
  EXPECT_THROW((void)(leaked + 1), TraceError);
  EXPECT_THROW((void)jit([](const Array& a) { return a.item<double>() > 0 ? a : a * 2; })(f64_of(1)), TraceError);
}
struct Params {
  Array w, b;
  double scale = 2;
};
Array loss(const Params& p, const Array& x) { return mean(tanh(matmul(x, p.w) + p.b) * p.scale); }
TEST(Levels, JitOfLongRowsHasTheEagerBits) {
  auto x = sin(reshape(arange(600000., f32), {2, 300000}));
  auto f = [](const Array& a) { return std::pair{sum(square(a)), softmax(a)}; };
  auto want = f(x);
  for (int threads : {1, 2, 5}) {
    set_thread_count(threads);
    auto got = jit(f)(x);
    set_thread_count(0);
    EXPECT_TRUE(array_equal(got.first, want.first) && array_equal(got.second, want.second)) << threads;
  }
}
TEST(Trees, StructsGoThroughEveryTransform) {
  Params p{rnd({3, 2}, 1), rnd({2}, 2)};
  auto x = rnd({4, 3}, 3);
  auto f = [](const Params& q, const Array& v) { return loss(q, v); };
  auto g = grad(f)(p, x);
  auto j = jit(grad(f));
  auto gj = j(p, x);
  close({gj.w, gj.b}, {g.w, g.b}, 0, "jit(grad)");
  (void)j(p, x);
  EXPECT_EQ(j.traces(), 1);
  p.scale = 3;
  (void)j(p, x);
  EXPECT_EQ(j.traces(), 2) << "a changed static is another Program";
  (void)j(p, rnd({5, 3}, 3));
  EXPECT_EQ(j.traces(), 3) << "and so is a new shape";
  Params stacked{rnd({4, 3, 2}, 1), rnd({4, 2}, 2), 3};
  auto per = vmap(grad(f), {.in = {0, none}})(stacked, x);
  for (std::int64_t i = 0; i < 4; ++i) {
    auto gi = grad(f)(Params{view(stacked.w, i), view(stacked.b, i), 3}, x);
    close({view(per.w, i), view(per.b, i)}, {gi.w, gi.b}, 1e-14, "vmap(grad) over stacked parameters");
  }
}
TEST(Trees, JitLiftsWhatItCaptures) {
  auto captured = rnd({3}, 4);
  auto h = jit([captured](const Array& a) { return a * captured; });
  close({h(captured), h(captured)}, {captured * captured, captured * captured}, 0, "buffer");
  auto through =
      grad([&](const Array& w) { return sum(jit([w](const Array& a) { return a * w * w; })(captured)); })(captured);
  close({through}, {captured * captured * 2}, 1e-15, "tracer");
}

class ControlFlow : public testing::TestWithParam<bool> {};
TEST_P(ControlFlow, ScanInEveryNesting) {
  bool reverse = GetParam();
  auto s = [reverse](const Arrays& a) { return rnn({a[0], a[1], a[2]}, true, reverse); };
  auto l = [reverse](const Arrays& a) { return rnn({a[0], a[1], a[2]}, false, reverse); };
  auto in = of(kRnn);
  close({s(in)}, {l(in)}, 1e-13, "scan = loop");
  auto gl = grad(l)(in), gs = grad(s)(in);
  close(gs, gl, 1e-13, "grad(scan) = grad(loop)");
  close(jit(grad(s))(in), gl, 1e-13, "jit(grad(scan))");
  close(grad(jit(s))(in), gl, 1e-13, "grad(jit(scan))");
  auto p = program_of(grad(s), in);
  EXPECT_EQ(count(*p, "scan"), 2u) << "the gradient of a scan is a second scan";
  EXPECT_LE(count(*p, "dot_general"), 3u) << "and nothing is unrolled";
  Arrays t{rnd({3, 3}, 7), rnd({2, 3}, 8), rnd({5, 2, 3}, 9)};
  auto hvp = [&](auto f) { return jvp([f](const Arrays& a) { return grad(f)(a); }, in, t).second; };
  close(hvp(s), hvp(l), 1e-11, "hvp = jvp of grad, through scan");
  auto gg = [&](auto f) {
    return grad([f](const Arrays& a) {
      auto g = grad(f)(a);
      return sum(g[0] * g[0]) + sum(g[2] * g[1]);
    })(in);
  };
  close(gg(s), gg(l), 1e-11, "grad of grad of scan");
  auto many = rnd({4, 5, 2, 3}, 5);
  auto one = [&](std::int64_t i) { return grad(l)(Arrays{in[0], in[1], view(many, i)}); };
  auto per = vmap([&](const Array& x) { return grad(s)(Arrays{in[0], in[1], x}); })(many);
  auto total = one(0);
  for (std::int64_t i = 0; i < 4; ++i) {
    close({view(per[0], i), view(per[1], i), view(per[2], i)}, one(i), 1e-13, "vmap(grad(scan))");
    if (i)
      for (std::size_t k = 0; k < 2; ++k) total[k] = total[k] + one(i)[k];
  }
  auto gv = grad([&](const Arrays& a) {
    return sum(vmap([&](const Array& x) { return s(Arrays{a[0], a[1], x}); })(many));
  })(in);
  close({gv[0], gv[1]}, {total[0], total[1]}, 1e-12, "grad(vmap(scan))");
  auto sv = scan(
                [&](const Array& c, const Array& x) {
                  auto y = vmap([&](const Array& ci, const Array& xi) { return tanh(matmul(ci, in[0])) + xi; })(c, x);
                  return std::pair{y, none};
                },
                in[1], in[2], {.reverse = reverse})
                .first;
  auto sl = in[1];
  for (std::int64_t k = 0; k < 5; ++k) sl = tanh(matmul(sl, in[0])) + view(in[2], reverse ? 4 - k : k);
  close({sv}, {sl}, 1e-13, "scan of vmap");
  for (auto& policy : {remat::nothing, remat::dots, remat::everything}) {
    auto ck = [reverse, policy](const Arrays& a) {
      auto body = [w = a[0]](const Array& h, const Array& x) {
        auto n = tanh(matmul(h, w) + x);
        return std::pair{n, n * h};
      };
      auto [h, ys] = scan(checkpoint(body, policy), a[1], a[2], {.reverse = reverse});
      return sum(h * h) + sum(ys);
    };
    close(grad(ck)(in), gs, 0, "grad(scan(checkpoint)) bit for bit");
    close(grad(jit(ck))(in), gs, 0, "grad(jit(scan(checkpoint)))");
    auto f = [&](const Array& x) { return ck(Arrays{in[0], in[1], x}); };
    auto g = [&](const Array& x) { return s(Arrays{in[0], in[1], x}); };
    close({jit(vmap(grad(f)))(many)}, {vmap(grad(g))(many)}, 1e-13, "jit(vmap(grad(scan(checkpoint))))");
  }
}
INSTANTIATE_TEST_SUITE_P(Laws, ControlFlow, testing::Bool());
TEST(ControlFlow, AResultOfTheBodyIsNotStackedTwice) {
  auto f = [](const Array& w) {
    auto [c, ys] = scan(
        [&](const Array& a, const Array& x) {
          auto y = tanh(x * w);
          return std::pair{a + y, y};
        },
        zeros({3}, f64), rnd({4, 3}, 1));
    return sum(c) + sum(ys * ys);
  };
  auto p = program_of(grad(f), rnd({3}, 2));
  auto forward = std::find_if(p->code.begin(), p->code.end(), [](auto& i) { return i.primitive->name() == "scan"; });
  EXPECT_EQ(forward->out.size(), 2u) << print(*p);
  auto y = tanh(rnd({4, 3}, 1) * rnd({3}, 2));
  close({grad(f)(rnd({3}, 2))}, {sum((1 + 2 * y) * (1 - y * y) * rnd({4, 3}, 1), 0)}, 1e-14, "gradient");
}
TEST(ControlFlow, CheckpointRepeatsWhatItDoesNotKeep) {
  auto products = [](const remat::Policy& p) {
    auto f = [p](const Array& w) {
      return sum(checkpoint([](const Array& v) { return tanh(matmul(tanh(matmul(v, v)), v)); }, p)(w));
    };
    return count(*program_of(value_and_grad(f), rnd({3, 3}, 1)), "dot_general");
  };
  EXPECT_EQ(products(remat::nothing), products(remat::everything) + 2);
  EXPECT_EQ(products(remat::dots), products(remat::everything));
}
TEST(ControlFlow, CondUnderGradJitVmap) {
  auto x = rnd({3}, 4);
  for (double side : {-1.0, 1.0}) {
    auto c = [&](const Array& a) {
      return sum(cond(
          sum(a) * 0.0 < side, [&](const Array& t) { return t * t * x; }, [](const Array& t) { return exp(t); }, a));
    };
    auto want = side > 0 ? x * x * 2 : exp(x);
    close({grad(c)(x), jit(grad(c))(x), grad(jit(c))(x)}, {want, want, want}, 1e-14, "grad(cond)");
  }
  auto pick = [](const Array& p, const Array& a) {
    return cond(
        p < 0, [](const Array& t) { return t * 2; }, [](const Array& t) { return t * t; }, a);
  };
  auto ps = array({-1., 1., -1.}, f64), as = rnd({3, 2}, 6);
  auto vp = vmap(pick)(ps, as);
  for (std::int64_t i = 0; i < 3; ++i)
    close({view(vp, i)}, {pick(view(ps, i), view(as, i))}, 0, "vmap(cond) with a mapped predicate");
  auto safe = grad([&](const Array& a) {  // log of the lanes that do not take it must not leak NaN
    return sum(vmap([](const Array& v) {
      return cond(
          v > 0, [](const Array& t) { return log(t); }, [](const Array& t) { return t * 0.0; }, v);
    })(a));
  })(array({0., 2.}, f64));
  close({safe}, {array({0., 0.5}, f64)}, 0, "the untaken branch leaks nothing");
}
TEST(ControlFlow, WhileFreezesFinishedLanes) {
  auto up = [](const Array& limit, const Array& a) {
    return while_loop([&](const std::pair<Array, Array>& c) { return c.first < limit; },
                      [](const std::pair<Array, Array>& c) {
                        return std::pair{c.first + 1, c.second * 1.5};
                      },
                      std::pair{array(0.0, f64), a})
        .second;
  };
  auto limits = array({1., 4., 2.}, f64), start = array({-1., 1., -1.}, f64);
  auto v = vmap(up)(limits, start);
  for (std::int64_t i = 0; i < 3; ++i) close({view(v, i)}, {up(view(limits, i), view(start, i))}, 0, "lane");
  close({jit(vmap(up))(limits, start)}, {v}, 0, "jit(vmap(while))");
}
TEST(ControlFlow, CustomVjpUnderEveryTransform) {
  auto x = rnd({3}, 4);
  auto ten = custom_vjp([](const Array& a) { return exp(a); },
                        [](const Array& a) {
                          auto y = exp(a);
                          return std::pair{y, y};
                        },
                        [](const Array& y, const Array& ct) { return ct * y * 10; });
  auto want = exp(x) * 10;
  auto f = [&](const Array& a) { return sum(ten(a)); };
  close({grad(f)(x), jit(grad(f))(x), grad(jit(f))(x), vmap(grad([&](const Array& a) { return ten(a); }))(x)},
        {want, want, want, want}, 1e-14, "ten times");
  auto t = rnd({2, 3}, 9);
  auto in_scan = grad([&](const Array& a) {
    return sum(scan([&](const Array& c, const Array& s) { return std::pair{ten(c) * s, none}; }, a, t).first);
  })(x);
  auto c1 = exp(x) * view(t, 0);
  close({in_scan}, {exp(c1) * view(t, 1) * 10 * exp(x) * view(t, 0) * 10}, 1e-12, "in a scan");
}

TEST(NamedAxes, CollectivesUnderVmap) {
  auto x = rnd({4, 8}, 1);
  auto each = [&](auto f) { return vmap(f, {.axis_name = "i"})(x); };
  auto tile4 = [&](const Array& a) { return broadcast_to(a, {4, a.shape(0)}); };
  close({each([](const Array& a) { return psum(a, "i"); })}, {tile4(sum(x, 0))}, 1e-15, "psum");
  close({each([](const Array& a) { return pmean(a, "i"); })}, {tile4(mean(x, 0))}, 1e-15, "pmean");
  close({each([](const Array& a) { return pmax(a, "i"); })}, {tile4(amax(x, 0))}, 0, "pmax");
  close({each([](const Array& a) { return all_gather(a, "i"); })}, {broadcast_to(x, {4, 4, 8})}, 0, "all_gather");
  close({each([](const Array& a) { return all_gather(a, "i", {.tiled = true}); })}, {tile4(reshape(x, {32}))}, 0,
        "all_gather tiled");
  close({each([](const Array& a) { return psum_scatter(a, "i", {.tiled = true}); })}, {reshape(sum(x, 0), {4, 2})},
        1e-15, "psum_scatter");
  close({each([](const Array& a) { return psum_scatter(a > 0, "i", {.tiled = true}); })},
        {reshape(sum(x > 0, 0), {4, 2})}, 0, "psum_scatter of booleans");
  close({each([](const Array& a) { return all_to_all(a, "i", 0, 0); })},
        {reshape(transpose(reshape(x, {4, 4, 2}), {1, 0, 2}), {4, 8})}, 0, "all_to_all");
  close({each([](const Array& a) {
          return ppermute(a, "i", {{0, 1}, {1, 2}, {2, 3}});
        })},
        {concatenate({zeros({1, 8}, f64), view(x, range(0, 3))})}, 0, "ppermute");
  close({each([](const Array& a) { return axis_index("i").astype(f64) + a * 0.0; })},
        {broadcast_to(reshape(arange(4, f64), {4, 1}), {4, 8})}, 0, "axis_index");
  close({vmap(grad([](const Array& a) { return -psum(a, "i"); }), {.axis_name = "i"})(ones({5}, f64))},
        {full({5}, -5.0, f64)}, 0, "grad inside differentiates the sum of all");
  EXPECT_THROW((void)psum(x, "nowhere"), ShardError);
  for (auto f : {+[](const Array& a) { return all_gather(a, "i"); },
                 +[](const Array& a) { return psum_scatter(a, "i", {.tiled = true}); },
                 +[](const Array& a) { return all_to_all(a, "i", 0, 0); },
                 +[](const Array& a) {
                   return ppermute(a, "i", {{0, 2}, {3, 1}});
                 },
                 +[](const Array& a) { return psum(a, "i"); }}) {
    FlatFn v = [&](const Arrays& a) {
      return Arrays{vmap([&](const Array& r) { return f(tanh(r)); }, {.axis_name = "i"})(a[0])};
    };
    auto ct = rnd(v({x})[0].shape(), 3), t = rnd({4, 8}, 4);
    auto g = fx::vjp_flat(v, {x}, {true}).pullback({ct});
    auto j = fx::jvp_flat(v, {x}, {t}).second;
    auto eps = 1e-6;
    auto fd = inner({ct}, {(v({x + t * eps})[0] - v({x - t * eps})[0]) / (2 * eps)});
    EXPECT_NEAR(inner(g, {t}), fd, 1e-7);
    EXPECT_NEAR(inner({ct}, j), fd, 1e-7);
  }
}
}  // namespace
}  // namespace bora::laws::nesting_test
