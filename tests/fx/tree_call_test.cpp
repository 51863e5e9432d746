// The typed transforms: what goes in and out as trees, options, and what errors say.
#include <gtest/gtest.h>
#include <cmath>
#include "bora/fx/transforms.h"
#include "bora/ops/collectives.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/ops.h"
#include "bora/ops/reductions.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"
#include "fx/forms.h"
#include "fx/retrace.h"
#include "support/throws.h"
#include "compile/api/control.h"

namespace tree_call_test {
namespace {
using namespace bora;
using forms_tests::close;
using test::says_with_line;
struct Dense {
  Array weight;
  std::optional<Array> bias;
  Array operator()(const Array& x) const {
    auto y = matmul(x, weight);
    return bias ? y + *bias : y;
  }
};
struct Net {
  Dense up, down;
  float scale = 2;
  Array operator()(const Array& x) const { return scale * down(tanh(up(x))); }
};
struct Sums {
  Array total;
  std::vector<Array> parts;
};
Net net() {
  return {{array({{0.1, -0.2, 0.3}, {0.5, 0.4, -0.6}}), array({0.01, 0.02, 0.03})},
          {array({{0.7}, {-0.8}, {0.9}}), none}};
}
const auto loss = [](const Net& m, const Array& x, const Array& y) { return mean(square(m(x) - y)); };
Array xs() { return array({{1., 2.}, {3., -4.}, {0.5, 0.25}, {-1., 1.}}); }
Array ys() { return array({{1.}, {0.}, {2.}, {-1.}}); }
template <class T> void close_trees(const T& a, const T& b, float tolerance = 1e-6F) {
  auto x = tree::leaves(a), y = tree::leaves(b);
  ASSERT_EQ(tree::paths(a), tree::paths(b));
  for (std::size_t i = 0; i < x.size(); ++i) close(x[i], y[i], tolerance);
}
TEST(Grad, HasTheTypeOfTheArgumentAndEqualsFiniteDifferences) {
  auto m = net();
  auto g = grad(loss)(m, xs(), ys());
  EXPECT_FALSE(g.down.bias.has_value());
  auto leaves = tree::leaves(m), gradients = tree::leaves(g);
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    auto at = leaves[l].to_vector<float>();
    for (std::size_t i = 0; i < at.size(); ++i) {
      auto moved = [&](float h) {
        auto v = at;
        v[i] += h;
        auto changed = leaves;
        changed[l] = asarray(v, leaves[l].shape());
        return loss(tree::unflatten(m, changed), xs(), ys()).item<float>();
      };
      EXPECT_NEAR(gradients[l].to_vector<float>()[i], (moved(1e-2F) - moved(-1e-2F)) / 2e-2F, 2e-3)
          << tree::paths(m)[l];
    }
  }
}
TEST(Grad, ValueAndAuxByType) {
  auto m = net();
  auto [l, g] = value_and_grad(loss)(m, xs(), ys());
  close(l, loss(m, xs(), ys()));
  auto with_aux = [](const auto& n, const Array& x, const Array& y) {
    Array p = n(x);
    return std::pair{mean(square(p - y)), Sums{sum(p), {p}}};
  };
  auto [l2, aux, g2] = value_and_grad(with_aux)(m, xs(), ys());
  close(l2, l);
  close_trees(g2, g);
  close(aux.parts.at(0), m(xs()));
  auto [g3, aux3] = grad(with_aux)(m, xs(), ys());
  close_trees(g3, g);
  close(aux3.total, sum(m(xs())));
}
TEST(Grad, LeavesThatAreNotFloatingGetNoGradient) {
  struct Mixed {
    Array w, count;
  };
  auto g = grad([](const Mixed& m) { return sum(m.w * m.w) * m.count.astype(f32); })(Mixed{array({1., 2.}), array(3)});
  close(g.w, array({6., 12.}));
  EXPECT_FALSE(g.count.defined());
  EXPECT_MESSAGE(DtypeError, grad([](const Array& x) { return sum(x); })(array({1, 2})), "no floating leaves");
}
TEST(Grad, SaysWhatIsWrongWithTheLoss) {
  EXPECT_MESSAGE(ShapeError, grad([](const Array& x) { return x * 2; })(xs()),
                 "the loss must be a scalar, got f32[4, 2]; did you forget mean()?");
  EXPECT_MESSAGE(DtypeError, grad([](const Array& x) { return sum(x).astype(i32); })(xs()),
                 "the loss must be floating");
}
TEST(Grad, MemberFunctionsAndNesting) {
  struct Cube {
    Array a;
    Array at(const Array& x) const { return sum(a * x * x * x); }
  };
  Cube c{array(2.)};
  close(grad(&Cube::at)(c, array(3.)).a, array(27.));
  auto f = [](const Array& x) { return x * x * x; };
  close(grad(grad(grad(f)))(array(5.)), array(6.));
}
TEST(Vjp, OneAndSeveralArguments) {
  auto f = [](const Array& a, const Array& b) { return Sums{sum(a * b), {a + b, a}}; };
  auto a = array({1., 2.}), b = array({3., 5.});
  auto [out, pull] = vjp(f, a, b);
  close(out.total, array(13.));
  auto [ga, gb] = pull(Sums{array(2.), {array({10., 20.}), Array()}});  // an empty cotangent is zero
  close(ga, array({16., 30.}));
  close(gb, array({12., 24.}));
  auto squared = vjp([](const Array& x) { return x * x; }, a);
  const auto& y = squared.first;
  const auto& one = squared.second;
  close(one(y), 2 * a * y);
  EXPECT_MESSAGE(ShapeError, one(array(1.)), "vjp: cotangent: value 0 has type f32[2] but is given f32[]");
}
TEST(Jvp, OneAndSeveralArguments) {
  auto [y, dy] = jvp([](const Array& x) { return square(x); }, array({1., 2.}), array({1., -1.}));
  close(y, array({1., 4.}));
  close(dy, array({2., -4.}));
  auto m = net();
  auto [l, dl] = jvp(loss, std::tuple{m, xs(), ys()}, std::tuple{m, zeros_like(xs()), zeros_like(ys())});
  auto g = grad(loss)(m, xs(), ys());
  float want = 0;
  auto a = tree::leaves(m), b = tree::leaves(g);
  for (std::size_t i = 0; i < a.size(); ++i) want += sum(a[i] * b[i]).item<float>();
  EXPECT_NEAR(dl.item<float>(), want, 1e-5);
  EXPECT_MESSAGE(ShapeError, jvp([](const Array& x) { return x; }, xs(), ys()),
                 "jvp: tangent: value 0 has type f32[4, 2] but is given f32[4, 1]");
}
TEST(Jacobian, RevFwdAndHessian) {
  auto f = [](const Array& x) { return stack({x * x, sin(x) * sum(x)}, 0); };
  auto x = array({0.5, -1., 2.});
  auto j = jacrev(f)(x);
  EXPECT_EQ(j.shape(), (Shape{2, 3, 3}));
  close(jacfwd(f)(x), j, 1e-5F);
  EXPECT_NEAR(view(j, 0, 1, 1).item<float>(), -2, 1e-5);
  auto h = hessian([](const Array& v) { return sum(v * v * v) + view(v, 0) * view(v, 2); })(x);
  close(h, array({{3., 0., 1.}, {0., -6., 0.}, {1., 0., 12.}}), 1e-5F);
}
TEST(Vmap, PerExampleGradients) {
  auto m = net();
  auto per = vmap(grad(loss), {.in = {none, 0, 0}})(m, xs(), ys());
  EXPECT_EQ(per.up.weight.shape(), (Shape{4, 2, 3}));
  for (int i = 0; i < 4; ++i) {
    auto one = grad(loss)(m, view(xs(), i), view(ys(), i));
    close(view(per.up.weight, i), one.up.weight, 1e-5F);
  }
}
TEST(Vmap, AxesOfArgumentsAndResults) {
  auto f = [](const Array& a, const Array& b) { return std::pair{a * b, b}; };
  auto a = array({{1., 2., 3.}, {4., 5., 6.}}), b = array({10., 20.});
  auto [p, q] = vmap(f, {.in = {-1, none}, .out = -1})(a, b);
  close(p, a * array({{10.}, {20.}}));
  EXPECT_EQ(q.shape(), (Shape{2, 3}));
  struct Pair {
    Array x, y;
  };
  auto mixed = vmap(
      [](const Pair& v) {
        return Pair{v.x + v.y, v.y};
      },
      {.in = {by_path({{"y", none}, {"*", 1}})}, .out = by_path({{"x", 1}, {"*", none}})})(Pair{a, b});
  close(mixed.x, a + array({{10.}, {20.}}));
  close(mixed.y, b);
  close(vmap([](const Array& x) { return psum(x, "i"); }, {.out = none, .axis_name = "i"})(b), array(30.));
  close(vmap([] { return array(1.); }, {.size = 3})(), ones({3}));
}
TEST(Vmap, EachPartOfAResultHasItsAxis) {
  auto a = array({{1., 2., 3.}, {4., 5., 6.}}), b = array({10., 20.});
  auto f = [](const Array& x, const Array& y) { return std::tuple{x * y, x + 1, Net{}, sum(x)}; };
  auto [p, q, nothing, s] = vmap(f, {.out = {1, 0, 0, -1}})(a, b);
  close(p, transpose(a * array({{10.}, {20.}})));
  close(q, a + 1);
  close(s, array({6., 15.}));
  auto pair = vmap([](const Array& x) { return std::pair{psum(x, "i"), x}; }, {.out = {none, 0}, .axis_name = "i"})(b);
  close(pair.first, array(30.));
  close(pair.second, b);
  // A part may be a tree: all of its leaves have the part's axis, or those that its patterns say.
  auto nested = [](const Array& x) { return std::pair{x, std::vector<Array>{2 * x, 3 * x}}; };
  auto [x, more] = jit(vmap(nested, {.out = {0, 1}}))(a);
  close(x, a);
  close(more[0], transpose(2 * a));
  close(more[1], transpose(3 * a));
  auto [y, some] = vmap(nested, {.out = {-1, by_path({{"*.1", 1}, {"*", 0}})}})(a);
  close(y, transpose(a));
  close(some[0], 2 * a);
  close(some[1], transpose(3 * a));
  close(vmap([](const Array& v) { return v; }, {.out = {1}})(a), transpose(a));
  auto both = [](const Array& v) { return std::pair{v, v}; };
  EXPECT_MESSAGE(ValueError, vmap(both, {.out = {0, 1, 0}})(a), "vmap: .out has 3 entries but f returns 2 parts");
  EXPECT_MESSAGE(ValueError, vmap([](const Array& v) { return v; }, {.out = {0, 1}})(a),
                 "vmap: .out has 2 entries but f returns 1 part; give one number for all, or one for each part");
  EXPECT_MESSAGE(ValueError, vmap(both, {.out = {none, 0}})(a),
                 "vmap: result 0 depends on what is mapped, but .out = none");
}
TEST(Vmap, ErrorsNameThePath) {
  auto add_all = [](const Net& m, const Array& x) { return m.up.weight + x; };
  EXPECT_MESSAGE(ShapeError, vmap(add_all, {.in = {0, 0}})(net(), xs()),
                 "'up.weight' has 2 and axis 0 of 'up.bias' of type f32[3] has 3");
  EXPECT_MESSAGE(ShapeError, vmap([](const Array& x) { return x; }, {.in = 2})(xs()), "has no axis 2 to map");
  EXPECT_MESSAGE(ValueError, vmap([](const Array& x) { return x; }, {.in = none})(xs()), "no argument is mapped");
  EXPECT_MESSAGE(ValueError, vmap([](const Array& x) { return x; }, {.in = {0, 0}})(xs()),
                 ".in has 2 entries but f is called with 1 argument");
  EXPECT_MESSAGE(ValueError, vmap([](const Array& x) { return x; }, {.out = none})(xs()),
                 "vmap: result 0 depends on what is mapped, but .out = none says that it does not");
}
TEST(Scan, CarryAndYsAreTrees) {
  auto body = [](const Sums& c, const Array& x) { return std::pair{Sums{c.total + x, {c.parts[0] * x}}, c.total}; };
  Sums init{array(0.), {array(1.)}};
  auto v = array({1., 2., 3., 4., 5.});
  auto [last, before] = scan(body, init, v);
  close(last.total, array(15.));
  close(last.parts[0], array(120.));
  close(before, array({0., 1., 3., 6., 10.}));
  auto [last_r, after] = scan(body, init, v, {.reverse = true});
  close(after, array({14., 12., 9., 5., 0.}));
  for (int unroll : {2, 3, 4, 5, 9}) {
    auto [u, b] = scan(body, init, v, {.unroll = unroll});
    close_trees(u, last);
    close(b, before);
    auto [ur, br] = scan(body, init, v, {.reverse = true, .unroll = unroll});
    close_trees(ur, last_r);
    close(br, after);
  }
}
TEST(Scan, WithoutXsWithoutYAndDifferentiated) {
  auto [last, nothing] = scan(
      [](const Array& c, std::nullopt_t) {
        return std::pair{c * 2, none};
      },
      array(1.), none, {.length = 10});
  close(last, array(1024.));
  (void)nothing;
  auto v = array({1., 2., 3.});
  auto product = [&](const Array& x) {
    return scan([](const Array& c, const Array& e) { return std::pair{c * e, none}; }, array(1.), x).first;
  };
  close(grad(product)(v), array({6., 3., 2.}));
  auto [zero, empty] = scan([](const Array& c, const Array& x) { return std::pair{c, x}; }, array(7.), zeros({0, 3}));
  close(zero, array(7.));
  EXPECT_EQ(empty.shape(), (Shape{0, 3}));
}
TEST(Scan, ErrorsNameThePath) {
  Sums init{array(0.), {array(1.)}};
  auto v = array({1., 2., 3.});
  EXPECT_MESSAGE(ShapeError,
       scan(
           [](const Sums& c, const Array& x) {
             return std::pair{Sums{c.total, {c.parts[0] + stack({x, x})}}, none};
           },
           init, v),
       "scan: the carry must stay as init is, but they differ: 'parts.0': f32[] and f32[2]");
  EXPECT_MESSAGE(ShapeError,
       scan(
           [](const Sums& c, const Array&) {
             return std::pair{Sums{c.total, {}}, none};
           },
           init, v),
       "'parts': 1 element and 0 elements");
  EXPECT_MESSAGE(ShapeError,
       scan(
           [](const Array& c, const Array& x) {
             return std::pair{(c + x).astype(bf16), none};
           },
           array(0.), v),
       "f32[] and bf16[]");
  EXPECT_MESSAGE(ValueError,
       scan(
           [](const Array& c, std::nullopt_t) {
             return std::pair{c, none};
           },
           array(0.), none),
       ".length is not given");
  struct Two {
    Array a, b;
  };
  EXPECT_MESSAGE(ShapeError,
       scan(
           [](const Array& c, const Two&) {
             return std::pair{c, none};
           },
           array(0.), Two{v, array({1., 2.})}),
       "'b' of xs has 2 elements");
  EXPECT_MESSAGE(ShapeError,
       scan(
           [](const Array& c, const Array&) {
             return std::pair{c, none};
           },
           array(0.), v, {.length = 4}),
       ".length says 4");
}
TEST(Cond, BothBranchesAreTheSameTree) {
  auto f = [](const Array& p, const Array& x) {
    return cond(
        p,
        [](const Array& v) {
          return Sums{sum(v), {v}};
        },
        [](const Array& v) {
          return Sums{-sum(v), {v * 2}};
        },
        x);
  };
  auto x = array({1., 2.});
  close(f(array(true), x).total, array(3.));
  close(f(array(false), x).parts[0], array({2., 4.}));
  close(jit(f)(array(false), x).total, array(-3.));
  close(grad([&](const Array& v) { return f(sum(v) < 0, v).total; })(x), array({-1., -1.}));
  EXPECT_MESSAGE(ShapeError,
       cond(
           x > 0, [](const Array& v) { return v; }, [](const Array& v) { return v; }, x),
       "the predicate must be a scalar, got bool[2]");
  EXPECT_MESSAGE(ShapeError, jit([](const Array& v) {
         return cond(
             sum(v) > 0, [](const Array& a) { return a; }, [](const Array& a) { return sum(a); }, v);
       })(x),
       "cond: both branches must give the same, but they differ: the value: f32[2] and f32[]");
}
TEST(Loops, WhileAndFori) {
  close(while_loop([](const Array& c) { return c < 100; }, [](const Array& c) { return c * 3; }, array(1.)),
        array(243.));
  auto body = [](const Array& i, const Array& c) { return c + i.astype(f32); };
  close(fori_loop(0, 5, body, array(1.)), array(11.));
  close(fori_loop(3, 3, body, array(1.)), array(1.));
  close(fori_loop(array(2), 5, body, array(0.)), array(9.));
  close(fori_loop(2, array(5), body, array(0.)), array(9.));
  auto powers = [](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& c) { return c * x; }, array(1.));
  };
  close(grad(powers)(array(2.)), array(12.));
  EXPECT_MESSAGE(ShapeError, while_loop([](const Array& c) { return c; }, [](const Array& c) { return c; }, array(1.)),
                 "the condition must give a boolean scalar, got f32[]");
  EXPECT_MESSAGE(ShapeError,
       fori_loop(
           0, 2,
           [](const Array&, const Array& c) {
             return stack({c, c});
           },
           array(1.)),
       "fori_loop: the value must stay as init is");
}
TEST(Loops, AWhileLoopSaysThatItHasNoReverseMode) {
  auto f = [](const Array& x) {
    return while_loop([](const Array& c) { return c < 100; }, [](const Array& c) { return c * 3; }, x);
  };
  for (auto part : {"in reverse (grad, vjp)", "use scan, or fori_loop with int", "forward derivative (jvp, jacfwd)"})
    EXPECT_MESSAGE(TraceError, grad(f)(array(1.)), part);
  close(jvp(f, array(1.), array(1.)).second, array(243.));
}
TEST(Loops, AWhileLoopTakesWhatNoGradientIsWantedOf) {
  auto f = [](const Array& x) {  // 81 x^2 at 2, 27 x^2 at 5: the number of rounds counts as a constant
    auto power = [](const Array& a) {
      return while_loop([](const Array& c) { return c < 100; }, [](const Array& c) { return c * 3; }, stop_gradient(a));
    };
    return power(x) * x;
  };
  close(grad(f)(array(2.)), array(162.));
  close(jit(grad(f))(array(5.)), array(135.));
  close(jvp(f, array(2.), array(1.)).second, array(162.));
  close(grad(grad(f))(array(2.)), array(0.));
  auto sums = [&](const Array& xs) { return sum(vmap(f)(xs)); };
  close(grad(sums)(array({2., 5.})), array({162., 135.}));
  auto scanned = [&](const Array& x) {
    return scan([&](const Array& c, const Array& s) { return std::pair{c + f(x) * s, c}; }, x * 0, ones({3})).first;
  };
  close(jit(grad(scanned))(array(2.)), array(486.));
  close(grad([&](const Array& x) { return checkpoint(f)(x); })(array(2.)), array(162.));
}
TEST(Loops, AWhileLoopTakesWhatHasNoDerivative) {
  auto rounds = [](const Array& a) {
    return while_loop([](const Array& c) { return c < 9; }, [](const Array& c) { return c + 4; }, a);
  };
  using Two = std::pair<Array, Array>;
  auto both = [](const Array& a) { return Two{stop_gradient(a), a * a}; };
  std::vector<std::function<Two(const Array&)>> forms{
      [](const Array& x) { return Two{floor(x), x * x}; },
      [](const Array& x) { return Two{ceil(x) - 1 + sign(x), x * x}; },
      [&](const Array& x) { return jit(both)(x); },
      [&](const Array& x) { return jit([&](const Array& a) { return jit(both)(a); })(x); },
      [&](const Array& x) { return checkpoint(both)(x); },
      [&](const Array& x) { return cond(x > 0, both, [](const Array& a) { return Two{array(0.), a}; }, x); },
      [](const Array& x) {  // a counter beside what is differentiated
        auto body = [](const Array&, const Two& c) {
          return Two{c.first + 0.5 + stop_gradient(c.second) * 0, c.second * c.second};
        };
        return fori_loop(0, 3, body, Two{array(0.5), sqrt(sqrt(x))});
      },
      [](const Array& x) {
        auto body = [](const Array& c, const Array& y) { return std::pair{c * y, stop_gradient(c) * y}; };
        auto [last, ys] = scan(body, x, ones({2}));
        return Two{view(ys, 0), last * x};
      }};
  for (std::size_t i = 0; i < forms.size(); ++i) {
    auto f = [&](const Array& x) {
      auto [a, b] = forms[i](x);
      return rounds(a) * b;
    };
    SCOPED_TRACE(i);
    close(grad(f)(array(2.)), array(40.));
    close(jit(grad(f))(array(2.)), array(40.));
    close(jvp(f, array(2.), array(1.)).second, array(40.));
  }
  // A carry that is differentiated in its first value only, and one that becomes so late.
  auto late = [](const Array& x, std::int64_t n) {
    return scan(
               [](const std::tuple<Array, Array, Array>& c, std::nullopt_t) {
                 auto [p, q, r] = c;
                 return std::pair{std::tuple{array(3.), p * r, q}, none};
               },
               std::tuple{x, array(1.), array(2.)}, none, {.length = n})
        .first;
  };
  auto total = [&](const Array& x, std::int64_t n) {
    auto [p, q, r] = late(x, n);
    return p + 10 * q + 100 * r;
  };
  const double want[] = {1, 20, 200, 60, 600};
  for (std::int64_t n = 0; n < 5; ++n) {
    SCOPED_TRACE(n);
    close(grad([&](const Array& x) { return total(x, n); })(array(2.)), array(want[n]));
  }
}
TEST(Errors, NameTheLineOfTheUser) {
  auto wrong = [](const Array& x) { return reshape(x, {3}); };
  auto place = "(tree_call_test.cpp:" + std::to_string(__LINE__ - 1) + ")";
  auto x = ones({2});
  says_with_line<ShapeError>([&] { (void)wrong(x); }, place);
  says_with_line<ShapeError>([&] { (void)vmap(wrong)(ones({2, 2})); }, place);
  says_with_line<ShapeError>([&] { (void)grad([&](const Array& v) { return sum(wrong(v)); })(x); }, place);
  says_with_line<ShapeError>([&] { (void)jit(wrong)(x); }, place.substr(1));  // behind the argument's path
  // Thrown below functions made of other operations, whose own lines say nothing to the user.
  auto line = std::to_string(__LINE__ + 1);
  says_with_line<ShapeError>([&] { (void)sum(zeros({0, 1LL << 40, 1LL << 40}), 0); },
                             "(tree_call_test.cpp:" + line + ")");
}
TEST(Checkpoint, SameGradientsUnderEveryPolicy) {
  auto m = net();
  auto want = grad(loss)(m, xs(), ys());
  for (auto& policy :
       {remat::nothing, remat::dots, remat::dots_no_batch, remat::everything, remat::names({"hidden"})}) {
    auto hidden = [](const Net& n, const Array& x) {
      return n.scale * n.down(checkpoint_name(tanh(n.up(x)), "hidden"));
    };
    auto block = checkpoint(hidden, policy);
    auto g = grad([&](const Net& n) { return mean(square(block(n, xs()) - ys())); })(m);
    close_trees(g, want);
    EXPECT_EQ(remat::parse(remat::to_string(policy)), policy);
  }
  EXPECT_MESSAGE(ConfigError, remat::parse("all"), "'all' is none of nothing, dots");
}
TEST(CustomVjp, OneAndSeveralArguments) {
  auto safe = custom_vjp([](const Array& x) { return log(x); },
                         [](const Array& x) {
                           return std::pair{log(x), x};
                         },
                         [](const Array& x, const Array& ct) { return ct / maximum(x, 0.5); });
  close(safe(array(2.)), log(array(2.)));
  close(grad(safe)(array(0.1)), array(2.));
  auto scaled = custom_vjp([](const Dense& d, const Array& x, const Array&) { return sum(d.weight * x); },
                           [](const Dense& d, const Array& x, const Array&) {
                             return std::pair{sum(d.weight * x), std::pair{d, x}};
                           },
                           [](const std::pair<Dense, Array>& r, const Array& ct) {
                             return std::tuple{Dense{ct * r.second * 100, none}, ct * r.first.weight, none};
                           });
  Dense d{array({1., 2.}), none};
  auto [y, pull] = vjp(scaled, d, array({3., 4.}), array(7));
  auto [gd, gx, gi] = pull(array(1.));
  close(gd.weight, array({300., 400.}));
  close(gx, array({1., 2.}));
  EXPECT_FALSE(gi.defined());
  auto twice = jit(vmap(grad(safe)));
  close(twice(array({0.1, 4.})), array({2., 0.25}));
  auto wrong = custom_vjp([](const Array& x) { return sum(x); },
                          [](const Array& x) {
                            return std::pair{sum(x), x};
                          },
                          [](const Array&, const Array& ct) { return ct; });
  EXPECT_MESSAGE(ShapeError, grad(wrong)(xs()),
                 "custom_vjp: bwd: the gradient of the value has type f32[] but the argument has f32[4, 2]");
}
TEST(CustomVjp, LeavesThatAreNotFloatingHaveNoGradient) {
  struct Result {
    Array value, count;
  };
  auto f = custom_vjp(
      [](const Array& k, const Array& x, const Array& n) {
        return Result{x * random::uniform(k), n + 1};
      },
      [](const Array& k, const Array& x, const Array& n) {
        return std::pair{Result{x * random::uniform(k), n + 1}, std::pair{k, n}};
      },
      [](const std::pair<Array, Array>& r, const Result& ct) {
        EXPECT_FALSE(ct.count.defined());
        return std::tuple{none, ct.value * random::uniform(r.first) * 7, none};
      });
  auto k = random::key(1);
  auto g = [&](const Array& x) { return sum(f(k, x, array(2)).value); };
  auto want = random::uniform(k) * 7;
  close(grad(g)(array(3.)), want);
  close(jit(grad(g))(array(3.)), want);
  close(vmap(grad(g))(array({3., 4.})), stack({want, want}));
}
TEST(CustomVjp, WhatItClosesOverIsNotDifferentiatedSilently) {
  auto outer = [](const Array& w) {
    auto f = custom_vjp([&](const Array& x) { return x * w; },
                        [&](const Array& x) {
                          return std::pair{x * w, w};
                        },
                        [](const Array& v, const Array& ct) { return ct * v; });
    return f(array(2.));
  };
  close(outer(array(3.)), array(6.));
  EXPECT_MESSAGE(TraceError, grad(outer)(array(3.)),
                 "custom_vjp: f, fwd or bwd closes over f32[], which is being differentiated");
}
TEST(EvalShape, ShapesWithoutNumbers) {
  int runs = 0;
  auto init = [&](const Array& k) {
    ++runs;
    return Net{{zeros({1000, 2000}) + k, none}, {zeros({2000, 3}), k}};
  };
  Net s = eval_shape(init, array(1.));
  EXPECT_EQ(s.up.weight.type(), (Type{{1000, 2000}, f32}));
  EXPECT_EQ(s.scale, 2);
  EXPECT_EQ(runs, 1);
  EXPECT_MESSAGE(TraceError, s.up.weight.to_vector<float>(), "it comes from eval_shape");
  Net t = eval_shape([](const Net& n) { return tree::map([](const Array& a) { return a.astype(bf16); }, n); }, s);
  EXPECT_EQ(t.down.bias->dtype(), bf16);
}

