// Layers against NumPy (tests/golden/make_layers.py).
#include <gtest/gtest.h>
#include <cmath>
#include "bora/bora.h"
#include "nn/golden.h"
#include "support/golden.h"

namespace bora::golden_test {
namespace {
nn::Linear linear(int k, const Axes& in, const Axes& out) {
  auto l = nn::Linear::init(in, out, random::key(0), {.use_bias = false});
  l.weight = operand(k, Axes(l.weight.axes()));
  return l;
}
/// f on operand 0 in f64 and in f32.
template <class F>
void equals(const std::string& name, const Axes& axes, F f, const std::string& table = "layers.txt",
            double best = 1e-8) {
  auto want = test::golden_numbers(table, name);
  ASSERT_FALSE(want.empty()) << name;
  for (auto [dtype, tolerance] : {std::pair{f64, best}, {f32, 2e-5}}) {
    auto d = dtype;
    auto x = operand(0, axes);
    auto y = f([d](const auto& layer) { return tree::map([d](const Array& a) { return a.astype(d); }, layer); })(
        x.astype(d));
    near(y.template to_vector<double>(), want, tolerance, name);
  }
}
const Axis Rows{"batch", 2}, Position{"position", 5}, Heads{"heads", 2}, Embed{"embed", 8};

TEST(LayersGolden, RmsNorm) {
  equals("rms_norm", {Rows, Axis{"position", 3}, Embed},
         [](auto cast) { return cast(nn::RmsNorm{operand(1, Embed) + 1}); });
}
TEST(LayersGolden, GatedMlp) {
  Axis hidden{"mlp", 12};
  equals("gated_mlp", {Axis{"batch", 3}, Embed}, [&](auto cast) {
    return cast(nn::Mlp{linear(1, Embed, hidden), linear(2, Embed, hidden), linear(3, hidden, Embed),
                        nn::Activation::silu});
  });
}
TEST(LayersGolden, Rotary) {
  Axis size{"head_size", 6};
  equals("rotary", {Rows, Position, Heads, size}, [&](auto) { return nn::Rotary::init(size); });
  equals("rotary_later", {Rows, Position, Heads, size}, [&](auto) {
    return [=](const NamedArray& x) { return nn::Rotary::init(size, 500000)(x, arange(Position) * 7 + 1000); };
  });
  EXPECT_THROW((void)nn::Rotary::init(Axis{"head_size", 5}), ValueError);
}
/// Against transformers (tests/golden/make_rotary.py), whose frequencies are f32.
TEST(LayersGolden, RotaryOptions) {
  Axis size{"head_size", 16};
  auto case_ = [&](const std::string& name, const nn::RotaryOptions& options) {
    SCOPED_TRACE(name);
    auto turn = [=](const NamedArray& x) { return nn::Rotary::init(size, 10000, options)(x, arange(Position) * 3); };
    equals(name, {Rows, Position, Heads, size}, [=](auto) { return turn; }, "rotary.txt", 5e-6);
  };
  using Kind = nn::RotaryScaling::Kind;
  case_("linear", {.scaling = {Kind::linear, 4}});
  case_("llama3", {.scaling = {Kind::llama3, 8, 1, 4, 64}});
  case_("yarn", {.scaling = {Kind::yarn, 4, 1, 32, 64}});
  case_("yarn_bounds", {.scaling = {Kind::yarn, 4, 0.5, 8, 64, 0.75, false}});
  case_("partial", {.dims = 8});
  case_("gptj", {.dims = 8, .interleaved = true});
  case_("gptj_whole", {.interleaved = true});
}
TEST(LayersGolden, RotaryOptionsWithoutSense) {
  Axis size{"head_size", 8};
  auto refused = [&](const nn::RotaryOptions& options) {
    EXPECT_THROW((void)nn::Rotary::init(size, 10000, options), ValueError);
  };
  using Kind = nn::RotaryScaling::Kind;
  refused({.dims = 5});
  refused({.dims = 10});
  refused({.scaling = {Kind::linear, 0}});
  refused({.scaling = {Kind::llama3, 8, 1, 4, 0}});
  refused({.scaling = {Kind::yarn, 8, 4, 1, 64}});
}
TEST(LayersGolden, AttentionWithSharedKeysAndRotaryPositions) {
  Axis group{"head_group", 3}, size{"head_size", 4};
  equals("attention", {Rows, Position, Embed}, [&](auto cast) {
    return cast(nn::Attention{linear(1, Embed, {Heads, group, size}), linear(2, Embed, {Heads, size}),
                              linear(3, Embed, {Heads, size}), linear(4, {Heads, group, size}, Embed),
                              nn::Rotary::init(size)});
  });
}
}  // namespace
}  // namespace bora::golden_test
