// UseDtype: what is made while it stands, and what is left alone.
#include <gtest/gtest.h>
#include <complex>
#include <thread>
#include "bora/bora.h"
#include "support/throws.h"

namespace bora::use_dtype_test {
namespace {
TEST(UseDtype, IsTheDtypeOfLiteralsCreationAndDraws) {
  auto key = random::key(3);
  auto made = [&] {
    return Arrays{array(1.5),       array({1., 2.}),        zeros({2}),           ones({2}),
                  full({2}, 0.5),   arange(3.),             linspace(0, 1, 3),    eye(2),
                  array({1, 2}) * 0.5, random::normal(key, {2}), random::uniform(key), random::gamma(key, array(2.)),
                  fft::fftfreq(4),  one_hot(array({1}), 2), linspace(0, 1, 4, {.endpoint = false})};
  };
  for (auto& x : made()) EXPECT_EQ(x.dtype(), f32);
  {
    UseDtype scope(f64);
    EXPECT_EQ(default_float(), f64);
    for (auto& x : made()) EXPECT_EQ(x.dtype(), f64) << x;
    EXPECT_EQ(array(std::complex<double>(1, 2)).dtype(), complex128);
    EXPECT_EQ(zeros({2}, f32).dtype(), f32);
    EXPECT_EQ((zeros({2}, f32) * 2.5).dtype(), f32);
    EXPECT_EQ(arange(3).dtype(), i32);
    EXPECT_EQ(array({1, 2}).dtype(), i32);
    EXPECT_EQ(random::randint(key, {2}, 0, 9).dtype(), i32);
    Axis X{"x", 3};
    EXPECT_EQ(random::normal(key, {X}).array().dtype(), f64);
    EXPECT_TRUE(array_equal(random::normal(key, {4}), random::normal(key, {4}, f64)));
    EXPECT_EQ(grad([](const Array& x) { return x * x * 0.5; })(3.).dtype(), f64);
    std::thread([] { EXPECT_EQ(array(1.).dtype(), f32); }).join();  // of this thread
    {
      UseDtype inner(f32);
      EXPECT_EQ(array(1.).dtype(), f32);
    }
    EXPECT_EQ(array(1.).dtype(), f64);
  }
  for (auto& x : made()) EXPECT_EQ(x.dtype(), f32);
  test::says_line<DtypeError>([] { UseDtype scope(i32); }, "UseDtype: fractions are f32 or f64 by default, not i32");
}
TEST(UseDtype, IsPartOfJitsKey) {
  auto f = jit([](const Array& i) { return i.astype(i32) + full({2}, 0.25); });
  auto x = array({1, 2});
  EXPECT_EQ(f(x).dtype(), f32);
  {
    UseDtype scope(f64);
    EXPECT_EQ(f(x).dtype(), f64);
  }
  EXPECT_EQ(f(x).dtype(), f32);
  EXPECT_EQ(f.traces(), 2);
  UseDtype scope(f64);
  auto sums = scan([](const Array& c, const Array& v) { return std::pair{c + v * 0.1, c}; }, 0., arange(4.)).first;
  EXPECT_EQ(sums.dtype(), f64);
  EXPECT_NEAR(sums.item<double>(), 0.6, 1e-15);
  auto rows = vmap([](const Array& v) { return v + ones({2}); })(zeros({3, 2}));
  EXPECT_EQ(rows.dtype(), f64);
}
}  // namespace
}  // namespace bora::use_dtype_test
