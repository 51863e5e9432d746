// Caches, queries and refusals on a mesh: jit's cache by rank, closed-over blocks, donation, Specs under
// transformations.
#include <array>
#include "laws/laws.h"
#include "support/throws.h"

namespace bora::laws::mesh_test {
namespace {
struct State {
  Array weight;
};
TEST(MeshJit, EachRankKeepsItsOwnPrograms) {
  auto f = jit([](const Array& x) { return sum(x * 2); }, {.cache = 1});
  testing::internal::CaptureStderr();
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    for (int round = 0; round < 10; ++round)
      for (int n : {4, 6, 4})
        EXPECT_EQ(f(with_sharding_constraint(ones({n}), Spec{"data"})).item<float>(), 2.F * static_cast<float>(n));
    EXPECT_EQ(f.traces(), 21);
  });
  EXPECT_NE(testing::internal::GetCapturedStderr().find("more than 1 Programs"), std::string::npos);
}
TEST(MeshJit, NineRanksStageOnceEach) {
  auto f = jit([](const Array& x) { return sum(x); });
  testing::internal::CaptureStderr();
  local_mesh({{"data", 9}}, [&](const Mesh&) {
    EXPECT_EQ(f(with_sharding_constraint(ones({9}), Spec{"data"})).item<float>(), 9.F);
    EXPECT_EQ(f.traces(), 1);
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}
TEST(MeshJit, AxesBoundInsideOfShardMapAreNotBoundOutside) {
  auto f = jit([](const Array& x) { return psum(x, "data"); });
  local_mesh({{"data", 2}}, [&](const Mesh& m) {
    EXPECT_EQ(shard_map(f, m, {Spec{}}, Spec{})(ones({2})).to_vector<float>(), (std::vector<float>{2, 2}));
    EXPECT_THROW((void)f(ones({2})), ShardError);
  });
}
TEST(MeshJit, BlocksItClosesOverAreKeptAsLongAsTheirMesh) {
  std::array<Array, 2> w;
  auto f = jit([&](const Array& x) { return sum(x * w.at(static_cast<std::size_t>(here().rank))); });
  for (double scale : {1., 3.})
    local_mesh({{"data", 2}}, [&](const Mesh& m) {
      auto before = f.traces();
      w.at(static_cast<std::size_t>(m.rank())) = with_sharding_constraint(full({4}, scale, f32), Spec{"data"});
      for (int i = 0; i < 3; ++i) EXPECT_EQ(f(ones({4})).item<float>(), 4 * scale);
      EXPECT_EQ(f.traces(), before + 1);
    });
}
TEST(MeshJit, SaysThatDonationIsRefused) {
  auto f = jit([](const State& s) { return s.weight * 2; }, {.name = "double"});
  testing::internal::CaptureStderr();
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    State s{with_sharding_constraint(ones({1 << 18}), Spec{"data"})}, other = s;
    EXPECT_EQ(sum(f(std::move(s))).item<float>(), 524288.F);
    EXPECT_EQ(sum(other.weight).item<float>(), 262144.F);
  });
  EXPECT_NE(testing::internal::GetCapturedStderr().find("jit(double): the donated 'weight' (f32[262144]) is held"),
            std::string::npos);
}
TEST(MeshSpecs, AreSeenThroughDerivativesAndUnknownInJit) {
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    auto x = with_sharding_constraint(ones({4, 2}), Spec{"data"});
    (void)grad([](const Array& a) {
      EXPECT_EQ(a.spec(), (Spec{"data", none}));
      EXPECT_NE(visualize_sharding(a).find("rank 1"), std::string::npos);
      return sum(a * a);
    })(x);
    (void)jit([](const Array& a) {
      EXPECT_THROW((void)a.spec(), TraceError);
      EXPECT_THROW((void)local_block(a), TraceError);
      return a;
    })(x);
  });
}
TEST(MeshScan, ASplitTravelsThroughAnyNumberOfCarries) {
  local_mesh({{"data", 2}}, [](const Mesh&) {
    auto x = with_sharding_constraint(rnd({4}, 1), Spec{"data"});
    auto f = [&](const Arrays& init) {
      return scan(
                 [&](const Arrays& c, const Array&) {
                   Arrays next{c[0] + x};  // each of the others takes what the one before it had
                   next.insert(next.end(), c.begin(), c.end() - 1);
                   return std::pair{next, none};
                 },
                 init, arange(3))
          .first;
    };
    Arrays init(25, zeros({4}, f64));
    close({jit(f)(init)[0].concrete()}, {rnd({4}, 1) * 3}, 1e-15, "25 carries");
  });
}
TEST(MeshReports, CountBothBranches) {
  local_mesh({{"data", 2}}, [](const Mesh&) {
    auto x = with_sharding_constraint(rnd({4}, 1), Spec{"data"});
    auto f = [](const Array& a) {
      return cond(
          sum(a) > 0, [](const Array& b) { return sum(b); }, [](const Array& b) { return sum(b * b); }, a);
    };
    auto text = explain_program(program_of(jit(f), x), {x});
    EXPECT_NE(text.find("3 x all_reduce"), std::string::npos) << text;
    EXPECT_EQ(text.find("0 x"), std::string::npos) << text;
  });
}
/// Every value that is split stands there once with a reason, those inside of loops, branches and calls as well.
TEST(MeshReports, ExplainSaysWhereASpecComesFrom) {
  auto x = rnd({8, 3}, 1);
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    auto split = with_sharding_constraint(x, Spec{"data"});
    auto reasons = [&](const auto& f, std::vector<std::string> wanted) {
      auto text = explain(f, split);
      auto at = text.find("splits, and where they come from:\n");
      ASSERT_NE(at, std::string::npos) << text;
      for (auto& w : wanted) EXPECT_NE(text.find(w, at), std::string::npos) << w << " is not in\n" << text;
    };
    reasons([](const Array& a) { return sin(a) + 1; },
            {"%0 f64[8, 3]{data, -} as it is given", "{data, -} = sin (mesh_test.cpp", "follows %0"});
    reasons([](const Array& a) { return a + exp(iota({8, 3}, 0, f64)); }, {"= exp (", "as add (", " wants it"});
    reasons([](const Array& a) { return with_sharding_constraint(a + 1, Spec{none, "data"}); }, {", by constraint"});
    reasons([](const Array& a) { return sum(a, {0}); }, {"f64[3]{-} +data = reduce ("});
    reasons([](const Array& a) {
      return fori_loop(0, 3, [](const Array&, const Array& c) { return sin(c); }, a);
    }, {"inside, %0 .. counted anew", "    %2 f64[8, 3]{data, -} = sin ("});
    reasons([](const Array& a) {
      return cond(sum(a) > 0, [](const Array& b) { return tanh(b); }, [](const Array& b) { return cos(b); }, a);
    }, {"= tanh (", "= cos ("});
    EXPECT_EQ(explain([](const Array& a) { return sin(a); }, x).find("splits, and"), std::string::npos);
  });
}
TEST(MeshReports, ExplainFunctionsThatMakeOrCloseOverArrays) {
  auto reported = [](bool on_mesh) {
    auto x = rnd({8, 3}, 1), w = rnd({3, 2}, 2);
    if (on_mesh) x = with_sharding_constraint(x, Spec{"data"}), w = with_sharding_constraint(w, Spec{none, "data"});
    auto rows = [](const Array& a) { return take(a, array({0, 3, 5}), 0); };
    auto product = [&](const Array& a) { return sum(matmul(a, w)); };
    for (auto& text : {explain(rows, x), explain(jit(rows), x), explain(product, x), explain(jit(product), x),
                       explain(jit(grad(product)), x)})
      EXPECT_NE(text.find("inputs "), std::string::npos) << text;
    EXPECT_EQ(explain(product, x), explain(jit(product), x));
    auto staged = jit(rows);
    EXPECT_NO_THROW((void)explain_program(program_of(staged, x), staged.inputs(x)));
    EXPECT_NO_THROW((void)fx::local_program(program_of(staged, x), staged.inputs(x)));
    if (on_mesh) EXPECT_MESSAGE(TraceError, (void)explain_program(program_of(staged, x), {x}), "jit(f).inputs");
  };
  reported(false);
  local_mesh({{"data", 2}}, [&](const Mesh&) { reported(true); });
}
}  // namespace
}  // namespace bora::laws::mesh_test
