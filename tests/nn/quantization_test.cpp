// Products of 8-bit numbers against Haliax (tests/golden/make_quantization.py), and state that gradients overwrite.
#include "bora/nn/quantization.h"
#include "bora/io/tree.h"
#include "bora/optim/overwrite.h"
#include "nn/golden.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace bora::quantization_test {
namespace {
using nn::Float8, nn::Fp8DotGeneralOp, nn::Int8DotGeneralOp, nn::Quantization;
const Axis Batch{"batch", 4}, In{"in", 6}, Out{"out", 5};

TEST(Float8, RoundsAsAConversionAndBack) {
  for (auto [format, name] : {std::pair{Float8::e4m3fn, "e4m3fn"}, {Float8::e5m2, "e5m2"}}) {
    auto f = format;
    auto numbers = [](const std::string& of) {
      auto v = golden(of);
      return asarray(v, {static_cast<std::int64_t>(v.size())}).astype(f32);
    };
    auto x = numbers(std::string(name) + "_x");
    auto want = numbers(name).to_vector<double>();
    for (auto d : {f32, f64}) {
      auto v = x.astype(d);
      EXPECT_EQ(nn::round_to(f, v).to_vector<double>(), want) << name;
      EXPECT_EQ(jit([f](const Array& a) { return nn::round_to(f, a); })(v).to_vector<double>(), want) << name;
    }
    for (auto d : {bf16, f16}) {  // their own numbers, rounded
      auto v = x.astype(d);
      EXPECT_EQ(nn::round_to(f, v).to_vector<double>(), nn::round_to(f, v.astype(f64)).to_vector<double>()) << name;
    }
  }
  EXPECT_TRUE(std::isnan(nn::round_to(Float8::e5m2, array(std::nan(""))).item<double>()));
  EXPECT_EQ(nn::round_to(Float8::e4m3fn, array(-HUGE_VAL)).item<double>(), -448);
  EXPECT_THROW(nn::round_to(Float8::e5m2, array({1, 2})), DtypeError);
}

const Fp8DotGeneralOp& fp8(const nn::Linear& l) { return std::get<Fp8DotGeneralOp>(*l.dot_general); }
NamedArray numbers(const std::string& name, const Axes& axes) {
  return named(asarray(golden(name), shape_of(axes.list())), axes).astype(f32);
}
std::vector<double> list(const NamedArray& x) { return x.to_vector<double>(); }
/// Six steps of a layer in fp8, whose history of three wraps around.
void follows_haliax(const std::string& name, std::optional<Dtype> compute, double tolerance, bool staged) {
  nn::Linear l{operand(1, {In, Out}).astype(f32), none, {In}, {Out}};
  nn::quantize(l, {.amax_history_length = 3, .compute_dtype = compute});
  for (int step = 0; step < 6; ++step) {
    auto what = name + "_" + std::to_string(step) + "_";
    auto x = operand(10 + step, {Batch, In}).astype(f32) * (1 + step % 4),
         dy = operand(20 + step, {Batch, Out}).astype(f32) * 0.01 * (1 + step % 3);
    auto y = l(x);
    EXPECT_EQ(y.dtype(), compute.value_or(f32));
    near(list(y), golden(what + "y"), tolerance, what + "y");
    auto loss = [&](const std::pair<nn::Linear, NamedArray>& p) { return sum(p.first(p.second) * dy); };
    auto g = staged ? jit(grad(loss))(std::pair{l, x}) : grad(loss)(std::pair{l, x});
    near(list(g.second), golden(what + "dx"), tolerance, what + "dx");
    near(list(g.first.weight), golden(what + "dw"), tolerance, what + "dw");
    auto& next = fp8(g.first);
    auto state = [&](const std::string& field, const NamedArray& now) {
      auto got = list(now), want = golden(what + field);
      ASSERT_EQ(got.size(), want.size()) << what << field;
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-6 * std::abs(want[i])) << what << field << " " << i;
    };
    state("input_scale", next.input_scale);
    state("output_grad_scale", next.output_grad_scale);
    state("kernel_scale", next.kernel_scale);
    state("input_amax_history", next.input_amax_history);
    state("output_grad_amax_history", next.output_grad_amax_history);
    state("kernel_amax_history", next.kernel_amax_history);
    l.dot_general = g.first.dot_general;
    l.weight = l.weight - numbers(what + "dw", {In, Out}) * 0.1;
  }
}
TEST(Fp8, FollowsHaliax) {
  follows_haliax("fp8", none, 1e-6, false);
  follows_haliax("fp8", none, 1e-6, true);
  follows_haliax("fp8_bf16", bf16, 0.01, false);
}
TEST(Int8, FollowsHaliax) {
  Axis rows{"rows", 2};
  for (auto [name, d, tolerance] : {std::tuple{"int8", f32, 2e-6}, {"int8_bf16", bf16, 0.01}}) {
    auto values = operand(3, {rows, Batch, In}).to_vector<double>();
    std::fill_n(values.begin() + 6 * 6, 6, 0.0);
    auto x = named(asarray(values, Shape{2, 4, 6}), {rows, Batch, In}).astype(d);
    auto dy = operand(5, {rows, Batch, Out}).astype(d);
    nn::Linear l{operand(4, {In, Out}).astype(d), none, {In}, {Out}};
    nn::quantize(l, {.type = Quantization::int8});
    near(list(l(x)), golden(std::string(name) + "_y"), tolerance, name);
    auto loss = [&](const std::pair<nn::Linear, NamedArray>& p) { return sum((p.first(p.second) * dy).astype(f32)); };
    for (auto& g : {grad(loss)(std::pair{l, x}), jit(grad(loss))(std::pair{l, x})}) {
      near(list(g.second), golden(std::string(name) + "_dx"), tolerance, name);
      near(list(g.first.weight), golden(std::string(name) + "_dw"), tolerance, name);
    }
  }
}
TEST(Int8, SumsOfProductsAreExact) {
  Axis in{"in", 3000};  // more terms than f32 holds
  auto x = operand(1, {Batch, in}), w = operand(2, {in, Out});
  auto y = Int8DotGeneralOp{}(x, w, in);
  auto rounded = [](const NamedArray& v) {
    auto scale = amax(abs(v), "in") / 127.5;
    return std::pair{rint(clip(v * reciprocal(scale), -127, 127)).astype(i32), scale};
  };
  auto [a, a_scale] = rounded(x);
  auto [b, b_scale] = rounded(w);
  EXPECT_EQ(list(y), list(dot(a, b, in).astype(f64) * a_scale * b_scale));
}
TEST(Int8, RandomRoundingOfGradientsHasTheRightMean) {
  auto x = operand(1, {Batch, In}), dy = operand(3, {Batch, Out});
  nn::Linear exact{operand(2, {In, Out}), none, {In}, {Out}}, l = exact;
  nn::quantize(l, {.type = Quantization::int8});
  auto slope = [&](const nn::Linear& layer) {
    return grad([&](const NamedArray& v) { return sum(layer(v) * dy); })(x);
  };
  EXPECT_EQ(list(slope(l)), list(slope(l)));
  std::vector<NamedArray> drawn;
  for (int i = 0; i < 200; ++i) drawn.push_back(slope(nn::draw_rounding(l, random::key(i))));
  EXPECT_NE(list(drawn[0]), list(drawn[1]));
  auto average = mean(stack(Axis{"draw", 200}, drawn), "draw");
  auto scale = amax(abs(exact.weight), "out") / 127.5;
  auto kernel = rint(clip(exact.weight / scale, -127, 127)) * scale;
  near(list(average), list(dot(dy, kernel, Out)), 0.008, "mean");  // the largest gradient is always rounded down
  std::get<Int8DotGeneralOp>(*l.dot_general).quantize_gradient = false;
  EXPECT_EQ(list(slope(l)), list(slope(exact)));
}
/// Gradients pass the rounding: they are near those of the product that is not rounded.
TEST(Quantized, GradientsAreNearThoseOfTheProduct) {
  auto x = operand(1, {Batch, In}), dy = operand(3, {Batch, Out});
  nn::Linear exact{operand(2, {In, Out}), none, {In}, {Out}};
  auto slopes = [&](const nn::Linear& layer) {
    auto g = grad([&](const std::pair<NamedArray, NamedArray>& p) {
      auto l = layer;
      l.weight = p.second;
      return sum(l(p.first) * dy);
    })(std::pair{x, layer.weight});
    auto r = list(g.first), more = list(g.second);
    r.insert(r.end(), more.begin(), more.end());
    return r;
  };
  for (auto [type, tolerance] : {std::pair{Quantization::fp8, 0.25}, {Quantization::int8, 0.03}}) {
    auto l = exact;
    nn::quantize(l, {.type = type});
    EXPECT_NE(slopes(l), slopes(exact));
    near(slopes(l), slopes(exact), tolerance, "gradients");
  }
}

