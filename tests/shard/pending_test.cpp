// Sums that ranks have not added yet, and what passes through them; what ranks compare before they run a Program.
#include <gtest/gtest.h>
#include "bora/bora.h"
#include "ops/api/collective_primitives.h"
#include "ops/checks.h"

namespace pending_test {
using namespace bora;
using bora::test::close;
namespace {
/// x over two ranks.
Array halves(const Array& x) { return with_sharding_constraint(x, Spec{"data"}); }
const std::vector<MeshAxis> kTwo = {{"data", 2}};

/// Every elementwise operation on a pending sum, as on the number that it is.
TEST(PendingSums, AreWhatTheyAddUpTo) {
  for (auto d : {i32, i64, u32, u8, i8, i16, u64, f16, bf16, f32, f64}) {
    auto x = array({3, 4}).astype(d), two = array(2).astype(d);
    std::vector<std::function<Array(const Array&)>> operations{
        [&](auto& s) { return floor_divide(s, two); }, [&](auto& s) { return remainder(s, two); },
        [&](auto& s) { return s * two; },              [&](auto& s) { return s - two; },
        [&](auto& s) { return maximum(s, two); },      [&](auto& s) { return divmod(s, two).quotient; },
        [&](auto& s) { return s.astype(f32) / 2; },    [&](auto& s) { return s.astype(i32) / 4; }};
    local_mesh(kTwo, [&](const Mesh&) {
      auto s = sum(halves(x), none, {.dtype = d});
      for (std::size_t k = 0; k < operations.size(); ++k) {
        auto want = operations[k](array(7).astype(d));
        auto staged = jit([&](const Array& y) { return operations[k](sum(y, none, {.dtype = d})); });
        EXPECT_TRUE(close(operations[k](s), want)) << dtype_name(d) << " " << k;
        EXPECT_TRUE(close(staged(halves(x)), want)) << dtype_name(d) << " " << k;
      }
    });
  }
}
TEST(PendingSums, AreCastOnceTheyAreWhole) {
  for (auto from : {bf16, f16, f32, f64})
    for (auto to : {bf16, f16, f32, f64})
      local_mesh(kTwo, [&](const Mesh&) {
        auto big = from == f16 ? 6e4 : 1e5;
        auto x = array({big, -big}).astype(from);
        EXPECT_EQ(sum(halves(x)).astype(to).astype(f32).item<float>(), 0.F) << from << " to " << to;
      });
}
TEST(PendingSums, PositionsThatDoNotFitAreRefused) {
  local_mesh(kTwo, [&](const Mesh&) {
    EXPECT_THROW((void)ops::block_start(std::int64_t{1} << 32, MeshAxes("data")), ShapeError);
  });
}
TEST(Collectives, ComplexNumbersHaveNoOrder) {
  local_mesh(kTwo, [&](const Mesh& m) {
    for (auto f : {pmax, pmin})
      EXPECT_THROW((void)shard_map([&](const Array& x) { return f(x, "data"); }, m, {Spec{"data"}}, Spec{})(
                       ones({2}, complex64)),
                   DtypeError);
    EXPECT_EQ(sum(halves(ones({2}))).item<float>(), 2) << "the mesh goes on";
  });
}
TEST(Collectives, HaveOneDtypeOverLanesAndRanks) {
  auto x = array({200, 100}).astype(u8);
  auto y = vmap([](const Array& a) { return psum(a, "i"); }, {.out = none, .axis_name = "i"})(x);
  EXPECT_TRUE(close(y, array(300).astype(u32)));
  auto z = vmap(jit([](const Array& a) { return psum(a, "i") + a; }), {.axis_name = "i"})(x);
  EXPECT_TRUE(close(z, array({500, 400}).astype(u32)));
}
/// A Program that ran on an abstract mesh, or on another one, is compared again: nobody waits for a rank that remembers
/// it.
TEST(Agreement, IsThatOfThisMesh) {
  auto f = jit([](const Array& x) { return sum(x * 2); });
  {
    auto abstract = Mesh::abstract(kTwo);
    UseMesh on(abstract);
    (void)f(halves(zeros({4})));
  }
  for (int again = 0; again < 2; ++again)
    local_mesh(kTwo, [&](const Mesh&) {
      for (int k = 0; k < 2; ++k) EXPECT_EQ(f(halves(ones({4}))).item<float>(), 8.F);
    });
}
}  // namespace
}  // namespace pending_test
