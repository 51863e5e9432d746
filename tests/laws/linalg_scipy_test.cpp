// Functions of scipy.linalg: the equations that define each result, staged and mapped, and mistakes.
#include "bora/base/parallel.h"
#include "bora/ops/linalg.h"
#include "bora/ops/contractions.h"
#include "laws/complex_table.h"
#include "support/matrices.h"

namespace bora::laws::linalg_scipy_test {
namespace {
using test::draw;
using test::largest;
using test::turned;
using namespace linalg;
double limit_of(Dtype d, std::int64_t n) { return (real_dtype(d) == f64 ? 1e-13 : 1e-4) * static_cast<double>(n + 3); }
/// Staged and mapped, f gives what it gives.
void transformed(const std::function<Arrays(const Array&)>& f, const Array& x, double limit) {
  auto y = f(x);
  close(jit([&](const Array& a) { return f(a); })(x), y, 0, "staged");
  auto both = vmap([&](const Array& a) { return f(a); })(stack({x, x}));
  for (std::size_t i = 0; i < y.size(); ++i) close({both[i]}, {stack({y[i], y[i]})}, limit, "mapped");
}
TEST(LinalgScipy, Reflections) {
  for (auto dtype : {f32, f64, complex64, complex128})
    for (auto [m, n] : {std::pair<int, int>{1, 1}, {5, 3}, {3, 5}, {17, 17}, {70, 40}, {40, 70}}) {
      SCOPED_TRACE(::testing::Message() << dtype << " " << m << " x " << n);
      auto a = draw(1, {m, n}, dtype);
      auto f = qr_raw(a);
      auto [q, r] = qr(a);
      auto limit = limit_of(dtype, m + n);
      auto k = std::min(m, n);
      EXPECT_LT(largest(triu(slice_in_dim(f.packed, 0, 0, k)) - r), limit);
      EXPECT_LT(largest(householder_product(slice_in_dim(f.packed, 1, 0, k), f.factors) - q), limit);
      auto c = draw(2, {k, 4}, dtype), d = draw(3, {4, m}, dtype);
      EXPECT_LT(largest(qr_multiply(a, c, {.left = true}).product - matmul(q, c)), limit);
      EXPECT_LT(largest(qr_multiply(a, d).product - matmul(d, q)), limit);
      EXPECT_LT(largest(qr_multiply(a, d, {.conjugate = true}).product - matmul(d, conj(q))), limit);
      auto x = draw(4, {m, 2}, dtype);
      EXPECT_LT(largest(reflected(f, reflected(f, x), {.turned = true}) - x), limit);
      transformed([](const Array& a) { return Arrays{qr_raw(a).packed, qr_raw(a).factors}; }, a, 0);
      if (m != n) continue;
      auto [h, z] = hessenberg(a);
      EXPECT_LT(largest(matmul(matmul(z, h), turned(z)) - a), limit);
      EXPECT_LT(largest(matmul(turned(z), z) - eye(n, dtype)), limit);
      EXPECT_EQ(largest(tril(h, -2)), 0);
      for (int threads : {1, 3}) {
        set_thread_count(threads);
        EXPECT_TRUE(array_equal(qr_raw(a).packed, f.packed) && array_equal(hessenberg(a).h, h)) << threads;
        set_thread_count(0);
      }
    }
}
TEST(LinalgScipy, HalvesAndKinds) {
  for (auto dtype : {f32, f64, complex64, complex128}) {
    const std::int64_t n = 7;
    auto a = draw(1, {n, n}, dtype), b = draw(2, {n, 3}, dtype), positive = matmul(a, turned(a)) + eye(n, dtype);
    auto limit = 10 * limit_of(dtype, n);
    for (bool lower : {false, true}) {
      auto half = lower ? tril(positive) : triu(positive);  // the other half is not read
      auto l = linalg::cholesky(half, {.lower = lower});
      EXPECT_LT(largest((lower ? matmul(l, turned(l)) : matmul(turned(l), l)) - positive), limit);
      EXPECT_LT(largest(linalg::eigvalsh(half, {.lower = lower}) - eigvalsh(positive)), limit);
      auto x = cho_solve(cho_factor(half, {.lower = lower}), b);
      EXPECT_LT(largest(matmul(positive, x) - b), limit);
      auto symmetric = a + swapaxes(a, 0, 1), hermitian = a + turned(a);
      auto read = [&](const Array& x) { return lower ? tril(x) : triu(x); };
      auto fits = [&](const Array& whole, const Array& given, Assume assume) {
        for (bool transposed : {false, true}) {
          auto x = linalg::solve(given, b, {.assume = assume, .lower = lower, .transposed = transposed});
          EXPECT_LT(largest(matmul(transposed ? swapaxes(whole, 0, 1) : whole, x) - b), limit * (1 + largest(x)))
              << static_cast<int>(assume) << lower << transposed;
        }
      };
      fits(a, a, Assume::general);
      fits(symmetric, read(symmetric), Assume::symmetric);
      fits(hermitian, read(hermitian), Assume::hermitian);
      fits(positive, read(positive), Assume::positive);
      auto strong = a * 0.1 + 2.0 * eye(n, dtype);
      fits(tril(strong), strong, Assume::lower_triangular);
      fits(triu(strong), strong, Assume::upper_triangular);
      fits(strong * eye(n, dtype), strong, Assume::diagonal);
    }
  }
}
TEST(LinalgScipy, FunctionsOfMatrices) {
  for (auto dtype : {f64, complex128})
    for (std::int64_t n : {1, 3, 6}) {
      SCOPED_TRACE(::testing::Message() << dtype << " " << n);
      auto a = draw(1, {n, n}, dtype) * 0.4, e = draw(2, {n, n}, dtype);
      auto as_complex = a.astype(complex128);
      EXPECT_LT(largest(logm(expm(a)) - as_complex), 1e-11);
      auto far = a * 50.0 + 30.0 * eye(n, dtype);
      EXPECT_LT(largest(expm(logm(far)) - far.astype(complex128)), 1e-10 * largest(far));
      EXPECT_LT(largest(funm(a, [](const Array& w) { return exp(w); }) - expm(a).astype(complex128)), 1e-11);
      auto [value, along] = expm_frechet(a, e);
      const double h = 1e-6;
      EXPECT_LT(largest(value - expm(a)), 1e-12);
      EXPECT_LT(largest(along - (expm(a + h * e) - expm(a - h * e)) / (2 * h)), 1e-7);
      transformed([](const Array& x) { return Arrays{logm(x)}; }, a, 1e-12);
      auto loss = [](const Array& x) { return sum(real(logm(x)) + imag(logm(x))); };
      auto x = expm(a), d = draw(3, {n, n}, dtype);
      auto differences = (loss(x + h * d) - loss(x - h * d)).item<double>() / (2 * h);
      EXPECT_NEAR(sum(real(grad(loss)(x) * d)).item<double>(), differences, 1e-6 * (1 + std::abs(differences)));
    }
  EXPECT_FALSE(all(isfinite(logm(zeros({2, 2}, f64)))).item<bool>());
}
TEST(LinalgScipy, SpecialMatrices) {
  auto c = array({1., 2., 3.}, f64), r = array({9., 4., 5., 6.}, f64);
  close({hankel(c, r)}, {array({{1., 2., 3., 4.}, {2., 3., 4., 5.}, {3., 4., 5., 6.}}, f64)}, 0, "hankel");
  close({hankel(c)}, {array({{1., 2., 3.}, {2., 3., 0.}, {3., 0., 0.}}, f64)}, 0, "hankel of c");
  close({circulant(c)}, {array({{1., 3., 2.}, {2., 1., 3.}, {3., 2., 1.}}, f64)}, 0, "circulant");
  auto low = pascal(20, Triangle::lower, f64);
  close({matmul(low, pascal(20, Triangle::upper, f64))}, {pascal(20, Triangle::symmetric, f64)}, 0, "pascal");
  close({pascal(4, Triangle::symmetric, f64)},
        {array({{1., 1., 1., 1.}, {1., 2., 3., 4.}, {1., 3., 6., 10.}, {1., 4., 10., 20.}}, f64)}, 0, "pascal(4)");
  auto x = draw(1, {6}, complex128);
  close({matmul(dft(6, DftScale::none, complex128), x)}, {fft::fft(x)}, 1e-14, "dft");
  auto unitary = dft(6, DftScale::sqrtn, complex128);
  close({matmul(turned(unitary), unitary)}, {eye(6, complex128)}, 1e-14, "dft(sqrtn)");
  close({companion(array({2., -6., 4.}, f64))}, {array({{3., -2.}, {1., 0.}}, f64)}, 0, "companion");
  auto h = hadamard(8, f64);
  close({matmul(h, swapaxes(h, 0, 1))}, {8.0 * eye(8, f64)}, 0, "hadamard");
  EXPECT_THROW((void)hadamard(6), ValueError);
  EXPECT_THROW((void)pascal(-1), ValueError);
  EXPECT_THROW((void)dft(3, DftScale::none, f32), DtypeError);
  EXPECT_THROW((void)hankel(ones({2, 2})), ShapeError);
  EXPECT_THROW((void)qr_multiply(ones({3, 2}), ones({2, 2})), ShapeError);
  EXPECT_THROW((void)hessenberg(ones({3, 2})), ShapeError);
  EXPECT_EQ(circulant(zeros({0})).shape(), (Shape{0, 0}));
  transformed([](const Array& c) { return Arrays{hankel(c), circulant(c), companion(c)}; }, c, 0);
}
}  // namespace
}  // namespace bora::laws::linalg_scipy_test