// ---- layers of a tree -----------------------------------------------------------------------------------------------
struct Block {
  nn::Linear up, down;
  static Block init(const Array& key) {
    auto keys = random::split<2>(key);
    return {nn::Linear::init(In, Out, keys[0]), nn::Linear::init(Out, In, keys[1])};
  }
  NamedArray operator()(const NamedArray& x) const { return x + down(up(x)); }
};
using Stack = nn::Stacked<Block>;
const Axis Layers{"layers", 3};
Stack stack() { return Stack::init(Layers, nn::per_layer(random::split(random::key(0), 3))); }
using bora::test::error_of;
TEST(QuantizeLinearLayers, Targets) {
  auto which = [](const nn::QuantizationTargets& targets) {
    auto q = nn::quantize_linear_layers(stack(), {.targets = targets, .amax_history_length = 7}).layer;
    return std::pair{q.up.dot_general.has_value(), q.down.dot_general.has_value()};
  };
  using Both = std::pair<bool, bool>;
  EXPECT_EQ(which({}), Both(true, true));
  EXPECT_EQ(which({"up"}), Both(true, false));
  EXPECT_EQ(which({"up", "down"}), Both(true, true));
  EXPECT_EQ(which({"layer.d*"}), Both(false, true));
  EXPECT_EQ(which("layer.(up|left)"), Both(true, false));
  EXPECT_EQ(which("layer"), Both(true, true));
  EXPECT_EQ(error_of<ValueError>([&] { which({"up", "left"}); }),
            "QuantizationTargets: no linear layer is 'left'; there are layer.up, layer.down");
  EXPECT_EQ(error_of<ValueError>([&] { which("up"); }),
            "QuantizationTargets: 'up' matches no linear layer; there are layer.up, layer.down");
  EXPECT_EQ(error_of<ValueError>([&] { which("(up"); }),
            "QuantizationTargets: '(up' is no regular expression (ECMAScript)");
  EXPECT_EQ(error_of<ValueError>([&] { nn::quantize_linear_layers(stack(), {.amax_history_length = 0}); }),
            "Fp8DotGeneralOp: amax_history_length must be 1 or more, got 0");
  EXPECT_EQ(error_of<ValueError>([&] { (void)nn::quantize_linear_layers(operand(0, In)); }),
            "quantize_linear_layers: there is no linear layer");
}
TEST(QuantizeLinearLayers, AStackHasAStateForEachLayer) {
  auto all = nn::quantize_linear_layers(stack(), {.amax_history_length = 7});
  auto& op = fp8(all.layer.up);
  EXPECT_EQ(op.input_scale.axes(), std::vector<Axis>{Layers});
  EXPECT_EQ(op.kernel_amax_history.axes(), (std::vector<Axis>{Layers, {"amax_history", 7}}));
  auto x = operand(5, {Batch, In}).astype(f32);
  auto loss = [&](const Stack& s) { return sum(square(nn::fold(s, x)())); };
  // The layers one after the other, in a loop.
  auto apart = [&](const std::vector<Block>& blocks) {
    auto v = x;
    for (auto& b : blocks) v = b(v);
    return sum(square(v));
  };
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < Layers.size; ++i) {
    auto b = Block::init(view(random::split(random::key(0), 3), i));
    blocks.push_back(nn::quantize_linear_layers(b, {.amax_history_length = 7}));
  }
  auto want = grad(apart)(blocks);
  for (auto& g : {grad(loss)(all), jit(grad(loss))(all)})
    for (std::int64_t i = 0; i < Layers.size; ++i) {
      auto one = [&](const NamedArray& a) { return list(a[{"layers", i}]); };
      auto& b = want[static_cast<std::size_t>(i)];
      near(one(fp8(g.layer.down).input_amax_history), list(fp8(b.down).input_amax_history), 1e-6, "history");
      near(one(fp8(g.layer.up).output_grad_amax_history), list(fp8(b.up).output_grad_amax_history), 1e-6, "gradients");
      near(one(g.layer.up.weight), list(b.up.weight), 1e-5, "weight");
    }
}

