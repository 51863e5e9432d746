// jit = eager, bit for bit, for random functions of slices, pads, concatenations and elementwise operations: values,
// gradients, batches of both, loops.
#include <gtest/gtest.h>
#include <random>
#include "bora/fx/transforms.h"
#include "bora/ops/indexing.h"
#include "bora/ops/ops.h"
#include "bora/ops/reductions.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "compile/testing.h"

namespace windows_test {
namespace {
using namespace bora;

Array numbers(const Shape& s, unsigned seed, Dtype d) {
  std::mt19937 random(seed);
  std::vector<double> v(static_cast<std::size_t>(volume(s)));
  for (auto& x : v) x = static_cast<double>(random() % 4001) / 1000 - 2;
  return asarray(v, s).astype(d);
}
using bora::compile_tests::same_bits;
/// A random function of arrays of one shape that gives an array of that shape.
struct Stencil {
  unsigned seed;
  Array operator()(const Arrays& in) const {
    std::mt19937 random(seed);
    auto pick = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    auto values = in;
    auto any = [&] { return values[static_cast<std::size_t>(pick(static_cast<std::int64_t>(values.size())))]; };
    auto nd = in[0].ndim();
    for (int k = 0; k < 12; ++k) {
      auto x = any(), y = any();
      auto d = pick(nd), n = x.shape(d), cut = 1 + pick(n - 1);
      Dims none(static_cast<std::size_t>(nd)), by = none, back = none;
      by[static_cast<std::size_t>(d)] = cut;
      back[static_cast<std::size_t>(d)] = -cut;
      switch (pick(10)) {
        case 0: values.push_back(pad(slice_in_dim(x, d, cut, n), none, by, pick(2))); break;
        case 1: values.push_back(pad(slice_in_dim(x, d, 0, n - cut) * 0.5, by, none)); break;
        case 2: values.push_back(roll(x, cut, d)); break;
        case 3: values.push_back(pad(x, by, back)); break;
        case 4: values.push_back(concatenate({slice_in_dim(x, d, 0, cut), slice_in_dim(y, d, cut, n)}, d)); break;
        case 5: values.push_back(slice_in_dim(concatenate({x, y}, d), d, cut, n + cut) * 0.5); break;
        case 6: values.push_back(slice_in_dim(pad(x * y, by, by), d, pick(2) * cut, n, 1)); break;
        case 7: values.push_back(tanh(x - y)); break;
        case 8: {
          Arrays starts(static_cast<std::size_t>(nd), constant(0, i32));
          starts[static_cast<std::size_t>(d)] = constant(n - cut, i32);
          values.push_back(dynamic_update_slice(x, slice_in_dim(y, d, 0, cut) * 2, starts));
          break;
        }
        default: values.push_back(x * y + 0.25); break;
      }
      if (values.back().shape() != in[0].shape()) values.pop_back();
    }
    auto r = values.back();
    for (std::size_t k = values.size() - 1; k-- > 0 && values.size() - k < 5;) r = r + values[k];
    return r;
  }
};
TEST(Windows, JitIsEager) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const Shape shapes[] = {{6, 20}, {5}, {3, 4, 17}, {2, 2, 3, 5}};
    auto s = shapes[seed % 4];
    auto d = seed % 3 == 0 ? f64 : seed % 3 == 1 ? f32 : bf16;
    Stencil f{seed};
    Arrays in{numbers(s, seed, d), numbers(s, seed + 1, d)};
    auto g = grad([&](const Arrays& a) { return sum(f(a) * a[0]); });
    same_bits({jit(f)(in)}, {f(in)});
    same_bits(jit(g)(in), g(in));
    auto wide = s;
    wide.insert(0, 3);
    Arrays many{numbers(wide, seed + 2, d), numbers(wide, seed + 3, d)};
    auto all = vmap(g);
    same_bits(jit(all)(many), all(many));
    auto steps = [&](const Arrays& a) {
      auto step = [&](const Array& x, std::nullopt_t) { return std::pair{tanh(f({x, a[1]})), none}; };
      return scan(step, a[0], none, {.length = 3}).first;
    };
    auto x = in[0];
    for (int k = 0; k < 3; ++k) x = tanh(f({x, in[1]}));
    same_bits({jit(steps)(in)}, {x});
    if (HasFailure()) return;
  }
}
}  // namespace
}  // namespace windows_test
