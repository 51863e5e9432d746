// Looking at numbers inside of transforms, and stopping at the first NaN.
#include "bora/fx/debug.h"
#include "bora/fx/transforms.h"
#include "bora/ops/creation.h"
#include "bora/ops/ops.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/shard/mesh.h"
#include "bora/shard/shard.h"
#include "fx/forms.h"
#include "support/throws.h"

namespace debug_test {
namespace {
using namespace bora;
using forms_tests::close;
struct Seen {
  std::vector<std::vector<float>> numbers;
  auto look() {
    return [this](const Array& x) { numbers.push_back(x.to_vector<float>()); };
  }
};
using Rows = std::vector<std::vector<float>>;

TEST(DebugCallback, SeesNumbersInEveryTransform) {
  Seen seen;
  auto f = [&](const Array& x) { return sum(debug::callback(seen.look(), x * 2) * x); };
  auto x = array({1., 2.});
  close(f(x), array(10.));
  EXPECT_EQ(seen.numbers, (Rows{{2, 4}}));
  auto g = jit(grad(f));
  close(g(x), x * 4);
  close(g(x + 1), x * 4 + 4);
  EXPECT_EQ(seen.numbers, (Rows{{2, 4}, {2, 4}, {4, 6}})) << "once per run";
  seen.numbers.clear();
  close(jit(vmap([&](const Array& v) { return debug::callback(seen.look(), v) + 1; }))(x), x + 1);
  EXPECT_EQ(seen.numbers, (Rows{{1}, {2}})) << "once per lane";
  seen.numbers.clear();
  auto steps = jit([&](const Array& v) {
    return scan(
               [&](const Array& c, const Array&) {
                 return std::pair{debug::callback(seen.look(), c) + 1, debug::callback(seen.look(), v)};
               },
               v, zeros({3}))
        .first;
  });
  close(steps(array(5.)), array(8.));
  auto changing = std::count_if(seen.numbers.begin(), seen.numbers.end(), [](auto& r) { return r[0] > 5; });
  EXPECT_EQ(changing, 2) << "once per round";
  seen.numbers.clear();
  auto pairs = [&](const std::pair<Array, Array>& p) {
    seen.numbers.push_back((p.first + p.second).to_vector<float>());
  };
  auto same = debug::callback(pairs, std::pair{x, x});
  close(same.second, x);
  EXPECT_EQ(seen.numbers, (Rows{{2, 4}}));
}
TEST(DebugCallback, SeesTheWholeOnAMesh) {
  Seen seen;
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    auto x = with_sharding_constraint(array({1., 2., 3., 4.}), Spec{"data"});
    auto y = jit([&](const Array& v) { return debug::callback(seen.look(), v) * 2; })(x);
    EXPECT_EQ(spec_of(y), Spec{"data"}) << "the value keeps its split";
    close(gather(y), array({2., 4., 6., 8.}));
  });
  EXPECT_EQ(seen.numbers, (Rows{{1, 2, 3, 4}})) << "by rank 0";
}
TEST(DebugPrint, WritesLinesWithNumbers) {
  ::testing::internal::CaptureStdout();
  auto f = jit([](const Array& x) {
    auto [a, b] = debug::print("a = {} and b = {}", std::pair{x * 2, sum(x)});
    return a + b;
  });
  close(f(array({1., 2.})), array({5., 7.}));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "a = [2., 4.] and b = 3.\n");
  EXPECT_MESSAGE(ValueError, debug::print("{} {}", array(1.)), "debug::print: '{} {}' has 2 {} but is given 1 value");
}
struct Nans {
  Nans() { debug::nans(true); }
  ~Nans() { debug::nans(false); }
};
TEST(DebugNans, NamesTheOperationThatGaveTheFirst) {
  auto x = array({1., -1.});
  auto f = [](const Array& v) { return exp(log(v) + 1) * 2; };
  (void)f(x);
  Nans on;
  EXPECT_MESSAGE(ValueError, f(x), "log gives NaN at [1] of f32[2], from f32[2] (debug::nans is on)");
  test::says_with_line<ValueError>([&] { (void)f(x); }, "debug_test.cpp");
  EXPECT_MESSAGE(ValueError, jit(f)(x), "log gives NaN at [1] of f32[2]");
  EXPECT_MESSAGE(ValueError, jit(grad([](const Array& v) { return sum(sqrt(v * 0.0) * 0.0); }))(x), "gives NaN");
  close(jit(f)(abs(x)), f(abs(x)));
  auto loop = [](const Array& v) {
    return scan([](const Array& c, const Array& s) { return std::pair{c - 1, sqrt(c) * s}; }, v, ones({3})).second;
  };
  EXPECT_MESSAGE(ValueError, loop(array(0.5)), "sqrt gives NaN at [] of f32[]");
  EXPECT_MESSAGE(ValueError, jit(loop)(array(0.5)), "sqrt gives NaN at [] of f32[]");
  close(jit(loop)(array(2.)), array({std::sqrt(2.), 1., 0.}));
  auto until = [](const Array& v) {
    return while_loop([](const Array& c) { return c > -2; }, [](const Array& c) { return c - 1 + sqrt(c) * 0; }, v);
  };
  EXPECT_MESSAGE(ValueError, jit(until)(array(0.5)), "sqrt gives NaN at [] of f32[]");
  EXPECT_MESSAGE(ValueError,
       cond(
           array(true), [](const Array& v) { return log(v); }, [](const Array& v) { return v; }, -abs(x)),
       "log gives NaN at [0] of f32[2]");
}
TEST(DebugNans, OnAMeshEveryRankRunsTheSame) {
  Nans on;
  auto f = [](const Array& v) { return log(sum(v)) * ones({4}); };
  std::array<std::string, 2> said;
  EXPECT_THROW(local_mesh({{"data", 2}},
                          [&](const Mesh& mesh) {
                            auto x = with_sharding_constraint(array({1., 2., 3., 4.}), Spec{"data"});
                            close(gather(jit(f)(x)), full({4}, std::log(10.F)));
                            said[static_cast<std::size_t>(mesh.rank())] =
                                test::error_of<ValueError>([&] { (void)jit(f)(-x); });
                            (void)jit(f)(-x);
                          }),
               Error);
  for (auto& s : said) EXPECT_NE(s.find("log gives NaN at [] of f32[]"), std::string::npos) << s;
}
}  // namespace
}  // namespace debug_test
