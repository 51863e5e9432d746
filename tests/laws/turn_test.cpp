// Operations that need a dimension whole, on operands that are split along it: the split turns to another dimension, a
// rank does its share of the work, and the result is split as the operand was.
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/convolution.h"
#include "bora/ops/creation.h"
#include "bora/ops/fft.h"
#include "bora/ops/indexing.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/sorting.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "compile/api/executable.h"
#include "laws/laws.h"

namespace bora::laws::turn_test {
namespace {
using I = std::int64_t;
enum class After : std::uint8_t { as_the_operand, elsewhere };
struct Case {
  std::string name;
  std::function<Array(const Arrays&)> f;
  Arrays in;
  std::size_t whole;  // this dimension is split
  After after = After::as_the_operand;
  double close = 1e-12;
};
/// x is [m, n]: operations along each of its dimensions. Both must be large enough that there is work to share.
std::vector<Case> cases(I m, I n) {
  auto x = rnd({m, n}, 1), z = rnd({m, n}, 2).astype(complex128), k = floor(rnd({m, n}, 3) * 9);
  auto cube = rnd({m, 2, n}, 4);
  auto along = [](auto f) { return [f](const Arrays& a) { return f(a[0]); }; };
  std::vector<Case> r{
      {"sort", along([](const Array& a) { return sort(a, 1); }), {k}, 1},
      {"sort along 0", along([](const Array& a) { return sort(a, 0); }), {k}, 0},
      {"sort in a cube", along([](const Array& a) { return sort(a, 2); }), {cube}, 2},
      {"argsort", along([](const Array& a) { return argsort(a, 1); }), {k}, 1},
      {"fft", along([](const Array& a) { return fft::fft(a, {.axis = 1}); }), {z}, 1},
      {"rfft", along([](const Array& a) { return fft::rfft(a, {.axis = 1}); }), {x}, 1, After::elsewhere}};
  if (n > 1)
    r.push_back({"irfft", along([](const Array& a) { return fft::irfft(a, {.axis = 1}); }), {z}, 1, After::elsewhere});
  if (m > 0) {
    r.push_back({"ifft along 0", along([](const Array& a) { return fft::ifft(a, {.axis = 0}); }), {z}, 0});
    for (std::size_t d : {0, 1}) r.push_back({"fft2", along([](const Array& a) { return fft::fft2(a); }), {z}, d});
  }
  if (n > 0) r.push_back({"prod", along([](const Array& a) { return prod(a, {1}); }), {x}, 1, After::elsewhere});
  if (n > 3) r.push_back({"top_k", along([](const Array& a) { return top_k(a, 3).values; }), {k}, 1, After::elsewhere});
  return r;
}
/// Operations on more than rows and columns, with m batches.
std::vector<Case> batches(I m) {
  const I n = 24;
  auto a = rnd({m, n, n}, 1), b = rnd({m, n, 3}, 2);
  auto spd = matmul(a, transpose(a, {0, 2, 1})) + 5 * eye(n, f64);
  auto q = rnd({m, n, 4, 8}, 3), image = rnd({m, n, 8}, 4), filter = rnd({3, 4, 8}, 5);
  std::vector<Case> r;
  for (std::size_t core : {1, 2}) {
    auto named = [&](const std::string& what) { return what + " of dimension " + std::to_string(core); };
    r.push_back({named("cholesky"), [](auto& x) { return linalg::cholesky(x[0]); }, {spd}, core});
    r.push_back({named("eigh"), [](auto& x) { return linalg::eigh(x[0]).values; }, {spd}, core, After::elsewhere});
    r.push_back({named("qr"), [](auto& x) { return linalg::qr(x[0]).r; }, {a}, core});
    r.push_back({named("svd"), [](auto& x) { return linalg::svd(x[0]).s; }, {a}, core, After::elsewhere});
  }
  r.push_back({"solve", [](auto& x) { return linalg::solve(x[0], x[1]); }, {spd, b}, 1, After::elsewhere});
  auto causal = [](auto& x) { return attention(x[0], x[1], x[2], {.causal = true}); };
  r.push_back({"attention", causal, {q, q * 0.5, q + 1}, 1});
  r.push_back({"grad of attention", [](auto& x) {
                 return grad([&](const Array& y) {
                   return sum(sin(attention(y, x[1], x[2], {.causal = true})));
                 })(x[0]);
               }, {q, q * 0.5, q + 1}, 1, After::elsewhere});
  r.push_back({"grouped convolution", [](auto& x) { return conv(x[0], x[1], {.groups = 2}); }, {image, filter}, 2});
  r.push_back({"a written window", [](auto& x) {
                 return dynamic_update_slice(x[0], x[1], {constant(0, i32), constant(2, i32), constant(0, i32)});
               }, {a, rnd({m, 5, n}, 6)}, 1});
  return r;
}
struct Work {
  double flops = 0, temporaries = 0, bytes = 0;
  std::string gathers = {};
};
Work work_of(const ProgramPtr& local) {
  auto e = executable(local);
  auto& i = e->info();
  Work w{i.flops, static_cast<double>(i.slab_bytes)};
  for (auto& c : i.collective_uses) {
    w.bytes += static_cast<double>(c.bytes * c.times);
    if (c.what.starts_with("all_gather") || c.what.starts_with("all_reduce")) w.gathers += c.what + "; ";
  }
  for (auto& step : local->code)  // an element that travels counts as an operation there
    if (auto v = static_cast<std::size_t>(step.out[0]); step.primitive->traits.collective)
      w.flops -= static_cast<double>(local->vars[v].size());
  return w;
}
MeshAxes all_axes(const Mesh& mesh) {
  MeshAxes all;
  for (auto& a : mesh.shape().axes) all.push_back(a.first);
  return all;
}
/// Split are the operands that have the rows or batches of the first one.
Arrays split_along(const Arrays& in, std::size_t d, const MeshAxes& axes) {
  Arrays r;
  for (auto& x : in) {
    auto spec = Spec::replicated(static_cast<std::size_t>(x.ndim()));
    if (x.shape(0) == in[0].shape(0)) spec[d] = axes;
    r.push_back(shard(x, spec));
  }
  return r;
}
double bytes_of(const Arrays& a) {
  double n = 0;
  for (auto& x : a) n += static_cast<double>(x.type().nbytes());
  return n;
}
void expect_shared(const Case& c, I free) {
  SCOPED_TRACE(c.name);
  auto whole = work_of(program_of(c.f, c.in));
  auto want = c.f(c.in);
  for (auto& axes : meshes())
    local_mesh(axes, [&](const Mesh& mesh) {
      auto all = all_axes(mesh);
      auto in = split_along(c.in, c.whole, all);
      auto mine = work_of(fx::local_program(program_of(c.f, in), in));
      auto what = c.name + " " + name(axes);
      auto block = static_cast<double>(mesh.shape().most(free, all)) / static_cast<double>(free);
      EXPECT_LE(mine.flops, block * whole.flops + 0.01 * whole.flops + 1000) << what << " of " << whole.flops;
      if (c.name != "top_k") {  // which gathers the largest of each block, if these are fewer bytes
        EXPECT_EQ(mine.gathers, "") << what;
      }
      // There and back: what a rank has before and behind each of them.
      auto moved = bytes_of(c.in) + 2 * static_cast<double>(want.type().nbytes());
      EXPECT_LE(mine.bytes, 4 * block * moved) << what;
      EXPECT_LE(mine.temporaries, block * whole.temporaries + 4 * block * moved + 4096) << what;
      auto got = c.f(in), staged = jit(c.f)(in);
      if (mesh.size() > 1 && c.after == After::as_the_operand) {
        EXPECT_EQ(spec_of(got), spec_of(in[0])) << what;
        EXPECT_EQ(spec_of(staged), spec_of(in[0])) << what;
      }
      close(gathered({got, staged}), {want, want}, c.close, what);
    });
}
TEST(Turn, WorkAlongASplitDimensionIsShared) {
  for (auto& c : cases(60, 72)) expect_shared(c, 60);
  for (auto& c : batches(12)) expect_shared(c, 12);
}
TEST(Turn, GivesTheValuesOfOneRankForEverySpec) {
  for (auto [m, n] : {std::pair<I, I>{0, 1200}, {1, 1200}, {2, 700}, {5, 300}, {7, 160}, {1100, 1}})
    for (auto& c : cases(m, n)) {
      auto want = c.f(c.in);
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          auto specs = all_specs(mesh.shape(), static_cast<std::size_t>(c.in[0].ndim()));
          for (std::size_t s = 0; s < specs.size(); s += 1 + specs.size() / combinations()) {
            Arrays in;
            for (auto& x : c.in) in.push_back(shard(x, specs[s]));
            close(gathered({c.f(in), jit(c.f)(in)}), {want, want}, c.close,
                  c.name + " of " + to_string(c.in[0].shape()) + " " + name(axes) + to_string(specs[s]));
          }
        });
    }
}
/// An operation that needs the dimension that the one before it needed finds the split where that left it.
TEST(Turn, IsMadeOnceForOperationsInARow) {
  auto z = rnd({24, 96}, 1).astype(complex128);
  auto x = floor(rnd({24, 96}, 2) * 9);
  std::vector<std::pair<std::function<Array(const Array&)>, Array>> chains{
      {[](const Array& a) { return fft::ifft(fft::fft(a)); }, z},
      {[](const Array& a) { return fft::ifft(fft::fft(a) * exp(iota({96}, 0, f64) * -0.1) / 2); }, z},
      {[](const Array& a) { return argsort(argsort(a)); }, x},
      {[](const Array& a) { return sort(sort(a)); }, x}};
  for (auto& [f, in] : chains)
    local_mesh({{"data", 4}}, [&, &f = f, &in = in](const Mesh&) {
      auto split = shard(in, Spec{none, "data"});
      auto p = fx::local_program(program_of(f, split), {split});
      EXPECT_EQ(count(*p, "all_to_all"), 2u) << print(*p);
      EXPECT_LE(count(*p, "all_gather"), 1u) << "of a row of factors";
      auto y = jit(f)(split);
      EXPECT_EQ(spec_of(y), (Spec{none, "data"}));
      close(gathered({y}), {f(in)}, 1e-12, "a chain");
    });
}
/// A transform along the only dimension: n = n1 n2, in four steps.
TEST(Turn, ATransformOfOneDimensionIsSplitToo) {
  using fft::Options;
  std::vector<std::function<Array(const Array&)>> kinds{
      [](const Array& a) { return fft::fft(a.astype(complex128), {.axis = 0}); },
      [](const Array& a) { return fft::ifft(a.astype(complex128), {.axis = 0, .norm = fft::Norm::ortho}); },
      [](const Array& a) { return fft::rfft(a, {.axis = 0}); },
      [](const Array& a) { return fft::irfft(complex(a, a * 2), {.axis = 0}); },
      [](const Array& a) { return fft::irfft(complex(a, a * 2), {.n = 2 * a.shape(0) - 1, .axis = 0}); }};
  for (Shape shape : {Shape{1}, Shape{30}, Shape{97}, Shape{360}, Shape{1025}, Shape{240, 1}, Shape{122, 2}})
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      auto& f = kinds[k];
      auto x = rnd(shape, 1);
      if (k > 2 && shape[0] == 1 && k == 3) continue;  // of length 0
      auto g = grad([&](const Array& a) { return sum(square(abs(f(a))) * rnd(f(a).shape(), 2)); });
      auto want = f(x), slope = g(x);
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          auto y = shard(x, Spec{all_axes(mesh)});
          close(gathered({f(y), jit(f)(y)}), {want, want}, 1e-11,
                to_string(shape) + " " + name(axes) + " kind " + std::to_string(k));
          if (shape[0] == 360) close(gathered({jit(g)(y)}), {slope}, 1e-10, "gradient " + name(axes));
        });
    }
}
TEST(Turn, ATransformOfOneDimensionDoesAShareOfTheWork) {
  auto z = rnd({24 * 24 * 25}, 1).astype(complex128);
  auto f = [](const Array& a) { return fft::fft(a); };
  auto whole = work_of(program_of(f, z));
  for (int n : {2, 3, 4, 6})
    local_mesh({{"data", n}}, [&](const Mesh&) {
      auto y = shard(z, Spec{"data"});
      auto p = fx::local_program(program_of(f, y), {y});
      auto mine = work_of(p);
      EXPECT_LE(mine.flops, 1.25 * whole.flops / n) << "with the factors between its steps";
      EXPECT_EQ(mine.gathers, "");
      EXPECT_LE(mine.bytes, 3 * 2.1 * static_cast<double>(z.type().nbytes()) / n);
      EXPECT_EQ(spec_of(jit(f)(y)), Spec{"data"});
    });
}
}  // namespace
}  // namespace bora::laws::turn_test
