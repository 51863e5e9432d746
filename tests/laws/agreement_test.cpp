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
/// An array of n, or of n + 2 on rank 1, split over the ranks.
Array uneven(const Mesh& m, std::int64_t n = 8) {
  return with_sharding_constraint(rnd({n + 2 * m.rank()}, 1), Spec{"data"});
}
const std::vector<std::string> kBoth{"f64[8]{data}", "f64[10]{data}"};

TEST(Agreement, ProgramsAreComparedWithWhatTheyTakeAndGive) {
  auto squares = [](const Array& x) { return sum(x * x); };
  disagree("length", kBoth, [&](const Mesh& m) { (void)jit(squares)(uneven(m)).item<double>(); });
  disagree("a gradient", kBoth, [&](const Mesh& m) { (void)jit(grad(squares))(uneven(m)); });
  disagree("no collectives", kBoth, [&](const Mesh& m) { (void)jit([](const Array& x) { return x * 2; })(uneven(m)); });
  disagree("dtype", {"f32[8]{data}", "f64[8]{data}"}, [&](const Mesh& m) {
    (void)jit(squares)(with_sharding_constraint(ones({8}, m.rank() ? f32 : f64), Spec{"data"}));
  });
  disagree("Spec", {"f64[4, 4]{data, -}", "f64[4, 4]{-, data}"}, [&](const Mesh& m) {
    (void)jit(squares)(with_sharding_constraint(rnd({4, 4}, 1), m.rank() ? Spec{"data"} : Spec{none, "data"}));
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
    auto x = with_sharding_constraint(rnd({8, k}, 1), Spec{"data"});
    (void)matmul(x, rnd({k, 2}, 2)).to_vector<double>();
  });
  disagree("dtype", {"f32[8]{data}", "i32[8]{data}"}, [](const Mesh& m) {
    (void)sum(with_sharding_constraint(ones({8}, m.rank() ? f32 : i32), Spec{"data"}) > 0).item<int>();
  });
  disagree("Spec", {"f64[4, 4]{data, -}", "f64[4, 4]{-, data}"}, [](const Mesh& m) {
    (void)sum(with_sharding_constraint(rnd({4, 4}, 1), m.rank() ? Spec{"data"} : Spec{none, "data"})).item<double>();
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

/// One rank of a job of processes; see below.
TEST(Agreement, DISABLED_RankOfAJob) {
  auto mesh = Mesh::from_environment({{"data", 2}});
  UseMesh scope(mesh);
  std::string what;
  try {
    auto x = uneven(mesh);
    auto f = [](const Array& a) { return sum(a * a); };
    (void)(std::getenv("BORA_TEST_STAGED") ? jit(f)(x) : f(x)).item<double>();
  } catch (const Error& e) { what = e.what(); }
  for (auto& q : kBoth) EXPECT_NE(what.find(q), std::string::npos) << what;
}
TEST(Agreement, BetweenProcesses) {
  for (bool staged : {false, true}) {
    auto root = test::TakenPort().address();  // it is free again
    std::vector<pid_t> ranks;
    for (int r = 0; r < 2; ++r) {
      std::vector<std::string> words{"BORA_RANK=" + std::to_string(r), "BORA_SIZE=2", "BORA_ROOT=" + root};
      if (staged) words.push_back("BORA_TEST_STAGED=1");
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
      EXPECT_EQ(test::end_of(status), 0) << (staged ? "staged" : "eager");
    }
  }
}
}  // namespace
}  // namespace bora::laws::agreement_test
