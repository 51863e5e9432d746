// Eigen's sparse matrices as lists of coordinates and back: both agree with the dense matrix.
#include "bora/eigen_sparse.h"
#include <gtest/gtest.h>
#include <complex>
#include "bora/fx/transforms.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace eigen_sparse_test {
namespace {
using namespace bora;
template <class V, int O, class I> using Sparse = Eigen::SparseMatrix<V, O, I>;
/// Every third place is set, in an order that is not that of the storage.
template <class M> M some(int rows, int columns) {
  M m(rows, columns);
  for (int k = rows * columns; k-- > 0;)
    if (k % 3 == 0) m.coeffRef(k / columns, k % columns) = static_cast<typename M::Scalar>(k + 1);
  return m;
}
template <class E> void same(const E& e, const char* what) {
  Eigen::Matrix<typename E::Scalar, Eigen::Dynamic, Eigen::Dynamic> dense = e;
  auto m = sparse::from_eigen(e);
  EXPECT_TRUE(array_equal(reshape(m.todense(), {dense.rows(), dense.cols()}), asarray(dense)))
      << what;
  if constexpr (!E::IsVectorAtCompileTime) {
    EXPECT_EQ(m.shape, (Shape{e.rows(), e.cols()})) << what;
    auto back = as_eigen<typename E::PlainObject>(m);
    EXPECT_TRUE(back.isCompressed());
    EXPECT_TRUE(back.toDense() == dense) << what;
  }
}
template <class M> void forms() {
  for (auto [rows, columns] : {std::pair{5, 7}, {7, 4}, {1, 6}, {6, 1}, {0, 3}, {3, 0}, {0, 0}}) {
    auto m = some<M>(rows, columns);
    same(m, "uncompressed");
    m.makeCompressed();
    same(m, "compressed");
    same(M(m.transpose()), "transpose");
    same(Eigen::Ref<const M>(m), "Ref");
    same(Eigen::Map<const M>(rows, columns, m.nonZeros(), m.outerIndexPtr(), m.innerIndexPtr(), m.valuePtr()), "map");
    if (rows > 0 && columns > 0) {
      same(M(m.middleCols(0, columns / 2 + 1)), "block");
      auto r = sparse::from_eigen(m.innerVector(0));
      EXPECT_EQ(r.ndim(), 1);
    }
  }
}
TEST(EigenSparse, EveryScalarTypeOrderAndIndex) {
  forms<Sparse<float, Eigen::ColMajor, int>>();
  forms<Sparse<double, Eigen::RowMajor, int>>();
  forms<Sparse<double, Eigen::ColMajor, std::int64_t>>();
  forms<Sparse<std::int32_t, Eigen::RowMajor, short>>();
  forms<Sparse<std::complex<double>, Eigen::ColMajor, int>>();
}
TEST(EigenSparse, ListsAreInRowMajorOrder) {
  for (auto& m : {sparse::from_eigen(some<Sparse<double, Eigen::ColMajor, int>>(4, 5)),
                  sparse::from_eigen(some<Sparse<double, Eigen::RowMajor, int>>(4, 5))}) {
    auto dense = sparse::fromdense(m.todense());
    EXPECT_TRUE(array_equal(m.indices, dense.indices));
    EXPECT_TRUE(array_equal(m.data, dense.data));
  }
}
TEST(EigenSparse, VectorsAndExpressions) {
  Eigen::SparseVector<float> v(5);
  v.coeffRef(3) = 2;
  same(v, "vector");
  EXPECT_EQ(sparse::from_eigen(v).shape, Shape{5});
  Eigen::SparseVector<float, Eigen::RowMajor> row(5);
  row.coeffRef(4) = 1;
  same(row, "row");
  auto m = some<Sparse<double, Eigen::ColMajor, int>>(4, 4);
  same(Sparse<double, Eigen::ColMajor, int>(m * m + m), "product");
  EXPECT_EQ(sparse::from_eigen(m * 2.).todense().to_vector<double>(), (asarray(m.toDense()) * 2).to_vector<double>());
  EXPECT_EQ(sparse::from_eigen(m.transpose() * 2.).shape, (Shape{4, 4}));
  EXPECT_EQ(sparse::from_eigen(m.cast<float>()).data.dtype(), f32);
}
TEST(EigenSparse, DuplicatesAddAndPlacesOutsideAreLeftOut) {
  sparse::BCOO m{array({1., 2., 4., 8.}, f64), array({{0, 1}, {0, 1}, {2, 3}, {-1, 0}}), {2, 3}};
  auto e = as_eigen<double>(m);
  EXPECT_EQ(e.nonZeros(), 1);
  EXPECT_EQ(e.coeff(0, 1), 3);
  EXPECT_EQ(asarray(e.toDense()).to_vector<double>(), m.todense().to_vector<double>());
  EXPECT_THROW((void)as_eigen<float>(m), DtypeError);
  EXPECT_THROW((void)as_eigen<double>(sparse::BCOO{m.data, m.indices, {2, 3, 4}}), ShapeError);
  EXPECT_THROW((void)as_eigen<double>(sparse::fromdense(ones({3}, f64))), ShapeError);
  EXPECT_THROW((void)(as_eigen<Sparse<double, 0, short>>(sparse::BCOO{m.data, m.indices, {2, 40'000}})), ShapeError);
}
TEST(EigenSparse, DerivativesByTheNumbers) {
  auto m = sparse::from_eigen(some<Sparse<double, Eigen::ColMajor, int>>(3, 4));
  auto x = arange(4., f64);
  auto product = [&](const Array& data) { return sum(sparse::matmul(sparse::BCOO{data, m.indices, m.shape}, x)); };
  auto g = grad(product)(m.data);
  EXPECT_EQ(g.to_vector<double>(), (std::vector<double>{0, 3, 2, 1}));
  EXPECT_THROW((void)grad([&](const Array& data) {
                 return sum(data) * as_eigen<double>(sparse::BCOO{data, m.indices, m.shape}).sum();
               })(m.data),
               TraceError);
}
}  // namespace
}  // namespace eigen_sparse_test
