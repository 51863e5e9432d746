// The law of work: what a result that is split needs is computed split. A rank does no more than its share of the work
// of one rank, and the numbers stay the same.
#include "bora/ops/contractions.h"
#include "bora/ops/convolution.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "laws/work.h"

namespace bora::laws::work_test {
namespace {
using V = Arrays;
struct Case {
  std::string name;
  std::function<Array(const Arrays&)> f;
  Arrays in;
  std::optional<std::size_t> whole = none;  // a dimension along which every rank does all: its sums need all of it
  std::optional<std::size_t> sums = none;   // a dimension along which ranks add up what they have: a few collectives
};
std::vector<Case> cases() {
  auto k = random::key(3);
  auto x = rnd({24, 16}, 1).astype(f32), w = rnd({16, 24}, 2).astype(f32);
  auto draws = [&](std::string name, auto f) {
    return Case{name, [f](const Arrays& a) { return f(a[0]); }, {k}};
  };
  return {
      {"matmul(x, transpose(x))", [](auto& a) { return matmul(a[0], transpose(a[0])); }, {x}},
      {"matmul(x, w)", [](auto& a) { return matmul(a[0], a[1]); }, {x, w}},
      {"kernel matrix", [](auto& a) {
         auto d = expand_dims(a[0], 1) - expand_dims(a[0], 0);
         return exp(-sum(square(d), {2}));
       }, {x}},
      {"softmax(x)", [](auto& a) { return softmax(tanh(a[0]), 1); }, {x}, none, 1},
      {"log_softmax(x)", [](auto& a) { return log_softmax(tanh(a[0]), 1); }, {x}, none, 1},
      {"zeros + 1", [](auto& a) { return exp(zeros({24, 16}) + 1) * a[0]; }, {full({}, 2.0, f32)}},
      {"iota", [](auto&) { return exp(iota({24, 16}, 0, f32) * 0.1) + sin(iota({24, 16}, 1, f32)); }, {}},
      {"tril(x)", [](auto& a) { return tril(exp(a[0])); }, {x}},
      draws("normal", [](const Array& key) { return random::normal(key, {24, 16}) * 0.02; }),
      draws("uniform", [](const Array& key) { return random::uniform(key, {24, 16}) * 2; }),
      draws("truncated_normal", [](const Array& key) { return random::truncated_normal(key, -2, 2, {24, 16}) * 2; }),
      draws("bernoulli", [](const Array& key) { return where(random::bernoulli(key, 0.5, {24, 16}), 1.0, 2.0); }),
      draws("gumbel", [](const Array& key) { return random::gumbel(key, {24, 16}); }),
      draws("normal of a vmap", [](const Array& key) {
        return vmap([](const Array& one) { return random::normal(one, {16}) * 3; })(random::split(key, 24));
      }),
      {"a scan's results", [](auto& a) {
         return scan([](const Array& c, const Array& row) { return std::pair{c, exp(row) + c}; }, zeros({16}), a[0])
             .second;
       }, {x}},
      {"a scan's carry", [](auto& a) {
         return scan([](const Array& c, const Array& row) { return std::pair{tanh(c * 0.5 + row), none}; },
                     zeros({24, 16}), stack({a[0], exp(a[0]), a[0] * 2}))
             .first;
       }, {x}},
      {"a scan's carry, by columns", [](auto& a) {
         return scan([&](const Array& c, const Array& row) { return std::pair{tanh(matmul(a[1], c) + row), none}; },
                     a[0], stack({a[0], exp(a[0]), a[0] * 2}))
             .first;
       }, {x, rnd({24, 24}, 5).astype(f32)}, 0},
      {"a while_loop's carry", [](auto& a) {
         using Pair = std::pair<Array, Array>;
         return while_loop([](const Pair& c) { return c.first < 5; },
                           [](const Pair& c) { return Pair{c.first + 1, sin(c.second) * 2}; },
                           Pair{sum(zeros({2}, i32)), exp(a[0])})
             .second;
       }, {x}},
      {"branches", [](auto& a) {
         return cond(sum(a[0]) > 0, [](const Array& y) { return exp(sin(y)); },
                     [](const Array& y) { return cos(y) * tanh(y); }, a[0] * 2);
       }, {x}},
      {"a call", [](auto& a) {
         auto g = jit([](const Array& y) { return exp(sin(y)) * 2; });
         return g(a[0] + 1);
       }, {x}},
      {"a reshape", [](auto& a) { return reshape(exp(sin(a[0])), {24, 4, 4}); }, {x}},
      {"grad", [](auto& a) { return grad([](const Array& y) { return sum(exp(tanh(y)) * y); })(a[0]); }, {x}},
  };
}
/// Cases of operands that nothing says to split, beside one that is split.
std::vector<Case> siblings() {
  auto k = random::key(3);
  auto x = rnd({24, 16}, 1).astype(f32);
  return {
      {"x + normal", [](auto& a) { return a[0] + random::normal(a[1], a[0].shape()); }, {x, k}},
      {"dropout",
       [](auto& a) { return where(random::bernoulli(a[1], 0.5, a[0].shape()), a[0] * 2, zeros_like(a[0])); },
       {x, k}},
      {"x * exp(whole)", [](auto& a) { return a[0] * exp(sin(a[1])); }, {x, x}},
      {"a sum", [](auto& a) { return sum(a[0] * exp(sin(a[1])), {1}); }, {x, x}},
      {"grad", [](auto& a) {
         return grad([&](const Array& y) { return sum(y * random::normal(a[1], y.shape()) * exp(y)); })(a[0]);
       }, {x, k}},
      {"scan", [](auto& a) {
         return scan([&](const Array& c, const Array& key) {
                  return std::pair{tanh(c + random::normal(key, {24, 16})), none};
                }, a[0], random::split(a[1], 3)).first;
       }, {x, k}},
  };
}
TEST(Work, OfAResultUnderAConstraintIsSplit) {
  for (auto& c : cases()) {
    SCOPED_TRACE(c.name);
    auto alone = program_of(c.f, c.in);
    auto whole = work_of(alone);
    auto want = c.f(c.in);
    for (auto& axes : meshes())
      local_mesh(axes, [&](const Mesh& mesh) {
        MeshAxes all;
        for (auto& a : mesh.shape().axes) all.push_back(a.first);
        for (std::size_t d = 0; d < static_cast<std::size_t>(want.ndim()); ++d) {
          auto spec = Spec::replicated(static_cast<std::size_t>(want.ndim()));
          spec[d] = all;
          auto n = want.shape()[d];
          auto share = static_cast<double>(mesh.shape().most(n, all)) / static_cast<double>(n);
          auto f = [&](const Arrays& a) { return with_sharding_constraint(c.f(a), spec); };
          auto mine = work_of(fx::local_program(program_of(f, c.in), c.in));
          auto what = name(axes) + " " + to_string(spec);
          if (c.whole != d) {
            EXPECT_LE(mine.flops, most_of(share, whole.flops))
                << c.name << " " << what << " of " << whole.flops;
          }
          EXPECT_LE(mine.collectives, c.sums == d ? 2u : 0u) << what;
          close(gathered({jit(f)(c.in)}), {want}, 1e-6, what);
        }
      });
  }
}
/// A draw that two readers want split differently is drawn twice, a block each; nothing is sent.
TEST(Work, OfADrawWithTwoReadersIsSplitForBoth) {
  auto k = random::key(3);
  for (auto& [f, times] : std::vector<std::pair<std::function<Arrays(const Array&)>, double>>{
           {[](const Array& key) {
              auto n = random::normal(key, {24, 16});
              return Arrays{with_sharding_constraint(n, Spec{"data"}),
                            with_sharding_constraint(n, Spec{none, "data"})};
            }, 2},
           {[](const Array& key) {
              auto n = random::normal(key, {24, 16});
              auto x = with_sharding_constraint(zeros({24, 16}) + 1, Spec{"data"});
              return Arrays{with_sharding_constraint(exp(n), Spec{none, "data"}), x * n};
            }, 2},
           {[](const Array& key) {
              auto n = random::normal(key, {24, 16});
              return Arrays{with_sharding_constraint(n, Spec{"data"}), with_sharding_constraint(exp(n), Spec{"data"})};
            }, 1}}) {
    local_mesh({{"data", 4}}, [&, f = f, times = times](const Mesh&) {
      auto one = work_of(program_of([](const Array& key) { return random::normal(key, {24, 16}); }, k));
      auto mine = work_of(fx::local_program(program_of([&](const Array& key) { return f(key); }, k), {k}));
      EXPECT_LE(mine.flops, times * one.flops / 4 + 0.2 * one.flops);
      EXPECT_EQ(mine.collectives, 0u);
      auto y = jit([&](const Array& key) { return f(key); })(k), want = f(k);
      for (std::size_t j = 0; j < y.size(); ++j) EXPECT_TRUE(all(gather(y[j]) == gather(want[j])).item<bool>());
    });
  }
}
/// Batches of matrices, split along the batch.
std::vector<Case> batches() {
  auto a = rnd({24, 5, 5}, 1), b = rnd({24, 5, 3}, 2);
  auto spd = matmul(a, transpose(a, {0, 2, 1})) + 5 * eye(5, f64);
  return {
      {"cholesky", [](auto& x) { return linalg::cholesky(x[0]); }, {spd}},
      {"vmap(cholesky)", [](auto& x) { return vmap([](const Array& m) { return linalg::cholesky(m); })(x[0]); }, {spd}},
      {"solve", [](auto& x) { return linalg::solve(x[0], x[1]); }, {spd, b}},
      {"triangular_solve", [](auto& x) { return linalg::triangular_solve(x[0], x[1]); }, {spd, b}},
      {"inv", [](auto& x) { return linalg::inv(x[0]); }, {spd}},
      {"det", [](auto& x) { return linalg::det(x[0]); }, {spd}},
      {"slogdet", [](auto& x) { return linalg::slogdet(x[0]).logabsdet; }, {spd}},
      {"qr", [](auto& x) { return linalg::qr(x[0]).r; }, {a}},
      {"svd", [](auto& x) { return linalg::svd(x[0]).s; }, {a}},
      {"eigh", [](auto& x) { return linalg::eigh(x[0]).values; }, {spd}},
      {"eig", [](auto& x) { return linalg::eig(x[0]).values; }, {a}},
      {"schur", [](auto& x) { return linalg::schur(x[0]).t; }, {a}},
      {"pinv", [](auto& x) { return linalg::pinv(x[0]); }, {a}},
      {"sqrtm", [](auto& x) { return linalg::sqrtm(x[0]); }, {spd}},
      {"grad of cholesky", [](auto& x) {
         return grad([](const Array& m) { return sum(linalg::cholesky(m)); })(x[0]);
       }, {spd}},
      {"grad of solve", [](auto& x) {
         return grad([&](const Array& m) { return sum(linalg::solve(m, x[1])); })(x[0]);
       }, {spd, b}},
  };
}
TEST(Work, OnSplitBatchesOfMatricesStaysWithTheRank) {
  for (auto& c : batches()) {
    auto whole = work_of(program_of(c.f, c.in));
    auto want = c.f(c.in);
    for (auto& axes : meshes())
      local_mesh(axes, [&](const Mesh& mesh) {
        MeshAxes all;
        for (auto& a : mesh.shape().axes) all.push_back(a.first);
        Arrays in;
        for (auto& x : c.in) in.push_back(shard(x, Spec{all, none, none}));
        auto mine = work_of(fx::local_program(program_of(c.f, in), in));
        auto share = static_cast<double>(mesh.shape().most(24, all)) / 24;
        auto what = c.name + " " + name(axes);
        EXPECT_LE(mine.flops, most_of(share, whole.flops)) << what << " of " << whole.flops;
        EXPECT_EQ(mine.collectives, 0u) << what;
        auto got = c.f(in);
        EXPECT_EQ(spec_of(got)[0], mesh.size() == 1 ? spec_of(got)[0] : all) << what;
        close(gathered({got, jit(c.f)(in)}), {want, want}, 1e-12, what);
      });
  }
}
TEST(Work, ColumnsOfARightSideStaySplit) {
  auto a = rnd({6, 6}, 1) + 6 * eye(6, f64), b = rnd({6, 8}, 2);
  local_mesh({{"data", 4}}, [&](const Mesh&) {
    auto columns = shard(b, Spec{none, "data"});
    for (auto& f : {std::function([](const Array& m, const Array& r) { return linalg::solve(m, r); }),
                    std::function([](const Array& m, const Array& r) { return linalg::triangular_solve(m, r); })}) {
      auto x = f(a, columns);
      EXPECT_EQ(spec_of(x), (Spec{none, "data"}));
      close(gathered({x}), {f(a, b)}, 1e-12, "columns");
    }
  });
}
/// A sum that stands beside a larger operand is completed before it is stretched, and once for all its readers.
TEST(Work, OfAStretchedSumIsThatOfTheSum) {
  for (Shape shape : {Shape{24, 16}, Shape{7, 5}, Shape{2, 3}, Shape{0, 4}}) {
    auto x = rnd(shape, 1);
    std::vector<std::function<Array(const Array&)>> functions{
        [](const Array& a) { return a - sum(a, {0}, {.keepdims = true}); },
        [](const Array& a) { return tanh(a) * sum(a, {0}, {.keepdims = true}); },
        [](const Array& a) { return a - sum(a, {1}, {.keepdims = true}) * 2; },
        [](const Array& a) { return softmax(matmul(transpose(a), a), {0}); },
        [](const Array& a) {
          return scan([](const Array& c, const Array& row) { return std::pair{c + row, c}; },
                      broadcast_to(sum(a, {0}), a.shape()), stack({a, a * 2}))
              .first;
        }};
    for (std::size_t k = 0; k < functions.size(); ++k) {
      auto& f = functions[k];
      auto slope = [&](const Array& a) {
        return grad([&](const Array& b) {
          auto c = f(b);
          return sum(sin(c) * rnd(c.shape(), 3));
        })(a);
      };
      auto want = f(x), down = slope(x);
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          for (auto& spec : all_specs(mesh.shape(), 2)) {
            auto in = shard(x, spec);
            auto what = std::to_string(k) + " of " + to_string(shape) + " " + name(axes) + to_string(spec);
            close(gathered({f(in), jit(f)(in), jit(slope)(in)}), {want, want, down}, 1e-12, what);
            if (k > 1 || axes.size() > 1) continue;
            auto local = fx::local_program(program_of(f, in), {in});
            double received = 0;
            auto e = executable(local);
            for (auto& u : e->info().collective_uses) received += static_cast<double>(u.received * u.times);
            EXPECT_LE(received, 2 * 8 * static_cast<double>(shape[1])) << what << "\n" << print(*local);
          }
        });
    }
  }
}
/// Each rank gives one extreme and its position; equal ones, NaN and blocks without rows are as on one rank.
TEST(Work, OfAnExtremesPositionIsThatOfTheBlock) {
  auto nan = std::nan("");
  std::vector<double> numbers{3, nan, 1, 3, 7, -1, 7, nan, 0, -1, 7, 2, 2, 7, -3, -3, nan, 1, 0, 0, 5};
  for (Shape shape : {Shape{7, 3}, Shape{2, 3}, Shape{21, 1}, Shape{1, 1}}) {
    std::vector<double> some(numbers.begin(), numbers.begin() + shape[0] * shape[1]);
    auto x = asarray(some, shape), whole = where(isnan(x), 4., x).astype(i32);
    for (std::int64_t axis : {0, 1}) {
      auto f = [&](const Array& a) { return V{argmax(a, axis), argmin(a, axis)}; };
      auto want = f(x), counts = f(whole);
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          for (auto& spec : all_specs(mesh.shape(), 2)) {
            auto what = to_string(shape) + " " + name(axes) + to_string(spec) + " along " + std::to_string(axis);
            auto y = shard(x, spec), z = shard(whole, spec);
            close(gathered(f(y)), want, 0, what);
            close(gathered(jit(f)(y)), want, 0, "jit " + what);
            close(gathered(jit(f)(z)), counts, 0, "integers " + what);
          }
        });
    }
  }
}
/// A draw that a jitted function, a loop or its reader needs whole is made once, not at every call.
TEST(Work, OfAnEagerDrawThatIsReadWholeIsDoneOnce) {
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    auto k = random::key(7);
    auto one_buffer = [](const Array& x) {
      auto first = x.concrete(), second = x.concrete();  // both live
      return first.bytes() == second.bytes();
    };
    EXPECT_TRUE(one_buffer(random::normal(k, {96, 64})));
    auto given = random::normal(k, {96, 64});
    auto f = jit([](const Array& x) { return sum(x * 2); });
    auto first = f(given).item<float>();
    EXPECT_EQ(spec_of(given), Spec::replicated(2));
    EXPECT_EQ(f(given).item<float>(), first);
    EXPECT_TRUE(one_buffer(given));
    auto rows = random::normal(k, {96, 64});
    auto carried = scan([](const Array& c, const Array& r) { return std::pair{c + r, none}; }, zeros({64}), rows).first;
    close(gathered({carried}), {sum(random::normal(k, {96, 64}).concrete(), {0})}, 1e-5, "scan");
  });
}
/// Eager draws and arrays of one number are made at the split that they are wanted in.
TEST(Work, OfEagerDrawsIsDoneOnce) {
  auto k = random::key(7);
  const Shape shape{96, 64};
  auto draw = [&] { return random::normal(k, shape) * 0.02; };
  auto noisy = [&](const Array& x) { return x + random::normal(k, shape) * 2; };
  auto x = rnd(shape, 1).astype(f32), want = draw(), sum_of = noisy(x);
  auto of_keys = vmap([](const Array& one) { return random::normal(one, {64}); })(random::split(k, 96));
  for (auto& axes : meshes())
    local_mesh(axes, [&](const Mesh& mesh) {
      for (auto& spec : all_specs(mesh.shape(), 2)) {
        auto drawn = with_sharding_constraint(draw(), spec);
        EXPECT_EQ(spec_of(drawn), spec);
        EXPECT_EQ(local_block(drawn).block.shape(), local_type(drawn).shape);
        close(gathered({drawn, draw(), noisy(shard(x, spec))}), {want, want, sum_of}, 0, name(axes) + to_string(spec));
        auto rows = vmap([](const Array& one) { return random::normal(one, {64}); })(random::split(k, 96));
        close(gathered({with_sharding_constraint(rows, spec)}), {of_keys}, 0, "a draw of many keys");
        auto twice = draw();
        close(gathered({with_sharding_constraint(twice, spec), twice, exp(twice) * twice}),
              {want, want, exp(want) * want}, 1e-6, "two readers");
      }
      auto z = zeros(shape) + 1;
      EXPECT_EQ(z.to_vector<float>(), std::vector<float>(96 * 64, 1.0f));
      Array walk = draw();
      for (int i = 0; i < 100; ++i) walk = walk * 0.5 + draw();  // longer than what is kept
      EXPECT_EQ(walk.shape(), shape);
    });
}
TEST(Work, BesideASplitOperandIsSplit) {
  for (auto& c : siblings()) {
    SCOPED_TRACE(c.name);
    auto whole = work_of(program_of(c.f, c.in));
    auto want = c.f(c.in);
    for (auto& axes : meshes())
      local_mesh(axes, [&](const Mesh& mesh) {
        MeshAxes all;
        for (auto& a : mesh.shape().axes) all.push_back(a.first);
        for (std::size_t d = 0; d < 2; ++d) {
          auto spec = Spec::replicated(2);
          spec[d] = all;
          auto n = c.in[0].shape()[d];
          auto share = static_cast<double>(mesh.shape().most(n, all)) / static_cast<double>(n);
          auto in = c.in;
          in[0] = shard(in[0], spec);
          auto mine = work_of(fx::local_program(program_of(c.f, in), in));
          auto what = name(axes) + " " + to_string(spec);
          EXPECT_LE(mine.flops, most_of(share, whole.flops))
              << c.name << " " << what << " of " << whole.flops;
          close(gathered({jit(c.f)(in)}), {want}, 1e-5, what);
        }
      });
  }
}
}  // namespace
}  // namespace bora::laws::work_test
