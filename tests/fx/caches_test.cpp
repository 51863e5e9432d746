// Everything that is kept for later calls is bounded, in ways that change no number, and is in one report.
#include <gtest/gtest.h>
#include <thread>
#include "bora/bora.h"
#include "compile/api/program.h"
#include "fx/forms.h"
#include "fx/retrace.h"

namespace caches_test {
namespace {
using namespace bora;
using forms_tests::close;

CacheReport report(const std::string& name) {
  for (auto& c : caches())
    if (c.name == name) return c;
  return {};
}
std::size_t kept() {
  std::size_t n = 0;
  for (auto& c : caches()) n += c.entries;
  return n;
}
Array cubes(const Array& x) { return x * x * x; }

TEST(Caches, AMemoIsBounded) {
  auto p = program_of(cubes, ones({3}));
  Memo memo;
  int made = 0;
  auto get = [&](int i, Form form = Form::body, int rank = Memo::kNoRank) {
    return *memo.get<int>(form, std::to_string(i), [&] { return ++made, i; }, rank);
  };
  auto most = static_cast<int>(Memo::kMost);
  for (int i = 0; i < most; ++i) EXPECT_EQ(get(i), i);
  EXPECT_EQ(made, most);
  for (int i = 0; i < most; ++i) EXPECT_EQ(get(i), i);  // as many as it keeps: none is made twice
  EXPECT_EQ(made, most);
  (void)get(0);
  EXPECT_EQ(get(most), most);  // drops 1, the least recently used
  EXPECT_EQ(get(0), 0);
  EXPECT_EQ(made, most + 1);
  EXPECT_EQ(get(1), 1);
  EXPECT_EQ(made, most + 2);
  // Forms and ranks have limits of their own. Of `agreed` the oldest goes, whoever read it meanwhile: the same one on
  // all ranks.
  for (int i = 0; i < most; ++i) (void)get(i, Form::agreed, 0);
  made = 0;
  (void)get(0, Form::agreed, 0);
  (void)get(most, Form::agreed, 0);
  (void)get(most, Form::agreed, 1);
  EXPECT_EQ(made, 2);
  (void)get(0, Form::agreed, 0);
  EXPECT_EQ(made, 3);
}
TEST(Caches, AnEntryThatIsInUseStays) {
  Memo memo;
  auto first = memo.get<std::string>(Form::fingerprint, "0", [] { return std::string(100, 'x'); });
  for (std::size_t i = 1; i < 3 * Memo::kMost; ++i)
    (void)memo.get<std::string>(Form::fingerprint, std::to_string(i), [] { return std::string(); });
  EXPECT_EQ(*first, std::string(100, 'x'));
}
/// Each was kept for ever: vmap of a jitted function over ever new sizes, its derivatives along ever new inputs, and
/// executables for each of them.
TEST(Caches, EverNewSizesKeepABoundedNumberOfPrograms) {
  const auto before = kept();
  {
    auto f = jit(cubes, {.name = "cubes"});
    auto limit = 2 * Memo::kMost + 64;  // batched Programs and their executables
    for (std::int64_t n = 1; n <= 400; ++n) {
      auto x = arange(n).astype(f32);
      ASSERT_EQ(vmap(f)(x).to_vector<float>().back(), static_cast<float>(n - 1) * static_cast<float>(n - 1) *
                                                          static_cast<float>(n - 1));
      if (n % 50 == 0) {
        ASSERT_LE(kept() - before, limit + 128) << n;
      }
    }
    EXPECT_EQ(f.traces(), 1);
    EXPECT_GT(report("memo(batched)").evictions, 200U);
    EXPECT_LE(report("jit(cubes)").entries, 1U);
  }
  EXPECT_LE(kept(), before + 64);  // entries go with the function; kernels stay
}
/// The law: whatever is called with ever new sizes, no cache of functions or kernels passes its limit, and memos keep
/// a number of forms that does not follow the number of sizes.
TEST(Caches, EveryCacheKeepsToItsLimit) {
  auto f = jit([](const Array& x) { return sum(sin(x) * x); }, {.name = "law", .cache = 16});
  auto add = [](const Array& s, const Array& v) { return std::pair{s + v, s * v}; };
  testing::internal::CaptureStderr();  // jit says that it drops Programs
  std::size_t first = 0;
  for (std::int64_t n = 2; n < 2 + 300; ++n) {
    auto x = full({n}, 0.5F), rows = full({n, 3}, 0.5F);
    (void)f(x);
    (void)grad(f)(x);
    (void)grad([&](const Array& r) { return sum(vmap(f)(r)); })(rows);
    (void)jvp([&](const Array& r) { return vmap(f)(r); }, rows, rows);
    (void)grad([&](const Array& r) { return sum(vmap(grad(f))(r)); })(rows);
    (void)scan(add, zeros({}), x);
    (void)fft::fft(x);
    (void)matmul(rows.astype(bf16), transpose(rows).astype(bf16));
    if (n == 2 + 200) first = kept();
  }
  (void)testing::internal::GetCapturedStderr();
  for (auto& c : caches())
    if (!c.name.starts_with("memo")) {
      EXPECT_LE(c.entries, c.limit) << to_string(c);
    }
  EXPECT_GT(report("jit(law)").evictions, 0U);
  EXPECT_LE(kept(), first + first / 8 + 64) << "with half as many sizes more";
}
TEST(Caches, DerivativesOfAFunctionWhoseFormsWereDropped) {
  constexpr int inputs = 8;  // 255 sets of inputs that are differentiated
  using In = std::array<Array, inputs>;
  auto f = jit([](const In& x) {
    auto y = sin(x[0]);
    for (int i = 1; i < inputs; ++i) y = y * cos(x[static_cast<std::size_t>(i)]);
    return y;
  });
  In x;
  for (int i = 0; i < inputs; ++i) x[static_cast<std::size_t>(i)] = array(0.1 * (i + 1));
  auto program = f.program(x);
  auto in = f.inputs(x);
  for (int round = 0; round < 2; ++round)
    for (unsigned set = 1; set < 1U << inputs; set += round == 0 ? 1 : 37) {
      Mask wrt;
      for (int i = 0; i < inputs; ++i) wrt.push_back((set >> i & 1U) != 0);
      auto held = fx::vjp_flat([&](const Arrays& a) { return fx::run_jit(program, a); }, in, wrt);
      auto g = held.pullback({array(1.)});
      double product = std::sin(0.1);
      for (int i = 1; i < inputs; ++i) product *= std::cos(0.1 * (i + 1));
      for (int i = 0; i < inputs; ++i) {
        if (!wrt[static_cast<std::size_t>(i)]) continue;
        auto slope = i == 0 ? product / std::tan(0.1) : -product * std::tan(0.1 * (i + 1));
        ASSERT_NEAR(g[static_cast<std::size_t>(i)].item<float>(), slope, 1e-6);
      }
    }
}
/// A pullback that lives on after the form that it reads was dropped.
TEST(Caches, APullbackOutlivesItsForm) {
  auto body = [](const Array& c, const Array& x) { return std::pair{c * x + sin(c), c}; };
  auto f = jit([&](const Array& c, const Array& x) { return scan(body, c, x).first; });
  auto c = array(0.5), xs = array({1., 2., 3.});
  auto [y, pull] = vjp(f, c, xs);
  auto want = pull(ones_like(y));
  auto rows = [&](std::int64_t n) { return broadcast_to(c, {n}); };
  for (std::int64_t n = 1; n <= 200; ++n) {
    auto g = grad([&](const Array& a) { return sum(vmap([&](const Array& v) { return f(v, xs); })(a)); })(rows(n));
    ASSERT_NEAR(g.to_vector<float>()[0], std::get<0>(want).item<float>(), 1e-5);
  }
  auto again = pull(ones_like(y));
  close(std::get<0>(again), std::get<0>(want));
  close(std::get<1>(again), std::get<1>(want));
}
TEST(Caches, ThreadsShareABoundedCache) {
  auto f = jit(cubes, {.name = "shared"});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t n = 1; n <= 150; ++n) {
        auto size = 1 + (n * 7 + t * 31) % 160;
        auto y = vmap(f)(full({size}, 2.F)).to_vector<float>();
        if (y.size() != static_cast<std::size_t>(size) || y.back() != 8) ++wrong;
        if (n % 10 == 0) (void)caches();
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}
/// On a mesh of threads, whose ranks share Programs: to compare a Program with the other ranks again is a step of all.
TEST(Caches, RanksThatAreThreadsDropTheSameForms) {
  auto f = jit([](const Array& x) { return sum(x * 2); }, {.name = "ranks", .cache = 4});
  local_mesh({{"a", 3}}, [&](const Mesh& mesh) {
    UseMesh scope(mesh);
    auto own = jit(cubes);
    for (int round = 0; round < 2; ++round)
      for (std::int64_t n = 3; n < 3 + 24; ++n) {
        ASSERT_EQ(vmap(own)(arange(n).astype(f32)).shape(), (Shape{n}));
        ASSERT_EQ(f(shard(ones({n}), Spec{"a"})).item<float>(), 2 * static_cast<float>(n));
      }
  });
}
TEST(Caches, TheReportHasWhatIsKept) {
  auto step = jit([](const Array& x) { return x + 1; }, {.name = "step", .cache = 3});
  auto unnamed = jit(cubes);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t n = 1; n <= 3; ++n) (void)step(zeros({n}));
  auto c = report("jit(step)");
  EXPECT_EQ(c.entries, 3U);
  EXPECT_EQ(c.limit, 3U);
  EXPECT_EQ(c.misses, 3U);
  EXPECT_EQ(c.hits, 3U);
  EXPECT_EQ(c.evictions, 0U);
  testing::internal::CaptureStderr();
  (void)step(zeros({4}));
  (void)testing::internal::GetCapturedStderr();
  c = report("jit(step)");
  EXPECT_EQ(c.entries, 3U);
  EXPECT_EQ(c.evictions, 1U);
  EXPECT_EQ(to_string(c), "jit(step): 3 of 3, 3 hits, 4 misses, 1 evictions");
  EXPECT_EQ(report("jit").limit, 64U);
  {
    auto gone = jit(cubes, {.name = "gone"});
    (void)gone(ones({2}));
    EXPECT_EQ(report("jit(gone)").entries, 1U);
  }
  EXPECT_EQ(report("jit(gone)").limit, 0U);
  (void)(ones({70}) + 1);
  (void)fft::fft(ones({48}));
  (void)scan([](const Array& s, const Array& v) { return std::pair{s + v, s}; }, zeros({}), ones({5}));
  for (auto name : {"memo(executable)", "eager loops", "kernels", "fft tables f32"}) {
    auto r = report(name);
    EXPECT_GT(r.entries, 0U) << name;
    EXPECT_GE(r.limit, r.entries > r.limit ? 1U : r.entries) << name;
    EXPECT_GT(r.misses, 0U) << name;
  }
  EXPECT_TRUE(report("kernels").bytes.has_value());
  EXPECT_FALSE(report("eager loops").bytes.has_value());
}
}  // namespace
}  // namespace caches_test
