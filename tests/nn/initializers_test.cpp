// Every line of tests/golden/initializers.txt (made by JAX, see make_initializers.py), drawn again.
#include "bora/ops/contractions.h"
#include "bora/nn/init.h"
#include <gtest/gtest.h>
#include <cmath>
#include <map>
#include "bora/bora.h"
#include "support/golden.h"
#include "support/throws.h"

namespace bora::initializers_test {
namespace {
namespace init = nn::initializers;
using nn::Initializer;
using Mode = Initializer::Mode;
using Distribution = Initializer::Distribution;
const std::map<std::string, Initializer>& table() {
  auto scaled = [](Mode mode) { return init::variance_scaling(1.5, mode, Distribution::normal); };
  const nn::FanOptions conv{.in_axis = {0, 1}, .out_axis = {2}, .batch_axis = {3}};
  static const std::map<std::string, Initializer> r{
      {"constant", init::constant(1.1)},
      {"uniform", init::uniform()},
      {"normal", init::normal(0.3)},
      {"truncated_normal", init::truncated_normal(0.3, -1, 1.5)},
      {"zeros", init::zeros()},
      {"ones", init::ones()},
      {"glorot_uniform", init::glorot_uniform()},
      {"glorot_normal", init::glorot_normal()},
      {"xavier_uniform", init::xavier_uniform()},
      {"xavier_normal", init::xavier_normal()},
      {"lecun_uniform", init::lecun_uniform()},
      {"lecun_normal", init::lecun_normal()},
      {"he_uniform", init::he_uniform()},
      {"he_normal", init::he_normal()},
      {"kaiming_uniform", init::kaiming_uniform()},
      {"kaiming_normal", init::kaiming_normal()},
      {"fan_in", scaled(Mode::fan_in)},
      {"fan_out", scaled(Mode::fan_out)},
      {"fan_avg", scaled(Mode::fan_avg)},
      {"fan_geo_avg", scaled(Mode::fan_geo_avg)},
      {"conv", init::variance_scaling(2, Mode::fan_out, Distribution::uniform, conv)},
      {"orthogonal", init::orthogonal()},
      {"orthogonal_wide", init::orthogonal(1.5)},
      {"orthogonal_axis", init::orthogonal(1, 0)},
      {"delta_orthogonal", init::delta_orthogonal()},
      {"delta_orthogonal_plane", init::delta_orthogonal(0.5)},
  };
  return r;
}
TEST(Initializers, NumbersAreJaxs) {
  std::map<std::string, int> seen;
  for (auto& line : test::golden_lines("initializers.txt")) {
    auto& name = line.name;
    auto& dtype = line.parameters[0];
    auto shape = test::numbers(line.parameters[1]);
    ASSERT_TRUE(table().count(name)) << name;
    auto x = table().at(name)(random::key(7), Shape(shape), parse_dtype(dtype));
    EXPECT_EQ(x.dtype(), parse_dtype(dtype)) << name;
    auto got = x.to_vector<double>();
    bool same_bits = name.find("uniform") != name.npos || name == "conv" || name == "constant" || dtype == "bf16";
    bool matrix = name.find("orthogonal") != name.npos;
    ASSERT_EQ(got.size(), line.values.size()) << line.text;
    for (std::size_t i = 0; i < got.size(); ++i) {
      double want = std::stod(line.values[i]);
      double t = same_bits ? 0 : dtype == "f64" ? 1e-14 : matrix ? 3e-7 : 1e-6 * std::abs(want);
      EXPECT_NEAR(got[i], want, t) << line.text;
    }
    ++seen[name];
  }
  for (auto& [name, f] : table()) EXPECT_TRUE(seen.count(name)) << name << " has no line";
}
TEST(Initializers, OrthogonalMatricesAreOrthogonal) {
  for (auto shape : {Shape{6, 4}, Shape{4, 6}, Shape{2, 3, 5}}) {
    auto w = reshape(init::orthogonal(2)(random::key(1), shape, f64), {-1, shape[shape.size() - 1]});
    bool tall = w.shape(0) >= w.shape(1);
    auto gram = tall ? matmul(transpose(w), w) : matmul(w, transpose(w));
    EXPECT_LT(amax(abs(gram - 4 * eye(gram.shape(0), f64))).item<double>(), 1e-13) << shape;
  }
}
TEST(Initializers, AreStagedAndTakeNothing) {
  auto f = [](const Array& k) { return init::he_normal()(k, {3, 4}); };
  EXPECT_TRUE(array_equal(jit(f)(random::key(3)), f(random::key(3))));
  for (auto& [name, f_of] : table()) {
    Shape none = name == "delta_orthogonal" || name == "delta_orthogonal_plane" ? Shape{2, 0, 0} : Shape{0, 4, 2, 1};
    EXPECT_EQ(f_of(random::key(0), none).shape(), none) << name;
  }
}
using bora::test::says;
TEST(Initializers, MistakesAreNamed) {
  auto k = random::key(0);
  says<ShapeError>([&] { return init::he_normal()(k, {3}); }, "initializer: the shape [3] has no axis -2 of inputs");
  says<IndexError>([&] { return init::he_normal({.in_axis = {4}})(k, {3, 2}); }, "initializer");
  says<DtypeError>([&] { return init::normal()(k, {3}, i32); }, "initializer: numbers of i32 are no fractions");
  says<ShapeError>([&] { return init::orthogonal()(k, {3}); }, "orthogonal: needs a shape of at least two dimensions");
  says<ShapeError>([&] { return init::delta_orthogonal()(k, {3, 3}); }, "delta_orthogonal: needs a shape");
  says<ShapeError>([&] { return init::delta_orthogonal()(k, {3, 4, 2}); },
                   "delta_orthogonal: 4 inputs are more than 2");
}
}  // namespace
}  // namespace bora::initializers_test
