// overheads.cpp -- the cost of a call beside its work, and steps of small loops.
#include <memory>
#include "bora/bora.h"
#include "bora/ops/contractions.h"
#include "cases.h"

namespace cases {
namespace {
using namespace bora;
constexpr std::int64_t kSteps = 1000;
using Carries = std::vector<Array>;

Case looped(const std::function<Carries(const Carries&, const Arrays&)>& body, Carries init, Arrays constants,
            bool gradient) {
  auto loop = [body](const Carries& c, const Arrays& constants) {
    auto step = [&](const Carries& x, std::nullopt_t) { return std::pair{body(x, constants), none}; };
    return scan(step, c, none, {.length = kSteps}).first;
  };
  std::function<Carries(const Arrays&, const Carries&)> f = [loop](const Arrays& constants, const Carries& c) {
    return loop(c, constants);
  };
  if (gradient)
    f = [loop](const Arrays& constants, const Carries& c) {
      return grad([&](const Arrays& w) {
        Array total = constant(0.0, f32);
        for (auto& x : loop(c, w)) total = total + sum(x);
        return total;
      })(constants);
    };
  auto call = jit(f);
  return {[=] { Carries r = call(constants, init); },
          [=] {
            Values r;
            for (auto& x : call(constants, init)) r.emplace_back("out" + std::to_string(r.size()), digest(x));
            return r;
          }};
}
Case small_scan(bool gradient) {
  return looped([](const Carries& c, const Arrays& k) { return Carries{tanh(c[0] * k[0] + k[1])}; }, {uniform(1, {8})},
                {uniform(2, {8}), uniform(3, {8})}, gradient);
}
Case product_scan(bool gradient) {
  return looped([](const Carries& c, const Arrays& k) { return Carries{tanh(matmul(k[0], c[0]))}; }, {uniform(1, {64})},
                {uniform(2, {64, 64}, 0.2F)}, gradient);
}
/// The heat equation with walls at 0 in the first dimension, periodic in the second: slice, pad, roll, concatenate.
Case heat(const Shape& shape, Dtype d, std::int64_t steps, bool gradient) {
  auto run = [steps](const Array& u, const Array& k) {
    auto step = [&](const Array& x, std::nullopt_t) {
      auto n = x.shape(0), m = x.shape(1);
      auto above = pad(slice(x, {0, 0}, {n - 1, m}), {1, 0}, {0, 0});
      auto below = pad(slice(x, {1, 0}, {n, m}), {0, 0}, {1, 0});
      auto left = concatenate({slice(x, {0, m - 1}, {n, m}), slice(x, {0, 0}, {n, m - 1})}, 1);
      auto right = roll(x, -1, 1);
      return std::pair{x + k * (above + below + left + right - 4 * x), none};
    };
    return scan(step, u, none, {.length = steps}).first;
  };
  auto u = uniform(1, shape).astype(d), k = (uniform(2, shape) * 0.02 + 0.1).astype(d);
  return compiled(
      [=](const Arrays& a) {
        if (!gradient) return Arrays{run(a[0], a[1])};
        return grad([&](const Arrays& p) {
          auto x = run(p[0], p[1]);
          return sum(x * x);
        })(a);
      },
      {u, k});
}
}  // namespace

void add_overheads(Cases& to) {
  to["eager_add"] = [] {
    auto a = uniform(1, {8}), b = uniform(2, {8});
    return Case{[=] { Array c = a + b; }, [=] { return Values{{"out0", digest(a + b)}}; }};
  };
  to["jit_call"] = [] {
    Arrays leaves;
    for (std::uint32_t i = 0; i < 50; ++i) leaves.push_back(uniform(i, {8}));
    return compiled([](const Arrays& a) { return tree::map([](const Array& x) { return x + 1; }, a); }, leaves);
  };
  to["scan_small"] = [] { return small_scan(false); };
  to["scan_small_gradient"] = [] { return small_scan(true); };
  to["scan_carries"] = [] {
    Carries init;
    for (std::uint32_t i = 0; i < 10; ++i) init.push_back(uniform(i, {8}));
    return looped(
        [](const Carries& c, const Arrays& k) {
          return tree::map([&](const Array& x) { return tanh(x * k[0] + k[1]); }, c);
        },
        init, {uniform(11, {8}), uniform(12, {8})}, false);
  };
  to["scan_product"] = [] { return product_scan(false); };
  to["scan_product_gradient"] = [] { return product_scan(true); };
  to["heat2d"] = [] { return heat({512, 512}, f32, 100, false); };
  to["heat2d_gradient"] = [] { return heat({512, 512}, f32, 100, true); };
  to["heat2d_small"] = [] { return heat({48, 64}, f64, 200, true); };
}
}  // namespace cases
