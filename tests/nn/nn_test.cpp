#include <gtest/gtest.h>
#include <cmath>
#include "bora/bora.h"
#include "bora/nn/layers.h"
#include "bora/nn/loss.h"
#include "bora/nn/policy.h"
#include "bora/nn/stacked.h"
#include "bora/ops/contractions.h"
#include "support/throws.h"

namespace bora::nn_test {
namespace {
const Axis Batch{"batch", 2}, Position{"position", 5}, Embed{"embed", 8}, Layers{"layers", 3};
NamedArray input(int seed = 1) { return random::normal(random::key(seed), {Batch, Position, Embed}); }

TEST(Layers, LinearOverSeveralAxes) {
  Axis heads{"heads", 2}, size{"head_size", 4};
  auto l = nn::Linear::init(Embed, {heads, size}, random::key(0));
  auto y = l(input());
  EXPECT_EQ(y.axes(), (std::vector<Axis>{Batch, Position, heads, size}));
  auto back = nn::Linear::init({heads, size}, Embed, random::key(1));
  EXPECT_EQ(back(y).axes(), (std::vector<Axis>{Batch, Position, Embed}));
  EXPECT_EQ(tree::paths(l), (std::vector<std::string>{"weight", "bias"}));
  auto bare = nn::Linear::init(Embed, heads, random::key(1), {.use_bias = false});
  EXPECT_EQ(tree::paths(bare), (std::vector<std::string>{"weight"}));
  EXPECT_EQ(bare(input()).axes().back(), heads);
}
TEST(Layers, LinearKnowsItsAxes) {
  Axis heads{"heads", 2}, size{"head_size", 4};
  for (bool bias : {true, false}) {
    auto l = nn::Linear::init(Embed, {heads, size}, random::key(0), {.use_bias = bias});
    test::says<AxisError>([&] { return l(zeros(Axis{"other", 3})); },
         "Linear: the input {other:3} has no axis 'embed'; this layer maps {embed:8} to {heads:2, head_size:4}");
    test::says<AxisError>([&] { return l(zeros({Batch, heads, Embed})); },
                          "has axis 'heads' already; this layer maps {embed:8}");
    test::says<AxisError>([&] { return l(zeros({Batch, Axis{"embed", 5}})); },
                          "axis 'embed' has size 5 in {batch:2, embed:5} and 8 as given");
  }
  test::says<AxisError>([&] { return nn::Linear::init(Embed, {heads, Embed}, random::key(0)); },
                        "Linear: axis 'embed' is named twice");
}
TEST(Layers, InitialValuesAreOfTheirDistribution) {
  Axis in{"in", 50}, out{"out", 400};
  auto deviation = [&](const NamedArray& w) { return std::sqrt(mean(square(w)).item<double>()); };
  auto weight = [&](const nn::Init& init) { return nn::Linear::init(in, out, random::key(1), {init}).weight; };
  const double cut = 0.98658;  // of a standard normal distribution between -3 and 3
  EXPECT_NEAR(deviation(nn::Linear::init(in, out, random::key(0)).weight), cut / std::sqrt(50), 2e-3);
  EXPECT_NEAR(deviation(weight(nn::Init::fan_in(2))), 2 * cut / std::sqrt(50), 4e-3);
  EXPECT_NEAR(deviation(weight(nn::Init::normal(0.02))), 0.02, 4e-4);
  EXPECT_LT(amax(abs(weight(nn::Init::truncated_normal(0.02)))).item<double>(), 0.06);
  EXPECT_EQ(deviation(weight(nn::Init::ones())), 1);
  EXPECT_EQ(deviation(weight(nn::Init::zeros())), 0);
  EXPECT_NEAR(deviation(weight(nn::initializers::he_uniform())), std::sqrt(2. / 50), 4e-3);
  for (auto& init :
       {nn::Init::fan_in(2), nn::Init::lecun_normal(), nn::Init::normal(0.3), nn::initializers::he_normal()})
    EXPECT_TRUE(array_equal(weight(init).array(), init(random::key(1), {50, 400}))) << "by axes and by shape";
  EXPECT_NEAR(deviation(nn::Embedding::init(out, in, random::key(2)).weight), cut / 50, 4e-4);
}
TEST(Layers, EmbeddingsAreResized) {
  Axis vocab{"vocab", 300}, embed{"embed", 16};
  auto e = nn::Embedding::init(vocab, embed, random::key(2));
  auto same = [&](const nn::Embedding& other, std::int64_t n) {
    return array_equal(other.weight[{"vocab", range(0, n)}].array(), e.weight[{"vocab", range(0, n)}].array());
  };
  auto shorter = e.resize_embeddings(7), longer = e.resize_embeddings(500, random::key(3));
  EXPECT_EQ(shorter.weight.axes(), (std::vector<Axis>{vocab.resize(7), embed}));
  EXPECT_TRUE(same(shorter, 7));
  EXPECT_EQ(longer.weight.axes(), (std::vector<Axis>{vocab.resize(500), embed}));
  EXPECT_TRUE(same(longer, 300));
  auto more = longer.weight[{"vocab", range(300, 500)}];
  auto deviation = [](const NamedArray& w) { return std::sqrt(mean(square(w)).item<double>()); };
  EXPECT_NEAR(deviation(more) / deviation(e.weight), 1, 0.1);
  EXPECT_EQ(deviation(e.resize_embeddings(500).weight[{"vocab", range(300, 500)}]), 0);
  auto indices = named(array({0, 6}), Batch);
  EXPECT_TRUE(array_equal(shorter.embed(indices).array(), e.embed(indices).array()));
}
TEST(Layers, LayerNormHasMeanZeroAndVarianceOne) {
  auto y = nn::LayerNorm::init(Embed)(input() * 5 + 3);
  EXPECT_LT(amax(abs(mean(y, Embed))).item<float>(), 1e-5f);
  EXPECT_LT(amax(abs(var(y, Embed) - 1)).item<float>(), 1e-3f);
  EXPECT_EQ(nn::LayerNorm::init(Embed)(input().astype(bf16)).dtype(), bf16);
}
TEST(Layers, AttentionDoesNotLookAhead) {
  Axis heads{"heads", 2}, size{"head_size", 4};
  auto a = nn::Attention::init(Embed, heads, size, random::key(0));
  auto x = input();
  auto changed = at(x, {Position, 4}).set(7);
  auto before = a(x), after = a(changed);
  EXPECT_EQ(before.axes(), x.axes());
  auto early = range(0, 4);
  EXPECT_TRUE(array_equal(before[{"position", early}].array(), after[{"position", early}].array()));
  EXPECT_FALSE(array_equal(before.array(), after.array()));
  auto open = a(x, {.causal = false})[{Position, 0}];
  EXPECT_FALSE(allclose(open.array(), a(changed, {.causal = false})[{Position, 0}].array()));
}
TEST(Layers, AttentionHidesWhatTheMaskSays) {
  Axis heads{"heads", 2}, size{"head_size", 4};
  auto a = nn::Attention::init(Embed, heads, size, random::key(0));
  auto x = input(), changed = at(x, {Position, 1}).set(7);
  auto key_position = Position.alias(nn::kKeyPosition);
  auto same = [&](const nn::AttentionMask& mask, std::int64_t from, std::int64_t to) {
    auto rows = range(from, to);
    return array_equal(a(x, mask)[{"position", rows}].array(), a(changed, mask)[{"position", rows}].array());
  };
  auto n = Position.size;
  EXPECT_FALSE(same({}, 2, n));
  EXPECT_TRUE(same({.window = 2}, 3, n)) << "position 1 is seen by 1 and 2";
  EXPECT_FALSE(same({.window = 2}, 2, 3));
  for (int window : {0, -1}) EXPECT_THROW((void)a(x, {.window = window}), ValueError);
  EXPECT_TRUE(same({.causal = false, .segments = (arange(Position) >= 2).astype(i32)}, 2, n));
  auto past = broadcast_to(arange(key_position), {Position, key_position}) <=
              broadcast_to(arange(Position), {Position, key_position});
  EXPECT_TRUE(array_equal(a(x, {.causal = false, .explicit_mask = past}).array(), a(x).array()));
  auto none_at_all = a(x, {.explicit_mask = past && broadcast_to(arange(Position), {Position, key_position}) != 3});
  EXPECT_TRUE(allclose(none_at_all[{Position, 3}].array(),
                       broadcast_to(a.out.bias->array(), none_at_all[{Position, 3}].array().shape())));
}
TEST(Layers, HeadsThatShareKeysEqualHeadsWithCopies) {
  Axis heads{"heads", 2}, group{"group", 3}, size{"head_size", 4};
  auto keys = random::split<4>(random::key(1));
  auto make = [&](const Axes& out, const Array& key) {
    return nn::Linear::init(Embed, out, key, {nn::Init::normal(0.5)});
  };
  nn::Attention shared{make({heads, group, size}, keys[0]), make({heads, size}, keys[1]), make({heads, size}, keys[2]),
                       nn::Linear::init({heads, group, size}, Embed, keys[3], {nn::Init::normal(0.5)})};
  auto copied = shared;
  for (auto* l : {&copied.k, &copied.v}) {
    l->weight = broadcast_to(l->weight, {Embed, heads, group, size});
    l->bias = broadcast_to(*l->bias, {heads, group, size});
    l->out = {heads, group, size};
  }
  EXPECT_TRUE(allclose(shared(input()).array(), copied(input()).array(), 1e-5, 1e-6));
}
TEST(Layers, AttentionToGivenKeysAndByDecodingIsAttentionToItself) {
  Axis heads{"heads", 2}, group{"head_group", 3}, size{"head_size", 4};
  auto a = nn::Attention::init(Embed, heads, size, random::key(0),
                               {.group = group, .theta = 100., .norm_eps = 1e-6F, .soft_cap = 3.});
  auto x = input(), want = a(x, {.window = 3});
  EXPECT_TRUE(allclose(a(x, a.keys(x), {.causal = true, .window = 3}).array(), want.array(), 1e-5, 1e-6));
  EXPECT_TRUE(allclose(a(x, a.keys(x)).array(), a(x, {.causal = false}).array(), 1e-5, 1e-6));
  auto kv = a.cache(Batch, 7);
  std::int64_t seen = 0;
  for (std::int64_t n : {3, 1, 1}) {
    auto part = x[{"position", range(seen, seen + n)}];
    auto [y, next] = a.decode(part, kv, array(seen).astype(i32), {.window = 3});
    EXPECT_TRUE(allclose(y.array(), want[{"position", range(seen, seen + n)}].array(), 1e-5, 1e-6)) << seen;
    kv = next, seen += n;
  }
  auto segments = (arange(Position) >= 2).astype(i32);
  EXPECT_THROW((void)a.decode(x, kv, array(0), {.segments = segments}), ValueError);
  EXPECT_THROW((void)a(x, a.keys(x), {.key_segments = segments}), ValueError);
  auto learned = nn::Attention::init(Embed, heads, size, random::key(0), {.learned_key = true});
  EXPECT_THROW((void)learned(x, {.window = 2}), ValueError);
}
TEST(Layers, DropoutKeepsTheMeanAndNeedsAKey) {
  nn::Dropout d{0.25f};
  auto x = ones({Axis{"n", 20000}});
  EXPECT_TRUE(array_equal(d(x, none).array(), x.array()));
  auto y = d(x, random::key(0));
  EXPECT_NEAR(mean(y).item<float>(), 1, 0.02);
  EXPECT_NEAR(mean((y == 0).astype(f32)).item<float>(), 0.25, 0.02);
}
struct Layer {
  nn::Linear linear;
  static Layer init(const Axis& embed, const Array& key) {
    return {nn::Linear::init(embed, embed.alias("out"), key, {nn::Init::normal(0.3)})};
  }
  NamedArray operator()(const NamedArray& x, const NamedArray& scale) const {
    return x + rename(tanh(linear(x)), {{"out", "embed"}}) * scale;
  }
};
struct Matrix {
  NamedArray weight;
  NamedArray operator()(const NamedArray& x) const { return named(matmul(x.array(), weight.array()), x.axes()); }
};
TEST(Stacked, AnErrorInFoldNamesTheParameter) {
  nn::Stacked<Matrix> stack{{zeros({Layers, Axis{"in", 7}, Axis{"out", 8}})}, Layers};
  auto text = test::error_and_line_of<ShapeError>([&] { (void)nn::fold(stack, input())(); });
  EXPECT_NE(text.find("(weight, "), std::string::npos) << text;
}
TEST(Stacked, FoldIsALoopOverLayers) {
  auto keys = random::split(random::key(5), 3);
  auto stack = nn::Stacked<Layer>::init(Layers, Embed, nn::per_layer(keys));
  EXPECT_EQ(stack.layer.linear.weight.axes().front(), Layers);
  auto scale = random::normal(random::key(9), {Layers, Embed});
  auto by_loop = [&](const nn::Stacked<Layer>& s, const NamedArray& x) {
    auto y = x;
    for (int i = 0; i < 3; ++i) {
      auto one = s.layer;
      one.linear.weight = one.linear.weight[{"layers", i}];
      one.linear.bias = (*one.linear.bias)[{"layers", i}];
      y = one(y, scale[{"layers", i}]);
    }
    return y;
  };
  for (int i = 0; i < 3; ++i) {
    auto one = Layer::init(Embed, view(keys, i));
    EXPECT_TRUE(array_equal(one.linear.weight.array(), stack.layer.linear.weight[{"layers", i}].array()))
        << "layer " << i << " is what its key gives";
  }
  auto x = input();
  auto y = nn::fold(stack, x)(nn::per_layer(scale));
  EXPECT_TRUE(allclose(y.array(), by_loop(stack, x).array(), 1e-6));
  auto loss = [&](bool folded) {
    return [&, folded](const nn::Stacked<Layer>& s) {
      return mean(square(folded ? nn::fold(s, x, {.checkpoint = remat::nothing})(nn::per_layer(scale)) : by_loop(s, x)))
          .array();
    };
  };
  auto a = grad(loss(true))(stack), b = grad(loss(false))(stack);
  EXPECT_TRUE(allclose(a.layer.linear.weight.array(), b.layer.linear.weight.array(), 1e-5));
}
TEST(Loss, CrossEntropyIsMinusLogSoftmaxAtTheTarget) {
  Axis vocab{"vocab", 7};
  auto scores = random::normal(random::key(2), {Batch, vocab}) * 3;
  auto targets = named(array({6, 0}), Batch);
  auto l = nn::cross_entropy(scores, vocab, targets).to_vector<double>();
  auto p = log_softmax(scores, vocab);
  EXPECT_NEAR(l[0], (-p[{{"batch", 0}, {"vocab", 6}}]).item<double>(), 1e-5);
  EXPECT_NEAR(l[1], (-p[{{"batch", 1}, {"vocab", 0}}]).item<double>(), 1e-5);
  EXPECT_TRUE(std::isnan(nn::cross_entropy(scores, vocab, named(array({7, 0}), Batch)).to_vector<double>()[0]));
}
TEST(PolicyText, ParsesWhatJmpWrites) {
  auto p = Policy::parse("p=f32,c=bf16,o=f32");
  EXPECT_EQ(p.compute, bf16);
  EXPECT_EQ(Policy::parse("params=float32,compute=bfloat16,output=float32"), p);
  EXPECT_EQ(Policy::parse("bf16").parameter, bf16);
  EXPECT_EQ(Policy::parse(to_string(p)), p);
  for (auto bad : {"", "p", "q=f32", "p=f31", "i32", "p=i32", "p=f32,p=bf16", "c=f32,compute=f32"})
    EXPECT_THROW((void)Policy::parse(bad), ConfigError) << bad;
}
}  // namespace
}  // namespace bora::nn_test
