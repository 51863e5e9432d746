// Small matrices: the bits of one do not depend on those beside it.
#include "laws/laws.h"

namespace bora::laws {
namespace {
Array draw(int seed, const Shape& shape, Dtype dtype) { return random::normal(random::key(seed), shape, dtype); }
TEST(Linalg, TheBatchGivesTheBitsOfEachMatrix) {
  constexpr std::int64_t count = 13;
  for (auto dtype : {f32, f64})
    for (std::int64_t n : {1, 2, 3, 5, 8, 15, 16, 17}) {
      SCOPED_TRACE(std::to_string(n));
      auto a = draw(1, {count, n, n}, dtype), b = draw(2, {count, n, 3}, dtype);
      auto close_to = [&](const Array& x, const Array& y) {
        auto limit = (dtype == f64 ? 1e-13 : 1e-4) * static_cast<double>(n);
        EXPECT_LT(amax(abs(x - y)).astype(f64).item<double>(), limit);
      };
      auto each = [&](const std::function<Array(const Array&, const Array&)>& f) {
        auto every = f(a, b);
        for (std::int64_t i = 0; i < count; ++i) {
          auto one = f(slice_in_dim(a, 0, i, i + 1), slice_in_dim(b, 0, i, i + 1));
          EXPECT_TRUE(array_equal(one, slice_in_dim(every, 0, i, i + 1))) << "matrix " << i;
        }
        return every;
      };
      auto x = each([](auto& a, auto& b) { return linalg::solve(a, b); });
      close_to(matmul(a, x), b);
      auto positive = [&](const Array& a) { return matmul(a, swapaxes(a, -1, -2)) + eye(n, dtype); };
      auto l = each([&](auto& a, auto&) { return linalg::cholesky(positive(a)); });
      close_to(matmul(l, swapaxes(l, -1, -2)), positive(a));
      for (bool lower : {false, true})
        for (bool transposed : {false, true}) {
          auto strong = [&](const Array& a) { return a * 0.1 + eye(n, dtype) * 2; };
          auto y = each([&](auto& a, auto& b) {
            return linalg::triangular_solve(strong(a), b, {.lower = lower, .transposed = transposed});
          });
          auto half = lower ? tril(strong(a)) : triu(strong(a));
          close_to(matmul(transposed ? swapaxes(half, -1, -2) : half, y), b);
        }
    }
}
TEST(Linalg, AMatrixThatFailsFailsAlone) {
  for (std::int64_t n : {2, 4, 20}) {
    auto a = matmul(draw(1, {9, n, n}, f64), draw(2, {9, n, n}, f64)), good = matmul(a, swapaxes(a, -1, -2));
    auto which = reshape(iota({9}, 0) == 4, {9, 1, 1});
    auto l = linalg::cholesky(where(which, -good, good));
    auto failed = isnan(l) == broadcast_to(which, l.shape());
    EXPECT_TRUE(all(failed).item<bool>()) << l;
    auto x = linalg::solve(where(which, 0.0, a), ones({9, n, 1}, f64));
    EXPECT_TRUE(all(isfinite(x) == !broadcast_to(which, x.shape())).item<bool>()) << x;
  }
}
}  // namespace
}  // namespace bora::laws
