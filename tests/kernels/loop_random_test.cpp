// Random bits of fused loops: known answers of Threefry and of JAX's partitionable stream, counters across 2^32, keys
// per row.
#include <gtest/gtest.h>
#include <cmath>
#include <random>
#include "loop_build.h"

namespace bora::kernels::test::loop_random_test {
namespace {
using Words = std::array<std::uint32_t, 2>;

TEST(LoopRandom, ThreefryKnownAnswers) {
  EXPECT_EQ(threefry({0, 0}, 0), (Words{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(threefry({0xffffffff, 0xffffffff}, ~std::uint64_t{0}), (Words{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(threefry({0x13198a2e, 0x03707344}, 0x243f6a8885a308d3ull), (Words{0xc4923a9c, 0x483df7a0}));
  EXPECT_EQ(threefry({0, 0}, 4), (Words{2285895361u, 433833334u}));  // fold_in(key(0), 4)
}
Loop bits(Dtype d) {
  Builder b;
  b.loop.linear_forms = 1;
  const int key = b.operand(Dtype::key, false);
  b.store(b.add({.kind = K::random_bits, .dtype = d, .operand = static_cast<std::int16_t>(key)}), true);
  return b.loop;
}
template <class T>
std::vector<T> draw(Dtype d, Words key, std::int64_t n, std::int64_t base, std::int64_t stride, Isa which) {
  const Loop loop = bits(d);
  std::vector<T> out(static_cast<std::size_t>(n));
  LoopArgs a = dense(loop, 1, n, {key.data(), out.data()});
  a.linear[0].base = base;
  a.linear[0].stride[1] = stride;
  run(*compile_for(loop, which), a);
  return out;
}
TEST(LoopRandom, BitsOfEveryWidthAcrossTheCarry) {
  const Words key{0x12345678, 0x9abcdef0};
  for (Isa which : {Isa::v3, Isa::v4}) {
    if (which == Isa::v4 && !has_v4()) continue;
    for (std::int64_t base :
         {std::int64_t{0}, std::int64_t{0xffffffffll - 70}, std::int64_t{-5}, std::int64_t{1} << 40})
      for (std::int64_t stride :
           {std::int64_t{1}, std::int64_t{3}, std::int64_t{-2}, std::int64_t{0x1'0000'0001ll}, std::int64_t{0}})
        for (std::int64_t n : {1, 16, 145, 1200}) {
          const auto a = draw<std::uint32_t>(u32, key, n, base, stride, which);
          const auto b = draw<std::uint8_t>(u8, key, n, base, stride, which);
          const auto c = draw<std::int64_t>(i64, key, n, base, stride, which);
          for (std::int64_t i = 0; i < n; ++i) {
            const auto w = threefry(key, static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(i * stride));
            const auto at = static_cast<std::size_t>(i);
            ASSERT_EQ(a[at], w[0] ^ w[1]) << i << " of " << n << " from " << base << " by " << stride;
            ASSERT_EQ(b[at], static_cast<std::uint8_t>(w[0] ^ w[1]));
            ASSERT_EQ(static_cast<std::uint64_t>(c[at]), std::uint64_t{w[0]} << 32 | w[1]);
          }
        }
  }
}
TEST(LoopRandom, AKeyForEachRow) {
  const Loop loop = bits(u32);
  const std::uint32_t keys[] = {1, 2, 3, 4, 5, 6};
  for (std::int64_t n : {5, 40, 700, 1400}) {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(3 * n));
    LoopArgs a = dense(loop, 3, n, {const_cast<std::uint32_t*>(keys), out.data()});
    a.linear[0].stride[0] = 0;  // every row draws the same counters
    run(*compile(loop), a);
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t i = 0; i < n; ++i) {
        const auto w = threefry({keys[2 * r], keys[2 * r + 1]}, static_cast<std::uint64_t>(i));
        ASSERT_EQ(out[static_cast<std::size_t>(r * n + i)], w[0] ^ w[1]);
      }
  }
}
/// bits -> uniform in (-1, 1) -> sqrt 2 erf_inv, as JAX draws normals.
Loop normal() {
  Loop l = bits(u32);
  l.code.pop_back();
  l.operands[1].dtype = f32;
  Builder b{l};
  const int raw = 0;
  const int mantissa = b.op("or", {b.op("shr_logical", {raw, b.constant(u32, 9)}), b.constant(u32, 0x3f800000)});
  const int u = b.op("sub", {b.unary(K::bitcast, f32, mantissa), b.constant(1.f)});
  const int low = b.constant(u32, 0xbf7fffff);
  const int lo = b.unary(K::bitcast, f32, low);
  const int v = b.op("max", {lo, b.op("fma", {u, b.constant(2.f), lo})});
  b.store(1, b.op("mul", {b.constant(std::bit_cast<float>(0x3fb504f3u)), b.op("erf_inv", {v})}));
  return b.loop;
}
/// The same in double precision, Giles' polynomials included: what 3 ulp are measured from.
float normal_reference(std::uint32_t raw) {
  const float u = std::bit_cast<float>(raw >> 9 | 0x3f800000u) - 1, lo = std::bit_cast<float>(0xbf7fffffu),
              x = std::max(lo, u * 2 + lo);
  constexpr double a[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                          -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double b[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                          -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  const double w = -std::log1p(static_cast<double>(-(x * x)));
  const double t = w < 5 ? w - 2.5 : std::sqrt(w) - 3;
  double p = w < 5 ? a[0] : b[0];
  for (int i = 1; i < 9; ++i) p = p * t + (w < 5 ? a[i] : b[i]);
  return static_cast<float>(1.41421356237309505 * p * x);
}
TEST(LoopRandom, NormalsFollowTheFormula) {
  const Loop loop = normal();
  constexpr std::int64_t n = 1'000'000;
  const Words key{0, 42};
  std::vector<float> x(n), y(n);
  const auto args = [&](std::vector<float>& out) {
    return dense(loop, 1, n, {const_cast<std::uint32_t*>(key.data()), out.data()});
  };
  run(*compile_for(loop, Isa::v3), args(x));
  double sum = 0, square = 0, worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto w = threefry(key, static_cast<std::uint64_t>(i));
    const float want = normal_reference(w[0] ^ w[1]), got = x[static_cast<std::size_t>(i)];
    const double ulp = std::nextafter(std::fabs(want), INFINITY) - std::fabs(want);
    worst = std::max(worst, std::fabs(static_cast<double>(got) - want) / ulp);
    sum += got, square += static_cast<double>(got) * got;
  }
  EXPECT_LE(worst, 5);  // 3 from JAX, whose own rounding is within 2 of exact evaluation
  EXPECT_NEAR(sum / n, 0, 0.005);
  EXPECT_NEAR(square / n, 1, 0.005);
  if (!has_v4()) return;
  run(*compile_for(loop, Isa::v4), args(y));
  EXPECT_EQ(x, y);
}
}  // namespace
}  // namespace bora::kernels::test::loop_random_test
