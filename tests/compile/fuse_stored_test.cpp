// Loops read and write the dtypes that are stored only: fused = eager, bit for bit, in one pass over memory.
#include <gtest/gtest.h>
#include <random>
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "compile/testing.h"

namespace bora::fuse_stored_test {
namespace {
using Random = std::mt19937_64;
template <class V> auto pick(const V& v, Random& g) { return v[g() % std::size(v)]; }

/// Equal bits; which NaN comes out of two is not said.
void same(const Array& got, const Array& want, const std::string& about) {
  ASSERT_EQ(got.type(), want.type()) << about;
  auto size = dtype_size(want.dtype());
  auto bits = [&](const Array& a, std::int64_t i) {
    std::uint64_t v = 0;
    std::memcpy(&v, static_cast<const char*>(a.bytes()) + static_cast<std::size_t>(i) * size, size);
    return v;
  };
  auto nan = [&](std::uint64_t v) {
    switch (want.dtype()) {
      case Dtype::f16: return (v & 0x7fff) > 0x7c00;
      case Dtype::f8_e4m3fn: return (v & 0x7f) == 0x7f;
      case Dtype::bf16: return (v & 0x7fff) > 0x7f80;
      case Dtype::f32: return (v & 0x7fffffff) > 0x7f800000;
      case Dtype::f64: return (v & 0x7fffffffffffffff) > 0x7ff0000000000000;
      default: return false;
    }
  };
  for (std::int64_t i = 0; i < want.size(); ++i) {
    auto x = bits(got, i), y = bits(want, i);
    ASSERT_TRUE(x == y || (nan(x) && nan(y))) << std::hex << x << ", eagerly " << y << std::dec << " at element " << i
                                              << "\n" << about;
  }
}
ExecutableInfo agrees(const FlatFn& f, const Arrays& in) {
  auto e = executable(stage(f, types_of(in)).program);
  auto got = e->run(in), want = f(in);
  for (std::size_t k = 0; k < want.size(); ++k) same(got[k], want[k], e->explain());
  return e->info();
}
/// Numbers of each dtype near its limits, and any bits: every NaN, infinities, subnormal numbers.
Array any_bits(const Shape& s, Dtype d, Random& g) {
  auto n = static_cast<std::size_t>(volume(s));
  std::vector<std::uint64_t> words(n * dtype_size(d) / 8 + 1);
  if (d == f32 || d == f64 || d == bf16) {
    std::vector<double> v(n);
    constexpr double some[] = {0.0, -0.0, 0.5, 127.5, -128.5, 32767.7, -32769, 65504, 65520, 1e6, -1e12, 6e-8, 3e-8};
    for (auto& x : v) x = g() % 3 ? pick(some, g) : std::ldexp(static_cast<double>(g() % 4096) - 2048, -9);
    if (n > 3) v[1] = std::nan(""), v[2] = INFINITY, v[3] = -INFINITY;
    return from_bytes({s, f64}, v.data()).astype(d);
  }
  for (auto& w : words) w = d == boolean ? g() & 0x0101010101010101u : g();
  return from_bytes({s, d}, words.data());
}
/// The dtypes that loops have.
std::vector<Dtype> dtypes(bool stored) {
  std::vector<Dtype> r;
  for (std::size_t k = 0; k < kDtypes; ++k)
    if (auto d = static_cast<Dtype>(k); d != Dtype::key && !is_complex(d) && d != u64)
      if (!stored || is_stored_only(d)) r.push_back(d);
  return r;
}
const std::vector<Dtype> kStored = dtypes(true), kAll = dtypes(false);

TEST(FuseStored, EveryCastInALoop) {
  Random g(1);
  int cases = 0;
  for (Dtype from : kAll)
    for (Dtype to : kAll)
      for (Shape s : {Shape{3}, Shape{5, 13}, Shape{2, 700}}) {
        auto f = [=](const Arrays& a) {  // more than one member, so that there is a loop
          auto x = a[0].astype(to);
          return Arrays{x, x.astype(f32) + 1, (a[0].astype(f32) * 2).astype(to)};
        };
        agrees(f, {any_bits(s, from, g)});
        ++cases;
      }
  EXPECT_GE(cases, 432);
}
TEST(FuseStored, ChainsAreOnePass) {
  Random g(2);
  auto chain = [](const Arrays& a) { return Arrays{(a[0] * a[1] + a[0]) - a[1] * 3}; };
  auto smooth = [](const Arrays& a) { return Arrays{tanh(a[0] * 0.5 + a[1]) * exp(-square(a[1]))}; };
  auto bias = [](const Arrays& a) { return Arrays{a[0] + broadcast_to(view(a[1], 0), a[0].shape())}; };
  auto sums = [](const Arrays& a) { return Arrays{sum((a[0] * a[1]).astype(f32), -1)}; };
  for (Dtype d : kStored)
    for (Shape s : {Shape{1, 5}, Shape{4, 64}, Shape{7, 333}, Shape{3, 5000}}) {
      Arrays in{any_bits(s, d, g), any_bits(s, d, g)};
      EXPECT_EQ(agrees(chain, in).kernels, 1u) << d;
      if (is_float(d)) {
        EXPECT_EQ(agrees(smooth, in).kernels, 1u);
      }
      agrees(bias, in);
      EXPECT_EQ(agrees(sums, in).kernels, 1u) << d;
    }
}
TEST(FuseStored, WindowsAreReadInPlace) {
  Random g(3);
  for (Dtype d : kStored) {
    auto x = any_bits({6, 40}, d, g), y = any_bits({6, 40}, d, g);
    agrees([](const Arrays& a) { return Arrays{slice(a[0], {1, 3}, {6, 40}) + slice(a[1], {0, 0}, {5, 37})}; }, {x, y});
    agrees([](const Arrays& a) { return Arrays{pad(a[0], {1, 2}, {0, 3}) * 2, a[0]}; }, {x});
    agrees([](const Arrays& a) { return Arrays{concatenate({a[0], a[1], a[0]}, 1) + 1}; }, {x, y});
    agrees([](const Arrays& a) { return Arrays{broadcast_to(view(a[0], 1), {6, 40}), a[0] + 1, a[0]}; }, {x});
  }
}
bool is_f8(const Array& x) { return is_float(x.dtype()) && dtype_size(x.dtype()) == 1; }
Array step(const Arrays& all, Random& g) {
  auto x = pick(all, g), y = pick(all, g);
  if (is_f8(x) != is_f8(y) && is_float(x.dtype()) && is_float(y.dtype())) y = y.astype(x.dtype());
  auto number = [](const Array& a) { return a.dtype() == boolean ? a.astype(i8) : a; };
  switch (g() % 10) {
    case 0: return number(x) + number(y);
    case 1: return number(x) - number(y);
    case 2: return number(x) * number(y);
    case 3: return maximum(number(x), number(y));
    case 4: return number(x) < number(y);
    case 5: return where(x.astype(boolean), number(x), number(y));
    case 6: return -number(x);
    case 7: return is_float(x.dtype()) ? tanh(x) : number(x) >> 1;
    case 8: return broadcast_to(sum(number(x), -1, {.keepdims = true}), x.shape());
    default: return x.astype(pick(kAll, g));
  }
}
TEST(FuseStored, RandomPrograms) {
  for (std::uint64_t seed = 0; seed < 120 && !::testing::Test::HasFatalFailure(); ++seed) {
    Random g(seed);
    constexpr std::int64_t columns[] = {1, 2, 7, 8, 15, 16, 33, 64, 100, 129, 600, 1300};
    Shape s{static_cast<std::int64_t>(1 + g() % 4), pick(columns, g)};
    Arrays in;
    for (int k = 0; k < 3; ++k) in.push_back(any_bits(s, k < 2 ? pick(kStored, g) : pick(kAll, g), g));
    auto after = g();
    auto f = [after](const Arrays& a) {
      Random h(after);
      Arrays all = a;
      for (auto n = 4 + h() % 12; n > 0; --n) all.push_back(step(all, h));
      return Arrays{all.back(), all[all.size() - 2], pick(all, h)};
    };
    SCOPED_TRACE("seed " + std::to_string(seed));
    agrees(f, in);
  }
}
}  // namespace
}  // namespace bora::fuse_stored_test
