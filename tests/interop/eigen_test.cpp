// Eigen: conversions and host functions.
#include "bora/eigen.h"
#include <gtest/gtest.h>
#include <Eigen/Dense>
#include "bora/fx/transforms.h"
#include "bora/ops/ops.h"

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
  auto solve = custom_op("solve2", {.eval = [](const Eigen::MatrixXf& a, const Eigen::MatrixXf& b) -> Eigen::MatrixXf { return a.ldlt().solve(b); },
                                    .shape = [](const std::vector<Shape>& s) { return s[1]; }});
  auto a = array({{4., 1.}, {1., 3.}}), b = array({{1.}, {2.}});
  auto x = solve(a, b);
  auto r = matmul(a, x).to_vector<float>();
  EXPECT_NEAR(r[0], 1, 1e-6);
  EXPECT_NEAR(r[1], 2, 1e-6);
  EXPECT_EQ(jit([&](const Array& m) { return solve(m, b); })(a).to_vector<float>(), x.to_vector<float>());
}
}  // namespace
