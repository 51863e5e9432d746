// Eigenvalues, Schur's and Hessenberg's form of matrices of every kind: the equations that define them, with the same
// bits for every number of threads; known eigenvalues; NumPy's.
#include <cmath>
#include "bora/base/parallel.h"
#include "bora/ops/linalg.h"
#include "bora/ops/contractions.h"
#include "laws/laws.h"
#include "support/golden.h"
#include "support/matrices.h"

namespace bora::laws::eig_test {
namespace {
using test::draw;
using test::largest;
using test::turned;
using Index = std::int64_t;
Array shifted(Index n, Index k, Dtype dtype) {
  return (expand_dims(iota({n}, 0), -1) + static_cast<int>(k) == expand_dims(iota({n}, 0), 0)).astype(dtype);
}
/// Matrices [n, n] by name.
std::vector<std::pair<std::string, Array>> matrices(Index n, Dtype dtype) {
  auto a = draw(1, {n, n}, dtype), one = eye(n, dtype), q = linalg::qr(draw(2, {n, n}, dtype)).q;
  auto places = expand_dims(iota({n}, 0), -1) - expand_dims(iota({n}, 0), 0);
  auto steps = (remainder(iota({n}, 0), 3)).astype(dtype);
  auto below = shifted(n, -1, dtype), band = triu(ones({n, n}, dtype), 1) - triu(ones({n, n}, dtype), 4);
  std::vector<std::pair<std::string, Array>> r{
      {"normal", a},
      {"zero", zeros({n, n}, dtype)},
      {"one", one},
      {"ones", ones({n, n}, dtype)},
      {"triangular", triu(a)},
      {"lower", tril(a)},
      {"jordan", 2 * one + shifted(n, 1, dtype)},
      {"nilpotent", below},
      {"cyclic", below + shifted(n, n - 1, dtype)},
      {"companion", below + where(expand_dims(iota({n}, 0) == 0, -1), a, 0.0)},
      {"orthogonal", q},
      {"hermitian", a + turned(a)},
      {"skew", a - turned(a)},
      {"near rank one", 1.0 + 1e-5 * a},
      {"clustered", matmul(matmul(q, one * expand_dims(steps, 0) + band), turned(q))},
      {"badly scaled", a * exp(places.astype(real_dtype(dtype)) * (12.0 / static_cast<double>(n + 1))).astype(dtype)},
      {"small", a * 1e-30},
      {"large", a * 1e30},
  };
  if (real_dtype(dtype) == f64) r.push_back({"tiny", a * 1e-290}), r.push_back({"huge", a * 1e290});
  return r;
}
void check_one(const Array& a) {
  const auto n = a.shape(-1);
  const bool wide = real_dtype(a.dtype()) == f64;
  auto scale = largest(a) > 0 ? largest(a) : 1;
  auto b = a / scale;
  auto complex_type = wide ? complex128 : complex64;
  auto limit = (wide ? 4e-15 : 2e-6) * static_cast<double>(n + 5);
  auto [w, v] = linalg::eig(a);
  auto [t, z] = linalg::schur(a);
  auto [h, q] = linalg::hessenberg(a);
  ASSERT_EQ(w.dtype(), complex_type);
  EXPECT_LT(largest(matmul(b.astype(complex_type), v) - v * expand_dims(w / scale, -2)), limit) << "eig";
  EXPECT_LT(largest(sum(square(abs(v)), -2) - 1.0), limit) << "lengths";
  auto sorted = [](const Array& x) { return sort(real(x)); };
  EXPECT_LT(largest(sum(diagonal(b)).astype(complex_type) - sum(w / scale)), limit * static_cast<double>(n)) << "trace";
  EXPECT_TRUE(array_equal(sorted(linalg::eigvals(a)), sorted(w)));
  EXPECT_LT(largest(matmul(matmul(z, t / scale), turned(z)) - b), limit) << "schur";
  EXPECT_LT(largest(matmul(turned(z), z) - eye(n, a.dtype())), limit) << "z";
  EXPECT_LT(largest(matmul(matmul(q, h / scale), turned(q)) - b), limit) << "hessenberg";
  EXPECT_LT(largest(matmul(turned(q), q) - eye(n, a.dtype())), limit) << "q";
  EXPECT_EQ(largest(tril(h, -2)), 0);
  EXPECT_EQ(largest(tril(t, is_complex(a.dtype()) ? -1 : -2)), 0);
  if (is_complex(a.dtype()) || n < 2) return;
  // Blocks of two: equal numbers on the diagonal, others of different signs, and never two that share a row.
  auto low = diagonal(t, -1), high = diagonal(t, 1), main = diagonal(t);
  auto pairs = low != 0.0;
  EXPECT_TRUE(all(logical_or(low == 0.0, sign(low) * sign(high) < 0.0)).item<bool>());
  auto gap = slice_in_dim(main, 0, 0, n - 1) - slice_in_dim(main, 0, 1, n);
  EXPECT_TRUE(all(logical_or(low == 0.0, gap == 0.0)).item<bool>());
  if (n > 2) {
    auto next = slice_in_dim(pairs, 0, 1, n - 1);
    EXPECT_FALSE(any(logical_and(slice_in_dim(pairs, 0, 0, n - 2), next)).item<bool>());
  }
  EXPECT_TRUE(array_equal(sort(imag(w)), sort(-imag(w)))) << "every number with its conjugate";
}
TEST(Eig, EquationsHoldForMatricesOfEveryKind) {
  for (auto dtype : {f64, complex128, f32, complex64})
    for (Index n : {1, 2, 3, 4, 17, 66, 100}) {
      if (n > 17 && (real_dtype(dtype) == f32 || (n == 66 && effort() != Effort::full))) continue;
      for (auto& [name, a] : matrices(n, dtype)) {
        SCOPED_TRACE(::testing::Message() << dtype << " " << n << " " << name);
        check_one(a);
      }
    }
}
TEST(Eig, LargerMatricesAndThreads) {
  for (auto dtype : {f64, complex128})
    for (Index n : {170, 300}) {
      if (n > 200 && dtype == complex128) continue;
      SCOPED_TRACE(::testing::Message() << dtype << " " << n);
      auto a = draw(3, {n, n}, dtype);
      check_one(a);
      auto want = linalg::eig(a);
      for (int threads : {1, 3}) {
        set_thread_count(threads);
        auto got = linalg::eig(a);
        EXPECT_TRUE(array_equal(got.values, want.values) && array_equal(got.vectors, want.vectors)) << threads;
        set_thread_count(0);
      }
    }
}
TEST(Eig, KnownEigenvalues) {
  const Index n = 90;
  auto w = linalg::eigvals(shifted(n, -1, f64) + shifted(n, n - 1, f64));  // roots of one
  EXPECT_LT(largest(abs(w) - 1.0), 1e-13);
  EXPECT_LT(largest(sort(real(w)) - sort(cos(iota({n}, 0).astype(f64) * (2 * M_PI / n)))), 1e-13);
  // Eigenvalues of a nonsymmetric matrix with three diagonals: 2 sqrt(b c) cos(k pi / (m + 1)), with a condition of
  // about 2^m.
  const Index m = 12;
  auto three = 4.0 * shifted(m, 1, f64) + 1.0 * shifted(m, -1, f64);
  EXPECT_LT(largest(sort(real(linalg::eigvals(three))) -
                    sort(4.0 * cos((1.0 + iota({m}, 0).astype(f64)) * (M_PI / (m + 1))))), 1e-12);
  // Balanced first, far smaller eigenvalues keep their digits.
  auto scaled = array({{1., 1e8, 0.}, {1e-8, 2., 1e8}, {0., 1e-8, 4.}}, f64);
  auto plain = array({{1., 1., 0.}, {1., 2., 1.}, {0., 1., 4.}}, f64);
  EXPECT_LT(largest(sort(real(linalg::eigvals(scaled))) - sort(real(linalg::eigvals(plain)))), 1e-13);
  EXPECT_EQ(linalg::eig(zeros({0, 0}, f64)).vectors.shape(), (Shape{0, 0}));
}
TEST(Eig, AnyNumberThatIsNotFiniteGivesNan) {
  for (auto dtype : {f64, complex64})
    for (double bad : {std::nan(""), HUGE_VAL}) {
      auto a = where(expand_dims(iota({80}, 0) == 3, -1), bad, draw(1, {80, 80}, dtype));
      for (auto& y : {linalg::eigvals(a), linalg::eig(a).vectors, linalg::schur(a).t, linalg::sqrtm(a)})
        EXPECT_TRUE(all(isnan(abs(y))).item<bool>());
    }
}
TEST(Eig, NumpysEigenvalues) {
  int cases = 0;
  for (auto& line : test::golden_lines("eig.txt")) {
    int n = std::stoi(line.name), kind = std::stoi(line.parameters[0]);
    std::vector<double> numbers;
    for (auto& word : line.values) numbers.push_back(std::stod(word));
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(2 * n)) << line.text;
    auto i = expand_dims(iota({n}, 0), -1), j = expand_dims(iota({n}, 0), 0);
    auto part = [&](const Array& x, int p) { return (remainder(x, p) - p / 2).astype(f64) / 4.0; };
    auto a = part(7 * i + 13 * j + i * j + 3 * i * i, 11);
    if (kind == 1) a = complex(a, part(5 * i + 3 * j + 2 * i * j + j * j, 13));
    auto both = asarray(numbers, Shape{n, 2});
    auto want = complex(squeeze(slice_in_dim(both, 1, 0, 1), {1}), squeeze(slice_in_dim(both, 1, 1, 2), {1}));
    auto got = linalg::eigvals(a);
    // To each of NumPy's its nearest, and the other way round.
    auto apart = abs(expand_dims(want, -1) - expand_dims(got, 0));
    EXPECT_LT(largest(amin(apart, 0)) + largest(amin(apart, 1)), 1e-10) << n << " " << kind;
    ++cases;
  }
  EXPECT_EQ(cases, 6);
}
}  // namespace
}  // namespace bora::laws::eig_test
