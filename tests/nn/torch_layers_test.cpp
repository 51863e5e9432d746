// Layers of torch, Equinox and Flax users against torch (tests/golden/make_torch_layers.py), and what they refuse.
#include "bora/nn/attention.h"
#include "bora/nn/block_seq.h"
#include "bora/nn/identity.h"
#include "bora/nn/linear.h"
#include "bora/nn/mlp.h"
#include "bora/nn/pool.h"
#include "bora/nn/prelu.h"
#include "bora/nn/recurrent.h"
#include "bora/nn/sequential.h"
#include "bora/nn/spectral_norm.h"
#include "nn/golden.h"
#include "support/throws.h"

namespace bora::torch_layers_test {
namespace {
const Axis Rows{"batch", 2}, Position{"position", 3}, Embed{"embed", 8}, Heads{"heads", 2}, Size{"head_size", 4};
const Axis KeyPosition{"key_position", 3};
using bora::test::says;

// ---- MultiheadAttention ---------------------------------------------------------------------------------------------
nn::MultiheadAttention multihead(const NamedArray& q, const nn::AttentionInit& options = {}) {
  auto a = nn::MultiheadAttention::init(Embed, Heads, Size, random::key(0), options);
  auto of = [&](int k, const NamedArray& like) { return operand(k, Axes(like.axes())).astype(q.dtype()); };
  a.q.weight = q, a.k.weight = of(2, a.k.weight), a.v.weight = of(3, a.v.weight), a.out.weight = of(4, a.out.weight);
  a.q.bias = of(5, *a.q.bias), a.k.bias = of(6, *a.k.bias), a.v.bias = of(7, *a.v.bias);
  a.out.bias = of(8, *a.out.bias);
  if (a.learned_key) a.learned_key = of(10, *a.learned_key), a.learned_value = of(11, *a.learned_value);
  return a;
}
NamedArray not_padding() {
  auto b = broadcast_to(arange(Rows), {Rows, KeyPosition}), k = broadcast_to(arange(KeyPosition), {Rows, KeyPosition});
  return b == 1 || k < 2;
}
void attends(const std::string& name, const nn::AttentionMask& mask, const nn::AttentionInit& options = {},
             bool weights = false) {
  auto limits = [&](Dtype d) {
    auto m = mask;
    if (m.bias) m.bias = m.bias->astype(d);
    return m;
  };
  equals(name, {Rows, Position, Embed}, {Embed, Heads, Size}, [&](const NamedArray& x, const NamedArray& q) {
    return multihead(q, options)(x, limits(x.dtype()));
  });
  if (!weights) return;
  auto x = operand(0, {Rows, Position, Embed});
  auto a = multihead(operand(1, {Embed, Heads, Size}), options);
  auto w = a.weights(x, a.keys(x), mask);
  EXPECT_EQ(w.axes()[1], Heads);
  near(w.to_vector<double>(), golden(name + "_weights"), 1e-8, name + " weights");
}
TEST(MultiheadAttention, OfItself) {
  attends("mha_self", {}, {}, true);
  attends("mha_causal", {.causal = true});
  attends("mha_padding", {.explicit_mask = not_padding(), .bias = operand(14, {Position, KeyPosition})}, {}, true);
  attends("mha_more", {.causal = true, .explicit_mask = not_padding()}, {.learned_key = true, .zero_key = true}, true);
}
TEST(MultiheadAttention, OfAnotherSequence) {
  Axis five{"position", 5}, keys{"k", 6}, values{"v", 7}, key_position{"key_position", 5};
  auto last = named(array({2, 4}), Rows);
  auto seen = broadcast_to(arange(key_position), {Rows, key_position}) <= broadcast_to(last, {Rows, key_position});
  equals("mha_cross", {Rows, Position, Embed}, {Embed, Heads, Size}, [&](const NamedArray& x, const NamedArray& q) {
    auto a = multihead(q, {.key_embed = keys, .value_embed = values});
    auto d = x.dtype();
    return a(x, a.keys(operand(12, {Rows, five, keys}).astype(d), operand(13, {Rows, five, values}).astype(d)),
             {.explicit_mask = seen});
  });
}
TEST(MultiheadAttention, DecodingIsTheWholeSequence) {
  Axis six{"position", 6};
  for (bool more : {false, true}) {
    auto a = nn::MultiheadAttention::init(Embed, Heads, Size, random::key(3),
                                          {.value_size = Axis{"value_size", 5}, .learned_key = more, .zero_key = more});
    auto x = random::normal(random::key(1), {six, Rows, Embed});
    auto want = a(x, {.causal = true});
    auto step = jit([](const nn::MultiheadAttention& m, const NamedArray& part, const nn::KeyValues& kv,
                       const Array& seen) { return m.decode(part, kv, seen); });
    auto cache = a.cache(Rows, 7);
    std::int64_t seen = 0;
    for (std::int64_t n : {3, 1, 1, 1}) {
      auto part = x[{"position", range(seen, seen + n)}];
      auto [y, next] = step(a, part, cache, array(seen).astype(i32));
      EXPECT_EQ(y.axes(), part.axes());
      EXPECT_TRUE(allclose(y.array(), want[{"position", range(seen, seen + n)}].array(), 1e-5, 1e-6)) << seen;
      cache = next, seen += n;
    }
  }
}
TEST(MultiheadAttention, RowsThatSeeNothingAndArgumentsThatDoNotFit) {
  auto a = multihead(operand(1, {Embed, Heads, Size}));
  auto x = operand(0, {Rows, Position, Embed});
  auto y = a(x, {.explicit_mask = zeros(KeyPosition, boolean)});
  EXPECT_TRUE(allclose(y.array(), broadcast_to(*a.out.bias, Axes(y.axes())).array()));
  EXPECT_EQ(a(zeros({Rows, Position.resize(0), Embed}, f64)).size(), 0);
  says<AxisError>([&] { return a(x[{Position, 0}]); }, "has no axis 'position'");
  auto other = ones(Axis{"other", 3}, boolean);
  says<AxisError>([&] { return a(x, {.explicit_mask = other}); }, "the mask {other:3} has axis 'other'");
  says<AxisError>([&] { return a(x, nn::KeyValues{x, x}); }, "make them with keys(sequence)");
  says<AxisError>([&] { return a.keys(operand(0, {Rows, Embed})); }, "has no axis 'position'");
}
TEST(MultiheadAttention, DropoutIsOfTheWeights) {
  auto a = nn::MultiheadAttention::init(Embed, Heads, Size, random::key(3), {.dropout = 0.5});
  auto x = random::normal(random::key(1), {Rows, Position, Embed});
  EXPECT_FALSE(allclose(a(x, {}, random::key(1)).array(), a(x).array()));
  EXPECT_TRUE(array_equal(a(x, {}, random::key(1)).array(), a(x, {}, random::key(1)).array()));
}

// ---- others ---------------------------------------------------------------------------------------------------------
TEST(AdaptivePools, AreTorchsAndEquinoxs) {
  auto axis = [](const char* name, std::int64_t n) { return Axis{name, n}; };
  auto image = operand(0, {Rows, axis("h", 5), axis("w", 7), axis("c", 3)});
  std::vector<Axis> two{axis("h", 2), axis("w", 3)}, three{axis("d", 3), axis("h", 2), axis("w", 2)};
  auto is = [](const NamedArray& y, const std::string& name) { near(y.to_vector<double>(), golden(name), 1e-9, name); };
  is(nn::AdaptiveAvgPool{two}(image), "adaptive_avg");
  is(nn::AdaptiveMaxPool{two}(image), "adaptive_max");
  is(nn::AdaptiveAvgPool{{axis("h", 5)}}(operand(0, {Rows, axis("h", 3), axis("c", 3)})), "adaptive_longer");
  is(nn::AdaptiveMaxPool{three}(operand(0, {axis("b", 1), axis("d", 4), axis("h", 5), axis("w", 3), axis("c", 2)})),
     "adaptive_3");
  is(nn::AdaptiveAvgPool{{axis("h", 3)}, nn::AdaptiveWindows::split}(operand(0, {Rows, axis("h", 7), axis("c", 3)})),
     "adaptive_split");
  // An infinite number stays in its window.
  auto inf = at(image, {{"h", 4}, {"w", 6}}).set(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(nn::AdaptiveAvgPool{two}(inf)[{{"h", 0}, {"w", 0}}].to_vector<double>()[0]));
  says<AxisError>([&] { return nn::AdaptiveAvgPool{{axis("d", 2)}}(image); }, "has no axis 'd'");
  says<ShapeError>([&] { return nn::AdaptiveAvgPool{{axis("h", 0)}}(image); }, "in 0 windows");
  says<ShapeError>([&] { return nn::AdaptiveMaxPool{{axis("h", 6)}, nn::AdaptiveWindows::split}(image); },
                   "fewer than 6 windows");
}
TEST(TorchLayers, Prelu) {
  equals("prelu", {Rows, Position, Axis{"c", 4}}, Axis{"c", 4},
         [](const NamedArray& x, const NamedArray& w) { return nn::Prelu{w}(x); });
  says<AxisError>([] { return nn::Prelu::init(Axis{"c", 4})(zeros(Rows)); }, "has no axis 'c'");
}
const Axis In{"in", 4}, Out{"out", 5};
TEST(TorchLayers, WeightNorm) {
  equals("weight_norm", {Rows, In}, {In, Out}, [](const NamedArray& x, const NamedArray& w) {
    nn::WeightNorm<nn::Linear> l{{w, none, {In}, {Out}}, (operand(2, Out) + 2).astype(w.dtype())};
    return l(x);
  });
  auto linear = nn::Linear::init(In, Out, random::key(0));
  auto x = random::normal(random::key(1), {Rows, In});
  EXPECT_TRUE(allclose(nn::WeightNorm<nn::Linear>::init(linear, Out)(x).array(), linear(x).array(), 1e-5, 1e-6));
  says<AxisError>([&] { return nn::WeightNorm<nn::Linear>::init(linear, Rows); }, "batch");
}
TEST(TorchLayers, SpectralNorm) {
  auto unit = [](const NamedArray& v) { return v / sqrt(sum(square(v))); };
  auto norm = [](const NamedArray& w) {
    return nn::SpectralNorm<nn::Linear>{{w, none, {In}, {Out}}, {Out}, {.iterations = 2}};
  };
  auto state = [&](Dtype d) {
    return nn::SpectralState{unit(operand(2, Out)).astype(d), unit(operand(3, In)).astype(d)};
  };
  equals("spectral_norm", {Rows, In}, {In, Out},
         [&](const NamedArray& x, const NamedArray& w) { return norm(w)(x, state(w.dtype())).first; });
  auto after = norm(operand(1, {In, Out}))(operand(0, {Rows, In}), state(f64)).second;
  auto got = after.left.to_vector<double>(), right = after.right.to_vector<double>();
  got.insert(got.end(), right.begin(), right.end());
  near(got, golden("spectral_state"), 1e-8, "state");
  // After many iterations the weight's largest singular value is 1.
  auto linear = nn::Linear::init(In, Out, random::key(2));
  auto l = nn::SpectralNorm<nn::Linear>::init(linear, Out, {.first_iterations = 200});
  auto w = nn::weight_of_spectrum(l.layer.weight, l.first_state(random::key(0)));
  EXPECT_NEAR(amax(linalg::svd(w.array()).s).item<double>(), 1, 1e-5);
  auto unchanged = l.first_state(random::key(0));
  auto again = l(operand(0, {Rows, In}).astype(f32), unchanged, nn::SpectralNormMode::infer).second;
  EXPECT_TRUE(array_equal(again.left.array(), unchanged.left.array()));
  says<AxisError>([&] { return nn::first_spectrum(w, {In, Out}, random::key(0), 1, 0).left; }, "needs axes of rows");
}
TEST(TorchLayers, Cells) {
  Axis in{"in", 3}, hidden{"hidden", 4}, time{"time", 5};
  auto run = [&](auto cell, int gates) {
    return [=](const NamedArray& x, const NamedArray& w) {
      auto c = cell;
      auto d = w.dtype();
      Axes out{Axis{"gate", gates}, hidden};
      c.input.weight = w, c.input.bias = operand(2, out).astype(d);
      c.recurrent.weight = operand(3, Axes(c.recurrent.weight.axes())).astype(d);
      if (c.recurrent.bias) c.recurrent.bias = operand(4, out).astype(d);
      return rearrange(nn::unroll(c, x, time, c.start(Rows)).first, {"batch", "time", "hidden"});
    };
  };
  auto k = random::key(0);
  equals("simple_rnn", {Rows, time, in}, {in, Axis{"gate", 1}, hidden}, run(nn::SimpleCell::init(in, hidden, k), 1));
  equals("mgu", {Rows, time, in}, {in, Axis{"gate", 2}, hidden}, run(nn::MguCell::init(in, hidden, k), 2));
}
TEST(TorchLayers, FeedForward) {
  Axis width{"mlp", 5}, result{"result", 3};
  equals("deep_mlp", {Rows, In}, {In, width}, [&](const NamedArray& x, const NamedArray& w) {
    auto m = nn::DeepMlp::init(In, result, width, 2, random::key(0),
                               {nn::Activation::tanh, nn::activation("logistic")});
    for (int i = 0; i < 3; ++i) {
      auto& l = m.layers.at(static_cast<std::size_t>(i));
      l.weight = i == 0 ? w : operand(i + 1, Axes(l.weight.axes())).astype(w.dtype());
      l.bias = operand(i + 4, Axes(l.bias->axes())).astype(w.dtype());
    }
    return m(x);
  });
  says<ValueError>([&] { return nn::DeepMlp::init(In, result, width, -1, random::key(0)); }, "depth of -1");
  equals("dense_general", {Rows, Axis{"h", 3}, In}, {Axis{"h", 3}, In, Out},
         [&](const NamedArray& x, const NamedArray& w) {
           nn::DenseGeneral l{w, operand(2, {Axis{"h", 3}, Out}).astype(w.dtype()), {Axis{"h", 3}}, {In}, {Out}};
           return l(x);
         });
  says<AxisError>([&] { return nn::DenseGeneral::init(Rows, In, Out, random::key(0))(zeros(In)); }, "no axis 'batch'");
  says<AxisError>([&] { return nn::DenseGeneral::init(Rows, In, In, random::key(0)); }, "named twice");
}
TEST(TorchLayers, ActivationsByName) {
  auto x = operand(0, Axis{"n", 24}) * 4;
  for (int i = 0; i <= static_cast<int>(nn::Activation::sparse_sigmoid); ++i) {
    auto f = static_cast<nn::Activation>(i);
    auto name = std::string(nn::to_string(f));
    near(nn::activate(f, x).to_vector<double>(), golden("f_" + name), 1e-8, name);
  }
}
TEST(Sequential, IsTheCompositionAndSplitsItsKey) {
  auto keys = random::split<2>(random::key(0));
  auto up = nn::Linear::init(In, Out, keys[0]), down = nn::Linear::init(Out, In, keys[1]);
  auto net = nn::sequential(up, nn::lambda([](const NamedArray& x) { return tanh(x); }), nn::Dropout{0.5F}, down,
                            nn::Identity{});
  auto x = random::normal(random::key(1), {Rows, In});
  EXPECT_TRUE(array_equal(net(x).array(), down(tanh(up(x))).array()));
  auto third = view(random::split(random::key(7), 5), 2);
  EXPECT_TRUE(array_equal(net(x, random::key(7)).array(), down(nn::Dropout{0.5F}(tanh(up(x)), third)).array()));
  EXPECT_TRUE(array_equal(jit(net)(x).array(), net(x).array()));
  auto loss = [&](const auto& n) { return sum(square(n(x))); };
  EXPECT_TRUE(allclose(std::get<0>(grad(loss)(net).layers).weight.array(),
                       grad([&](const nn::Linear& l) { return sum(square(down(tanh(l(x))))); })(up).weight.array()));
}
struct Block {
  nn::Linear up;
  static Block init(const Axis& embed, const Axis& hidden, const Array& key) {
    return {nn::Linear::init(embed, hidden, key)};
  }
  NamedArray operator()(const NamedArray& x, const NamedArray& scale) const {
    return x + rename(tanh(up(x)), {{up.out.front().name, "in"}}) * scale;
  }
};
TEST(BlockSeq, GivesTheNumbersOfStacked) {
  Axis layers{"layers", 3}, hidden{"hidden", 4};
  auto keys = random::split(random::key(5), 3);
  auto list = nn::BlockSeq<Block>::init(layers, In, hidden, nn::per_layer(keys));
  auto stack = nn::Stacked<Block>::init(layers, In, hidden, nn::per_layer(keys));
  EXPECT_EQ(tree::paths(list).front(), "blocks.0.up.weight");
  auto scale = random::normal(random::key(9), {In, layers});
  auto x = random::normal(random::key(1), {Rows, In});
  auto equal = [](const NamedArray& a, const NamedArray& b) {
    return allclose(a.array(), aligned(b, a.axes()).array(), 1e-6, 1e-6);
  };
  EXPECT_TRUE(equal(nn::fold(list, x)(nn::per_layer(scale)), nn::fold(stack, x)(nn::per_layer(scale))));
  for (bool reverse : {false, true}) {
    auto f = [](const Block& b, const NamedArray& v, const NamedArray& s) { return std::pair{b(v, s), sum(v, In)}; };
    auto [y, each] = nn::scan(list, f, x, {.reverse = reverse})(nn::per_layer(scale));
    auto [z, all] = nn::scan(stack, f, x, {.reverse = reverse})(nn::per_layer(scale));
    EXPECT_TRUE(equal(y, z) && equal(each, all)) << reverse;
  }
  auto loss = [&](const auto& l) { return sum(square(nn::fold(l, x)(nn::per_layer(scale)))); };
  auto a = grad(loss)(list), b = nn::unstacked(grad(loss)(stack));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(equal(a.blocks[i].up.weight, b.blocks[i].up.weight)) << i;
  EXPECT_TRUE(equal(nn::stacked(list).layer.up.weight, stack.layer.up.weight));
  EXPECT_TRUE(equal(nn::unstacked(stack).blocks[2].up.weight, list.blocks[2].up.weight));
  auto unlike = list;
  unlike.blocks[1] = Block::init(In, hidden.resize(5), random::key(0));
  says<ValueError>([&] { return nn::stacked(unlike).layer.up.weight; }, "the layers differ");
  unlike.blocks.pop_back();
  says<ValueError>([&] { return nn::fold(unlike, x)(nn::per_layer(scale)); }, "a BlockSeq of 2 layers along axis");
}
}  // namespace
}  // namespace bora::torch_layers_test
