// Singular values of matrices that divide and conquer finds hard: equal, zero, graded and tiny ones.
#include <cmath>
#include "bora/base/parallel.h"
#include "bora/ops/contractions.h"
#include "laws/laws.h"
#include "support/matrices.h"

namespace bora::laws::svd_test {
namespace {
using test::largest;
Array number(double x) { return full({}, x, f64); }
Array ones_where(const Array& condition) { return condition.astype(f64); }
/// Matrices [n, n] whose largest number is near 1.
std::vector<std::pair<std::string, Array>> hard_matrices(std::int64_t n) {
  auto a = random::normal(random::key(n), {n, n}, f64) * 0.25, one = eye(n, f64);
  auto i = reshape(arange(n).astype(f64), {n, 1}), j = transpose(i);
  auto odd = [](const Array& k) { return k - 2.0 * floor(k / 2.0) == 1.0; };
  auto where_odd = [&](const Array& k, double scale) {
    return where(broadcast_to(odd(k), {n, n}), number(scale), number(1));
  };
  auto tile = [&](const Array& x) { return broadcast_to(slice_in_dim(x, -1, 0, 1), {n, n}); };
  return {{"any", a},
          {"zeros", a * 0.0},
          {"the identity", one},
          {"ones", ones({n, n}, f64)},
          {"one rank", tile(a)},
          {"graded", a * exp(-0.7 * (i + j))},
          {"Hilbert's", 1.0 / (1.0 + i + j)},
          {"tiny rows", a * where_odd(i, 1e-300)},
          {"tiny columns", a * where_odd(j, 1e-180)},
          {"Kahan's", ones_where(i == j) - ones_where(j > i)},
          {"three diagonals", ones_where(abs(i - j) <= 1.0)},
          {"a shift", ones_where(j == i + 1.0)},
          {"two values", one + 0.5 * ones_where(i < 0.5 * static_cast<double>(n)) * one},
          {"graded diagonals", (one + ones_where(j == i + 1.0)) * exp(-0.7 * (i + j))}};
}
TEST(Svd, HardMatricesAreGivenBack) {
  for (std::int64_t n : {1, 2, 3, 8, 14, 15, 16, 17, 31, 32, 33, 64, 100, 130, 257})
    for (auto& [name, a] : hard_matrices(n)) {
      SCOPED_TRACE(::testing::Message() << name << " " << n);
      auto [u, s, vt] = linalg::svd(a);
      const auto limit = 4e-15 * static_cast<double>(n + 10);
      EXPECT_LT(largest(matmul(u * s, vt) - a), limit * std::max(1.0, largest(s)));
      EXPECT_LT(largest(matmul(transpose(u), u) - eye(n, f64)), limit);
      EXPECT_LT(largest(matmul(vt, transpose(vt)) - eye(n, f64)), limit);
      EXPECT_TRUE(all(s >= 0.0).item<bool>()) << s;
      EXPECT_TRUE(n == 1 || all(slice(s, {0}, {n - 1}) >= slice(s, {1}, {n})).item<bool>()) << s;
      set_thread_count(3);
      EXPECT_TRUE(array_equal(s, linalg::svd(a).s));
      set_thread_count(0);
    }
}
/// Singular values that are known: of a matrix with two diagonals of ones, and of a diagonal in any order.
TEST(Svd, KnownValues) {
  for (std::int64_t n : {5, 40, 90, 300}) {
    auto i = reshape(arange(n).astype(f64), {n, 1}), j = transpose(i);
    auto two = ones_where(i == j) + ones_where(j == i + 1.0);
    auto known = 2.0 * cos((arange(n).astype(f64) + 1.0) * (M_PI / (2.0 * static_cast<double>(n) + 1.0)));
    EXPECT_LT(largest(linalg::svd(two).s - known), 1e-14);
    auto d = random::uniform(random::key(n), {n}, f64);
    EXPECT_LT(largest(linalg::svd(eye(n, f64) * d).s - flip(sort(d), 0)), 1e-14);
    auto as_f32 = (eye(n, f64) * d).astype(f32);
    EXPECT_LT(largest(linalg::svd(as_f32).s - flip(sort(d.astype(f32)), 0)), 1e-6);
  }
}
}  // namespace
}  // namespace bora::laws::svd_test
