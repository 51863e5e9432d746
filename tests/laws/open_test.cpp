// Constraints that leave dimensions open, those under vmap, and the two ends of jit: the Specs and collectives that
// JAX's users expect (docs/guide.md).
#include "bora/ops/contractions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "laws/laws.h"
#include "support/throws.h"

namespace bora::laws::open_test {
namespace {
const std::vector<MeshAxis> kMesh{{"data", 4}, {"model", 2}};

struct Seen {
  Spec spec;
  std::size_t collectives = 0;
};
/// The Spec of f's result for x placed so, and the collectives of its local Program; the values are those of one rank.
Seen seen(const std::function<Array(const Array&)>& f, const Array& x, const Spec& placed) {
  auto want = f(x);
  Seen r;
  local_mesh(kMesh, [&](const Mesh& mesh) {
    auto in = shard(x, placed);
    auto y = jit(f)(in);
    close(gathered({y}), {want}, 1e-12, to_string(placed));
    auto eager = f(in);
    close(gathered({eager}), {want}, 1e-12, to_string(placed) + " eager");
    EXPECT_EQ(spec_of(eager), spec_of(y)) << "eager and jit place alike";
    auto local = fx::local_program(program_of(f, in), {in});
    std::size_t n = 0;
    for (auto& line : fingerprint(*local)) n += !line.empty();
    if (mesh.rank() == 0) r = {spec_of(y), n};
  });
  return r;
}
Array constrained_rows(const Array& x, const Spec& spec, const VmapOptions& how = {}) {
  return vmap([&](const Array& r) { return with_sharding_constraint(sin(r), spec); }, how)(x);
}
const Spec kRows{"data", none};

TEST(Open, AMappedDimensionKeepsItsSplit) {
  auto x = rnd({8, 6}, 1);
  auto s = seen([](auto& a) { return constrained_rows(a, Spec{none}); }, x, kRows);
  EXPECT_EQ(s.spec, kRows);
  EXPECT_EQ(s.collectives, 0u);
  auto product = [](const Array& y) { return sum(constrained_rows(y, Spec{none}) * y); };
  auto g = seen([&](auto& a) { return grad(product)(a); }, x, kRows);
  EXPECT_EQ(g.spec, kRows);
  EXPECT_EQ(g.collectives, 0u);
  auto second = seen([](auto& a) { return constrained_rows(a, Spec{"model"}, {.in = 1}); }, rnd({6, 8}, 2),
                     Spec{none, "data"});
  EXPECT_EQ(second.spec, (Spec{"data", "model"}));
  EXPECT_EQ(second.collectives, 0u);
}
TEST(Open, SpmdAxisNameSplitsTheMappedDimension) {
  auto x = rnd({8, 6}, 1);
  VmapOptions over{.spmd_axis_name = "data"};
  auto whole = seen([&](auto& a) { return constrained_rows(a, Spec{none}, over); }, x, Spec{});
  EXPECT_EQ(whole.spec, kRows);
  EXPECT_EQ(whole.collectives, 0u);
  auto other = seen([&](auto& a) { return constrained_rows(a, Spec{none}, over); }, x, Spec{none, "data"});
  EXPECT_EQ(other.spec, kRows);
  EXPECT_EQ(other.collectives, 1u) << "one all_to_all";
  auto nested = seen([&](auto& a) {
    return vmap([&](const Array& m) { return constrained_rows(m, Spec{none}); }, over)(a);
  }, rnd({8, 4, 6}, 3), Spec{});
  EXPECT_EQ(nested.spec, (Spec{"data", none, none}));
  auto unmapped = seen([&](auto& a) {
    auto w = with_sharding_constraint(a * 2, Spec{none, "model"});
    return vmap([&](const Array& r) { return r + sum(with_sharding_constraint(w, Spec{none, "model"})); }, over)(a);
  }, x, kRows);
  EXPECT_EQ(unmapped.spec, kRows);
  local_mesh(kMesh, [&](const Mesh&) {
    test::says<ShardError>([&] { return constrained_rows(x, Spec{"data"}, over); }, "spmd_axis_name 'data'");
    test::says<ShardError>([&] { return constrained_rows(x, Spec{none}, {.spmd_axis_name = "rows"}); }, "'rows'");
  });
}
TEST(Open, UnconstrainedKeepsAndNoneGathers) {
  auto x = rnd({8, 6, 4}, 1);
  auto f = [](auto& a) { return with_sharding_constraint(sin(a), Spec{unconstrained, none, "model"}); };
  EXPECT_EQ(seen(f, x, Spec{"data", none, none}).spec, (Spec{"data", none, "model"}));
  EXPECT_EQ(seen(f, x, Spec{none, "data", none}).spec, (Spec{none, none, "model"}));
  EXPECT_EQ(seen(f, x, Spec{"model", none, none}).spec, (Spec{none, none, "model"})) << "the word beats what was there";
  EXPECT_EQ(seen(f, x, Spec{MeshAxes{"data", "model"}, none, none}).spec, (Spec{"data", none, "model"}));
  EXPECT_EQ(to_string(Spec{unconstrained, none, "model"}), "{?, -, model}");
}
TEST(Open, NoArrayIsPlacedUnconstrained) {
  auto x = rnd({8, 6}, 1);
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    Spec open{unconstrained, "data"};
    auto same = [](const Array& a) { return a; };
    test::says<ShardError>([&] { return shard(x, open); }, "unconstrained");
    test::says<ShardError>([&] { return jit(same, {.out = open})(x); }, "unconstrained");
    test::says<ShardError>([&] { return jit(same, {.in = open})(x); }, "unconstrained");
    auto drawn = [&] { return random::normal(random::key(1), {8, 6}, f32, {.spec = open}); };
    test::says<ShardError>(drawn, "unconstrained");
    test::says<ShardError>([&] { return from_local_block(x, {16, 6}, open); }, "unconstrained");
  });
}
TEST(Ends, OfJitConstrainArgumentsAndResults) {
  struct Parameters {
    Array w, b;
  };
  auto x = rnd({8, 6}, 1);
  Parameters p{rnd({6, 4}, 2), rnd({4}, 3)};
  auto f = [](const Array& a, const Parameters& q) { return matmul(a, q.w) + q.b; };
  auto want = f(x, p);
  local_mesh(kMesh, [&](const Mesh&) {
    auto y = jit(f, {.in = {{"0", kRows}, {"1.w", Spec{none, "model"}}}})(x, p);
    EXPECT_EQ(spec_of(y), (Spec{"data", "model"}));
    close(gathered({y}), {want}, 1e-12, "in");
    auto z = jit(f, {.out = Spec{none, "data"}})(x, p);
    EXPECT_EQ(spec_of(z), (Spec{none, "data"}));
    close(gathered({z}), {want}, 1e-12, "out");
    test::says<ShardError>([&] { return jit(f, {.in = {{"1.v", Spec{}}}})(x, p); }, "'1.w'");
    test::says<ShardError>([&] { return jit(f, {.in = {{"1.b", Spec{none, "data"}}}})(x, p); }, "'1.b'");
  });
}
TEST(Ends, OfNamedJitAndTheMappingOfAVmappedAxis) {
  Axis Batch{"batch", 8}, Embed{"embed", 6};
  NamedArray x(rnd({8, 6}, 1), {Batch, Embed});
  auto f = [](const NamedArray& a) { return sin(a); };
  local_mesh(kMesh, [&](const Mesh&) {
    AxisMapping batch{{"batch", "data"}}, embed{{"embed", "model"}};
    auto y = named_jit(f, {.in = batch, .out = AxisMapping{{"batch", "data"}, {"embed", "model"}}})(x);
    EXPECT_EQ(spec_of(y.array()), (Spec{"data", "model"}));
    UseMapping scope(AxisMapping{{"batch", "data"}, {"embed", "model"}});
    auto rows = jit([&](const NamedArray& a) {
      return vmap([&](const NamedArray& r) { return auto_sharded(sin(r)); }, Batch)(a);
    })(x);
    EXPECT_EQ(spec_of(rows.array()), (Spec{"data", "model"})) << "a named vmap takes the mapping of its axis";
  });
}
}  // namespace
}  // namespace bora::laws::open_test
