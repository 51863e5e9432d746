// Loops read flipped and strided rows where they lie: fused = eager, bit for bit, without a copy of their own.
#include <gtest/gtest.h>
#include <array>
#include <random>
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/calculus.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "compile/testing.h"

namespace bora::fuse_strided_test {
namespace {
using compile_tests::donated::agrees;
using compile_tests::numbers;

Array every(const Array& x, std::int64_t axis, std::int64_t first, std::int64_t step) {
  Dims start(x.shape().size()), limit = x.shape().dims(), stride(x.shape().size(), 1);
  start[static_cast<std::size_t>(axis)] = first;
  stride[static_cast<std::size_t>(axis)] = step;
  return slice(x, start, limit, stride);
}
TEST(FuseStrided, OnePass) {
  for (Dtype d : {f32, f64, bf16, i32, u8, f16})
    for (std::int64_t n : {1, 7, 8, 9, 64, 2100}) {
      auto x = numbers({3, n}, 1, d), y = numbers({3, n}, 2, d);
      auto flipped = [](const Arrays& a) { return Arrays{flip(a[0], 1) * 2 + a[1]}; };
      EXPECT_EQ(agrees(flipped, {x, y}).kernels, 1u) << d << n;
      agrees([](const Arrays& a) { return Arrays{flip(a[0]) - a[1] * flip(a[1], 0)}; }, {x, y});
      agrees([](const Arrays& a) { return Arrays{flip(a[0], 1) + a[0], a[0]}; }, {x});
      for (std::int64_t step : {2, 3, 8, 9}) {
        if (n <= step) continue;
        auto part = numbers({3, (n + step - 1) / step}, 3, d);
        auto f = [=](const Arrays& a) { return Arrays{every(a[0], 1, 0, step) * 3 - a[1]}; };
        auto kernels = agrees(f, {x, part}).kernels;
        if (step < 9 && n > 1000) {
          EXPECT_EQ(kernels, 1u) << d << step;
        }
        agrees([=](const Arrays& a) { return Arrays{flip(every(a[0], 1, step - 1, step), 1) + 1}; }, {x});
      }
    }
}
/// Edges of one to some elements, which are stored with a stride, and rows that end within a vector; also in place.
TEST(FuseStrided, StencilsOverShortRows) {
  for (Dtype d : {f32, f64, bf16, u8})
    for (std::int64_t n : {2, 3, 5, 8, 9, 13, 33, 36}) {
      const std::int64_t rows = 1500;
      auto x = numbers({rows, n}, 1, d), row = numbers({n}, 2, d), y = numbers({rows / 50, 50, n}, 3, d);
      SCOPED_TRACE(::testing::Message() << d << " " << n);
      for (std::int64_t by : {1, 2, 5})
        agrees([=](const Arrays& a) { return Arrays{roll(a[0], by, 1) * 3 + roll(a[0], -by, 1), a[0] * a[1]}; },
               {x, row});
      agrees([](const Arrays& a) { return Arrays{roll(a[0], 1, 2) - roll(a[0], 1, 1) * a[1]}; }, {y, row});
      agrees([](const Arrays& a) { return Arrays{pad(a[0], {0, 1}, {0, 2}) * 3, a[0] + 1}; }, {x});
      agrees([](const Arrays& a) { return Arrays{flip(roll(a[0], 1, 1), 1) + a[0]}; }, {x});
      agrees([](const Arrays& a) { return Arrays{a[0] * a[1] + 1}; }, {x, row});
      agrees([=](const Arrays& a) { return Arrays{diff(a[0], 1, 1) * 2}; }, {x});
      auto each = numbers({rows, 1}, 4, d), turned = numbers({n, rows}, 5, d);
      agrees([](const Arrays& a) { return Arrays{a[0] * a[1] + a[2] * 3, a[2] > a[0]}; }, {x, each, row});
      agrees([](const Arrays& a) { return Arrays{transpose(a[0]) * a[1] + a[2]}; }, {turned, row, x});
      agrees([](const Arrays& a) { return Arrays{a[0] * a[1] + a[2]}; }, {y, numbers({rows / 50, 1, n}, 6, d), row});
      agrees([](const Arrays& a) { return Arrays{every(a[0], 1, 1, 2) * 2 + a[1]}; }, {x, each});
      auto deep = numbers({3, rows, n}, 7, d), one = numbers({3, 1, n}, 8, d);
      agrees([](const Arrays& a) { return Arrays{a[0] * a[1] + a[2]}; }, {deep, one, each});
    }
}
/// Boxes between whose rows others lie run as one row, unless a box reads there: results are stored over an operand.
TEST(FuseStrided, BoxesOverEachOther) {
  std::mt19937 random(5);
  for (int seed = 0; seed < 60; ++seed) {
    auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
    auto d = std::array{f32, f64, bf16, i32, u8}[static_cast<std::size_t>(seed % 5)];
    const std::int64_t n = 2 + below(40), rows = 40 + below(200), planes = 1 + below(3), part = 1 + below(n);
    auto x = numbers({planes, rows, n}, 1, d), y = numbers({planes, rows, part}, 2, d), z = numbers({n}, 3, d),
         each = numbers({planes, rows, 1}, 4, d);
    const auto first = static_cast<std::int32_t>(below(n - part + 1));
    auto changed = [=](const Array& all, const Array& some) {
      return dynamic_update_slice(all, some, {zeros({}, i32), zeros({}, i32), full({}, first, i32)});
    };
    SCOPED_TRACE(::testing::Message() << d << " [" << planes << ", " << rows << ", " << n << "], part " << part);
    agrees([=](const Arrays& a) { return Arrays{changed(a[0], a[1] * 2) + 1}; }, {x, y});
    agrees([=](const Arrays& a) { return Arrays{changed(a[0], a[1]) * a[0]}; }, {x, y});
    agrees([](const Arrays& a) { return Arrays{concatenate({a[0] + 1, a[1]}, 2) * 2, a[0] * a[0]}; }, {x, y});
    agrees([](const Arrays& a) { return Arrays{roll(a[0], 1, 2) + roll(a[0], -1, 1)}; }, {x});
    agrees([](const Arrays& a) { return Arrays{roll(a[0] * a[1], 1, 2) + a[2]}; }, {x, z, each});
    agrees([](const Arrays& a) { return Arrays{pad(a[0], {0, 1, 1}, {0, 0, 2}, 3) + 1, flip(a[0], 2) * 2}; }, {x});
    agrees([=](const Arrays& a) { return Arrays{slice_in_dim(a[0], 2, n - part, n) * a[1]}; }, {x, y});
    agrees([](const Arrays& a) { return Arrays{diff(a[0], 1, 2) * 3, a[0] * a[1] + a[2]}; }, {x, z, each});
    agrees([](const Arrays& a) { return Arrays{flip(a[0], 2), roll(a[0], 1, 2), a[0] * a[1]}; }, {x, each});
  }
}
TEST(FuseStrided, RowsThatAreReduced) {
  for (Dtype d : {f32, f64, i32})
    for (std::int64_t n : {8, 40, 700, 4000})
      for (std::int64_t rows : {20, 3}) {
        auto x = numbers({rows, n}, 1, d);
        agrees([](const Arrays& a) { return Arrays{sum(flip(a[0], 1) * a[0], -1)}; }, {x});
        agrees([](const Arrays& a) { return Arrays{amax(every(a[0], 1, 1, 2) + 1, -1), amin(a[0], -1)}; }, {x});
        agrees(
            [](const Arrays& a) {
              auto y = flip(a[0], 1) * 2;
              return Arrays{y - amax(y, -1, {.keepdims = true})};
            },
            {x});
      }
}
TEST(FuseStrided, RandomPrograms) {
  using Random = std::mt19937_64;
  for (std::uint64_t seed = 0; seed < 200 && !::testing::Test::HasFatalFailure(); ++seed) {
    Random g(seed);
    constexpr std::int64_t some[] = {1, 2, 5, 8, 17, 64, 130, 900};
    auto n = some[g() % 8], m = some[g() % 8];
    Dtype d = std::array{f32, f64, i32, bf16, u8, i16}[g() % 6];
    Arrays in{numbers({n, m}, seed + 1, d), numbers({n, m}, seed + 2, d)};
    auto after = g();
    auto f = [after](const Arrays& a) {
      Random h(after);
      Arrays all = a;
      for (int k = 0; k < 8; ++k) {
        auto x = all[h() % all.size()];
        auto rows = x.shape(0), columns = x.shape(1);
        switch (h() % 6) {
          case 0: x = flip(x, 1); break;
          case 1: x = flip(x, 0); break;
          case 2: x = every(pad(x, {0, 1}, {0, columns}), 1, static_cast<std::int64_t>(h() % 2), 2); break;
          case 3: x = every(concatenate({x, x}, 0), 0, 1, 2); break;
          case 4: x = x * 2 + iota({rows, columns}, 1).astype(x.dtype()); break;
          default: break;
        }
        x = slice(x, {0, 0}, {std::min(x.shape(0), a[0].shape(0)), std::min(x.shape(1), a[0].shape(1))});
        if (x.shape() == a[0].shape()) all.push_back(x + all[h() % all.size()]);
      }
      return Arrays{all.back(), all[h() % all.size()] * 2};
    };
    SCOPED_TRACE("seed " + std::to_string(seed));
    agrees(f, in);
  }
}
}  // namespace
}  // namespace bora::fuse_strided_test