TEST(Split, CheapElementwiseChainsAreRepeatedRatherThanKept) {
  auto kept = [](const auto& f, const Types& in) {  // values beside inputs and outputs
    auto p = stage(f, in).program;
    return fx::split_vjp(p, Mask(in.size(), true), {})->fwd->out.size() - p->out.size();
  };
  Type x{{4, 8}, f32}, w{{8, 8}, f32}, b{{8}, f32};
  // Kept is gelu's argument alone, or the product in it where the bias is small; what a product reads is made again.
  auto mlp = [](const Arrays& a) { return Arrays{matmul(gelu(matmul(a[0], a[1]) + a[2]), a[1])}; };
  for (auto rows : {4, 400}) EXPECT_EQ(kept(mlp, {Type{{rows, 8}, f32}, w, b}), 1U);
  auto squares = [](const Arrays& a) { return Arrays{square(square(matmul(a[0], a[1])))}; };
  EXPECT_EQ(kept(squares, {x, w}), 1U);  // the product, not its square
  auto dear = [](const Arrays& a) { return Arrays{square(erf_inv(matmul(a[0], a[1])))}; };
  EXPECT_EQ(kept(dear, {x, w}), 1U);  // 60 instructions: kept, and all that its derivative reads
}
}  // namespace
}  // namespace tree_call_test
