// Sorts along a split dimension: the bits of one rank, no rank has or compares more than its share, and no more bytes
// travel than that.
#include <cstring>
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sets.h"
#include "bora/ops/sharding.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "bora/transport/transport.h"
#include "compile/api/executable.h"
#include "laws/laws.h"

namespace bora::laws::sorted_test {
namespace {
using V = Arrays;
bool same_bits(const Array& a, const Array& b) {
  auto x = a.concrete(), y = b.concrete();
  return x.type() == y.type() && std::memcmp(x.bytes(), y.bytes(), x.type().nbytes()) == 0;
}
void same(const V& got, const V& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t k = 0; k < got.size(); ++k)
    EXPECT_TRUE(same_bits(got[k], want[k])) << what << ": result " << k << " of type " << got[k].type();
}
/// Keys in many orders: unlike ones, few different ones, one value, falling, with numbers that are no numbers and zeros
/// of both signs, all large ones on the first rank.
std::vector<std::pair<std::string, Array>> keys(const Shape& shape, Dtype dtype) {
  auto n = volume(shape);
  auto of = [&](auto f) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < n; ++i) v.push_back(f(i));
    return asarray(v, shape).astype(dtype);
  };
  const double odd[] = {NAN, -0.0, 0.0, HUGE_VAL, -HUGE_VAL, 1, NAN, 0.0, -0.0};
  return {{"random", (rnd(shape, 3) * 100).astype(dtype)},
          {"few", of([](std::int64_t i) { return static_cast<double>(i * i % 3); })},
          {"one", of([](std::int64_t) { return 1.0; })},
          {"falling", of([&](std::int64_t i) { return static_cast<double>(n - i); })},
          {"odd", of([&](std::int64_t i) { return odd[i % 9]; })},
          {"skewed", of([&](std::int64_t i) { return i < n / 3 ? 90.0 - static_cast<double>(i % 5) : 1.0; })}};
}
V sorts(const Array& x) {
  V r{sort(x, -1), argsort(x, -1)};
  for (std::int64_t k : {0, 1, 3}) {
    auto best = top_k(x, std::min(k, x.shape(-1)));
    r.push_back(best.values);
    r.push_back(best.indices);
  }
  return r;
}
TEST(Sorted, GivesTheBitsOfOneRank) {
  for (auto dtype : {f32, f64, bf16, i32, i64, boolean})
    for (const auto& shape : {Shape{0}, Shape{1}, Shape{2}, Shape{5}, Shape{7}, Shape{24}, Shape{101}, Shape{1, 23},
                              Shape{2, 9}, Shape{3, 2, 10}}) {
      bool few = dtype != f32;
      if (few && volume(shape) != 1 && volume(shape) != 7 && volume(shape) != 24) continue;
      for (auto& [kind, x] : keys(shape, dtype)) {
        auto want = sorts(x);
        for (auto& axes : meshes()) {
          if (few && axes.size() + static_cast<std::size_t>(axes[0].size) != 4) continue;  // 3, 2 x 2
          local_mesh(axes, [&](const Mesh& mesh) {
            auto staged = jit(sorts);
            auto specs = all_specs(mesh.shape(), shape.size());
            for (std::size_t k = 0; k < specs.size(); k += 1 + specs.size() / (2 * combinations())) {
              auto what = kind + " " + to_string(x.type()) + " on " + name(axes) + to_string(specs[k]);
              auto y = with_sharding_constraint(x, specs[k]);
              auto got = sorts(y);
              same(gathered(got), want, what);
              same(gathered(staged(y)), want, "jit " + what);
              if (shape.size() == 1 && mesh.size() > 1) {
                EXPECT_EQ(spec_of(got[0]), specs[k]) << what;
                EXPECT_EQ(spec_of(got[1]), specs[k]) << what;
              }
            }
          });
        }
      }
    }
}
TEST(Sorted, HasDerivativesAndBatches) {
  for (const auto& shape : {Shape{0}, Shape{2}, Shape{7}, Shape{24}, Shape{2, 9}})
    for (auto& [kind, x] : keys(shape, f64)) {
      if (kind == "odd") continue;  // no numbers: no derivatives
      auto weights = rnd(shape, 5);
      auto f = [&](const Array& a) {
        auto best = top_k(a, std::min<std::int64_t>(3, a.shape(-1))).values;
        return sum(sin(sort(a, -1)) * weights) + sum(best * best);
      };
      auto want = grad(f)(x);
      auto three = stack({x, x * 2, -x});
      auto mapped = [&](const Array& a) { return vmap(grad(f))(a); };
      auto rows = mapped(three);
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          auto specs = all_specs(mesh.shape(), shape.size());
          for (std::size_t k = 0; k < specs.size(); k += 1 + specs.size() / combinations()) {
            auto what = kind + " " + to_string(x.type()) + " on " + name(axes) + to_string(specs[k]);
            auto y = with_sharding_constraint(x, specs[k]);
            close(gathered({grad(f)(y), jit(grad(f))(y)}), {want, want}, 1e-14, "gradient " + what);
            auto lanes = specs[k];
            lanes.insert(0, {});
            auto z = with_sharding_constraint(three, lanes);
            close(gathered({mapped(z), jit(mapped)(z)}), {rows, rows}, 1e-14, "vmap " + what);
            auto sorted = vmap([](const Array& a) { return sort(a, -1); });
            same(gathered({sorted(z)}), {sorted(three)}, "vmap of sort " + what);
          }
        });
    }
}
/// Bytes that others send this rank while f runs.
template <class F> std::int64_t received(const Mesh& mesh, const F& f) {
  auto before = mesh.context().traffic().bytes_received;
  f();
  return static_cast<std::int64_t>(mesh.context().traffic().bytes_received - before);
}
TEST(Sorted, WorkAndBytesAreARanksShare) {
  const std::int64_t n = 40000;
  for (auto& axes : meshes())
    local_mesh(axes, [&](const Mesh& mesh) {
      if (mesh.size() == 1) return;
      MeshAxes all;
      for (auto& a : mesh.shape().axes) all.push_back(a.first);
      const std::int64_t P = mesh.size(), block = mesh.shape().most(n, all);
      for (auto& [kind, x] : keys({n}, f32)) {
        auto y = with_sharding_constraint(x, Spec{all});
        struct Case {
          std::string name;
          std::function<Array(const Array&)> f;
          std::int64_t each, temporaries;  // bytes of an element that travels; times a block, in memory
        };
        for (auto& c : std::vector<Case>{
                 {"sort", [](const Array& a) { return sort(a); }, 4, 4},
                 {"argsort", [](const Array& a) { return argsort(a); }, 8, 8},
                 {"grad of sort", [](const Array& a) {
                    return grad([](const Array& b) { return sum(sort(b) * sort(b)); })(a);
                  }, 4 + 4 + 8 + 8 + 16, 40}}) {
          auto what = c.name + " of " + kind + " on " + name(axes);
          auto p = fx::local_program(program_of(c.f, y), {y});
          same_everywhere(mesh, *p, what);
          EXPECT_EQ(count(*p, "all_gather") + count(*p, "all_reduce"), 0u) << what << print(*p);
          auto e = executable(p);
          EXPECT_LE(e->info().slab_bytes, static_cast<std::size_t>(c.temporaries * 4 * block)) << what;
          auto whole = executable(program_of(c.f, x))->info().flops;
          EXPECT_LE(e->info().flops, 5 * whole * static_cast<double>(block) / static_cast<double>(n) + 1000) << what;
          auto g = jit(c.f);
          (void)g(y).concrete();  // ranks compare the Program
          Array result;
          auto bytes = received(mesh, [&] { (void)local_block(result = g(y)); });
          auto samples = 4 * (P - 1) * P * 8 * std::clamp<std::int64_t>(n / (8 * P * P * P), 16, 256);
          EXPECT_LE(bytes, c.each * block + 2 * samples + 4096) << what;
          EXPECT_EQ(spec_of(result), Spec{all}) << what;
        }
        auto best = jit([](const Array& a) { return top_k(a, 5).values; });
        (void)best(y).concrete();
        EXPECT_LE(received(mesh, [&] { (void)best(y).concrete(); }), 8 * 5 * (P - 1) + 64 * P) << "top_k " << kind;
      }
    });
}
/// Random orders of a split array stay split, and have one rank's bits.
TEST(Sorted, RandomOrdersStaySplit) {
  auto k = random::key(5);
  for (std::int64_t n : {3, 7, 24, 1000})
    for (auto& axes : meshes()) {
      auto x = iota({n}, 0) * 3, rows = rnd({n, 2}, 1);
      auto p = abs(rnd({n}, 4)) + 0.1;
      auto f = [&](const V& a) {
        return V{random::permutation(k, a[0]), random::permutation(k, a[1]),
                 random::permutation(k, a[1], {.independent = true}),
                 random::choice(k, a[0], {2}, {.replace = false}),
                 random::choice(k, n, {2}, {.replace = false, .p = a[2]})};
      };
      auto want = f({x, rows, p});
      local_mesh(axes, [&](const Mesh& mesh) {
        MeshAxes all;
        for (auto& a : mesh.shape().axes) all.push_back(a.first);
        V in{with_sharding_constraint(x, Spec{all}), with_sharding_constraint(rows, Spec{all}),
             with_sharding_constraint(p, Spec{all})};
        auto got = f(in);
        auto what = std::to_string(n) + " on " + name(axes);
        same(gathered(got), want, what);
        same(gathered(jit(f)(in)), want, "jit " + what);
        if (mesh.size() > 2 && n >= mesh.size()) {
          EXPECT_EQ(spec_of(got[0]), Spec{all}) << what;
          EXPECT_EQ(spec_of(got[1]), (Spec{all, none})) << what;
        }
      });
    }
}
/// Ranks count the elements of their blocks that are before a number, and the counts add up.
TEST(Sorted, PositionsAreCountedInBlocks) {
  for (std::int64_t n : {0, 5, 24})
    for (auto& [kind, x] : keys({n}, f32)) {
      auto v = concatenate({rnd({3, 2}, 7).astype(f32) * 100, array({{NAN, 0.f}, {1.f, -HUGE_VALF}})});
      auto f = [](const V& a) {
        V r{searchsorted(a[0], a[1], Side::left), searchsorted(a[0], a[1], Side::right)};
        if (a[0].size() > 0)
          r.push_back(vmap([&](const Array& row) { return searchsorted(a[0], row); }, {.in = {1}})(a[1]));
        return r;
      };
      auto sets = [](const Array& a) {
        auto u = unique_all(a, {.size = 4});
        return V{u.values, u.indices, u.inverse, u.counts, isin(a, a * 2), nanmedian(a)};
      };
      auto sorted = sort(x);
      auto want = f({sorted, v}), want_sets = n > 0 ? sets(x) : V{};
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          for (auto& spec : all_specs(mesh.shape(), 1)) {
            auto what = kind + " " + std::to_string(n) + " on " + name(axes) + to_string(spec);
            V in{with_sharding_constraint(sorted, spec), v};
            same(gathered(f(in)), want, what);
            same(gathered(jit(f)(in)), want, "jit " + what);
            auto p = fx::local_program(program_of(f, in), in);
            same_everywhere(mesh, *p, what);
            EXPECT_EQ(count(*p, "all_gather"), 0u) << what << print(*p);
            auto queries = concatenate({v, v, v}, 0);
            auto own = with_sharding_constraint(queries, Spec{spec[0]});
            auto positions = searchsorted(in[0], own);
            same(gathered({positions}), {searchsorted(sorted, queries)}, "own queries " + what);
            if (n > 0) {
              EXPECT_EQ(spec_of(positions), (Spec{spec[0], none})) << what;
            }
            if (n != 24 || kind == "one" || kind == "falling") continue;
            auto y = with_sharding_constraint(x, spec);
            close(gathered(jit(sets)(y)), want_sets, 0, "sets " + what);
          }
        });
    }
}
}  // namespace
}  // namespace bora::laws::sorted_test
