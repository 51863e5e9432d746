// Running products, extremes and sums of exponentials along split dimensions: the values of one rank, and one row sent
// by each rank.
#include "bora/ops/lax.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "compile/api/executable.h"
#include "laws/laws.h"

namespace bora::laws::running_test {
namespace {
using I = std::int64_t;
using V = Arrays;
V all_kinds(const Array& x, I axis) {
  V r;
  for (bool reverse : {false, true}) {
    r.push_back(lax::cumprod(x, axis, reverse));
    r.push_back(lax::cummax(x, axis, reverse));
    r.push_back(lax::cummin(x, axis, reverse));
    if (is_float(x.dtype())) r.push_back(lax::cumlogsumexp(x, axis, reverse));
  }
  return r;
}
Array loss(const Array& x, I axis) {
  auto total = constant(0., f64);
  int seed = 1;
  for (auto& y : all_kinds(x, axis)) total = total + sum(sin(y) * rnd(y.shape(), seed++));
  return total;
}
TEST(Running, GivesTheValuesOfOneRank) {
  for (I n : {0, 1, 2, 3, 5, 7, 24, 25})
    for (I axis : {0, 1}) {
      bool slopes = n == 2 || n == 7;
      auto x = rnd(axis == 0 ? Shape{n, 3} : Shape{2, n}, 1) + 0.5;
      auto f = [&](const Array& a) { return all_kinds(a, axis); };
      auto g = grad([&](const Array& a) { return loss(a, axis); });
      auto want = f(x);
      auto slope = g(x);
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          auto specs = all_specs(mesh.shape(), 2);
          for (std::size_t k = 0; k < specs.size(); k += 1 + specs.size() / (2 * combinations())) {
            auto what = name(axes) + to_string(specs[k]) + " " + std::to_string(n) + " rows along ";
            what += std::to_string(axis);
            auto y = with_sharding_constraint(x, specs[k]);
            close(gathered(f(y)), want, 1e-13, what);
            close(gathered(jit(f)(y)), want, 1e-13, "jit " + what);
            if (slopes) close(gathered({g(y), jit(g)(y)}), {slope, slope}, 1e-12, "gradient " + what);
          }
        });
    }
}
TEST(Running, OfWholeNumbersAndExtremesHasTheBitsOfOneRank) {
  for (auto dtype : {i32, i64, u8, bf16, f32}) {
    auto x = (rnd({25, 2}, 1) * 5).astype(dtype);
    auto extremes = [](const Array& a) {
      return V{lax::cummax(a), lax::cummin(a), lax::cummax(a, 0, true), lax::cummin(a, 0, true)};
    };
    auto f = [&](const Array& a) { return is_float(dtype) ? extremes(a) : all_kinds(a, 0); };
    auto want = f(x);
    for (int n : {2, 3, 4})
      local_mesh({{"data", n}}, [&](const Mesh&) {
        auto y = with_sharding_constraint(x, Spec{"data"});
        close(gathered(f(y)), want, 0, std::string(dtype_name(dtype)));
        close(gathered(jit(f)(y)), want, 0, "jit " + std::string(dtype_name(dtype)));
      });
  }
  auto holes = where(rnd({12}, 3) > 0.5, std::nan(""), rnd({12}, 4));
  auto want = all_kinds(holes, 0);
  local_mesh({{"data", 3}}, [&](const Mesh&) {
    close(gathered(all_kinds(with_sharding_constraint(holes, Spec{"data"}), 0)), want, 1e-13, "NaN");
  });
}
TEST(Running, UnderVmapToo) {
  auto x = rnd({4, 7, 3}, 1) + 0.5;
  auto f = [](const Array& a) { return concatenate(all_kinds(a, 0), 1); };
  auto g = [&](const Array& a) { return vmap(grad([](const Array& b) { return loss(b, 0); }))(a); };
  auto want = vmap(f)(x), slope = g(x);
  for (auto& axes : meshes())
    local_mesh(axes, [&](const Mesh& mesh) {
      auto specs = all_specs(mesh.shape(), 3);
      for (std::size_t k = 0; k < specs.size(); k += 1 + specs.size() / combinations()) {
        auto y = with_sharding_constraint(x, specs[k]);
        close(gathered({vmap(f)(y), jit(vmap(f))(y), g(y)}), {want, want, slope}, 1e-12,
              name(axes) + to_string(specs[k]));
      }
    });
}
TEST(Running, SendsOneRowARank) {
  auto x = rnd({240, 5}, 1) + 0.5;
  std::vector<std::function<Array(const Array&)>> kinds{
      [](const Array& a) { return cumprod(a, 0); }, [](const Array& a) { return lax::cummax(a, 0, true); },
      [](const Array& a) { return lax::cummin(a); }, [](const Array& a) { return lax::cumlogsumexp(a); },
      [](const Array& a) { return cumsum(a, 0); }};
  for (auto& f : kinds) {
    auto whole = executable(program_of(f, x))->info().flops;
    for (int n : {2, 3, 4})
      local_mesh({{"data", n}}, [&](const Mesh&) {
        auto y = with_sharding_constraint(x, Spec{"data"});
        auto local = fx::local_program(program_of(f, y), {y});
        auto e = executable(local);
        auto& info = e->info();
        auto elements = static_cast<double>(x.size());  // the total of a block, and what comes before added to it
        EXPECT_LE(info.flops, (whole + 2 * elements) / n + 0.01 * whole + 1000) << n;
        ASSERT_EQ(info.collective_uses.size(), 1u) << print(*local);
        EXPECT_LE(info.collective_uses[0].bytes, static_cast<std::size_t>((n + 1) * 5 * 8)) << "one row of each rank";
        EXPECT_EQ(spec_of(jit(f)(y)), (Spec{"data", none}));
      });
  }
}
}  // namespace
}  // namespace bora::laws::running_test
