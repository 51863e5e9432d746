// jit: what is staged again, what is donated, what is said.
#include <gtest/gtest.h>
#include <thread>
#include "compile/api/executable.h"
#include "bora/fx/transforms.h"
#include "bora/ops/contractions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ops.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "support/throws.h"
#include "compile/api/program.h"

namespace tree_call_jit_test {
namespace {
using namespace bora;
struct State {
  Array weight, step;
};
struct Settings {
  float rate = 0.1F;
  std::string name = "a";
  Array x;
};
Array ramp(std::int64_t n) { return arange(n).astype(f32); }

struct Dense {
  Array weight;
};
struct Mlp {
  Dense up, down;
};
TEST(JitOptions, StagesOncePerStructureStaticsAndTypes) {
  int runs = 0;
  auto f = jit([&](const Settings& s) {
    ++runs;
    return s.x * s.rate;
  });
  Settings s{.x = ramp(4)};
  EXPECT_FLOAT_EQ(sum(f(s)).item<float>(), 0.6F);
  s.x = ramp(4) + 1;
  EXPECT_FLOAT_EQ(sum(f(s)).item<float>(), 1.0F);
  EXPECT_EQ(runs, 1);
  s.rate = 1;
  EXPECT_FLOAT_EQ(sum(f(s)).item<float>(), 10.F);
  s.name = "b";
  (void)f(s);
  s.x = ramp(5);
  (void)f(s);
  s.x = ramp(5).astype(bf16);
  (void)f(s);
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(f.traces(), 5);
  auto copy = f;  // a copy shares what was staged
  (void)copy(s);
  EXPECT_EQ(runs, 5);
}
TEST(JitOptions, GivesWhatTheFunctionGives) {
  auto body = [](const State& s, const std::vector<Array>& xs) {
    std::map<std::string, Array> m;
    for (std::size_t i = 0; i < xs.size(); ++i) m["x" + std::to_string(i)] = xs[i] * s.weight;
    return std::tuple{State{s.weight + 1, s.step}, m, std::optional<Array>(), 3};
  };
  auto [s, m, nothing, three] = jit(body)(State{ramp(3), array(7)}, std::vector<Array>{ramp(3), ramp(3) * 2});
  EXPECT_EQ(s.weight.to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(s.step.item<int>(), 7);
  EXPECT_EQ(m.at("x1").to_vector<float>(), (std::vector<float>{0, 2, 8}));
  EXPECT_FALSE(nothing.has_value());
  EXPECT_EQ(three, 3);
}
TEST(JitOptions, CapturedBuffersAreInputsAndCapturedTracersAreNotKept) {
  Array big = ramp(1000);
  int runs = 0;
  auto f = jit([&, big](const Array& x) {
    ++runs;
    return x * sum(big);
  });
  EXPECT_EQ(f(array(2.)).item<float>(), 999000.F);
  EXPECT_EQ(f(array(1.)).item<float>(), 499500.F);
  EXPECT_EQ(runs, 1);
  auto g = [](const Array& x) { return jit([&](const Array& y) { return x * y * y; })(x); };
  EXPECT_FLOAT_EQ(grad(g)(array(2.)).item<float>(), 12.F);
  int inner = 0;
  std::optional<fx::Jitted<std::function<Array(const Array&)>>> kept;
  Array traced;
  auto outer = [&](const Array& x) {
    traced = x;
    if (!kept)
      kept.emplace(
          [&](const Array& y) {
            ++inner;
            return traced * y;
          },
          JitOptions{});
    return (*kept)(x);
  };
  EXPECT_FLOAT_EQ(grad(outer)(array(3.)).item<float>(), 6.F);
  EXPECT_FLOAT_EQ(grad(outer)(array(4.)).item<float>(), 8.F);
  EXPECT_EQ(inner, 2);
}
TEST(JitOptions, NestsWithEveryTransform) {
  auto f = [](const Array& x) { return sum(sin(x) * x); };
  auto x = ramp(5) * 0.1;
  auto same = [](const Array& a, const Array& b) {
    auto u = a.to_vector<float>(), v = b.to_vector<float>();
    for (std::size_t i = 0; i < v.size(); ++i) EXPECT_NEAR(u[i], v[i], 1e-6);
  };
  auto g = grad(f)(x);
  same(jit(grad(f))(x), g);
  same(grad(jit(f))(x), g);
  same(jit(grad(jit(f)))(x), g);
  auto rows = stack({x, x * 2});
  auto want = vmap(grad(f))(rows);
  same(jit(vmap(grad(f)))(rows), want);
  same(vmap(jit(grad(f)))(rows), want);
  same(vmap(grad(jit(f)))(rows), want);
}
TEST(JitOptions, RvaluesAreDonatedAndLeftEmpty) {
  auto f = jit([](State s, const Array& x) {
    s.weight = s.weight + x;
    return s;
  });
  State s{ramp(1000), array(0)};
  Array x = ones({1000});
  auto* memory = s.weight.bytes();
  s = f(std::move(s), x);
  EXPECT_EQ(s.weight.bytes(), memory);
  EXPECT_EQ(sum(s.weight).item<float>(), 500500.F);
  EXPECT_EQ(x.size(), 1000);
  State gone = s;
  State next = f(std::move(gone), x);
  EXPECT_FALSE(gone.weight.defined());  // NOLINT(bugprone-use-after-move): that it is empty is the contract
  EXPECT_EQ(sum(s.weight).item<float>(), 500500.F);  // s still held it: never clobbered
  EXPECT_EQ(sum(next.weight).item<float>(), 501500.F);
}
TEST(JitOptions, ABufferSomebodyElseHoldsIsCopiedAndThatIsSaidOnce) {
  auto f = jit([](const State& s) { return s.weight * 2; }, {.name = "double"});
  State s{ramp(1 << 18), array(0)}, other = s;
  testing::internal::CaptureStderr();
  (void)f(std::move(s));
  s = other;
  (void)f(std::move(s));
  auto text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("jit(double): the donated 'weight' (f32[262144]) is held by somebody else too"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("weight"), text.rfind("weight"));
  EXPECT_EQ(other.weight.to_vector<float>()[9], 9.F);
}
TEST(JitOptions, NothingIsSaidOfBuffersThatNobodyMisses) {
  testing::internal::CaptureStderr();
  auto a = ramp(10), much = ones({1 << 18});
  auto dot = [](const std::pair<Array, Array>& p) { return sum(p.first * p.second); };
  (void)jit(value_and_grad(dot))(std::pair{a, a});  // an rvalue, but the user gave nothing up
  auto shrink = jit([](const State& s) { return sum(s.weight); });
  State s{much, array(0)};
  (void)shrink(std::move(s));  // no result could have taken it
  State equal = jit([](const Array& x) { return State{x * 0, x * 0}; })(much);  // one buffer
  State next = jit([](State t) { return State{t.weight + 1, t.step + 2}; })(std::move(equal));
  EXPECT_EQ(next.weight.to_vector<float>()[0] + next.step.to_vector<float>()[0], 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}
TEST(JitOptions, SaysWhichFieldMakesItStageAgainAndAgain) {
  auto f = jit([](const Settings& s) { return s.x * s.rate; }, {.name = "step"});
  testing::internal::CaptureStderr();
  for (int i = 0; i < 9; ++i) (void)f(Settings{.rate = static_cast<float>(i), .x = ramp(2)});
  auto text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("jit(step) was staged 9 times"), std::string::npos) << text;
  EXPECT_NE(text.find("'rate': 7, then 8"), std::string::npos) << text;
}
TEST(JitOptions, SaysWhichClosedOverValueMakesItStageAgainAndAgain) {
  Array w;
  auto f = jit([&](const Array& x) { return x * w; }, {.name = "step"});
  testing::internal::CaptureStderr();
  for (int i = 0; i < 9; ++i)
    (void)grad([&](const Array& x) {
      w = x;
      return f(x);
    })(array(2.));
  auto text = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      text.find("jit(step) was staged 9 times; it closes over a value that belongs to one call only (traced f32[])"),
      std::string::npos)
      << text;
}
TEST(JitOptions, KeepsTheMostRecentlyUsed) {
  auto f = jit([](const Array& x) { return x + 1; }, {.cache = 2});
  testing::internal::CaptureStderr();
  (void)f(ramp(1));
  (void)f(ramp(2));
  (void)f(ramp(1));
  (void)f(ramp(3));  // drops [2]
  (void)f(ramp(1));
  EXPECT_EQ(f.traces(), 3);
  (void)f(ramp(2));
  EXPECT_EQ(f.traces(), 4);
  auto text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("more than 2 Programs"), std::string::npos) << text;
}
TEST(JitOptions, ThreadsShareOneFunction) {
  auto f = jit([](const Array& x) { return sum(x * 2); });
  std::vector<float> got(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < got.size(); ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 20; ++k) got[i] = f(ramp(4 + static_cast<std::int64_t>(i % 2))).item<float>();
    });
  for (auto& t : threads) t.join();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i % 2 ? 20.F : 12.F);
}
TEST(JitOptions, ProgramsAreLabelledWithPaths) {
  auto f = jit([](const State& s, const Array& x) { return s.weight * x; });
  auto p = program_of(f, State{ramp(3), array(1)}, ramp(3));
  EXPECT_EQ(p->labels, (std::vector<std::string>{"weight", "step", "argument 1"}));
  EXPECT_EQ(f.traces(), 1);
  EXPECT_EQ(p->out.size(), 1u);
  EXPECT_NO_THROW(print(program_of([](const Array& x) { return x * 2; }, ramp(3))));
}
TEST(JitOptions, AnErrorNamesTheParameterAndTheLine) {
  Mlp m{{ones({7, 3})}, {ones({3, 2})}};
  auto f = [](const Mlp& t, const Array& x) { return sum(matmul(matmul(x, t.up.weight), t.down.weight)); };
  auto message = [&](auto g) {
    return test::error_and_line_of<ShapeError>([&] { (void)g(m, ones({4, 8})); });
  };
  std::string text = "matmul: inner sizes differ: [4, 8] @ [7, 3]; they must be equal",
              line = "tree_call_jit_test.cpp:";
  EXPECT_EQ(message(f).substr(0, text.size() + 4 + line.size()), text + "   (" + line);
  for (auto& m2 : {message(jit(f)), message(jit(grad(f)))})
    EXPECT_EQ(m2.substr(0, text.size() + 15 + line.size()), text + "   (up.weight, " + line);
}
TEST(JitOptions, ATracerKeptAfterItsTransformIsAnError) {
  Array kept;
  (void)jit([&](const Array& x) {
    kept = x;
    return x * 2;
  })(ramp(3));
  EXPECT_THROW((void)(kept + 1), TraceError);
  EXPECT_THROW((void)kept.to_vector<float>(), TraceError);
}
TEST(JitOptions, EmptyLeavesStayEmpty) {
  auto f = jit([](const State& s) { return State{s.weight, Array()}; });
  auto r = f(State{ramp(2), Array()});
  EXPECT_TRUE(r.weight.defined());
  EXPECT_FALSE(r.step.defined());
}
TEST(JitOptions, AVariableGivenUpTwiceIsSaid) {
  auto f = jit([](const Array& a, const Array& b) { return a * 2 + b; });
  auto x = ramp(4), y = ramp(4);
  test::says<ValueError>([&] { (void)f(std::move(x), std::move(x)); },
                         "the same variable was given up (std::move) twice");
  auto shared = y;  // two variables that share memory are none
  EXPECT_TRUE(array_equal(f(std::move(y), std::move(shared)), ramp(4) * 3));
}
TEST(JitOptions, SaysWhatTheMemoryHolds) {
  auto w = reshape(sin(ramp(48 * 48)), {48, 48}), x = reshape(cos(ramp(5 * 48)), {5, 48});
  auto loss = [](const Array& m, const Array& v) {
    auto [c, sums] =
        scan([&](const Array& a, const Array& n) { return std::pair{tanh(matmul(a, m) + n), sum(a)}; }, v, ramp(6));
    auto d = cond(sum(c) > 0, [](const Array& a) { return sort(exp(a)); }, [](const Array& a) { return a * 2; }, c);
    return sum(while_loop([](const Array& a) { return sum(a) > 1; }, [](const Array& a) { return sort(a) * 0.5F; },
                          stop_gradient(d)) *
               c) +
           sum(sums);
  };
  auto forward = executable(program_of(loss, w, x))->info();
  auto both = executable(program_of(value_and_grad(loss), w, x))->info();
  for (auto* i : {&forward, &both}) {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < i->arena.size(); ++k) {
      sum += i->arena[k].second;
      EXPECT_GT(i->arena[k].second, 0U) << i->arena[k].first;
      if (k) {
        EXPECT_LE(i->arena[k].second, i->arena[k - 1].second);
      }
    }
    EXPECT_EQ(sum, i->slab_bytes);
  }
  auto of = [](const ExecutableInfo& i, const std::string& kind) {
    for (auto& [k, bytes] : i.arena)
      if (k == kind) return bytes;
    return std::size_t{0};
  };
  EXPECT_LT(of(forward, "stacked"), 6 * x.nbytes());
  EXPECT_GE(of(both, "stacked"), 6 * x.nbytes());
}
}  // namespace
}  // namespace tree_call_jit_test
