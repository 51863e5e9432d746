// Layers of convolutional and recurrent networks against torch (tests/golden/make_networks.py), and their errors.
#include "nn/golden.h"

namespace bora::networks_test {
namespace {
template <class T> T cast(const T& t, Dtype d) {
  return tree::map([d](const Array& a) { return a.astype(d); }, t);
}
Axis axis(const char* name, std::int64_t n) { return {name, n}; }
const Axis Rows = axis("batch", 2);

template <class Layer> void conv_case(const std::string& name, const Axes& x, const Axes& window, const Axis& in,
                                      const Axis& out, const ConvOptions& options) {
  auto layer = Layer::init(window, in, out, random::key(0), {.conv = options, .use_bias = false});
  equals(name, x, Axes(layer.weight.axes()), [&](const NamedArray& v, const NamedArray& w) {
    auto l = layer;
    l.weight = w;
    return l(v);
  });
}
TEST(Networks, Convolutions) {
  auto h = [](std::int64_t n) { return axis("h", n); };
  auto w = [](std::int64_t n) { return axis("w", n); };
  auto in = [](std::int64_t n) { return axis("in", n); };
  auto out = [](std::int64_t n) { return axis("out", n); };
  conv_case<nn::Conv>("conv1", {Rows, h(7), in(3)}, h(3), in(3), out(4), {});
  conv_case<nn::Conv>("conv2", {Rows, h(6), w(7), in(3)}, {h(3), w(2)}, in(3), out(4),
                      {.stride = {2, 1}, .padding = Padding::Pairs{{1, 1}, {2, 2}}, .dilation = {1, 2}});
  conv_case<nn::Conv>("conv_groups", {Rows, h(4), w(5), in(4)}, {h(3), w(3)}, in(4), out(6),
                      {.padding = Padding::Pairs{{1, 1}, {1, 1}}, .groups = 2});
  conv_case<nn::Conv>("conv_depthwise", {Rows, h(4), w(5), in(4)}, {h(3), w(3)}, in(4), out(4), {.groups = 4});
  conv_case<nn::Conv>("conv3", {axis("batch", 1), axis("d", 4), h(5), w(3), in(2)}, {axis("d", 2), h(2), w(2)}, in(2),
                      out(3), {.stride = {2, 2, 2}});
  conv_case<nn::ConvTranspose>("transpose1", {Rows, h(4), in(3)}, h(3), in(3), out(2), {.stride = {2}});
  conv_case<nn::ConvTranspose>("transpose2", {Rows, h(3), w(4), in(3)}, {h(3), w(4)}, in(3), out(2),
                               {.stride = {2, 3}});
}
const Axes Image{Rows, axis("h", 3), axis("w", 4), axis("c", 6)};
const Axis Channels = axis("c", 6);
TEST(Networks, Norms) {
  for (auto [name, groups] : {std::pair{"group_norm", 3}, {"instance_norm", 6}})
    equals(name, Image, Channels, [n = groups](const NamedArray& x, const NamedArray& w) {
      return nn::GroupNorm{w, operand(2, Channels).astype(w.dtype()), {"h", "w"}, n}(x);
    });
  nn::BatchStats before{operand(3, Channels), operand(4, Channels) + 1.5};
  for (auto [name, mode] : {std::pair{"batch_norm", nn::BatchNormMode::train},
                            {"batch_norm_infer", nn::BatchNormMode::infer}})
    equals(name, Image, Channels, [&, m = mode](const NamedArray& x, const NamedArray& w) {
      nn::BatchNorm l{w, operand(2, Channels).astype(w.dtype())};
      return l(x, cast(before, x.dtype()), m).first;
    });
  auto after = cast(nn::BatchNorm::init(Channels, 0.9F), f64)(operand(0, Image), before).second;
  auto got = after.mean.to_vector<double>(), more = after.variance.to_vector<double>();
  got.insert(got.end(), more.begin(), more.end());
  near(got, golden("batch_stats"), 1e-7, "batch_stats");  // momentum is a float
}
TEST(Networks, BatchNormAveragesTheWholeBatchOfAMesh) {
  auto norm = nn::BatchNorm::init(Channels, 0.5F);
  Axes five{axis("batch", 5), Channels};
  auto want = norm(operand(0, five), norm.first_stats()).second;
  local_mesh({{"data", 3}}, [&](const Mesh&) {
    UseMapping scope({{"batch", "data"}});
    auto x = auto_sharded(operand(0, five));
    for (bool staged : {false, true}) {
      auto run = [&](const NamedArray& v) { return norm(v, norm.first_stats()).second; };
      auto got = staged ? jit(run)(x) : run(x);
      near(got.mean.to_vector<double>(), want.mean.to_vector<double>(), 1e-6, "mean");
      near(got.variance.to_vector<double>(), want.variance.to_vector<double>(), 1e-6, "variance");
    }
  });
}
TEST(Networks, ASequenceOfNoneKeepsItsState) {
  auto in = axis("in", 3), hidden = axis("hidden", 4);
  auto cell = nn::GruCell::init(in, hidden, random::key(0));
  auto [y, last] = nn::unroll(cell, zeros({Rows, axis("time", 0), in}), "time", cell.start(Rows));
  EXPECT_EQ(y.size(), 0);
  EXPECT_EQ(last.hidden.size(), 8);
  EXPECT_THROW((void)nn::unroll(cell, zeros({Rows, in}), "time", cell.start(Rows)), AxisError);
}
TEST(Networks, Recurrent) {
  auto in = axis("in", 3), hidden = axis("hidden", 4), time = axis("time", 5);
  auto run = [&](auto cell, int gates) {
    return [=](const NamedArray& x, const NamedArray& w) {
      auto c = cell;
      auto d = w.dtype();
      Axes out{axis("gate", gates), hidden};
      c.input.weight = w, c.input.bias = operand(2, out).astype(d);
      c.recurrent.weight = operand(3, Axes(c.recurrent.weight.axes())).astype(d);
      if (c.recurrent.bias) c.recurrent.bias = operand(4, out).astype(d);
      return rearrange(nn::unroll(c, x, time, c.start(Rows)).first, {"batch", "time", "hidden"});
    };
  };
  auto k = random::key(0);
  equals("lstm", {Rows, time, in}, {in, axis("gate", 4), hidden}, run(nn::LstmCell::init(in, hidden, k), 4));
  equals("gru", {Rows, time, in}, {in, axis("gate", 3), hidden}, run(nn::GruCell::init(in, hidden, k), 3));
}
TEST(Networks, Pools) {
  auto x = operand(0, {Rows, axis("h", 5), axis("w", 6), axis("c", 3)});
  std::vector<Axis> window{axis("h", 3), axis("w", 2)};
  Padding one = Padding::Pairs{{1, 1}, {1, 1}};
  near(nn::MaxPool{window, {2, 2}, one}(x).to_vector<double>(), golden("max_pool"), 1e-8, "max_pool");
  near(nn::AvgPool{window, {2, 2}, one}(x).to_vector<double>(), golden("avg_pool"), 1e-8, "avg_pool");
  near(nn::AvgPool{window, {2, 2}, one, false}(x).to_vector<double>(), golden("avg_pool_valid"), 1e-8, "valid");
}
TEST(Networks, AxesThatDoNotFit) {
  auto h = axis("h", 3), in = axis("in", 4), out = axis("out", 4);
  auto k = random::key(0);
  auto conv = nn::Conv::init(h, in, out, k);
  EXPECT_THROW((void)conv(operand(0, {Rows, in})), AxisError);
  EXPECT_THROW((void)conv(operand(0, {Rows, h})), AxisError);
  EXPECT_THROW((void)conv(operand(0, {h, axis("in", 5)})), AxisError);
  EXPECT_THROW((void)conv(operand(0, {h, in, out})), AxisError);
  EXPECT_THROW((void)nn::Conv::init(h, in, out, k, {.conv = {.groups = 3}}), ValueError);
  EXPECT_THROW((void)nn::Conv::init(in, in, out, k), AxisError);
  EXPECT_THROW((void)nn::GroupNorm::init(in, {"h"}, 3), ValueError);
  EXPECT_THROW((void)nn::GroupNorm::init(in, {"w"}, 2)(operand(0, {h, in})), AxisError);
  auto norm = nn::BatchNorm::init(in);
  EXPECT_THROW((void)norm(operand(0, {Rows, h}), norm.first_stats()), AxisError);
  EXPECT_THROW((void)norm(zeros({axis("batch", 0), in}), norm.first_stats()), ShapeError);
  EXPECT_EQ(norm(zeros({axis("batch", 0), in}), norm.first_stats(), nn::BatchNormMode::infer).first.size(), 0);
  EXPECT_EQ(conv(zeros({axis("batch", 0), h, in})).size(), 0);
  EXPECT_THROW((void)nn::MaxPool{{axis("w", 2)}}(operand(0, {h, in})), AxisError);
}
}  // namespace
}  // namespace bora::networks_test
