// Attention over a split sequence against attention over the whole one.
#include "bora/nn/ring_attention.h"
#include <sstream>
#include "laws/laws.h"
#include "support/throws.h"

namespace bora::laws::ring_attention_test {
namespace {
using nn::ring_attention, nn::RingAttentionOptions;
const Axis kBatch{nn::kBatch, 2}, kPosition{nn::kPosition, 16}, kHeads{nn::kHeads, 2}, kGroup{nn::kHeadGroup, 3},
    kSize{nn::kHeadSize, 4}, kValues{nn::kHeadSize, 5};
struct Inputs {
  NamedArray q, k, v;
};
NamedArray numbers(const std::vector<Axis>& axes, int seed, Dtype dtype) {
  return {(rnd(shape_of(axes), seed) * 2.0).astype(dtype), axes};
}
Inputs inputs(bool grouped, Dtype dtype = f64) {
  std::vector<Axis> q{kBatch, kPosition, kHeads, kGroup, kSize};
  if (!grouped) q = {kHeads, kBatch, kPosition, kSize};
  return {numbers(q, 1, dtype), numbers({kBatch, kPosition, kHeads, kSize}, 2, dtype),
          numbers({kBatch, kPosition, kHeads, kValues}, 3, dtype)};
}
NamedArray documents() {
  std::vector<std::int32_t> ids;
  for (std::int32_t row = 0; row < 2; ++row)
    for (std::int32_t i = 0; i < 16; ++i) ids.push_back(row == 0 ? (i >= 3) + (i >= 9) : i / 5);
  return {asarray(ids, Shape{2, 16}), {kBatch, kPosition}};
}
struct Case {
  std::string name;
  bool grouped = true;
  RingAttentionOptions options = {};
};
std::vector<Case> cases() {
  return {{"causal", true, {}},
          {"a key for each query", false, {}},
          {"all positions", true, {.causal = false}},
          {"documents", true, {.segments = documents()}},
          {"documents, all positions", false, {.causal = false, .segments = documents()}},
          {"scale and cap", true, {.scale = 0.3, .soft_cap = 1.5}}};
}
/// By bora::attention, in natural order.
NamedArray whole(const Inputs& in, const RingAttentionOptions& o) {
  auto grouped = in.q.has_axis(nn::kHeadGroup);
  std::vector<Axis> order{kBatch, kPosition, kHeads};
  if (grouped) order.push_back(kGroup);
  auto out = order;
  order.push_back(kSize), out.push_back(kValues);
  auto heads = kHeads.size * (grouped ? kGroup.size : 1);
  auto q = reshape(broadcast_to(in.q, Axes(order)).array(), {2, 16, heads, 4});
  AttentionOptions a{.causal = o.causal, .scale = o.scale, .soft_cap = o.soft_cap};
  if (o.segments) a.query_segments = a.key_segments = o.segments->array();
  auto y = attention(q, in.k.array(), in.v.array(), a);
  auto axes = in.q.axes();
  axes.back() = kValues;
  return broadcast_to(NamedArray(reshape(y, shape_of(out)), out), Axes(axes));
}
/// By ring_attention on the zigzag order of so many ranks, back in natural order.
NamedArray ringed(const Inputs& in, RingAttentionOptions o, std::int64_t ranks) {
  if (!o.causal) return ring_attention(in.q, in.k, in.v, o);
  auto turned = [&](const NamedArray& x) { return auto_sharded(nn::zigzag(x, ranks)); };
  if (o.segments) o.segments = turned(*o.segments);
  return nn::from_zigzag(ring_attention(turned(in.q), turned(in.k), turned(in.v), o), ranks);
}
struct Layout {
  std::vector<MeshAxis> mesh;
  AxisMapping mapping;
  int ring;
};
std::vector<Layout> layouts() {
  Rule position{nn::kPosition, "context"}, batch{nn::kBatch, "data"}, heads{nn::kHeads, "model"};
  return {{{{"context", 1}}, {position}, 1},
          {{{"context", 2}}, {position}, 2},
          {{{"context", 4}}, {position}, 4},
          {{{"data", 2}, {"context", 2}}, {position, batch}, 2},
          {{{"context", 2}, {"model", 2}}, {position, heads}, 2}};
}
TEST(RingAttention, IsAttentionOverTheWholeSequence) {
  for (auto& c : cases()) {
    auto in = inputs(c.grouped);
    auto want = with_gradients([&](const Inputs& x) { return whole(x, c.options); }, in);
    for (auto& layout : layouts())
      for (bool staged : {false, true})
        local_mesh(layout.mesh, [&](const Mesh&) {
          UseMapping split(layout.mapping);
          auto f = [&](const Inputs& x) {
            return with_gradients([&](const Inputs& y) { return ringed(y, c.options, layout.ring); }, x);
          };
          auto got = gathered(staged ? jit(f)(in) : f(in));
          close(got, want, 1e-12, c.name + " over " + name(layout.mesh) + (staged ? ", staged" : ""));
        });
    close(with_gradients([&](const Inputs& x) { return ringed(x, c.options, 1); }, in), want, 1e-12,
          c.name + " without a mesh");
  }
}
TEST(RingAttention, NarrowNumbersAreRoundedOnce) {
  for (auto dtype : {f32, bf16}) {
    auto in = inputs(true, dtype);
    Inputs wide{in.q.astype(f64), in.k.astype(f64), in.v.astype(f64)};
    auto want = whole(wide, {}).array();
    local_mesh({{"context", 4}}, [&](const Mesh&) {
      UseMapping split({{nn::kPosition, "context"}});
      auto y = ringed(in, {}, 4).array();
      EXPECT_EQ(y.dtype(), dtype);
      close({gather(y).astype(f64)}, {want}, dtype == bf16 ? 4e-3 : 1e-6, std::string(dtype_name(dtype)));
    });
  }
}
TEST(RingAttention, BlocksGoRoundAndNothingIsGathered) {
  auto in = inputs(true);
  local_mesh({{"context", 4}}, [&](const Mesh& mesh) {
    AxisMapping mapping{{nn::kPosition, "context"}};
    UseMapping split(mapping);
    auto mine = sharded(in, mapping);
    auto f = jit([](const Inputs& x) {
      return grad([](const Inputs& y) { return sum(square(ring_attention(y.q, y.k, y.v).array())); })(x);
    });
    auto program = fx::local_program(program_of(f, mine), f.inputs(mine));
    std::ostringstream text;
    text << *program;
    if (mesh.rank() > 0) return;
    EXPECT_EQ(count(*program, "all_gather") + count(*program, "all_to_all") + count(*program, "all_reduce"), 0u)
        << text.str();
    EXPECT_GE(count(*program, "ppermute"), 6u) << "keys and values, forward, over four ranks";
    EXPECT_EQ(text.str().find("[2, 16, "), std::string::npos) << text.str();
  });
}
TEST(RingAttention, ZigzagOrder) {
  EXPECT_EQ(nn::zigzag_order(8, 2), (std::vector<std::int32_t>{0, 1, 6, 7, 2, 3, 4, 5}));
  EXPECT_EQ(nn::zigzag_order(4, 1), (std::vector<std::int32_t>{0, 1, 2, 3}));
  auto x = inputs(true).k;
  for (std::int64_t n : {1, 2, 4}) close({nn::from_zigzag(nn::zigzag(x, n), n).array()}, {x.array()}, 0, "and back");
  EXPECT_THROW((void)nn::zigzag_order(6, 2), ValueError);
}
TEST(RingAttention, ErrorsNameTheSizes) {
  auto in = inputs(true);
  EXPECT_THROW((void)ring_attention(in.q, in.q, in.v), AxisError);
  EXPECT_THROW((void)ring_attention(in.q.astype(f32), in.k, in.v), DtypeError);
  EXPECT_THROW((void)ring_attention(in.q, in.k, in.v, {.soft_cap = 0}), ValueError);
  local_mesh({{"context", 3}}, [&](const Mesh&) {
    UseMapping split({{nn::kPosition, "context"}});
    test::says<ValueError>([&] { (void)ring_attention(in.q, in.k, in.v); },
                           "16 positions cannot be cut into 6 equal parts");
  });
  local_mesh({{"context", 2, {1, 3}}}, [&](const Mesh&) {
    UseMapping split({{nn::kPosition, "context"}});
    test::says<ShardError>([&] { (void)ring_attention(in.q, in.k, in.v); },
                           "context of mesh context=2(1:3) has shares");
  });
}
}  // namespace
}  // namespace bora::laws::ring_attention_test
