// Small matrices: the bits of one do not depend on those beside it.
#include <chrono>
#include <cmath>
#include <complex>
#include "bora/base/parallel.h"
#include "bora/ops/contractions.h"
#include "laws/laws.h"
#include "support/matrices.h"

namespace bora::laws::linalg_test {
namespace {
using test::draw;
using test::largest;
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
/// Factors of matrices around the sizes at which algorithms change give the matrix back, with the same bits for every
/// number of threads.
TEST(Linalg, FactorsGiveTheMatrixBack) {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{17, 17},  {31, 5},   {33, 40},   {64, 64},
                                                         {65, 66},  {70, 129}, {129, 70},  {200, 200},
                                                         {260, 257}, {300, 33}, {1, 50},   {50, 1}};
  for (auto dtype : {f32, f64})
    for (auto [m, n] : sizes) {
      SCOPED_TRACE(::testing::Message() << dtype << " " << m << " x " << n);
      auto a = draw(3, {m, n}, dtype), b = draw(4, {m, 7}, dtype);
      auto limit = (dtype == f64 ? 1e-14 : 1e-5) * static_cast<double>(std::max(m, n));
      auto positive = matmul(a, swapaxes(a, -1, -2)) / static_cast<double>(n) + eye(m, dtype);
      auto strong = a + 20.0 * eye(m, n, dtype);
      auto results = [&] {
        auto [p, l, u] = linalg::lu(a);
        auto [q, r] = linalg::qr(a);
        auto k = linalg::cholesky(positive);
        Arrays all{p, l, u, q, r, k, linalg::solve(positive, b), linalg::triangular_solve(k, b)};
        if (m == n) {
          for (bool lower : {false, true})
            for (bool transposed : {false, true})
              all.push_back(linalg::triangular_solve(strong, b, {.lower = lower, .transposed = transposed}));
        }
        auto [su, ss, svt] = linalg::svd(a);
        auto [w, x] = linalg::eigh(positive);
        all.insert(all.end(), {su, ss, svt, w, x});
        return all;
      };
      auto all = results();
      auto &p = all[0], &l = all[1], &u = all[2], &q = all[3], &r = all[4], &k = all[5], &w = *(all.end() - 2);
      auto& x = all.back();
      EXPECT_LT(largest(matmul(p, matmul(l, u)) - a), limit) << "lu";
      EXPECT_LE(largest(l), 1) << "lu: pivots";
      EXPECT_EQ(largest(triu(l, 1)) + largest(tril(u, -1)) + largest(tril(r, -1)) + largest(triu(k, 1)), 0);
      EXPECT_LT(largest(matmul(q, r) - a), limit) << "qr";
      EXPECT_LT(largest(matmul(swapaxes(q, -1, -2), q) - eye(q.shape(-1), dtype)), limit) << "qr: q";
      EXPECT_LT(largest(matmul(k, swapaxes(k, -1, -2)) - positive), limit) << "cholesky";
      EXPECT_LT(largest(matmul(positive, all[6]) - b), limit) << "solve";
      EXPECT_LT(largest(matmul(k, all[7]) - b), limit) << "triangular_solve";
      EXPECT_LT(largest(matmul(positive, x) - x * w), limit) << "eigh";
      EXPECT_LT(largest(matmul(swapaxes(x, -1, -2), x) - eye(m, dtype)), limit) << "eigh: vectors";
      auto su = *(all.end() - 5), ss = *(all.end() - 4), svt = *(all.end() - 3), one = eye(ss.shape(-1), dtype);
      EXPECT_LT(largest(matmul(su * ss, svt) - a), limit) << "svd";
      EXPECT_LT(largest(matmul(swapaxes(su, -1, -2), su) - one), limit) << "svd: u";
      EXPECT_LT(largest(matmul(svt, swapaxes(svt, -1, -2)) - one), limit) << "svd: vt";
      if (m == n)
        for (std::size_t i = 0; i < 4; ++i) {
          auto half = i >= 2 ? tril(strong) : triu(strong);
          auto error = matmul(i % 2 == 1 ? swapaxes(half, -1, -2) : half, all[8 + i]) - b;
          EXPECT_LT(largest(error), limit * 20) << "triangular_solve " << i;
        }
      for (int threads : {1, 3}) {
        set_thread_count(threads);
        auto again = results();
        set_thread_count(0);
        for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(array_equal(all[i], again[i])) << i;
      }
    }
}
/// Matrices at the ends of the range, of zeros, of one rank, and with a number that is not finite.
TEST(Linalg, OddMatrices) {
  const std::int64_t n = 70;
  auto a = draw(5, {n, n}, f64), column = slice_in_dim(a, -1, 0, 1);
  for (double scale : {1e-200, 1e200, 0.0}) {
    auto scaled = a * scale, of_one_rank = matmul(column, swapaxes(column, -1, -2)) * scale;
    for (const auto& x : {scaled, of_one_rank}) {
      SCOPED_TRACE(scale);
      auto limit = 1e-12 * (scale == 0 ? 1 : scale);
      auto [q, r] = linalg::qr(x);
      EXPECT_LT(largest(matmul(q, r) - x), limit);
      EXPECT_LT(largest(matmul(swapaxes(q, -1, -2), q) - eye(n, f64)), 1e-12);
      auto [u, s, vt] = linalg::svd(x);
      EXPECT_LT(largest(matmul(u * s, vt) - x), limit);
      auto [w, v] = linalg::eigh(x + swapaxes(x, -1, -2));
      EXPECT_LT(largest(matmul(v * w, swapaxes(v, -1, -2)) - (x + swapaxes(x, -1, -2))), limit);
    }
  }
  for (auto bad : {std::nan(""), static_cast<double>(INFINITY)}) {
    auto x = where(reshape(iota({n * n}, 0) == 69 * n + 3, {n, n}), bad, a);
    auto any_nan = [](const Array& y) { return any(isnan(y)).item<bool>(); };
    EXPECT_TRUE(any_nan(linalg::qr(x).q) && any_nan(linalg::qr(x).r)) << bad;
    EXPECT_TRUE(any_nan(linalg::svd(x).s) && any_nan(linalg::eigh(x).values)) << bad;
    EXPECT_TRUE(any_nan(linalg::cholesky(matmul(x, swapaxes(x, -1, -2))))) << bad;
  }
}
/// Positive entries add up: what is checked must be measured beside the largest singular value. The slow way out takes
/// minutes for this size.
TEST(Linalg, SvdOfPositiveNumbersIsFast) {
  auto a = random::uniform(random::key(6), {600, 300}, f64);
  auto begin = std::chrono::steady_clock::now();
  auto [u, s, vt] = linalg::svd(concatenate({a, a + 3.0}, -1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_LT(largest(matmul(u * s, vt) - concatenate({a, a + 3.0}, -1)), 1e-10);
  auto wide = full({20000, 2}, 6e16, f32) + draw(7, {20000, 2}, f32) * 1e15;
  auto [q, r] = linalg::qr(wide);
  EXPECT_TRUE(all(isfinite(r)).item<bool>()) << r;
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
/// General matrices, real and complex: the equations that define each result, with the same bits for every number of
/// threads.
TEST(Linalg, GeneralMatrices) {
  auto turned = [](const Array& x) { return swapaxes(conj(x), -1, -2); };
  for (auto dtype : {f32, f64, complex64, complex128})
    for (std::int64_t n : {1, 2, 3, 8, 17, 40, 70}) {
      SCOPED_TRACE(::testing::Message() << dtype << " " << n);
      bool wide = dtype == f64 || dtype == complex128;
      auto real_type = wide ? f64 : f32, complex_type = wide ? complex128 : complex64;
      auto numbers = [&](int seed, const Shape& shape) {
        auto x = draw(seed, shape, real_type);
        return is_complex(dtype) ? complex(x, draw(seed + 50, shape, real_type)) : x;
      };
      auto a = numbers(1, {2, n, n}), b = numbers(2, {2, n, 3}), c = numbers(3, {2, 3, 3});
      auto limit = (wide ? 1e-13 : 1e-4) * static_cast<double>(n * n);
      auto results = [&] {
        auto [w, v] = linalg::eig(a);
        auto [t, z] = linalg::schur(a);
        auto lu = linalg::lu_factor(a);
        return Arrays{w, v, t, z, linalg::sqrtm(a), linalg::solve_sylvester(a, c, b), lu.lu, linalg::solve(a, b),
                      linalg::lu_solve(lu, b, true), linalg::inv(a)};
      };
      auto all = results();
      auto &w = all[0], &v = all[1], &t = all[2], &z = all[3], &root = all[4], &x = all[5];
      auto as_complex = a.astype(complex_type);
      EXPECT_LT(largest(matmul(as_complex, v) - v * expand_dims(w, -2)), limit) << "eig";
      EXPECT_LT(largest(sum(square(abs(v)), -2) - 1.0), limit) << "eig: lengths";
      EXPECT_LT(largest(matmul(matmul(z, t), turned(z)) - a), limit) << "schur";
      EXPECT_LT(largest(matmul(turned(z), z) - eye(n, dtype)), limit) << "schur: z";
      EXPECT_EQ(largest(tril(t, is_complex(dtype) ? -1 : -2)), 0) << "schur: below the diagonal";
      EXPECT_LT(largest(matmul(root, root) - as_complex), 10 * limit) << "sqrtm";
      EXPECT_LT(largest(matmul(a, x) + matmul(x, c) - b), 10 * limit * (1 + largest(x))) << "solve_sylvester";
      EXPECT_LT(largest(matmul(a, all[7]) - b), limit * (1 + largest(all[7]))) << "solve";
      EXPECT_LT(largest(matmul(swapaxes(a, -1, -2), all[8]) - b), limit * (1 + largest(all[8]))) << "lu_solve";
      EXPECT_LT(largest(matmul(a, all[9]) - eye(n, dtype)), limit * (1 + largest(all[9]))) << "inv";
      if (n <= 17) {
        auto det = linalg::det(a);
        auto [sign, size] = linalg::slogdet(a);
        EXPECT_LT(largest(sign * exp(size).astype(dtype) - det), limit * largest(det)) << "slogdet";
        EXPECT_LT(largest(prod(w, -1) - det.astype(complex_type)), limit * largest(det)) << "det";
      }
      for (int threads : {1, 3}) {
        set_thread_count(threads);
        auto again = results();
        for (std::size_t k = 0; k < all.size(); ++k) EXPECT_TRUE(array_equal(again[k], all[k])) << "result " << k;
      }
      set_thread_count(0);
    }
  auto defective = array({{1., 1.}, {0., 1.}}, f64);
  EXPECT_LT(largest(linalg::eigvals(defective) - 1.0), 1e-7);
  EXPECT_LT(largest(real(linalg::sqrtm(defective)) - array({{1., 0.5}, {0., 1.}}, f64)), 1e-12);
  auto turn = array({{0., -1.}, {1., 0.}}, f64);
  EXPECT_LT(largest(sort(imag(linalg::eigvals(turn))) - array({-1., 1.}, f64)), 1e-14);
  EXPECT_EQ(linalg::schur(turn).t.dtype(), f64);
  auto bad = array({{1., std::nan("")}, {2., 1.}}, f64);
  for (auto& y : {linalg::eigvals(bad), linalg::schur(bad).t, linalg::sqrtm(bad), linalg::eig(bad).vectors})
    EXPECT_TRUE(all(isnan(abs(y))).item<bool>());
}
TEST(Linalg, NormsOfTwoAxesKeepTheirOrder) {
  auto x = rnd({2, 3, 4}, 3);
  for (linalg::Order order : std::vector<linalg::Order>{1, -1, HUGE_VAL, 2, "fro"})
    for (auto axes : {Dims{0, 1}, {1, 0}, {2, 0}, {-1, -2}, {-2, -1}, {0, -1}}) {
      auto d0 = axes[0] < 0 ? axes[0] + 3 : axes[0], d1 = axes[1] < 0 ? axes[1] + 3 : axes[1];
      auto matrices = transpose(x, {3 - d0 - d1, d0, d1});
      auto want = linalg::matrix_norm(matrices, order);
      close({linalg::norm(x, order, axes)}, {want}, 1e-13, "norm");
      close({squeeze(linalg::norm(x, order, axes, true), axes)}, {want}, 1e-13, "keepdims");
    }
  EXPECT_THROW((void)linalg::norm(x, 1, {0, 0}), ValueError);
}
TEST(Linalg, ToeplitzMatricesOfOneVectorAreHermitian) {
  auto c = complex(rnd({4}, 3), rnd({4}, 4));
  auto t = linalg::toeplitz(c);
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t k = 0; k < 4; ++k) {
      auto got = view(t, i, k).item<std::complex<double>>();
      auto want = view(c, std::abs(i - k)).item<std::complex<double>>();
      EXPECT_EQ(got, i < k ? std::conj(want) : want) << i << ' ' << k;
    }
  EXPECT_EQ(linalg::toeplitz(array({1, 2, 3})).dtype(), i32);
}
}  // namespace
}  // namespace bora::laws::linalg_test
