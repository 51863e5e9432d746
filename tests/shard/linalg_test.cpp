// Cholesky, LU and QR of matrices split by columns: what the local ones give, on every mesh, with the same bits.
#include <gtest/gtest.h>
#include <algorithm>
#include <mutex>
#include "bora/bora.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/linalg.h"
#include "bora/shard/linalg.h"
#include "support/matrices.h"
#include "bora/ops/contractions.h"

namespace bora::linalg_test {
namespace {
using test::draw;
using test::largest;
using test::turned;
namespace sharded = linalg::sharded;

/// The results of a rank: factors gathered, and solutions.
Arrays results(const Array& a, const Array& positive, const Array& tall, const Array& b, const Array& b_tall,
               const Mesh& mesh, const sharded::Options& o) {
  auto split = [&](const Array& x) { return with_sharding_constraint(x, Spec{none, "data"}); };
  auto l = sharded::cholesky(split(positive), mesh, "data", o);
  auto lu = sharded::lu_factor(split(a), mesh, "data", o);
  auto wide = sharded::lu_factor(split(turned(tall)), mesh, "data", o);
  auto [q, r] = sharded::qr(split(tall), mesh, "data", o);
  return {gather(l),
          gather(lu.lu),
          gather(lu.permutation),
          gather(wide.lu),
          gather(q),
          gather(r),
          gather(sharded::cho_solve(l, b, mesh, "data", o)),
          gather(sharded::lu_solve(lu, b, mesh, "data", o)),
          gather(sharded::solve(split(a), b, mesh, "data", o)),
          gather(sharded::lstsq(split(tall), b_tall, mesh, "data", o))};
}
/// On this many ranks the local results, and on every rank and in every run the same bits.
void compare(Dtype dtype, std::int64_t n, const MeshAxis& axis, std::int64_t panel) {
  SCOPED_TRACE(testing::Message() << dtype << " " << n << ", " << axis.size << " ranks, panel " << panel);
  auto a = draw(1, {n, n}, dtype), tall = draw(2, {n + 5, n}, dtype), b = draw(3, {n, 2}, dtype);
  auto b_tall = draw(4, {n + 5, 2}, dtype);
  auto positive = matmul(a, turned(a)) / static_cast<double>(n) + eye(n, dtype);
  auto local_lu = linalg::lu_factor(a);
  auto [q, r] = linalg::qr(tall);
  auto l = linalg::cholesky(positive), x = linalg::solve(a, b);
  auto wide = linalg::lu_factor(turned(tall)).lu;
  Arrays want{l, local_lu.lu, local_lu.permutation, wide, q, r, linalg::cho_solve(l, b), x,
              x, linalg::lstsq(tall, b_tall).x};
  std::mutex m;
  std::vector<Arrays> all;
  for (int run = 0; run < 2; ++run)
    local_mesh({axis}, [&](const Mesh& mesh) {
      auto got = results(a, positive, tall, b, b_tall, mesh, {.panel = panel});
      for (auto& y : got) y = y.concrete();
      std::lock_guard lock(m);
      all.push_back(got);
    });
  auto limit = (real_dtype(dtype) == f64 ? 1e-12 : 2e-4) * static_cast<double>(n);
  auto& got = all[0];
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].type(), want[i].type()) << i;
    EXPECT_LT(largest(got[i] - want[i]), limit * (1 + largest(want[i]))) << "result " << i;
    for (auto& other : all) EXPECT_TRUE(array_equal(got[i], other[i])) << "bits of " << i;
  }
  EXPECT_LT(largest(matmul(turned(got[4]), got[4]) - eye(n, dtype)), limit) << "q";
  EXPECT_EQ(largest(triu(got[0], 1)) + largest(tril(got[5], -1)), 0);
}
TEST(ShardedLinalg, FactorsAreTheLocalOnes) {
  for (auto dtype : {f32, f64, complex64, complex128}) compare(dtype, 17, {"data", 2}, 5);
  for (int ranks : {1, 2, 4}) compare(f64, 40, {"data", ranks}, 16);
  compare(f64, 1, {"data", 2}, 5);  // ranks without a column
  compare(complex128, 7, {"data", 3}, 2);
  compare(f64, 40, {"data", 4, {3, 3, 2, 1}}, 16);
  compare(f64, 2, {"data", 2, {1, 3}}, 5);
}
TEST(ShardedLinalg, StagedAndDifferentiated) {
  auto a = draw(1, {9, 9}, f64), positive = matmul(a, turned(a)) + eye(9, f64), b = draw(3, {9, 2}, f64);
  auto local = [&](const Array& x) { return sum(square(linalg::cho_solve(linalg::cholesky(x), b))); };
  auto want = grad(local)(positive);
  local_mesh({{"data", 3}}, [&](const Mesh& mesh) {
    auto loss = [&](const Array& x) {
      return sum(square(sharded::cho_solve(sharded::cholesky(x, mesh, "data", {.panel = 4}), b, mesh, "data")));
    };
    auto x = with_sharding_constraint(positive, Spec{none, "data"});
    auto of_halves = [](const Array& g) { return g + turned(g); };
    EXPECT_LT(largest(of_halves(gather(grad(loss)(x))) - of_halves(want)), 1e-10);
    auto staged = jit([&](const Array& x) { return grad(loss)(x); })(x);
    EXPECT_LT(largest(of_halves(gather(staged)) - of_halves(want)), 1e-10);
  });
}
/// No value of a rank's Program is larger than its columns and a panel.
TEST(ShardedLinalg, ARankHoldsItsColumnsAndAPanel) {
  const std::int64_t n = 64, panel = 8, ranks = 4;
  auto a = draw(1, {n, n}, f64);
  local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
    auto x = with_sharding_constraint(a, Spec{none, "data"});
    sharded::Options o{.panel = panel};
    auto holds = [&](const std::string& what, const auto& f) {
      auto local = fx::local_program(program_of(f, x), {x});
      std::int64_t most = 0;
      for (auto& t : local->vars) most = std::max(most, t.size());
      EXPECT_LE(most, n * (n / ranks + panel)) << what;
      EXPECT_GE(most, n * (n / ranks)) << what;
    };
    holds("cholesky", [&](const Array& x) { return sharded::cholesky(x, mesh, "data", o); });
    holds("lu_factor", [&](const Array& x) { return sharded::lu_factor(x, mesh, "data", o).lu; });
    holds("qr", [&](const Array& x) { return sharded::qr(x, mesh, "data", o).q; });
    holds("solve", [&](const Array& x) { return sharded::solve(x, ones({n, 3}, f64), mesh, "data", o); });
    holds("lstsq", [&](const Array& x) { return sharded::lstsq(x, ones({n, 3}, f64), mesh, "data", o); });
  });
}
/// Of the n^3 / 3 operations of the products, and no more than a few for each element beside them.
TEST(ShardedLinalg, ARankDoesItsShareOfCholesky) {
  const double n = 256;
  auto a = draw(1, {256, 256}, f64);
  for (int ranks : {1, 2, 3, 4})
    local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
      auto x = with_sharding_constraint(a, Spec{none, "data"});
      auto f = [&](const Array& m) { return sharded::cholesky(m, mesh, "data", {.panel = 24}); };
      auto e = executable(fx::local_program(program_of(f, x), {x}));
      EXPECT_LE(e->info().flops, 1.25 * n * n * n / 3 / ranks + 30 * n * n) << ranks;
    });
}
TEST(ShardedLinalg, NotPositiveIsNan) {
  local_mesh({{"data", 2}}, [&](const Mesh& mesh) {
    auto l = gather(sharded::cholesky(-eye(7, f64), mesh, "data", {.panel = 2}));
    EXPECT_TRUE(any(isnan(l)).item<bool>());
  });
}
TEST(ShardedLinalg, MistakesAreNamed) {
  local_mesh({{"data", 2}}, [&](const Mesh& mesh) {
    EXPECT_THROW((void)sharded::cholesky(ones({2, 3}), mesh, "data"), ShapeError);
    EXPECT_THROW((void)sharded::qr(ones({2, 3}), mesh, "data"), ShapeError);
    EXPECT_THROW((void)sharded::solve(ones({3, 3}), ones({2, 1}), mesh, "data"), ShapeError);
    EXPECT_THROW((void)sharded::cholesky(ones({3, 3}), mesh, "data", {.panel = 0}), ValueError);
    EXPECT_THROW((void)sharded::cholesky(ones({3, 3}, i32), mesh, "data"), DtypeError);
  });
}
}  // namespace
}  // namespace bora::linalg_test
