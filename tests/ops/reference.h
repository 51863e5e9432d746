// reference.h -- slow and obvious: what array operations are compared with.
#pragma once
#include <gtest/gtest.h>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>
#include "bora/array/array.h"
#include "support/throws.h"

namespace bora::reference {
using Index = Dims;
/// Calls f(position, index) for every index of shape, row-major.
template <class F> void each(const Shape& s, F&& f) {
  Index i(s.size(), 0);
  for (std::int64_t k = 0, n = volume(s); k < n; ++k) {
    f(k, i);
    for (std::size_t d = s.size(); d-- > 0 && ++i[d] == s[d];) i[d] = 0;
  }
}
/// Numbers that are all different in a small array and exact in every dtype but bool: 0, 7, 3, 10, 6, .. modulo 11.
inline Array numbers(const Shape& s, Dtype d = f64, int seed = 0) {
  std::vector<double> v;
  for (std::int64_t k = 0; k < volume(s); ++k)
    v.push_back(static_cast<double>((k * 7 + seed * 5) % 11) - (is_float(d) || d == i32 || d == i64 ? 5 : 0));
  return from_bytes({s, f64}, v.data()).astype(d);
}
struct Table {
  Shape shape;
  std::vector<double> v;
  explicit Table(const Array& a) : shape(a.shape()), v(a.to_vector<double>()) {}
  Table(Shape s, const std::function<double(const Index&)>& f) : shape(std::move(s)) {
    each(shape, [&](std::int64_t, const Index& i) { v.push_back(f(i)); });
  }
  double operator()(const Index& i) const {
    auto s = strides_of(shape);
    std::int64_t p = 0;
    for (std::size_t d = 0; d < i.size(); ++d) p += i[d] * s[d];
    return v.at(static_cast<std::size_t>(p));
  }
};
inline void expect_equal(const Array& x, const Table& want, double tolerance = 0) {
  ASSERT_EQ(x.shape(), want.shape);
  auto got = x.to_vector<double>();
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (std::isnan(want.v[k])) EXPECT_TRUE(std::isnan(got[k])) << "element " << k << " is " << got[k];
    else if (std::isinf(want.v[k])) EXPECT_EQ(got[k], want.v[k]) << "element " << k;
    else EXPECT_NEAR(got[k], want.v[k], tolerance * std::max(1.0, std::abs(want.v[k]))) << "element " << k;
  }
}
inline void expect_values(const Array& x, const std::vector<double>& want, double tolerance = 0) {
  Table t(x);
  t.v = want;
  ASSERT_EQ(x.size(), static_cast<std::int64_t>(want.size()));
  expect_equal(x, t, tolerance);
}
using bora::test::says;
}  // namespace bora::reference