TEST(QuantizeLinearLayers, AStackOfInt8DrawsInEachLayer) {
  auto all = nn::quantize_linear_layers(stack(), {.type = Quantization::int8});
  EXPECT_EQ(tree::paths(all), tree::paths(stack()));  // no state
  auto x = operand(5, {Batch, In}).astype(f32);
  auto slopes = [&](int key) {
    auto loss = [&](const Stack& s) { return sum(square(nn::fold(nn::draw_rounding(s, random::key(key)), x)())); };
    auto g = grad(loss)(all), staged = jit(grad(loss))(all);
    near(list(staged.layer.up.weight), list(g.layer.up.weight), 1e-5, "staged");
    return list(g.layer.up.weight);
  };
  EXPECT_EQ(slopes(1), slopes(1));
  EXPECT_NE(slopes(1), slopes(2));
}

// ---- training -------------------------------------------------------------------------------------------------------
struct Training {
  Stack model;
  optim::State optimizer;
};
Training first() {
  auto m = nn::quantize_linear_layers(stack(), {.amax_history_length = 4});
  return {m, optim::adamw({.learning_rate = 0.01}).init(optim::partition_for_grad_overwrite(m).second)};
}
Training step(const Training& t, const NamedArray& x) {
  auto loss = [&](const Stack& s) { return mean(square(nn::fold(s, auto_sharded(x))() - 1)); };
  auto [overwrites, gradients] = optim::partition_for_grad_overwrite(grad(loss)(t.model));
  auto trained = optim::partition_for_grad_overwrite(t.model).second;
  auto [updates, next] = optim::adamw({.learning_rate = 0.01}).update(gradients, t.optimizer, trained);
  return {optim::apply_updates(t.model, updates, overwrites), next};
}
NamedArray input(int i) { return operand(30 + i, {Batch, In}).astype(f32); }
Training trained(int steps, bool staged) {
  auto t = first();
  auto f = jit([](const Training& s, const NamedArray& x) { return step(s, x); });
  for (int i = 0; i < steps; ++i) t = staged ? f(t, input(i)) : step(t, input(i));
  return t;
}
void same(const Training& a, const Training& b, double tolerance) {
  auto x = tree::leaves(a), y = tree::leaves(b);
  ASSERT_EQ(tree::paths(a), tree::paths(b));
  for (std::size_t i = 0; i < x.size(); ++i)
    near(x[i].astype(f64).to_vector<double>(), y[i].astype(f64).to_vector<double>(), tolerance, tree::paths(a)[i]);
}
TEST(OverwriteWithGradient, PartsOfAModel) {
  auto t = first();
  auto [state, others] = optim::partition_for_grad_overwrite(t.model);
  for (auto& p : tree::paths(state)) EXPECT_NE(p.find(".dot_general."), p.npos) << p;
  for (auto& p : tree::paths(others)) EXPECT_EQ(p.find(".dot_general."), p.npos) << p;
  EXPECT_EQ(tree::leaves(state).size(), 12u);
  EXPECT_EQ(tree::leaves(others).size(), 4u);
  for (auto& [name, a] : t.optimizer.entries) EXPECT_EQ(name.find("dot_general"), name.npos) << name;
  EXPECT_EQ(error_of<ValueError>([&, &others = others] { (void)optim::apply_updates(t.model, others, others); }),
            "apply_updates: no overwrite for 'layer.up.dot_general.input_scale', which its gradient replaces; give the "
            "first part of partition_for_grad_overwrite(gradients)");
}
TEST(OverwriteWithGradient, ScalesFollowTheLargestMagnitudes) {
  auto t = trained(3, false);
  auto one = [&](const NamedArray& a) { return list(a[{"layers", 0}]); };
  auto largest = [](int i) { return amax(abs(input(i))).item<double>(); };
  near(one(fp8(t.model.layer.up).input_amax_history), {largest(2), 0, largest(0), largest(1)}, 1e-6, "history");
  near(one(fp8(t.model.layer.up).input_scale), {std::max(largest(0), largest(1)) / 448}, 1e-6, "scale");
}
TEST(OverwriteWithGradient, StagedIsAsRunDirectly) { same(trained(4, true), trained(4, false), 1e-5); }
TEST(OverwriteWithGradient, OnAMeshAsOnOneRank) {
  struct Layout {
    std::vector<MeshAxis> mesh;
    AxisMapping storage, compute;
  };
  Rule batch{"batch", "data"}, in{"in", "data"}, out{"out", "model"};
  auto want = trained(3, true);
  for (auto& layout : std::vector<Layout>{{{{"data", 2}}, {}, {batch}},
                                          {{{"data", 3}}, {in}, {batch}},
                                          {{{"data", 2}, {"model", 2}}, {in, out}, {batch, out}}})
    local_mesh(layout.mesh, [&](const Mesh&) {
      auto t = [&] {
        UseMapping scope(layout.storage);
        auto t = first();
        return Training{sharded(t.model, layout.storage), sharded(t.optimizer, layout.storage)};
      }();
      UseMapping scope(layout.compute);
      auto f = jit([](const Training& s, const NamedArray& x) { return step(s, x); });
      for (int i = 0; i < 3; ++i) t = f(t, input(i));
      same(tree::map([](const Array& a) { return gather(a); }, t), want, 2e-5);
    });
}
TEST(OverwriteWithGradient, Checkpoints) {
  test::TempFolder temp;
  auto folder = temp / "tree";
  auto t = trained(2, true);
  save_tree(folder, t);
  same(load_tree(folder, first()), t, 0);
}
}  // namespace
}  // namespace bora::quantization_test
