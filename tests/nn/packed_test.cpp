// Weights of 8 and 4 bits in layers: near the layer of numbers, the same staged and in stacks, on meshes as on one
// rank.
#include <gtest/gtest.h>
#include "bora/fx/grad.h"
#include "bora/fx/jit.h"
#include "bora/nn/adapters.h"
#include "bora/nn/layers.h"
#include "bora/nn/stacked.h"
#include "bora/random/random.h"
#include "bora/shard/shard.h"
#include "support/throws.h"

namespace bora::packed_test {
namespace {
using nn::WeightFormat;
const Axis Batch{"batch", 5}, Embed{nn::kEmbed, 64}, Mlp{nn::kMlp, 128}, Heads{nn::kHeads, 4}, Size{nn::kHeadSize, 32},
    Vocab{nn::kVocab, 45};
const WeightFormat kFormats[] = {{8, 32}, {4, 32}, {4, 128}};
std::vector<float> list(const NamedArray& x) { return x.to_vector<float>(); }
double distance(const NamedArray& a, const NamedArray& b) {
  auto d = aligned(a, b.axes()) - b;
  return std::sqrt(sum(d * d).item<double>() / sum(b * b).item<double>());
}
template <class L> L packed(L layer, const WeightFormat& f) {
  nn::pack(layer, f);
  return layer;
}
NamedArray input(const Axes& axes) { return random::normal(random::key(9), axes); }

TEST(Packed, LayersAreNearThoseOfNumbers) {
  for (auto f : kFormats) {
    double most = f.bits == 8 ? 0.012 : 0.13;
    for (bool out_first : {false, true}) {
      auto up = nn::Linear::init(Embed, {Heads, Size}, random::key(1), {.out_first = out_first});
      auto down = nn::Linear::init({Heads, Size}, Embed, random::key(2), {.use_bias = false, .out_first = out_first});
      auto x = input({Batch, Embed}), y = up(x);
      EXPECT_LT(distance(packed(up, f)(x), y), most) << to_string(f);
      EXPECT_LT(distance(packed(down, f)(y), down(y)), most) << to_string(f);
      EXPECT_EQ(packed(up, f)(x).axes(), y.axes());
      auto w = packed(up, f);
      auto back = w.packed->unpack(w.weight);
      EXPECT_LT(distance(back, up.weight), most);
      EXPECT_GT(distance(back, up.weight), most / 20);
      w.bias = none;
      EXPECT_EQ(w(x.astype(bf16)).dtype(), bf16);
    }
    auto words = nn::Embedding::init(Vocab, Embed, random::key(3));
    auto table = packed(words, f);
    auto all = table.packed->unpack(table.weight);
    EXPECT_LT(distance(all, words.weight), most);
    auto ids = (arange(Batch) * 11) % 45;
    EXPECT_EQ(list(table.embed(ids)), list(take(all, nn::kVocab, ids)));
    auto x = input({Batch, Embed});
    EXPECT_LT(distance(table.unembed(x), words.unembed(x)), most);
    EXPECT_EQ(list(nn::Head::of(none, table)(x)), list(table.unembed(x)));
    EXPECT_EQ(nn::Head::of(none, table).vocab(), Vocab);
  }
}
TEST(Packed, StagedAndInStacksAsDirectly) {
  Axis layers{nn::kLayers, 3};
  for (auto f : kFormats) {
    auto keys = random::split(random::key(4), 3);
    auto stack = nn::Stacked<nn::Linear>::init(layers, Embed, Axis{"other", 64}, nn::per_layer(keys));
    auto x = input({Batch, Embed}), want = x;
    auto step = [](const nn::Linear& l, const NamedArray& v) { return rename(l(v), {{"other", nn::kEmbed}}); };
    for (std::int64_t i = 0; i < 3; ++i) {
      auto l = stack.layer;
      l.weight = l.weight[{nn::kLayers, i}];
      l.bias = (*l.bias)[{nn::kLayers, i}];
      want = step(packed(l, f), want);
    }
    nn::pack(stack.layer, f);
    auto folded = [&](const nn::Stacked<nn::Linear>& s, const NamedArray& v) {
      auto one = [&](const nn::Linear& l, const NamedArray& y) {
        return std::pair<NamedArray, std::nullopt_t>(step(l, y), none);
      };
      return nn::scan(s, one, v)().first;
    };
    EXPECT_EQ(list(folded(stack, x)), list(want));
    EXPECT_EQ(list(jit(folded)(stack, x)), list(want));
  }
}
TEST(Packed, OnMeshesAsOnOneRank) {
  AxisMapping tp({{nn::kHeads, "model"}, {nn::kMlp, "model"}, {nn::kVocab, "model"}, {"batch", "data"}});
  auto up = nn::Linear::init(Embed, Mlp, random::key(1)), down = nn::Linear::init(Mlp, Embed, random::key(2)),
       out = nn::Linear::init({Heads, Size}, Embed, random::key(5));
  auto x = input({Batch, Embed}), heads = input({Batch, Heads, Size});
  auto ids = (arange(Batch) * 11) % 45;
  auto all = [](const nn::Linear& u, const nn::Linear& d, const nn::Linear& o, const nn::Embedding& e,
                const NamedArray& v, const NamedArray& h, const NamedArray& i) {
    return std::vector{d(u(v)), u(v), o(h), e.embed(i), nn::Head::of(none, e)(v)};
  };
  for (auto f : kFormats)
    for (Axis vocab : {Vocab, Axis{nn::kVocab, 96}}) {
      auto words = nn::Embedding::init(vocab, Embed, random::key(3));
      auto want = all(packed(up, f), packed(down, f), packed(out, f), packed(words, f), x, heads, ids);
      for (int ranks : {2, 3, 4})
        local_mesh({{"data", ranks == 4 ? 2 : 1}, {"model", ranks == 4 ? 2 : ranks}}, [&](const Mesh&) {
          UseMapping split(tp);
          auto mine = [&](auto layer) { return packed(sharded(layer, tp), f); };
          auto u = mine(up), d = mine(down), o = mine(out);
          auto e = mine(words);
          for (bool staged : {false, true}) {
            auto got = staged ? jit(all)(u, d, o, e, x, heads, ids) : all(u, d, o, e, x, heads, ids);
            for (std::size_t i = 0; i < got.size(); ++i)
              EXPECT_LT(distance(NamedArray(gather(got[i].array()), got[i].axes()), want[i]), 1e-6)
                  << i << " on " << ranks << " " << to_string(f);
          }
        });
    }
}
TEST(Packed, HasTheDerivativeOfItsNumbers) {
  auto p = packed(nn::Linear::init(Embed, Mlp, random::key(1)), {}), numbers = p;
  numbers.weight = p.packed->unpack(p.weight);
  numbers.packed.reset();
  auto x = input({Batch, Embed});
  auto of = [&](const nn::Linear& l) { return grad([&](const NamedArray& v) { return sum(l(v)); })(x); };
  EXPECT_TRUE(allclose(of(p).array(), of(numbers).array(), 1e-5, 1e-5));
}
TEST(Packed, SaysWhatItDoesNotDo) {
  auto l = nn::Linear::init(Embed, Mlp, random::key(1));
  auto p = packed(l, {});
  test::says<ValueError>([&] { return packed(p, {}); }, "packed already, in int8");
  nn::add_adapter(l, {.rank = 2}, random::key(2));
  test::says<ValueError>([&] { return packed(l, {}); }, "merge it first");
  EXPECT_EQ(WeightFormat::parse("int4:128"), (WeightFormat{4, 128}));
  for (auto word : {"int4", "int8", "int4:128"}) EXPECT_EQ(to_string(WeightFormat::parse(word)), word);
  test::says<ConfigError>([&] { return WeightFormat::parse("int3"); }, "there are int8, int4 and int4:128");
}
}  // namespace
}  // namespace bora::packed_test
