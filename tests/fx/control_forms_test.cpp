// switch_, fx::map, associative_scan: results of JAX, and what errors say.
#include "bora/fx/transforms.h"
#include "bora/fx/jit.h"
#include "bora/fx/lower.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ops.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "compile/api/program.h"
#include "fx/forms.h"
#include "support/throws.h"

namespace control_forms_test {
namespace {
using namespace bora;
using forms_tests::close;
struct Pair {
  Array d, x;
};
Array identity(const Array& a) { return a; }

TEST(Switch, ClampsTheIndexAndStagesEveryBranchOnce) {
  int staged[3] = {};
  auto branch = [&](int k) {
    return [&staged, k](const Array& x) {
      ++staged[k];
      return x * (k + 1);
    };
  };
  auto f =
      jit([&](const Array& i, const Array& x) { return switch_(i, std::tuple{branch(0), branch(1), branch(2)}, x); });
  for (auto [i, want] : {std::pair{-7, 2.}, {0, 2.}, {1, 4.}, {2, 6.}, {3, 6.}, {1000, 6.}})
    close(f(array(i), array(2.)), array(want));
  EXPECT_EQ(f.traces(), 1);
  for (int n : staged) EXPECT_EQ(n, 1);
  std::vector<std::function<Array(const Array&)>> many(5, identity);
  many[4] = [](const Array& x) { return -x; };
  close(switch_(array(4), many, array(3.)), array(-3.));
  close(switch_(array(9, u32), std::vector{&identity}, array(3.)), array(3.));
  auto safe = [](const Array& i, const Array& x) {  // a branch that is not taken leaks no NaN
    return switch_(i, std::tuple{[](const Array& v) { return log(v); }, [](const Array& v) { return v * 2; }}, x);
  };
  close(vmap(grad<1>(safe))(array({1, 0}), array({0., 4.})), array({2., 0.25}));
}
TEST(Cond, OnlyWhatDependsOnLanesIsMapped) {
  auto f = [](const Array& x, const Array& n) {
    return cond(
        n > 0, [](const Array& k, const Array& v) { return std::pair{k * 2, v * 2}; },
        [](const Array& k, const Array& v) { return std::pair{k, v}; }, n, x);
  };
  for (int n : {3, -3}) {
    auto [k, v] = vmap(f, {.in = {0, none}, .out = {none, 0}})(array({1., 2.}), array(n));
    close(k, array(n > 0 ? 2 * n : n));
    close(v, array({1., 2.}) * (n > 0 ? 2 : 1));
  }
}
TEST(Fori, ManyRoundsNeedNoNumbersInMemory) {
  auto rounds = (std::int64_t{1} << 24) + 5;
  auto f = jit([&](const Array& x) {
    return fori_loop(3, 3 + rounds, [](const Array& i, const Array& c) { return c + (i & 1); }, x);
  });
  close(f(array(10)), constant(static_cast<std::int32_t>(10 + (rounds + 1) / 2), i32));
  EXPECT_LT(lower(f, array(10)).compile().memory().temporaries, 1u << 20);
}
TEST(While, OnlyWhatDependsOnLanesIsMapped) {
  auto w = reshape(arange(0.0, 1.0, 1.0 / 16), {4, 4});
  using Counted = std::pair<Array, Array>;
  auto rounds = [&](const Array& x, const Array& last) {
    return while_loop([&](const Counted& s) { return s.first < last; },
                      [&](const Counted& s) { return Counted{s.first + 1, tanh(matmul(w, s.second))}; },
                      Counted{constant(0, i32), x});
  };
  auto xs = reshape(arange(0.0, 2.0, 0.1), {5, 4});
  // Lanes that run the same rounds share their counter: .out = none asks for that.
  auto [n, y] = vmap(rounds, {.in = {0, none}, .out = {none, 0}})(xs, constant(3, i32));
  close(n, constant(3, i32));
  auto lasts = array({0, 3, 1, 7, 2});
  auto [counts, ys] = vmap(rounds)(xs, lasts);
  close(counts, lasts);
  for (std::int64_t i = 0; i < 5; ++i) {
    auto x = reshape(slice(xs, {i, 0}, {i + 1, 4}), {4}), last = reshape(slice(lasts, {i}, {i + 1}), Shape{});
    close(reshape(slice(y, {i, 0}, {i + 1, 4}), {4}), rounds(x, constant(3, i32)).second);
    close(reshape(slice(ys, {i, 0}, {i + 1, 4}), {4}), rounds(x, last).second);
  }
  // A matrix that all lanes read is no matrix for each lane.
  auto p = program_of(vmap(rounds), xs, lasts);
  for (auto& type : p->vars) EXPECT_LT(type.size(), 5 * 16);
}
TEST(Switch, SaysWhichBranchesDiffer) {
  auto x = array({1., 2.});
  auto f = [](const Array& v) { return Pair{v, v}; };
  auto g = [](const Array& v) { return Pair{v, sum(v)}; };
  EXPECT_MESSAGE(ShapeError, switch_(array(1), std::tuple{f, f, g}, x), "switch_: branches 0 and 2 must give the same");
  EXPECT_MESSAGE(ShapeError, switch_(array(1), std::tuple{f, f, g}, x), "'x': f32[2] and f32[]");
  EXPECT_MESSAGE(ShapeError, switch_(array({1, 2}), std::tuple{f, f}, x),
                 "switch_: the index must be an integer scalar, got i32[2]");
  EXPECT_MESSAGE(DtypeError, switch_(array(1.), std::tuple{f, f}, x),
                 "switch_: the index must be an integer scalar, got f32[]");
  EXPECT_MESSAGE(ValueError, switch_(array(0), std::vector<Array (*)(const Array&)>{}, x),
                 "switch_: there are no branches");
}
TEST(Map, IsAScanOrChunksOfAVmap) {
  auto x = reshape(arange(10.), {5, 2});
  auto want = array({{0., 2.}, {4., 10.}, {8., 18.}, {12., 26.}, {16., 34.}});  // lax.map
  auto f = [](const Array& v) { return cumsum(v, 0) * 2; };
  close(fx::map(f, x), want);
  for (int size : {1, 2, 5, 7}) {
    close(fx::map(f, x, {.batch_size = size}), want);
    close(jit([&](const Array& v) { return fx::map(f, v, {.batch_size = size}); })(x), want);
  }
  auto r = fx::map([](const Pair& p) { return std::pair{p.d + p.x, sum(p.x)}; },
                   Pair{arange(3.), reshape(arange(6.), {3, 2})});
  close(r.first, array({{0., 1.}, {3., 4.}, {6., 7.}}));
  close(r.second, array({1., 5., 9.}));
  EXPECT_EQ(fx::map(f, zeros({0, 2})).shape(), Shape({0, 2}));
  EXPECT_EQ(fx::map(f, zeros({0, 2}), {.batch_size = 3}).shape(), Shape({0, 2}));
}
TEST(Map, SaysWhatIsWrong) {
  EXPECT_MESSAGE(ShapeError, fx::map(identity, array(1.)), "map: 'argument 0' is a scalar f32[]");
  EXPECT_MESSAGE(ShapeError, fx::map([](const Pair& p) { return p.d; }, Pair{arange(3.), arange(4.)}),
                 "map: 'x' has 4 elements on its leading axis, but 'd' has 3");
  EXPECT_MESSAGE(ValueError, fx::map(identity, arange(3.), {.batch_size = 0}), ".batch_size must be at least 1, got 0");
}
const auto compose = [](const Pair& a, const Pair& b) { return Pair{a.d * b.d, a.x * b.d + b.x}; };
TEST(AssociativeScan, HasTheNumbersOfJax) {
  Pair p{array({0.5, 2., -1., 0.25, 1., 3., 0.5}), array({0.5, -1., 2., 0.25, 3., -0.5, 1.5})};
  auto r = associative_scan(compose, p);
  close(r.d, array({0.5, 1., -1., -0.25, -0.25, -0.75, -0.375}));
  close(r.x, array({0.5, 0., 2., 0.75, 3.75, 10.75, 6.875}));
  auto back = associative_scan(compose, p, {.reverse = true});
  close(back.d, array({-0.375, -0.75, -0.375, 0.375, 1.5, 1.5, 0.5}));
  close(back.x, array({0., -1., 0., 2., 7., 4., 1.5}));
}
TEST(AssociativeScan, EveryLength) {
  for (std::int64_t n = 0; n < 20; ++n) {
    auto x = reshape(arange(static_cast<double>(2 * n)), {2, n});
    auto r = associative_scan([](const Array& a, const Array& b) { return a + b; }, x, {.axis = -1});
    close(r, n == 0 ? x : cumsum(x, 1));
    auto most =
        associative_scan([](const Array& a, const Array& b) { return maximum(a, b); }, x.astype(i32), {.axis = 1});
    EXPECT_TRUE(array_equal(most, x.astype(i32))) << n;
  }
}
TEST(AssociativeScan, TakesAFewStepsOfTheFunction) {
  int calls = 0;
  auto add = [&](const Array& a, const Array& b) {
    ++calls;
    return a + b;
  };
  (void)associative_scan(add, arange(1024.));
  EXPECT_LE(calls, 20);
}
TEST(AssociativeScan, SaysWhatIsWrong) {
  auto add = [](const Array& a, const Array& b) { return a + b; };
  EXPECT_MESSAGE(ShapeError, associative_scan(add, arange(3.), {.axis = 1}),
                 "associative_scan: 'argument 0' of type f32[3] has no axis 1");
  EXPECT_MESSAGE(ShapeError, associative_scan(compose, Pair{arange(3.), arange(4.)}),
                 "associative_scan: 'x' has 4 elements on axis 0, but 'd' has 3");
  EXPECT_MESSAGE(ShapeError, associative_scan([](const Array& a, const Array&) { return sum(a); }, arange(4.)),
                 "associative_scan: f must give values like its arguments");
}
TEST(ForiLoop, HasADerivativeWhereItsCountIsKnown) {
  auto f = [](const Array& x) { return fori_loop(0, 5, [](const Array&, const Array& y) { return y * y; }, x); };
  close(grad(f)(array(1.1)), array(32 * std::pow(1.1, 31)), 1e-5F);
  close(jvp(f, array(1.1), array(1.)).second, array(32 * std::pow(1.1, 31)), 1e-5F);
}
}  // namespace
}  // namespace control_forms_test
