// Ranks that compute with arrays of other global shapes, dtypes or Specs are told so, all of them, with both sides
// quoted.
#include <sys/wait.h>
#include <unistd.h>
#include "bora/ops/contractions.h"
#include "laws/laws.h"
#include "support/processes.h"

namespace bora::laws::agreement_test {
namespace {
using F = std::function<void(const Mesh&)>;
/// The error text of each of two ranks; empty if it throws nothing.
std::vector<std::string> said(const F& f) {
  std::vector<std::string> words(2);
  try {
    local_mesh({{"data", 2}}, [&](const Mesh& m) {
      try {
        f(m);
      } catch (const Error& e) {
        words.at(static_cast<std::size_t>(m.rank())) = e.what();
        throw;
      }
    });
  } catch (const Error&) {  // kept above
  }
  return words;
}
void disagree(const std::string& what, const std::vector<std::string>& quoted, const F& f) {
  auto words = said(f);
  for (int r = 0; r < 2; ++r)
    for (auto& q : quoted)
      EXPECT_NE(words[static_cast<std::size_t>(r)].find(q), std::string::npos)
          << what << ": rank " << r << " said: " << words[static_cast<std::size_t>(r)];
}
/// x as ranks place it that have not compared it: each gives its own rows of its own x.
Array placed(const Mesh& m, const Array& x, const Spec& spec = Spec{"data"}) {
  std::int64_t d = spec[0].empty() ? 1 : 0, n = x.shape(d);
  return from_local_block(slice_in_dim(x, d, n * m.rank() / 2, n * (m.rank() + 1) / 2), x.shape(), spec);
}
/// An array of n, or of n + 2 on rank 1, split over the ranks.
Array uneven(const Mesh& m, std::int64_t n = 8) { return placed(m, rnd({n + 2 * m.rank()}, 1)); }
const std::vector<std::string> kBoth{"f64[8]{data}", "f64[10]{data}"};

TEST(Agreement, ProgramsAreComparedWithWhatTheyTakeAndGive) {
  auto squares = [](const Array& x) { return sum(x * x); };
  disagree("length", kBoth, [&](const Mesh& m) { (void)jit(squares)(uneven(m)).item<double>(); });
  disagree("a gradient", kBoth, [&](const Mesh& m) { (void)jit(grad(squares))(uneven(m)); });
  disagree("no collectives", kBoth, [&](const Mesh& m) { (void)jit([](const Array& x) { return x * 2; })(uneven(m)); });
  disagree("dtype", {"f32[8]{data}", "f64[8]{data}"}, [&](const Mesh& m) {
    (void)jit(squares)(placed(m, ones({8}, m.rank() ? f32 : f64)));
  });
  disagree("Spec", {"f64[4, 4]{data, -}", "f64[4, 4]{-, data}"}, [&](const Mesh& m) {
    (void)jit(squares)(placed(m, rnd({4, 4}, 1), m.rank() ? Spec{"data"} : Spec{none, "data"}));
  });
  disagree("whole", {"argument 0 is f64[3] on rank 0", "f64[4] on rank 1"}, [&](const Mesh& m) {
    (void)jit([](const Array& w, const Array& x) { return sum(w) * sum(x); })(
        rnd({3 + m.rank()}, 1), with_sharding_constraint(rnd({8}, 2), Spec{"data"}));
  });
  disagree("a result", {"result 0", "f64[8]{data}", "f64[8]"}, [&](const Mesh& m) {
    (void)jit([&](const Array& x) { return m.rank() ? x : zeros({8}, f64); })(
        with_sharding_constraint(rnd({8}, 2), Spec{"data"}));
  });
  disagree("compile options", {"compile option pipeline is false on rank 1, true on rank 0"}, [&](const Mesh& m) {
    (void)jit(squares, {.compile = {.pipeline = m.rank() == 0}})(uneven(m, 8 - 2 * m.rank()));
  });
  disagree("a scan called eagerly", kBoth, [&](const Mesh& m) {
    auto x = uneven(m);
    (void)scan([&](const Array& c, const Array&) { return std::pair{c + sum(x), none}; }, zeros({}, f64), arange(3));
  });
}
TEST(Agreement, LaterRunsToo) {
  auto f = [](const Array& x) { return sum(x * x); };
  auto even = [](std::int64_t n) { return with_sharding_constraint(rnd({n}, 1), Spec{"data"}); };
  disagree("both have run before", {"from f64[8]{data}", "from f64[10]{data}"}, [&](const Mesh& m) {
    auto g = jit(f);
    for (int n : {8, 10}) (void)g(even(n)).item<double>();
    (void)g(uneven(m)).item<double>();
  });
  disagree("one has run before", {"from f64[8]{data}", "exchange of fingerprint", "with f64[10]{data}"},
           [&](const Mesh& m) {
             auto g = jit([&](const Array& x) { return with_sharding_constraint(f(x), Spec{}); });
             (void)g(even(8));
             (void)g(uneven(m));
           });
}
TEST(Agreement, EagerOperations) {
  auto eager = [](const std::string& what, const std::function<Array(const Array&)>& f) {
    disagree(what, kBoth, [&](const Mesh& m) { (void)f(uneven(m)).to_vector<double>(); });
  };
  eager("sum", [](const Array& x) { return sum(x); });
  eager("mean", [](const Array& x) { return mean(x * x) + 1; });
  eager("max", [](const Array& x) { return amax(x); });
  eager("argmax", [](const Array& x) { return argmax(x).astype(f64); });
  eager("gather", [](const Array& x) { return gather(x * 2); });
  eager("matmul", [](const Array& x) { return matmul(x, x); });
  eager("a slice", [](const Array& x) { return view(x, range(0, 3)); });
  eager("an element", [](const Array& x) { return view(x, 1); });
  eager("sort", [](const Array& x) { return sort(x); });
  eager("grad", [](const Array& x) { return grad([](const Array& a) { return square(sum(a)); })(x); });
  eager("later", [](const Array& x) {
    auto s = sum(x);
    return s * 2 + with_sharding_constraint(ones({4}, f64), Spec{"data"});
  });
  disagree("the inner size of a product", {"f64[8, 3]{data, -}", "f64[8, 4]{data, -}"}, [](const Mesh& m) {
    auto k = 3 + m.rank();
    auto x = placed(m, rnd({8, k}, 1));
    (void)matmul(x, rnd({k, 2}, 2)).to_vector<double>();
  });
  disagree("dtype", {"f32[8]{data}", "i32[8]{data}"}, [](const Mesh& m) {
    (void)sum(placed(m, ones({8}, m.rank() ? f32 : i32)) > 0).item<int>();
  });
  disagree("Spec", {"f64[4, 4]{data, -}", "f64[4, 4]{-, data}"}, [](const Mesh& m) {
    (void)sum(placed(m, rnd({4, 4}, 1), m.rank() ? Spec{"data"} : Spec{none, "data"})).item<double>();
  });
  disagree("blocks that were read", kBoth, [](const Mesh& m) {
    auto n = 8 + 2 * m.rank();
    (void)sum(from_local_block(rnd({n / 2}, 1), {n}, Spec{"data"})).item<double>();
  });
}
TEST(Agreement, ShardMap) {
  auto total = [](const Array& l) { return psum(sum(l), "data"); };
  for (bool staged : {false, true})
    disagree(staged ? "staged" : "eager", kBoth, [&](const Mesh& m) {
      auto f = [&](const Array& x) { return shard_map(total, m, {Spec{"data"}}, Spec{})(x); };
      (void)(staged ? jit(f)(uneven(m)) : f(uneven(m))).item<double>();
    });
  disagree("dtype", {"f32[8]{data}", "f64[8]{data}"}, [&](const Mesh& m) {
    (void)shard_map([](const Array& l) { return sum(l.astype(f32)); }, m, {Spec{"data"}}, Spec{}, {.check = false})(
        ones({8}, m.rank() ? f32 : f64));
  });
  disagree("in Specs", {"f64[4, 4]{data}", "f64[4, 4]{-, data}"}, [&](const Mesh& m) {
    (void)shard_map(total, m, {m.rank() ? Spec{"data"} : Spec{none, "data"}}, Spec{})(rnd({4, 4}, 1));
  });
}
TEST(Agreement, PlainArgumentsOfProgramsThatSplitThem) {
  auto f = [](const Array& x) { return sum(square(with_sharding_constraint(x, Spec{"data"}))); };
  auto rows = [](std::int64_t n) { return rnd({n}, 1); };
  const std::vector<std::string> plain{"f64[8]", "f64[10]"};
  disagree("first run", plain, [&](const Mesh& m) { (void)jit(f)(rows(8 + 2 * m.rank())); });
  disagree("later", plain, [&](const Mesh& m) {
    auto g = jit(f);
    for (int n : {8, 10}) (void)g(rows(n)).item<double>();
    (void)g(rows(8 + 2 * m.rank())).item<double>();
  });
  disagree("eagerly", plain, [&](const Mesh& m) { (void)f(rows(8 + 2 * m.rank())).item<double>(); });
}
TEST(Agreement, ARanksOwnArraysAreItsOwn) {
  auto words = said([](const Mesh& m) {
    auto mine = rnd({3 + m.rank(), 2}, 1);  // what this rank has read
    auto ready = jit([](const Array& x) { return tanh(x) * 2; })(mine) + sum(mine);
    auto rows = from_local_block(ready, {7, 2}, Spec{"data"});
    auto g = grad([&](const Array& x) {
      auto norm =
          shard_map(jit([](const Array& l) { return psum(sum(tanh(l) * l), "data"); }), m, {Spec{"data"}}, Spec{});
      return square(norm(x)) + sum(x);
    });
    EXPECT_EQ(gather(g(rows) + jit(g)(rows)).shape(), (Shape{7, 2}));
  });
  EXPECT_EQ(words, (std::vector<std::string>{"", ""}));
}
TEST(Agreement, RanksMayComputeWithOtherNumbers) {
  auto words = said([](const Mesh& m) {
    auto x = with_sharding_constraint(rnd({8}, 1), Spec{"data"});
    auto y = m.rank() ? x * 2 : x;  // no collective, and the same type: a rank's own business
    for (int i = 0; i < 3; ++i) y = y + sum(y) * mean(x);
    EXPECT_EQ(gather(y).shape(), (Shape{8}));
  });
  EXPECT_EQ(words, (std::vector<std::string>{"", ""}));
}

/// Two functions whose collectives look alike.
Array of_sines(const Array& x) { return sum(sin(x)); }
Array of_cosines(const Array& x) { return sum(cos(x) * x); }
const std::vector<std::string> kSineAndCosine{"the ranks' programs differ", "operation 0 is", "sin(input 0) -> f64[8]",
                                              "cos(input 0) -> f64[8]", "agreement_test.cpp:", "on rank 0",
                                              "on rank 1"};
TEST(Agreement, ProgramsWhoseCollectivesLookAlike) {
  using F1 = std::function<Array(const Array&)>;
  auto differ = [](const std::string& what, const std::vector<std::string>& quoted, const F1& f, const F1& g,
                   const Spec& spec = Spec{"data"}) {
    disagree(what, quoted, [&](const Mesh& m) {
      auto x = with_sharding_constraint(rnd({8}, 1), spec);
      (void)jit(m.rank() ? g : f)(x).to_vector<double>();
    });
  };
  differ("operations", kSineAndCosine, of_sines, of_cosines);
  differ("gradients", {"the ranks' programs differ: operation"}, grad(of_sines), grad(of_cosines));
  differ("a constant", {"constant", "2.5", "3.5"}, [](const Array& x) { return sum(x * 2.5); },
         [](const Array& x) { return sum(x * 3.5); });
  differ("a last digit", {"0.10000000000000001", "0.10000000000000002"}, [](const Array& x) { return sum(x * 0.1); },
         [](const Array& x) { return sum(x * 0.10000000000000002); });
  auto loop = [](bool reverse) {
    return [=](const Array& x) {
      auto add = [](const Array& c, const Array& i) { return std::pair{c + i, none}; };
      return scan(add, x, arange(3).astype(f64), {.reverse = reverse}).first;
    };
  };
  differ("a parameter", {"reverse=true", "reverse=false"}, loop(true), loop(false));
  differ("more operations", {"returns %", "exp(%"}, [](const Array& x) { return sin(x) * 2; },
         [](const Array& x) { return exp(sin(x) * 2); });
  differ("the body of a loop", {"in scan: sin", "in scan: cos"},
         [](const Array& x) { return scan([](const Array& c, const Array&) { return std::pair{sin(c), none}; }, x,
                                          arange(3)).first; },
         [](const Array& x) { return scan([](const Array& c, const Array&) { return std::pair{cos(c), none}; }, x,
                                          arange(3)).first; });
}
TEST(Agreement, OneRankOfThreeRunsAnotherProgram) {
  std::vector<std::string> words(3);
  try {
    local_mesh({{"data", 3}}, [&](const Mesh& m) {
      auto x = with_sharding_constraint(rnd({8}, 1), Spec{"data"});
      try {
        (void)jit(m.rank() == 1 ? of_cosines : of_sines)(x).item<double>();
      } catch (const ShardError& e) {
        words.at(static_cast<std::size_t>(m.rank())) = e.what();
        throw;
      }
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error&) {  // kept above
  }
  for (auto& w : words) {
    EXPECT_EQ(w, words[0]);
    EXPECT_NE(w.find("on rank 1"), std::string::npos) << w;
    EXPECT_NE(w.find("on ranks 0, 2"), std::string::npos) << w;
  }
}
TEST(Agreement, WhatIsARanksOwnIsNotPartOfItsProgram) {
  auto words = said([](const Mesh& m) {
    auto rank = static_cast<double>(m.rank());
    auto x = placed(m, rnd({7, 3}, 1));
    // The numbers of captured arrays, sources, and what only this rank runs.
    auto w = rnd({7, 3}, 2 + m.rank());
    EXPECT_EQ(jit([&](const Array& a) { return sum(a * w); })(x).ndim(), 0);
    if (m.rank()) (void)jit([](const Array& a) { return sin(a); })(x);
    else (void)jit([](const Array& a) { return sin(a); })(x);
    auto own = m.rank() ? jit([](const Array& a) { return cos(a); })(rnd({3}, 1))
                        : jit([](const Array& a) { return sin(a) + 1; })(rnd({4}, 1));
    EXPECT_EQ(own.ndim(), 1);
    // Blocks: sizes, numbers that depend on them, branches on the rank and on the size (not so far as derivatives read
    // other values outside).
    auto of_block = [&](const Array& l) {
      auto y = l / static_cast<double>(l.shape(0)) + rank;
      if (l.shape(0) == 4) y = y * 0.5 + 1;
      auto one = m.rank() ? sum(zeros(l.shape(), f64)) : constant(0., f64);
      return psum(sum(y) + one, "data");
    };
    auto mapped = [&](const Array& a) { return shard_map(of_block, m, {Spec{"data"}}, Spec{})(a * 2) * 3; };
    EXPECT_EQ(jit(mapped)(x).ndim(), 0);
    EXPECT_EQ(jit(grad(mapped))(x).shape(), (Shape{7, 3}));
    EXPECT_EQ(jit(grad([&](const Array& a) { return square(checkpoint(mapped)(a)); }))(x).shape(), (Shape{7, 3}));
    auto looped = [&](const Array& a) {
      auto step = [&](const Array& c, const Array&) { return std::pair{c * 0.5 + mapped(a), none}; };
      return scan(step, zeros({}, f64), arange(3)).first;
    };
    EXPECT_EQ(jit(grad(looped))(x).shape(), (Shape{7, 3}));
    auto of_jit = jit([](const Array& l) { return psum(sum(tanh(l) * l), "data"); });
    auto eager = shard_map(of_jit, m, {Spec{"data"}}, Spec{});
    EXPECT_EQ(eager(x).ndim(), 0);
  });
  EXPECT_EQ(words, (std::vector<std::string>{"", ""}));
}
TEST(Agreement, ARegionOfBlocksHidesNoOtherOperation) {
  disagree("beside a shard_map", {"operation", "sin", "cos"}, [](const Mesh& m) {
    auto x = placed(m, rnd({7}, 1));
    auto total = shard_map([](const Array& l) { return psum(sum(l), "data"); }, m, {Spec{"data"}}, Spec{});
    (void)jit([&](const Array& a) { return total(m.rank() ? sin(a) : cos(a)); })(x).item<double>();
  });
  disagree("behind one", {"operation", "sin", "cos"}, [](const Mesh& m) {
    auto x = placed(m, rnd({7}, 1));
    auto total = shard_map([](const Array& l) { return psum(sum(l), "data"); }, m, {Spec{"data"}}, Spec{});
    (void)jit([&](const Array& a) { return m.rank() ? sin(total(a)) : cos(total(a)); })(x).item<double>();
  });
}
/// One rank of a job of processes; see below.
TEST(Agreement, DISABLED_RankOfAJob) {
  auto mesh = Mesh::from_environment({{"data", 2}});
  UseMesh scope(mesh);
  std::string what;
  if (std::getenv("BORA_TEST_OTHER")) {
    auto x = with_sharding_constraint(rnd({8}, 1), Spec{"data"});
    try {
      (void)jit(mesh.rank() ? of_cosines : of_sines)(x).item<double>();
    } catch (const Error& e) { what = e.what(); }
    for (auto& q : kSineAndCosine) EXPECT_NE(what.find(q), std::string::npos) << what;
    return;
  }
  try {
    auto x = uneven(mesh);
    auto f = [](const Array& a) { return sum(a * a); };
    (void)(std::getenv("BORA_TEST_STAGED") ? jit(f)(x) : f(x)).item<double>();
  } catch (const Error& e) { what = e.what(); }
  for (auto& q : kBoth) EXPECT_NE(what.find(q), std::string::npos) << what;
}
TEST(Agreement, BetweenProcesses) {
  for (std::string how : {"eager", "BORA_TEST_STAGED=1", "BORA_TEST_OTHER=1"}) {
    auto root = test::TakenPort().address();  // it is free again
    std::vector<pid_t> ranks;
    for (int r = 0; r < 2; ++r) {
      std::vector<std::string> words{"BORA_RANK=" + std::to_string(r), "BORA_SIZE=2", "BORA_ROOT=" + root};
      if (how != "eager") words.push_back(how);
      for (char** e = environ; *e; ++e) words.emplace_back(*e);
      std::vector<char*> env;
      for (auto& w : words) env.push_back(w.data());
      env.push_back(nullptr);
      char program[] = "/proc/self/exe", filter[] = "--gtest_filter=Agreement.DISABLED_RankOfAJob",
           also[] = "--gtest_also_run_disabled_tests", brief[] = "--gtest_brief=1";
      char* arguments[] = {program, filter, also, brief, nullptr};
      auto pid = ::fork();
      if (pid == 0) {
        ::alarm(60);
        ::execve(program, arguments, env.data());
        ::_exit(127);
      }
      ranks.push_back(pid);
    }
    for (auto pid : ranks) {
      int status = 0;
      EXPECT_EQ(::waitpid(pid, &status, 0), pid);
      EXPECT_EQ(test::end_of(status), 0) << how;
    }
  }
}
}  // namespace
}  // namespace bora::laws::agreement_test
