// Operations that move rows along split dimensions: the values of one rank, and no more bytes than change hands.
#include "bora/ops/calculus.h"
#include "bora/ops/convolution.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "laws/laws.h"
#include "ops/api/exchange.h"

namespace bora::laws::exchange_test {
namespace {
using V = Arrays;
struct Op {
  std::string name;
  std::function<Array(const Array&, std::int64_t axis)> f;
  /// The most rows that a rank is sent, for n rows on P ranks; of a sliced or padded dimension.
  std::function<std::int64_t(std::int64_t n, std::int64_t P)> rows;
};
std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t some(std::int64_t k, const Array& x, std::int64_t axis) { return std::min(k, x.shape(axis)); }
Array first(const Array& x, std::int64_t axis, std::int64_t k) { return slice_in_dim(x, axis, 0, some(k, x, axis)); }
Array padded(const Array& x, std::int64_t axis, std::int64_t lo, std::int64_t hi, std::int64_t interior, Scalar value) {
  Dims l(static_cast<std::size_t>(x.ndim()), 0), h = l, i = l;
  auto a = static_cast<std::size_t>(axis);
  l[a] = lo, h[a] = hi, i[a] = interior;
  return pad(x, l, h, value, i);
}
std::vector<Op> operations() {
  using I = std::int64_t;
  auto out = [](I n) { return [n](I rows, I P) { return up(rows * n, P) + n; }; };
  auto out_of = [](I each) { return [each](I rows, I P) { return up(up(rows, each), P) + 1; }; };
  auto few = [](I k) { return [k](I, I) { return k; }; };
  return {
      {"x[1:]", [](const Array& x, I a) { return slice_in_dim(x, a, some(1, x, a), x.shape(a)); }, few(2)},
      {"x[:-3]", [](const Array& x, I a) { return slice_in_dim(x, a, 0, x.shape(a) - some(3, x, a)); }, few(4)},
      {"x[::2]", [](const Array& x, I a) { return slice_in_dim(x, a, 0, x.shape(a), 2); }, out_of(2)},
      {"x[1::3]", [](const Array& x, I a) { return slice_in_dim(x, a, some(1, x, a), x.shape(a), 3); }, out_of(3)},
      {"x[:2]", [](const Array& x, I a) { return first(x, a, 2); }, few(2)},
      {"flip", [](const Array& x, I a) { return flip(x, {a}); }, out(1)},
      {"roll(1)", [](const Array& x, I a) { return roll(x, 1, a); }, few(1)},
      {"roll(-5)", [](const Array& x, I a) { return roll(x, -5, a); }, few(5)},
      {"diff", [](const Array& x, I a) { return x.shape(a) > 0 ? diff(x, 1, a) : x; }, few(4)},
      {"pad(2, 1)", [](const Array& x, I a) { return padded(x, a, 2, 1, 0, 7); }, few(4)},
      {"pad(-1, 2)", [](const Array& x, I a) { return padded(x, a, -some(1, x, a), 2, 0, 0); }, few(4)},
      {"pad between", [](const Array& x, I a) { return padded(x, a, 1, 0, 2, 0); }, out(3)},
      {"twice", [](const Array& x, I a) { return concatenate({x, x * 2}, a); }, out(2)},
      {"zeros before", [](const Array& x, I a) { return concatenate({zeros_like(first(x, a, 2)), x}, a); }, few(3)},
      {"first before", [](const Array& x, I a) { return concatenate({first(x, a, 1), x}, a); }, few(3)},
      {"x[0] + x", [](const Array& x, I a) { return x.shape(a) > 0 ? first(x, a, 1) + x : x; }, few(1)}};
}
V all_operations(const Array& x, std::int64_t axis) {
  V r;
  for (auto& op : operations()) r.push_back(op.f(x, axis));
  auto rows = x.shape(0), columns = x.shape(1);  // along both dimensions at once
  r.push_back(slice(x, {std::min<std::int64_t>(1, rows), 0}, {rows, columns}, {1, 2}));
  r.push_back(pad(flip(x, {0, 1}), {1, 2}, {0, 1}, 3, {1, 0}));
  r.push_back(roll(roll(x, 1, 0), -2, 1));
  return r;
}
Array loss(const Array& x, std::int64_t axis) {
  auto total = constant(0., f64);
  int seed = 1;
  for (auto& y : all_operations(x, axis)) total = total + sum(sin(y) * rnd(y.shape(), seed++));
  return total;
}
const std::int64_t kRows[] = {0, 1, 2, 7, 24};
TEST(Exchange, GivesTheValuesOfOneRank) {
  for (auto n : kRows)
    for (std::int64_t axis : {0, 1}) {
      bool slopes = n == 0 || n == 2 || n == 7;
      auto x = rnd(axis == 0 ? Shape{n, 3} : Shape{2, n}, 1);
      auto want = all_operations(x, axis);
      auto slope = grad([&](const Array& a) { return loss(a, axis); })(x);
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          auto f = [&](const Array& a) { return all_operations(a, axis); };
          auto g = grad([&](const Array& a) { return loss(a, axis); });
          auto staged = jit(f);
          auto staged_slope = jit(g);
          auto specs = all_specs(mesh.shape(), 2);
          for (std::size_t k = 0; k < specs.size(); k += 1 + specs.size() / (2 * combinations())) {
            auto what = name(axes) + to_string(specs[k]) + " " + std::to_string(n) + " rows along ";
            what += std::to_string(axis);
            auto y = with_sharding_constraint(x, specs[k]);
            close(gathered(f(y)), want, 0, what);
            close(gathered(staged(y)), want, 0, "jit " + what);
            if (slopes) close(gathered({g(y), staged_slope(y)}), {slope, slope}, 1e-13, "gradient " + what);
          }
        });
    }
}
TEST(Exchange, UnderVmapToo) {
  for (auto n : {2, 7}) {
    auto x = rnd({4, n, 3}, 1);
    auto f = [&](const Array& a) {
      V r;
      for (auto& op : operations()) r.push_back(sum(sin(op.f(a, 0))));
      return stack(r);
    };
    auto want = vmap(f)(x);
    auto slope = vmap(grad([&](const Array& a) { return sum(f(a)); }))(x);
    for (auto& axes : meshes())
      local_mesh(axes, [&](const Mesh& mesh) {
        auto specs = all_specs(mesh.shape(), 3);
        for (std::size_t k = 0; k < specs.size(); k += 1 + specs.size() / combinations()) {
          auto y = with_sharding_constraint(x, specs[k]);
          auto g = vmap(grad([&](const Array& a) { return sum(f(a)); }));
          close(gathered({vmap(f)(y), jit(vmap(f))(y), g(y), jit(g)(y)}), {want, want, slope, slope}, 1e-12,
                name(axes) + to_string(specs[k]));
        }
      });
  }
}
TEST(Exchange, TakesEveryDtype) {
  for (auto dtype : {boolean, i8, i32, bf16, f32, complex128}) {
    auto x = (rnd({7, 3}, 1) * 5).astype(dtype);
    auto f = [](const Array& a) {
      return V{roll(a, 2, 0), flip(a, {0}), concatenate({a, a}, 0), padded(a, 0, 1, 1, 1, 1)};
    };
    auto want = f(x);
    local_mesh({{"data", 3}}, [&](const Mesh&) {
      auto y = with_sharding_constraint(x, Spec{"data"});
      close(gathered(f(y)), want, 0, std::string(dtype_name(dtype)));
    });
  }
  auto keys = random::split(random::key(1), 5);
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    close(gathered({roll(with_sharding_constraint(keys, Spec{"data"}), 1, 0)}), {roll(keys, 1, 0)}, 0, "keys");
  });
}
/// Rows that a rank is sent at most by the exchanges of p; other collectives count as infinitely many.
std::int64_t rows_sent(const Program& p, const MeshShape& mesh) {
  std::int64_t n = 0;
  for (auto& i : p.code) {
    if (auto* e = as<ops::Exchange>(i.primitive)) {
      auto received = ops::traffic(*e, mesh).received;
      n += *std::max_element(received.begin(), received.end());
    } else if (i.primitive->traits.collective) {
      n += 1 << 20;
    }
    for (auto& h : i.primitive->programs()) n += rows_sent(*h, mesh);
  }
  return n;
}
TEST(Exchange, SendsNoMoreThanChangesHands) {
  std::vector<std::pair<MeshAxis, int>> over{{{"data", 2}, 2}, {{"data", 3}, 3}, {{"data", 4}, 4}};
  over.push_back({{"data", 4, {3, 3, 2, 1}}, 3});  // the largest block is that of 3 equal ranks
  for (auto& [axis, P] : over)
    for (std::int64_t n : {24, 101})
      local_mesh({axis}, [&, P = P](const Mesh& mesh) {
        auto x = with_sharding_constraint(rnd({n, 2}, 1), Spec{"data"});
        for (auto& op : operations()) {
          auto what = op.name + " of " + std::to_string(n) + " rows on " + to_string(mesh.shape());
          auto f = [&](const Array& a) { return op.f(a, 0); };
          auto p = fx::local_program(program_of(f, x), {x});
          same_everywhere(mesh, *p, what);
          EXPECT_LE(rows_sent(*p, mesh.shape()), op.rows(n, P)) << what << "\n" << print(*p);
          auto y = f(x);
          bool few = y.shape(0) < mesh.size();
          EXPECT_EQ(spec_of(y), few ? (Spec{none, none}) : (Spec{"data", none})) << what;
          auto slope = grad([&](const Array& a) { return sum(op.f(a, 0) * op.f(a, 0)); });
          EXPECT_EQ(count(*fx::local_program(program_of(slope, x), {x}), "all_gather"), 0u) << "gradient of " << what;
        }
      });
}
/// Two mesh axes in one dimension; a result of fewer rows than ranks keeps the axes that it has rows for.
TEST(Exchange, SplitsByTheAxesThatTheResultHasRowsFor) {
  local_mesh({{"data", 3}, {"model", 2}}, [&](const Mesh&) {
    auto x = with_sharding_constraint(rnd({24, 2}, 1), Spec{{"data", "model"}, none});
    auto of = [&](std::int64_t from, std::int64_t to) { return spec_of(slice_in_dim(x, 0, from, to)); };
    EXPECT_EQ(of(3, 20), (Spec{{"data", "model"}, none}));
    EXPECT_EQ(of(3, 8), (Spec{"data", none}));
    EXPECT_EQ(of(3, 5), (Spec{none, none}));
    EXPECT_EQ(of(5, 5), (Spec{none, none}));
  });
}
TEST(Exchange, KeepsPendingSums) {
  local_mesh({{"data", 2}, {"model", 2}}, [&](const Mesh& mesh) {
    auto a = rnd({8, 6}, 1), b = rnd({6, 4}, 2);
    auto f = [](const Array& x, const Array& y) {
      auto z = matmul(x, y);
      return roll(z, 1, 0) + flip(z, {0}) * 2;
    };
    auto x = with_sharding_constraint(a, Spec{"data", "model"}), y = with_sharding_constraint(b, Spec{"model"});
    auto p = fx::local_program(program_of(f, x, y), {x, y});
    same_everywhere(mesh, *p, "pending sums");
    EXPECT_EQ(count(*p, "all_reduce"), 0u) << print(*p);
    close(gathered({f(x, y), jit(f)(x, y)}), {f(a, b), f(a, b)}, 1e-13, "values");
  });
}
/// Running sums of integers have one rank's bits, those of floats its digits.
TEST(RunningSums, AreThoseOfOneRank) {
  for (auto n : kRows)
    for (std::int64_t axis : {0, 1}) {
      auto x = rnd(axis == 0 ? Shape{n, 3} : Shape{2, n}, 1);
      auto f = [&](const Array& a) {
        auto whole = (a * 1000).astype(i32);
        return V{cumsum(whole, axis), reverse_cumsum(whole, axis), cumsum(a, axis), reverse_cumsum(a, axis),
                 cumsum(a.astype(bf16), axis), cumsum(a > 0, axis)};
      };
      auto g = [&](const Array& a) { return sum(sin(cumsum(a, axis)) + reverse_cumsum(a, axis)); };
      auto want = f(x);
      auto slope = grad(g)(x);
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          for (auto& spec : all_specs(mesh.shape(), 2)) {
            auto what = name(axes) + to_string(spec) + " " + std::to_string(n) + " rows along " + std::to_string(axis);
            auto y = with_sharding_constraint(x, spec);
            for (auto& got : {gathered(f(y)), gathered(jit(f)(y))}) {
              close({got[0], got[1], got[5]}, {want[0], want[1], want[5]}, 0, "integers " + what);
              close({got[2], got[3]}, {want[2], want[3]}, 1e-13, "floats " + what);
              close({got[4]}, {want[4]}, 1. / 128, "bf16 " + what);
            }
            close(gathered({grad(g)(y), jit(grad(g))(y)}), {slope, slope}, 1e-13, "gradient " + what);
            if (mesh.shape().size() > 1) {
              EXPECT_EQ(spec_of(cumsum(y, axis)), spec) << what;
            }
          }
        });
    }
}
TEST(RunningSums, SendOneRowARank) {
  local_mesh({{"data", 4}}, [&](const Mesh& mesh) {
    auto x = with_sharding_constraint(rnd({101, 2}, 1), Spec{"data"});
    auto p = fx::local_program(program_of([](const Array& a) { return cumsum(a, 0); }, x), {x});
    same_everywhere(mesh, *p, "cumsum");
    EXPECT_EQ(fingerprint(*p).size(), 1u) << print(*p);
    for (auto& i : p->code)
      if (i.primitive->traits.collective) {
        EXPECT_EQ(p->vars[static_cast<std::size_t>(i.out[0])].shape, (Shape{4, 2})) << print(*p);
      }
  });
}
struct Windows {
  std::string name;
  std::function<Array(const Array& x, const Array& w)> f;
};
std::vector<Windows> windows() {
  auto conv_with = [](const ConvOptions& o) { return [o](const Array& x, const Array& w) { return conv(x, w, o); }; };
  auto pool = [](auto f, const Dims& window, const Dims& stride, const Padding& padding) {
    return [=](const Array& x, const Array&) { return f(x, PoolOptions{window, stride, padding}); };
  };
  Padding around(Padding::Pairs{{2, 1}, {1, 0}}), cut(Padding::Pairs{{-1, 2}, {0, 0}});
  return {{"same", conv_with({.padding = Padding::same})},
          {"stride 2", conv_with({.stride = {2, 1}, .padding = around})},
          {"stride 3, cut", conv_with({.stride = {3, 2}, .padding = cut})},
          {"dilation", conv_with({.padding = around, .dilation = {2, 1}})},
          {"input dilation", conv_with({.stride = {3, 1}, .padding = around, .input_dilation = {2, 2}})},
          {"transposed", [](const Array& x, const Array& w) { return conv_transpose(x, w, {.stride = {2, 1}}); }},
          {"max_pool", pool(max_pool, {2, 2}, {2, 2}, Padding::same)},
          {"sum_pool", pool(sum_pool, {3, 1}, {1, 1}, around)},
          {"avg_pool", pool([](const Array& x, const PoolOptions& o) { return avg_pool(x, o, false); }, {3, 2}, {2, 1},
                            Padding::same)}};
}
TEST(Windows, OnSplitImagesAreThoseOfOneRank) {
  for (std::int64_t n : {2, 7, 24})
    for (auto& op : windows()) {
      auto x = rnd({2, n, 4, 2}, 1), w = rnd({3, 2, 2, 4}, 2);
      auto loss = [&](const V& a) {
        auto y = op.f(a[0], a[1]);
        return sum(sin(y) * rnd(y.shape(), 3));
      };
      auto want = op.f(x, w);
      auto slopes = grad(loss)(V{x, w});
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          auto specs = all_specs(mesh.shape(), 4);
          auto staged = jit([&](const Array& a, const Array& b) { return op.f(a, b); });
          auto staged_slopes = jit([&](const V& a) { return grad(loss)(a); });
          for (std::size_t k = 0; k < specs.size(); k += 1 + specs.size() / (2 * combinations())) {
            V in{with_sharding_constraint(x, specs[k]), w};
            auto what = op.name + " of " + std::to_string(n) + " rows, " + name(axes) + to_string(specs[k]);
            close(gathered({op.f(in[0], in[1]), staged(in[0], in[1])}), {want, want}, 1e-13, what);
            close(gathered(staged_slopes(in)), slopes, 1e-12, "gradient of " + what);
          }
        });
    }
}
TEST(Windows, SendHalosOnly) {
  local_mesh({{"data", 4}}, [&](const Mesh& mesh) {
    auto x = with_sharding_constraint(rnd({2, 50, 4, 2}, 1), Spec{none, "data"});
    auto w = rnd({3, 2, 2, 4}, 2);
    for (auto& op : windows()) {
      auto p = fx::local_program(program_of(op.f, x, w), {x, w});
      same_everywhere(mesh, *p, op.name);
      EXPECT_LE(rows_sent(*p, mesh.shape()), 9) << op.name << "\n" << print(*p);
      EXPECT_EQ(spec_of(op.f(x, w))[1], MeshAxes("data")) << op.name;
      auto slopes = grad([&](const V& a) { return sum(sin(op.f(a[0], a[1]))); });
      auto back = fx::local_program(program_of(slopes, V{x, w}), {x, w});
      same_everywhere(mesh, *back, "gradient of " + op.name);
      EXPECT_EQ(count(*back, "all_gather"), 0u) << op.name << "\n" << print(*back);
    }
  });
}
TEST(Reshape, SendsWhatLiesBetweenTheBounds) {
  for (int P : {2, 3, 4})
    local_mesh({{"data", P}}, [&](const Mesh& mesh) {
      for (auto& [from, to] : std::vector<std::pair<Shape, Shape>>{
               {{50, 3}, {25, 2, 3}}, {{25, 2, 3}, {50, 3}}, {{10, 6}, {15, 4}}, {{7, 6}, {14, 3}}, {{9, 4}, {6, 6}}}) {
        auto x = rnd(from, 1);
        auto f = [&to = to](const Array& a) { return reshape(a, to); };
        auto y = with_sharding_constraint(x, Spec{"data"});
        auto what = to_string(from) + " to " + to_string(to) + " on " + std::to_string(P);
        close(gathered({f(y), jit(f)(y)}), {reshape(x, to), reshape(x, to)}, 0, what);
        auto slope = [&](const Array& a) { return grad([&](const Array& b) { return sum(sin(f(b))); })(a); };
        close(gathered({jit(slope)(y)}), {cos(x)}, 1e-15, "gradient of " + what);
        auto p = fx::local_program(program_of(f, y), {y});
        same_everywhere(mesh, *p, what);
        EXPECT_LE(rows_sent(*p, mesh.shape()), up(from[0], P)) << what << print(*p);
        EXPECT_EQ(spec_of(f(y))[0], MeshAxes("data")) << what;
      }
    });
}
TEST(Roll, IsOneExchange) {
  local_mesh({{"data", 4}}, [&](const Mesh&) {
    auto x = with_sharding_constraint(rnd({24, 2}, 1), Spec{"data"});
    auto count_of = [&](auto f) { return count(*fx::local_program(program_of(f, x), {x}), "exchange"); };
    EXPECT_EQ(count_of([](const Array& a) { return roll(a, 1, 0); }), 1u);
    EXPECT_EQ(count_of([](const Array& a) { return roll(roll(a, 1, 0), -5, 0); }), 1u);
    EXPECT_EQ(count_of([](const Array& a) { return flip(slice_in_dim(a, 0, 3, 20), {0}); }), 1u);
    EXPECT_EQ(count_of([](const Array& a) { return a + roll(a, 24, 0); }), 0u);
  });
}
}  // namespace
}  // namespace bora::laws::exchange_test
