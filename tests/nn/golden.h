// golden.h -- operands and results of the golden files of layers, whose lines are a name, a count and numbers.
#pragma once
#include <gtest/gtest.h>
#include <cmath>
#include "bora/bora.h"
#include "support/golden.h"
#include "support/numbers.h"

namespace bora {
inline NamedArray operand(int k, const Axes& axes) { return named(test::sines(shape_of(axes.list()), k, 0.37), axes); }
inline std::vector<double> golden(const std::string& name) {
  std::vector<double> want;
  for (auto file : {"networks.txt", "torch_layers.txt", "quantization.txt"})
    if (auto found = test::golden_numbers(file, name); !found.empty()) want = found;
  EXPECT_FALSE(want.empty()) << name;
  return want;
}
inline void near(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::abs(want[i]))) << what << " " << i;
}
/// f(x, w) and its gradients, in f64 and f32.
template <class F> void equals(const std::string& name, const Axes& x_axes, const Axes& w_axes, F f) {
  for (auto [d, tolerance] : {std::pair{f64, 1e-8}, {f32, 1e-4}}) {
    auto x = operand(0, x_axes).astype(d), w = operand(1, w_axes).astype(d);
    auto y = f(x, w);
    EXPECT_EQ(y.dtype(), d);
    near(y.template to_vector<double>(), golden(name), tolerance, name);
    auto weight = operand(9, Axes(y.axes())).astype(d);
    auto loss = [&](const std::pair<NamedArray, NamedArray>& p) { return sum(f(p.first, p.second) * weight); };
    auto g = grad(loss)(std::pair{x, w});
    auto slopes = g.first.template to_vector<double>(), more = g.second.template to_vector<double>();
    slopes.insert(slopes.end(), more.begin(), more.end());
    near(slopes, golden(name + "_d"), tolerance, name + "_d");
  }
}
}  // namespace bora
