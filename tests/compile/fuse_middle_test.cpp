// Reductions over dimensions before the last, and over several, with what makes their operands: fused = eager, bit for
// bit, for any number of threads.
#include <gtest/gtest.h>
#include <array>
#include <random>
#include "bora/base/parallel.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "compile/testing.h"
#include "bora/ops/arguments.h"

namespace bora::fuse_middle_test {
namespace {
using compile_tests::numbers;
using compile_tests::same_bits;

ExecutableInfo agrees(const FlatFn& f, const Arrays& in) {
  auto e = executable(stage(f, types_of(in)).program);
  auto want = f(in);
  auto threads = thread_count();
  for (int n : {threads, 1, 5}) {
    set_thread_count(n);
    same_bits(e->run(in), want, e->explain());
  }
  set_thread_count(threads);
  return e->info();
}
Array reduced(int kind, const Array& x, const Dims& dims, bool keep = false) {
  ReduceOptions o{.keepdims = keep};
  switch (kind) {
    case 0: return sum(x, dims, o);
    case 1: return amax(x, dims, o);
    case 2: return amin(x, dims, o);
    default: return prod(x, dims, o);
  }
}
TEST(FuseRows, WhatCostsMuchIsNotComputedOnceForEachShortRow) {
  auto loops = [](std::int64_t rows, std::int64_t columns, bool much) {
    auto f = [&](const Arrays& in) {
      auto value = much ? tanh(in[0] * 2) : in[0] * 2;
      return Arrays{in[1] + reshape(value, {rows, 1}) * reshape(in[2], {1, columns})};
    };
    return agrees(f, {numbers({rows}, 1), numbers({rows, columns}, 2), numbers({columns}, 3)}).kernels;
  };
  EXPECT_EQ(loops(64, 64, true), 2U);
  EXPECT_EQ(loops(64, 64, false), 1U);   // two instructions
  EXPECT_EQ(loops(64, 4096, true), 1U);  // rows that are longer than the wait
  EXPECT_EQ(loops(3, 64, true), 1U);     // fewer values than a call is worth
}
TEST(FuseMiddle, OneLoop) {
  for (Dtype d : {f32, f64, i32, bf16})
    for (Shape s : {Shape{5, 100, 64}, Shape{3, 64, 16, 8}, Shape{40, 65, 20}, Shape{2, 1000, 700}, Shape{7, 3, 512}})
      for (int kind = 0; kind < 4; ++kind) {
        auto x = numbers(s, 1, d), y = numbers(s, 2, d);
        auto f = [=](const Arrays& a) { return Arrays{reduced(kind, a[0] * a[1] + 1, {1})}; };
        EXPECT_EQ(agrees(f, {x, y}).kernels, 1u) << d << s << kind;
      }
}
TEST(FuseMiddle, TheLoopSaysSo) {
  auto f = [](const Arrays& a) { return Arrays{sum(square(a[0]), Dims{1})}; };
  auto e = executable(stage(f, {{{256, 128, 64}, f32}}).program);
  EXPECT_NE(e->explain().find("over groups of 128 rows, which is not kept"), std::string::npos) << e->explain();
}
TEST(FuseMiddle, RowsThatAreTooShortStayApart) {
  for (Shape s : {Shape{300, 3, 20}, Shape{300, 100, 4}, Shape{300, 2, 1}}) {
    auto x = numbers(s, 1);
    agrees([](const Arrays& a) { return Arrays{sum(square(a[0]), Dims{1})}; }, {x});
  }
}
TEST(FuseMiddle, DimensionsThatAreNoNeighbours) {
  for (Dtype d : {f32, f64, i32, bf16, f16, i64})
    for (Shape s : {Shape{6, 33, 70, 18}, Shape{2, 1, 3, 64}, Shape{100, 2, 5, 16}})
      for (const Dims& dims : {Dims{0, 2}, Dims{1, 3}, Dims{0, 3}, Dims{0, 2, 3}, Dims{0, 1, 3}}) {
        auto x = numbers(s, 1, d);
        agrees([&](const Arrays& a) { return Arrays{sum(a[0] * a[0], dims), amax(a[0] + 1, dims)}; }, {x});
      }
  auto normed = [](const Arrays& a) {  // as batch norm: statistics over batch and space
    auto m = mean(a[0], {0, 2, 3}, {.keepdims = true}), c = a[0] - m;
    return Arrays{c * rsqrt(mean(c * c, {0, 2, 3}, {.keepdims = true}) + 1e-5)};
  };
  agrees(normed, {numbers({8, 16, 20, 20}, 1)});
}
TEST(FuseMiddle, ValuesAreKnown) {
  auto x = numbers({3, 4, 5, 2}, 1, f64);
  auto s = sum(x, {0, 2}).to_vector<double>(), all = x.to_vector<double>();
  for (std::int64_t j = 0; j < 4; ++j)
    for (std::int64_t l = 0; l < 2; ++l) {
      double want = 0;
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t k = 0; k < 5; ++k) want += all[static_cast<std::size_t>(((i * 4 + j) * 5 + k) * 2 + l)];
      EXPECT_NEAR(s[static_cast<std::size_t>(j * 2 + l)], want, 1e-14);
    }
}
TEST(FuseMiddle, ReductionsOfConstantsAreComputedOnce) {
  for (Dtype d : {f32, f64, i32})
    for (Shape s : {Shape{300, 40, 20}, Shape{70, 100, 8}, Shape{5, 90'000}, Shape{20, 9, 9}})
      for (int kind = 0; kind < 4; ++kind)
        for (double c : {0.1, -0.0, 3.0})
          for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(s.size()); ++axis) {
            auto f = [=](const Arrays& a) {
              return Arrays{a[0] + reduced(kind, broadcast_to(full({}, c, d), s), {axis}), a[0] * 2};
            };
            auto shape = s.dims();
            shape.erase(shape.begin() + axis);
            EXPECT_EQ(agrees(f, {numbers(Shape(shape), 1, d)}).kernels, 1u) << d << s << kind << c << axis;
          }
}
/// Also those whose elements have more than 64 bits, or are computed in another dtype.
TEST(FuseMiddle, ReductionsOfConstantsOfAnyDtype) {
  for (Dtype d : {bf16, f16, i8, i16, u16, u32, i64, u64, complex64, complex128})
    for (int kind : {0, 3})
      for (const Dims& dims : {Dims{0}, Dims{1}, Dims{0, 2}}) {
        auto f = [=](const Arrays& a) {
          auto c = broadcast_to(full({}, 2, d), {6, 4, 5});
          return Arrays{reduced(kind, c, dims), a[0] * 2};
        };
        agrees(f, {numbers({3}, 1, f32)});
      }
}
TEST(FuseMiddle, RandomPrograms) {
  for (std::uint64_t seed = 0; seed < 300 && !::testing::Test::HasFatalFailure(); ++seed) {
    std::mt19937_64 g(seed);
    constexpr std::int64_t some[] = {1, 2, 3, 16, 33, 64, 65, 130};
    Dims shape;
    std::int64_t size = 1;
    for (auto n = 2 + g() % 3; n-- > 0;) {
      shape.push_back(some[g() % 8]);
      if (size *= shape.back(); size > 200'000) shape.back() = 1;
    }
    Dtype d = std::array{f32, f64, i32, bf16}[g() % 4];
    Arrays in{numbers(Shape(shape), seed, d), numbers(Shape(shape), seed + 1, d)};
    auto f = [&](const Arrays& a) {
      std::mt19937_64 h(seed);
      std::vector<Array> values{a[0], a[1]};
      Arrays out;
      for (int k = 0; k < 8; ++k) {
        auto x = values[h() % values.size()], y = values[h() % values.size()];
        Dims dims;
        for (std::int64_t j = 0; j < x.ndim(); ++j)
          if (h() % 2) dims.push_back(j);
        switch (h() % 4) {
          case 0: values.push_back(x * y + 1); break;
          case 1: values.push_back(maximum(x, y) - x * 0.5); break;
          case 2:  // back in the loop
            if (!dims.empty()) values.push_back(x - reduced(static_cast<int>(h() % 3), y, dims, true));
            break;
          default:
            if (!dims.empty()) out.push_back(reduced(static_cast<int>(h() % 4), x, dims));
        }
      }
      out.push_back(values.back());
      return out;
    };
    agrees(f, in);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}
}  // namespace
}  // namespace bora::fuse_middle_test
