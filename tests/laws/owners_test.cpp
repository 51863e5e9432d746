// Reads and writes at indices of a table that is split along the indexed dimension: the values of one rank, and no more
// bytes than the cheapest way sends.
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/sorting.h"
#include "bora/transport/transport.h"
#include "laws/work.h"

namespace bora::laws::owners_test {
namespace {
using V = Arrays;
struct Op {
  std::string name;
  std::function<Array(const V&)> f;  // of a table [n, ..], indices, updates of the type of what is taken
  bool adds = false;                 // floats: in another order than on one rank if indices are split otherwise
};
std::vector<Op> operations(std::int64_t axis) {
  auto writes = [axis](Array (*write)(const Array&, const Array&, const Array&, std::int64_t)) {
    return [=](const V& a) { return write(a[0], a[1], a[2], axis); };
  };
  return {{"take", [=](const V& a) { return take(a[0], a[1], axis); }},
          {"take, clamped", [=](const V& a) {
             if (a[0].shape(axis) == 0) return a[0];
             return take(a[0], a[1], axis, IndexMode::clamp);
           }},
          {"set", writes(scatter_set)},
          {"add", writes(scatter_add), true},
          {"multiply", writes(scatter_multiply), true},
          {"max", writes(scatter_max)}};
}
/// Indices in a table of n rows: many equal ones, the bounds of blocks on all meshes and beside them, some outside.
Array indices(const Shape& shape, std::int64_t n) {
  std::vector<std::int32_t> bounds{0, -1, static_cast<std::int32_t>(n), static_cast<std::int32_t>(n) - 1, 1 << 30};
  for (std::int64_t parts : {2, 3, 4, 6})
    for (std::int64_t p = 1; p < parts; ++p)
      for (int beside : {-1, 0}) bounds.push_back(static_cast<std::int32_t>(equal_block(n, parts, p).begin + beside));
  std::vector<std::int32_t> v;
  for (std::int64_t i = 0; i < volume(shape); ++i) v.push_back(bounds[static_cast<std::size_t>(i * 7) % bounds.size()]);
  return asarray(v, shape);
}
TEST(Owners, GiveTheValuesOfOneRank) {
  struct Sizes {
    Shape table, indices;
    std::int64_t axis;
  };
  for (auto& [table, at, axis] : std::vector<Sizes>{{{0, 2}, {5}, 0}, {{1, 3}, {7}, 0}, {{7, 3}, {0}, 0},
                                                    {{24}, {7}, 0}, {{7}, {24}, 0}, {{101, 2}, {9}, 0},
                                                    {{50, 2}, {4, 3}, 0}, {{3, 24, 2}, {11}, 1}, {{2, 30}, {13}, 1}})
    for (auto& op : operations(axis)) {
      auto x = rnd(table, 1), i = indices(at, table[static_cast<std::size_t>(axis)]);
      auto taken = take(x, i, axis).shape();
      V in{x, i, rnd(taken, 2)};
      auto want = op.f(in);
      auto loss = [&](const Array& a, const Array& u) {
        auto y = op.f({a, i, u});
        return sum(sin(where(isnan(y), 0, y)));
      };
      bool slopes = op.name != "max" && op.name != "multiply";
      auto slope = [&](const V& a) { return grad([&](const V& b) { return loss(b[0], b[1]); })(V{a[0], a[2]}); };
      auto want_slopes = slopes ? slope(in) : V{};
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          auto staged = jit(op.f);
          std::size_t other = op.name.size();
          for (auto& of_table : all_specs(mesh.shape(), table.size()))
            for (auto& of_indices : all_specs(mesh.shape(), at.size())) {
              const auto& split_by = of_table[static_cast<std::size_t>(axis)];
              bool own = !split_by.empty() && split_by == of_indices[0];
              if (!own && effort() != Effort::full && ++other % 8 != 0) continue;
              auto what = op.name + " " + to_string(table) + to_string(of_table) + " at " + to_string(at) +
                          to_string(of_indices) + " on " + name(axes);
              V split{with_sharding_constraint(x, of_table), with_sharding_constraint(i, of_indices), in[2]};
              auto tolerance = op.adds ? 1e-13 : 0;
              close(gathered({op.f(split), staged(split)}), {want, want}, tolerance, what);
              if (slopes) close(gathered(slope(split)), want_slopes, 1e-13, "gradient of " + what);
            }
        });
    }
}
TEST(Owners, TakeEveryDtypeAndBatches) {
  local_mesh({{"data", 3}}, [&](const Mesh&) {
    auto spread = [](const Array& a) { return with_sharding_constraint(a, Spec{"data"}); };
    auto i = indices({11}, 40);
    for (auto dtype : {boolean, i8, u8, i32, i64, bf16, f32, complex128}) {
      auto x = (rnd({40, 3}, 1) * 9).astype(dtype), u = (rnd({11, 3}, 2) * 9).astype(dtype);
      auto what = std::string(dtype_name(dtype));
      close(gathered({take(spread(x), spread(i))}), {take(x, i)}, 0, what);
      close(gathered({scatter_set(spread(x), spread(i), u)}), {scatter_set(x, i, u)}, 0, what);
      if (dtype == boolean) continue;
      close(gathered({scatter_add(spread(x), spread(i), u)}), {scatter_add(x, i, u)}, 0, what);
    }
    auto keys = random::split(random::key(1), 40);
    auto inside = clip(i, 0, 39);
    close(gathered({take(spread(keys), spread(inside))}), {take(keys, inside)}, 0, "keys");
    auto x = rnd({2, 40}, 1), which = stack({i, i + 3});
    auto columns = [](const Array& a) { return with_sharding_constraint(a, Spec{none, "data"}); };
    auto along = [](const Array& a, const Array& b) { return take_along_axis(a, b, 1); };
    close(gathered({along(columns(x), columns(which))}), {along(x, which)}, 0, "take_along_axis");
    auto rows = vmap([](const Array& a, const Array& b) { return take(a, b); });
    close(gathered({rows(columns(x), columns(which)), jit(rows)(columns(x), columns(which))}),
          {rows(x, which), rows(x, which)}, 0, "vmap");
    auto writes = vmap([](const Array& a, const Array& b) { return scatter_add(a, b, (b * 2).astype(f64)); });
    close(gathered({writes(columns(x), columns(which))}), {writes(x, which)}, 1e-14, "vmap of scatter_add");
  });
}
/// A rank is sent no more than 1.5 times what the cheapest way sends: a sum of what each has, rows from their owners,
/// or the table.
TEST(Owners, SendNoMoreThanTheCheapestWay) {
  for (int P : {2, 3, 4})
    for (auto [rows, wanted, width] : std::vector<std::array<std::int64_t, 3>>{
             {20000, 1200, 16}, {20000, 20000, 1}, {600, 12000, 16}, {3000, 3000, 8}})
      local_mesh({{"data", P}}, [&, rows = rows, wanted = wanted, width = width](const Mesh& mesh) {
        auto x = rnd({rows, width}, 1).astype(f32), u = rnd({wanted, width}, 2).astype(f32);
        auto i = (rnd({wanted}, 3) * static_cast<double>(rows) / 2 + static_cast<double>(rows) / 2).astype(i32);
        auto spread = [](const Array& a) { return with_sharding_constraint(a, Spec{"data"}); };
        V in{spread(x), spread(i), spread(u)};
        auto p = static_cast<double>(P), others = (p - 1) / p, row = static_cast<double>(4 * width);
        auto n = static_cast<double>(rows), m = static_cast<double>(wanted);
        auto best = others * std::min({m * (4 + row), m / p * (4 + row), n * row});
        auto bytes_of = [&](auto f) {
          auto g = jit(f);
          (void)g(in).concrete();  // ranks compare the Program
          auto before = mesh.context().traffic().bytes_received;
          (void)local_block(g(in));
          return static_cast<double>(mesh.context().traffic().bytes_received - before);
        };
        auto what = std::to_string(wanted) + " of " + std::to_string(rows) + " rows of " + std::to_string(width) +
                    " on " + std::to_string(P);
        EXPECT_LE(bytes_of([](const V& a) { return take(a[0], a[1]); }), 1.6 * best + 4096) << "take " << what;
        EXPECT_LE(bytes_of([](const V& a) { return scatter_add(a[0], a[1], a[2]); }), 1.6 * best + 4096)
            << "scatter_add " << what;
        auto program = fx::local_program(program_of([](const V& a) { return take(a[0], a[1]); }, in), in);
        same_everywhere(mesh, *program, what);
        auto write = fx::local_program(program_of([](const V& a) { return scatter_set(a[0], a[1], a[2]); }, in), in);
        same_everywhere(mesh, *write, what);
      });
}
/// The gradient by a table of many rows is split as the table is: no rank holds more than its rows of it, and those
/// are sent no more than once.
TEST(Owners, AGradientIsSplitAsItsTable) {
  const std::int64_t rows = 4000, width = 8, wanted = 60;
  auto x = rnd({rows, width}, 1), u = rnd({wanted, width}, 2);
  auto i = (rnd({wanted}, 3) * 1900 + 2000).astype(i32);
  using F = std::function<Array(const Array& table, const Array& indices)>;
  for (auto& [name, f] : std::vector<std::pair<std::string, F>>{
           {"take", [](const Array& t, const Array& k) { return take(t, k); }},
           {"take, clamped", [](const Array& t, const Array& k) { return take(t, k, 0, IndexMode::clamp); }},
           {"top_k", [](const Array& t, const Array&) { return transpose(top_k(transpose(t), wanted).values); }}}) {
    auto slope = [&, f = f](const V& a) {
      return grad([&](const Array& t) { return sum(sin(f(t, a[1])) * a[2]); })(a[0]);
    };
    auto want = slope({x, i, u});
    for (auto& axes : std::vector<std::vector<MeshAxis>>{
             {{"data", 2}}, {{"data", 3}}, {{"data", 4, {3, 1, 1, 2}}}, {{"data", 2}, {"model", 2}}})
      for (auto& of_indices : {Spec{none}, Spec{"data"}, Spec{"model"}}) {
        if (axes.size() == 1 && of_indices == Spec{"model"}) continue;
        local_mesh(axes, [&](const Mesh& mesh) {
          auto what = name + " at " + to_string(of_indices) + " on " + laws::name(axes);
          V in{with_sharding_constraint(x, Spec{"data"}), with_sharding_constraint(i, of_indices), u};
          auto local = fx::local_program(program_of(slope, in), in);
          auto work = work_of(local);
          auto mine = static_cast<double>(mesh.shape().most(rows, "data")) * width * 8;
          EXPECT_LE(work.temporaries, 2.2 * mine) << what;
          if (of_indices != Spec{"model"}) {
            EXPECT_LE(work.received, 1.1 * mine) << what << work.sent;
          }
          auto got = jit(slope)(in);
          EXPECT_EQ(spec_of(got)[0], MeshAxes("data")) << what;
          close(gathered({got, slope(in)}), {want, want}, 1e-13, what);
        });
      }
  }
}
/// Each rank writes the rows that it is to give, and no others.
TEST(Owners, AWriteThatIsWantedInBlocksIsDoneInBlocks) {
  const std::int64_t rows = 4000, width = 8;
  auto u = rnd({60, width}, 2);
  auto i = (rnd({60}, 3) * 1900 + 2000).astype(i32);
  for (auto mode : {scatter_add, scatter_set, scatter_max}) {
    auto f = [&](const V& a) {
      return with_sharding_constraint(mode(zeros({rows, width}, f64), a[0], sin(a[1]), 0), Spec{"data"});
    };
    auto want = f({i, u});
    for (auto& axes : std::vector<std::vector<MeshAxis>>{{{"data", 3}}, {{"data", 2, {3, 1}}, {"model", 2}}})
      for (auto& of_indices : {Spec{none}, Spec{"model"}}) {
        if (axes.size() == 1 && of_indices == Spec{"model"}) continue;
        local_mesh(axes, [&](const Mesh& mesh) {
          V in{with_sharding_constraint(i, of_indices), u};
          auto work = work_of(fx::local_program(program_of(f, in), in));
          auto mine = static_cast<double>(mesh.shape().most(rows, "data")) * width * 8;
          if (mode == scatter_add || of_indices == Spec{none}) {
            EXPECT_LE(work.temporaries, 0.1 * mine + 8000);
          }
          close(gathered({jit(f)(in)}), {want}, 1e-13, laws::name(axes) + " indices " + to_string(of_indices));
        });
      }
  }
}
}  // namespace
}  // namespace bora::laws::owners_test
