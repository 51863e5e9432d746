// Eigen: conversions and host functions.
#include "bora/eigen.h"
#include "bora/ops/contractions.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include <gtest/gtest.h>
#include <Eigen/Dense>
#include "bora/fx/transforms.h"
#include "bora/ops/linalg.h"
#include "bora/ops/ops.h"
#include "bora/ops/transform.h"

namespace eigen_test {
namespace {
using namespace bora;
TEST(Eigen, MatricesVectorsAndExpressions) {
  Eigen::MatrixXf m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  Array a = asarray(m);
  EXPECT_EQ(a.type(), (Type{{2, 3}, f32}));
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(asarray(m * 2).to_vector<float>(), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(asarray(m.transpose()).shape(), (Shape{3, 2}));
  EXPECT_EQ(asarray(m.row(1)).to_vector<float>(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(asarray(Eigen::Vector3d(1, 2, 3)).type(), (Type{{3}, f64}));
  EXPECT_EQ(as_eigen<float>(a), m);
  EXPECT_EQ(as_eigen<float>(a + 1)(1, 2), 7.F);
  auto map = map_eigen<float>(a);
  EXPECT_EQ(static_cast<const void*>(map.data()), a.bytes());
  EXPECT_EQ(map.sum(), 21.F);
  EXPECT_EQ(as_eigen<float>(array({1., 2.})).rows(), 2);
  EXPECT_THROW((void)as_eigen<double>(a), DtypeError);
  EXPECT_THROW((void)as_eigen<float>(zeros({2, 2, 2})), ShapeError);
}
TEST(Eigen, HostFunctions) {
  auto solve = custom_op("solve2", {.eval = [](const Eigen::MatrixXf& a, const Eigen::MatrixXf& b) -> Eigen::MatrixXf {
                                      return a.ldlt().solve(b);
                                    },
                                    .shape = [](const std::vector<Shape>& s) { return s[1]; }});
  auto a = array({{4., 1.}, {1., 3.}}), b = array({{1.}, {2.}});
  auto x = solve(a, b);
  auto r = matmul(a, x).to_vector<float>();
  EXPECT_NEAR(r[0], 1, 1e-6);
  EXPECT_NEAR(r[1], 2, 1e-6);
  EXPECT_EQ(jit([&](const Array& m) { return solve(m, b); })(a).to_vector<float>(), x.to_vector<float>());
}

TEST(Linalg, EmptyMatricesAndNumbersThatAreNotFinite) {
  EXPECT_EQ(linalg::svd(zeros({3, 0})).u.shape(), (Shape{3, 0}));
  EXPECT_EQ(linalg::svd(zeros({0, 3})).vt.shape(), (Shape{0, 3}));
  EXPECT_EQ(linalg::eigh(zeros({0, 0})).values.shape(), Shape{0});
  EXPECT_EQ(linalg::qr(zeros({0, 3})).r.shape(), (Shape{0, 3}));
  EXPECT_EQ(linalg::solve(eye(2), zeros({2, 0})).shape(), (Shape{2, 0}));
  auto many = reshape(arange(3000., f32), {1000, 3, 1});  // over threads
  EXPECT_TRUE(array_equal(linalg::solve(broadcast_to(2 * eye(3), {1000, 3, 3}), many), many / 2));
  for (double bad : {std::nan(""), HUGE_VAL}) {
    auto a = array({{bad, 1.}, {1., 3.}});
    auto f = linalg::svd(stack({a, eye(2)}));
    auto e = linalg::eigh(a);
    for (auto& x : {view(f.u, 0), view(f.s, 0), view(f.vt, 0), e.values, e.vectors})
      EXPECT_TRUE(all(isnan(x)).item<bool>()) << x;
    EXPECT_EQ(view(f.s, 1).to_vector<float>(), (std::vector<float>{1, 1}));
  }
}

TEST(Eigen, NumbersThatCarryADerivativeAreNotSeen) {
  auto x = ones({2, 2}, f64);
  EXPECT_THROW((void)grad([](const Array& a) { return sum(a) * as_eigen<double>(a).trace(); })(x), TraceError);
  EXPECT_THROW((void)grad([](const Array& a) { return sum(a) * map_eigen<double>(a).trace(); })(x), TraceError);
  Array g = grad([](const Array& a) { return sum(a) * as_eigen<double>(stop_gradient(a)).trace(); })(x);
  EXPECT_EQ(g.to_vector<double>(), (std::vector<double>{2, 2, 2, 2}));
}

// ---- linalg --------------------------------------------------------------------------------------------------------
Array wide() { return array({{2., -1., 0.5}, {1., 3., 0.25}, {0., -0.5, 4.}}, f64); }
void near(const Array& a, const Array& b, double tolerance = 1e-10) {
  ASSERT_EQ(a.type(), b.type());
  auto x = a.to_vector<double>(), y = b.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << "element " << i;
}
template <class F> void gradient_is_right(const F& f, const Array& a) {
  auto g = grad(f)(a).template to_vector<double>();
  auto v = a.to_vector<double>();
  for (std::size_t i = 0; i < v.size(); ++i) {
    auto at = [&](double h) {
      auto w = v;
      w[i] += h;
      return f(asarray(w, a.shape())).template item<double>();
    };
    EXPECT_NEAR(g[i], (at(1e-6) - at(-1e-6)) / 2e-6, 1e-7) << "element " << i;
  }
}
TEST(Linalg, DecompositionsGiveTheMatrixBack) {
  auto a = wide(), s = matmul(a, transpose(a));
  auto l = linalg::cholesky(s);
  near(matmul(l, transpose(l)), s);
  near(tril(l), l);
  for (auto& m : {a, view(a, range(0, 2)), view(a, all(), range(0, 2))}) {
    auto [q, r] = linalg::qr(m);
    near(matmul(q, r), m);
    near(triu(r), r);
    near(matmul(transpose(q), q), eye(q.shape(-1), f64));
    auto [u, d, vt] = linalg::svd(m);
    near(matmul(u * d, vt), m);
  }
  auto [w, x] = linalg::eigh(s);
  near(matmul(x * w, transpose(x)), s);
  near(linalg::solve(a, matmul(a, s)), s);
  near(linalg::triangular_solve(l, matmul(l, a)), a);
  near(linalg::triangular_solve(l, matmul(transpose(l), a), {.transposed = true}), a);
  auto u = triu(a);
  near(linalg::triangular_solve(u, matmul(u, a), {.lower = false}), a);
  EXPECT_TRUE(all(isnan(linalg::cholesky(-s))).item<bool>());
  EXPECT_THROW((void)linalg::cholesky(zeros({2, 3})), ShapeError);
  EXPECT_THROW((void)linalg::solve(wide(), zeros({2, 1}, f64)), ShapeError);
  EXPECT_THROW((void)linalg::svd(zeros({2, 3}, i32)), DtypeError);
}
/// Symmetric matrices whose eigenvalues are equal, zero, in pairs, graded, or far from one.
TEST(Eigen, EighOfHardMatrices) {
  using M = Eigen::MatrixXd;
  std::srand(8);
  for (int n : {1, 2, 48, 49, 65, 130, 257}) {
    M r = M::Random(n, n), q = Eigen::HouseholderQR<M>(r).householderQ(), wilkinson = M::Zero(n, n);
    auto with = [&](auto f) {
      Eigen::VectorXd w(n);
      for (int i = 0; i < n; ++i) w(i) = f(i);
      return M(q * w.asDiagonal() * q.transpose());
    };
    for (int i = 0; i < n; ++i) wilkinson(i, i) = std::abs(i - (n - 1) / 2.0);
    for (int i = 1; i < n; ++i) wilkinson(i, i - 1) = wilkinson(i - 1, i) = 1;
    std::vector<M> all{r + r.transpose(),
                       M::Zero(n, n),
                       M::Ones(n, n),
                       M::Identity(n, n),
                       wilkinson,
                       with([](int i) { return i % 3; }),
                       with([&](int i) { return std::pow(10.0, -30.0 * i / n); }),
                       with([](int i) { return 1 + 1e-12 * i; }),
                       (r + r.transpose()) * 1e-310,
                       (r + r.transpose()) * 1e300};
    for (std::size_t c = 0; c < all.size(); ++c)
      for (auto type : {f64, f32}) {
        M m = (all[c] + all[c].transpose()) / 2;
        if (type == f32) m = m.cwiseMin(1e30).cwiseMax(-1e30).cast<float>().cast<double>();
        auto f = linalg::eigh(asarray(m).astype(type));
        M x = as_eigen<double>(f.vectors.astype(f64));
        Eigen::VectorXd w = as_eigen<double>(f.values.astype(f64));
        auto eps = type == f64 ? 2.3e-16 : 1.2e-7, size = m.cwiseAbs().maxCoeff() + 1e-320;
        auto text = std::to_string(n) + ", matrix " + std::to_string(c);
        M scaled = m / size, again = x * (w / size).asDiagonal() * x.transpose();
        EXPECT_LE((scaled - again).norm(), 60 * eps * (1 + scaled.norm()) * std::sqrt(n)) << text;
        EXPECT_LE((x.transpose() * x - M::Identity(n, n)).norm(), 60 * eps * n) << text;
        for (int i = 1; i < n; ++i) EXPECT_LE(w(i - 1), w(i)) << text;
      }
  }
}
/// Matrices that are hard for a method of division: equal, zero, tiny, huge and graded singular values.
TEST(Eigen, SvdOfHardMatrices) {
  using M = Eigen::MatrixXd;
  std::srand(7);
  for (auto [m, n] : {std::pair{1, 1}, {2, 2}, {16, 16}, {17, 40}, {60, 33}, {130, 130}, {300, 200}}) {
    auto k = std::min(m, n);
    M r = M::Random(m, n), graded = r, blocks = M::Zero(m, n), hilbert(m, n);
    for (int j = 0; j < n; ++j) graded.col(j) *= std::pow(10.0, -300.0 * j / n);
    for (int i = 0; i < k; ++i) blocks(i, i) = i % 3;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) hilbert(i, j) = 1.0 / (i + j + 1);
    std::vector<M> all{r,
                       M::Zero(m, n),
                       M::Ones(m, n),
                       M::Identity(m, n),
                       r.col(0) * r.row(0),
                       graded,
                       blocks,
                       hilbert,
                       r * 1e-310,
                       r * 1e300,
                       (r.array() > 0.9).cast<double>()};
    for (std::size_t c = 0; c < all.size(); ++c)
      for (auto type : {f64, f32}) {
        M wide = all[c];
        if (type == f32) wide = wide.cwiseMin(1e30).cwiseMax(-1e30).cast<float>().cast<double>();
        auto f = linalg::svd(asarray(wide).astype(type));
        auto u = as_eigen<double>(f.u.astype(f64)), vt = as_eigen<double>(f.vt.astype(f64));
        Eigen::VectorXd s = as_eigen<double>(f.s.astype(f64));
        auto eps = type == f64 ? 2.3e-16 : 1.2e-7, size = wide.cwiseAbs().maxCoeff() + 1e-320;
        auto text = std::to_string(m) + " x " + std::to_string(n) + ", matrix " + std::to_string(c);
        M scaled = wide / size, again = u * (s / size).asDiagonal() * vt;
        EXPECT_LE((scaled - again).norm(), 60 * eps * (1 + scaled.norm()) * std::sqrt(k)) << text;
        EXPECT_LE((u.transpose() * u - M::Identity(k, k)).norm(), 60 * eps * k) << text;
        EXPECT_LE((vt * vt.transpose() - M::Identity(k, k)).norm(), 60 * eps * k) << text;
        for (int i = 0; i < k; ++i) EXPECT_TRUE(s(i) >= 0 && (i == 0 || s(i) <= s(i - 1))) << text;
      }
  }
}
TEST(Linalg, Derivatives) {
  auto a = wide(), s = matmul(a, transpose(a)), c = array({{1., 2.}, {-1., 0.5}, {3., 1.}}, f64), weight = sin(a * 3);
  gradient_is_right([&](const Array& x) { return sum(linalg::cholesky(x) * weight); }, s);
  gradient_is_right([&](const Array& x) { return sum(square(linalg::solve(x, c))); }, a);
  gradient_is_right([&](const Array& x) { return sum(square(linalg::solve(a, x))); }, c);
  gradient_is_right([&](const Array& x) { return sum(square(linalg::triangular_solve(x, c))); }, a);
  gradient_is_right(
      [&](const Array& x) { return sum(square(linalg::triangular_solve(x, c, {.lower = false, .transposed = true}))); },
      a);
  gradient_is_right([&](const Array& x) { return sum(square(linalg::triangular_solve(a, x, {.transposed = true}))); },
                    c);
  gradient_is_right(
      [&](const Array& x) {
        auto [w, v] = linalg::eigh(x);
        return sum(w * w * w) * 0.01 + sum(square(v) * weight);
      },
      s);
}
TEST(Linalg, BatchesVmapAndJit) {
  auto a = wide(), rows = stack({a, a * 2, transpose(a)}), c = array({{1.}, {2.}, {3.}}, f64);
  auto b = stack({c, c, c});
  auto x = linalg::solve(rows, b);
  near(view(x, 2), linalg::solve(transpose(a), c));
  near(vmap([](const Array& m, const Array& v) { return linalg::solve(m, v); }, {.in = {0, none}})(rows, c), x);
  near(jit([](const Array& m, const Array& v) { return linalg::solve(m, v); })(rows, b), x);
}
}  // namespace
}  // namespace eigen_test
