// Stencils of stencils: windows of cheap values are computed in the loops that read them, with the bits of the values.
#include <gtest/gtest.h>
#include <random>
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "compile/testing.h"

namespace bora::push_windows_test {
namespace {
using compile_tests::agrees;
using compile_tests::numbers;

Array laplacian(const Array& u) {
  Array r = -2.0 * static_cast<double>(u.ndim()) * u;
  for (std::int64_t d = 0; d < u.ndim(); ++d) r = r + roll(u, 1, d) + roll(u, -1, d);
  return r;
}
/// The same with zeros (or other numbers) around.
Array walled(const Array& u, double wall) {
  Dims one(static_cast<std::size_t>(u.ndim()), 1);
  auto p = pad(u, one, one, wall);
  Array r = -2.0 * static_cast<double>(u.ndim()) * u;
  for (std::int64_t d = 0; d < u.ndim(); ++d)
    for (std::int64_t by : {0, 2}) {
      Dims start = one, limit = u.shape().dims();
      for (auto& n : limit) ++n;
      start[static_cast<std::size_t>(d)] = by;
      limit[static_cast<std::size_t>(d)] += by - 1;
      r = r + slice(p, start, limit);
    }
  return r;
}
/// Values of one shape: cheap arithmetic, and windows that keep the shape.
struct Maker {
  std::mt19937 random;
  Arrays values;
  std::int64_t pick(std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); }
  const Array& one() {
    auto n = static_cast<std::int64_t>(values.size());
    return values[static_cast<std::size_t>(n - 1 - pick(std::min<std::int64_t>(5, n)))];
  }
  Array window(const Array& x) {
    auto axis = pick(x.ndim()), n = x.shape(axis), by = 1 + pick(2);
    switch (pick(5)) {
      case 0: return flip(x, {axis});
      case 1: {  // moved by some places, a number behind or before
        Dims lo(static_cast<std::size_t>(x.ndim())), hi = lo;
        lo[static_cast<std::size_t>(axis)] = by;
        bool up = pick(2);
        auto p = pad(x, up ? lo : hi, up ? hi : lo, pick(2) ? 0.0 : -0.5);
        return slice_in_dim(p, axis, up ? 0 : by, up ? n : n + by);
      }
      case 2: return concatenate({slice_in_dim(x, axis, by, n), slice_in_dim(one(), axis, 0, by)}, axis);
      default: return roll(x, pick(2) ? by : -by, axis);
    }
  }
  void step() {
    const Array x = one(), y = one();
    switch (pick(8)) {
      case 0: values.push_back(x * 0.5 + y); break;
      case 1: values.push_back(x * y); break;
      case 2: values.push_back(maximum(x, y) - 0.25); break;
      case 3: values.push_back(where(x > 0.0, y, x)); break;
      case 4: values.push_back(pick(4) ? x - y : exp(x * 0.1) / (abs(y) + 1.0)); break;
      default: values.push_back(window(x) - (pick(2) ? window(x) : x));
    }
  }
};
TEST(Shifted, RandomStencils) {
  auto f = [](unsigned seed, const Arrays& in) {
    Maker m{std::mt19937(seed), in};
    auto steps = 3 + m.pick(9);
    for (std::int64_t k = 0; k < steps; ++k) m.step();
    Arrays out{m.values.back()};
    if (m.pick(3) == 0) out.push_back(m.one());
    if (m.pick(3) == 0) out.push_back(sum(m.values.back(), -1));
    return out;
  };
  const Shape shapes[] = {{5000}, {100, 90}, {40, 130}, {12, 20, 40}, {9, 11}, {700}};
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    auto& s = shapes[seed % 6];
    Arrays in{numbers(s, seed, seed % 3 ? f32 : f64), numbers(s, seed + 1, seed % 3 ? f32 : f64)};
    agrees([&](const Arrays& a) { return f(seed, a); }, in);
    if (::testing::Test::HasFailure()) return;
  }
}
TEST(Shifted, OnePassOverMemory) {
  struct Case {
    const char* name;
    FlatFn f;
    Shape shape;
    std::size_t kernels = 1;
  };
  const Case cases[] = {
      {"neighbour of a product", [](const Arrays& a) { return Arrays{roll(a[0] * a[1], 1, 0) - a[0] * a[1]}; },
       {5000}},
      {"second difference of a square",
       [](const Arrays& a) { return Arrays{laplacian(a[0] * a[0])}; },
       {5000}},
      {"biharmonic in two dimensions, large", [](const Arrays& a) { return Arrays{laplacian(laplacian(a[0]))}; },
       {2100, 2000}, 5},  // one loop, and copies of the first and last columns
      {"in two dimensions, in cache", [](const Arrays& a) { return Arrays{laplacian(laplacian(a[0]))}; },
       {120, 128}, 2},
      {"walls", [](const Arrays& a) { return Arrays{walled(a[0] * 0.5, 0)}; }, {5000}},
      {"biharmonic, large, other walls", [](const Arrays& a) { return Arrays{walled(walled(a[0], 0.5), -1)}; },
       {4300000}},
      {"divergence of a flow",
       [](const Arrays& a) {
         auto flow = a[1] * (roll(a[0], -1, 1) - a[0]);
         return Arrays{a[0] + 0.1 * (flow - roll(flow, 1, 1))};
       },
       {120, 128}},
      {"behind a wall, of what costs much", [](const Arrays& a) {
         return Arrays{slice_in_dim(pad(tanh(a[0]), {1, 0}, {0, 0}), 0, 0, 120) * a[1]};
       },
       {120, 128}},
      // Two passes: what costs much or is a result is stored.
      {"neighbours of what costs much", [](const Arrays& a) { return Arrays{roll(tanh(a[0]), 1, 0) - tanh(a[0])}; },
       {5000}, 2},
      {"neighbours of a result",
       [](const Arrays& a) {
         auto y = a[0] * 2.0;
         return Arrays{y, roll(y, 1, 0) - y};
       },
       {5000}, 2},
  };
  for (auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto e = agrees(c.f, {numbers(c.shape, 1), numbers(c.shape, 2)});
    EXPECT_EQ(e->info().kernels, c.kernels) << e->explain();
    if (c.kernels != 2) {  // edges of one column may be copied
      EXPECT_LT(e->info().slab_bytes, static_cast<std::size_t>(volume(c.shape)) / 4) << e->explain();
    }
  }
}
/// Few elements for each box of the loop: stored as before.
TEST(Shifted, SmallArraysHaveNoMoreBoxes) {
  auto e = agrees([](const Arrays& a) { return Arrays{laplacian(laplacian(a[0]))}; }, {numbers({20, 30}, 1)});
  EXPECT_EQ(e->info().kernels, 2u) << e->explain();
}
}  // namespace
}  // namespace bora::push_windows_test
