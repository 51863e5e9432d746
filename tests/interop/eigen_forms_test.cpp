// Every kind of dense Eigen expression as an Array and back, and as parameters and results of host functions.
#include "bora/eigen.h"
#include <gtest/gtest.h>
#include <Eigen/Dense>
#include <complex>
#include "bora/fx/transforms.h"
#include "bora/ops/contractions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace eigen_forms_test {
namespace {
using namespace bora;
using Eigen::Dynamic, Eigen::MatrixXf, Eigen::RowMajor;
/// The law: asarray gives what the coefficients of Eigen's own dense copy say, element by element.
template <class E> void same(const E& e, std::string_view what) {
  Eigen::Matrix<bora::detail::EigenScalar<bora::detail::EigenBaseOf<E>>, Dynamic, Dynamic> dense = e.derived();
  using V = typename decltype(dense)::Scalar;
  Array a = asarray(e);
  constexpr bool vector = bora::detail::eigen_vector<bora::detail::EigenBaseOf<E>>();
  auto rows = static_cast<std::int64_t>(dense.rows()), columns = static_cast<std::int64_t>(dense.cols());
  ASSERT_EQ(a.shape(), vector ? Shape{rows * columns} : (Shape{rows, columns})) << what;
  auto* numbers = static_cast<const V*>(a.bytes());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) ASSERT_EQ(numbers[r * columns + c], dense(r, c)) << what;
}
/// A matrix with different numbers in all places.
template <class M> M counted(Eigen::Index rows, Eigen::Index columns) {
  M m(rows, columns);
  for (Eigen::Index r = 0; r < rows; ++r)
    for (Eigen::Index c = 0; c < columns; ++c) m(r, c) = static_cast<typename M::Scalar>(r * columns + c + 1);
  return m;
}
/// The forms of an expression that every scalar type and order has.
template <class M> void forms(Eigen::Index rows, Eigen::Index columns) {
  using V = typename M::Scalar;
  const M m = counted<M>(rows, columns);
  M written = m;
  same(m, "const");
  same(written, "lvalue");
  same(m.transpose(), "transpose");
  same(m.topRows(rows / 2), "rows");
  same(m.block(rows / 3, columns / 3, rows - rows / 3, columns - columns / 3), "block");
  same(written.leftCols(columns / 2), "columns");
  same(m.reshaped(), "reshaped");
  same(m.colwise().reverse(), "reverse");
  same(m.template cast<std::complex<double>>(), "cast");
  same(m.array(), "array");
  same(m.array() * m.array(), "lazy");
  same(m.replicate(2, 3), "replicate");
  same(Eigen::Ref<const M>(m), "Ref of const");
  same(Eigen::Ref<M>(written), "Ref");
  same(M::Zero(rows, columns), "nullary");
  if (rows == 0 || columns == 0) return;
  same(m.row(rows - 1), "row");
  same(m.col(columns / 2), "column");
  same(m.diagonal(), "diagonal");
  using Line = Eigen::Matrix<V, Dynamic, 1>;
  Line v = counted<Line>(rows * columns, 1);
  same(v.head(2), "head");
  same(v.tail(1), "tail");
  same(v.segment(1, v.size() - 1), "segment");
  same(v.template head<2>(), "fixed head");
  same(v.transpose(), "row vector");
  same(v.asDiagonal(), "diagonal matrix");
  using Strides = Eigen::Stride<Dynamic, Dynamic>;
  same(Eigen::Map<const M>(v.data(), rows, columns), "map");
  same(Eigen::Map<M, 0, Strides>(v.data(), rows / 2, columns / 2, M::IsRowMajor ? Strides(2 * columns, 2)
                                                                               : Strides(2 * rows, 2)),
       "map with strides");
  same(Eigen::Map<Line, 0, Eigen::InnerStride<>>(v.data(), v.size() / 2, Eigen::InnerStride<>(2)), "inner stride");
}
template <class V> void scalars() {
  for (auto [rows, columns] : {std::pair{4, 6}, {5, 3}, {1, 4}, {4, 1}, {0, 3}, {3, 0}, {0, 0}}) {
    forms<Eigen::Matrix<V, Dynamic, Dynamic>>(rows, columns);
    forms<Eigen::Matrix<V, Dynamic, Dynamic, RowMajor>>(rows, columns);
  }
}
TEST(EigenForms, EveryScalarTypeOrderAndSize) {
  scalars<float>();
  scalars<double>();
  scalars<std::int8_t>();
  scalars<std::uint16_t>();
  scalars<std::int32_t>();
  scalars<std::int64_t>();
  scalars<std::complex<float>>();
  scalars<std::complex<double>>();
}
TEST(EigenForms, TypesAndShapes) {
  EXPECT_EQ(asarray(Eigen::Matrix<bool, 2, 2>::Identity()).type(), (Type{{2, 2}, boolean}));
  EXPECT_EQ(asarray(MatrixXf::Identity(2, 2).array() > 0.5F).type(), (Type{{2, 2}, boolean}));
  EXPECT_EQ(asarray(Eigen::Matrix<Eigen::half, 2, 1>::Ones()).type(), (Type{{2}, f16}));
  EXPECT_EQ(asarray(Eigen::Matrix<Eigen::bfloat16, 1, 2>::Ones()).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(asarray(Eigen::RowVector3i(1, 2, 3)).type(), (Type{{3}, i32}));
  EXPECT_EQ(asarray(Eigen::Matrix<double, 1, 1>(2.)).type(), (Type{{1}, f64}));
  Eigen::Matrix3d m = Eigen::Vector3d(1, 2, 3).asDiagonal();
  m(0, 2) = 4;
  same(m.triangularView<Eigen::Upper>(), "triangle");
  same(m.selfadjointView<Eigen::Upper>(), "symmetric");
  same(m.householderQr().householderQ(), "reflections");
  same(m.inverse(), "inverse");
  same(m.partialPivLu().solve(m), "solve");
  same(m * m, "product");
  EXPECT_EQ(asarray(Eigen::PermutationMatrix<2>(Eigen::Vector2i(1, 0))).to_vector<int>(),
            (std::vector<int>{0, 1, 1, 0}));
}
TEST(EigenForms, BackToTypesOfEigen) {
  auto a = reshape(arange(6., f32), {2, 3});
  MatrixXf m = as_eigen<float>(a);
  EXPECT_EQ((as_eigen<Eigen::Matrix<float, 2, 3>>(a)), m);
  EXPECT_EQ((as_eigen<Eigen::Matrix<float, Dynamic, 3, RowMajor>>(a)), m);
  EXPECT_EQ((as_eigen<Eigen::Matrix<float, Dynamic, Dynamic, 0, 4, 4>>(a)), m);
  EXPECT_TRUE((as_eigen<Eigen::ArrayXXf>(a) == m.array()).all());
  EXPECT_EQ(as_eigen<Eigen::RowVectorXf>(arange(3., f32)), m.row(0));
  EXPECT_EQ(as_eigen<Eigen::VectorXf>(reshape(arange(3., f32), {3, 1})), m.row(0).transpose());
  EXPECT_EQ((as_eigen<Eigen::Matrix<Eigen::half, 1, 2>>(ones({2}, f16))(1)), Eigen::half(1));
  EXPECT_EQ(as_eigen<bool>(a > 2).count(), 3);
  EXPECT_EQ(as_eigen<Eigen::MatrixXf>(zeros({0, 3})).cols(), 3);
  EXPECT_THROW((void)as_eigen<Eigen::Matrix3f>(a), ShapeError);
  EXPECT_THROW((void)as_eigen<Eigen::VectorXf>(a), ShapeError);
  EXPECT_THROW((void)as_eigen<Eigen::RowVectorXf>(reshape(arange(3., f32), {3, 1})), ShapeError);
  EXPECT_THROW((void)(as_eigen<Eigen::Matrix<float, Dynamic, Dynamic, 0, 2, 2>>(a)), ShapeError);
  EXPECT_THROW((void)as_eigen<Eigen::MatrixXd>(a), DtypeError);
}

// ---- host functions ------------------------------------------------------------------------------------------------
/// What a host function of one parameter of this type sees and gives: twice its elements.
template <class P> void doubles(const Array& x) {
  HostOp twice = custom_op("twice", {.eval = [](P m) { return (m * 2).eval(); }});
  EXPECT_TRUE(array_equal(twice(x), x * 2));
  EXPECT_TRUE(array_equal(jit([&](const Array& y) { return twice(y); })(x), x * 2));
}
TEST(EigenForms, ParametersOfHostFunctions) {
  auto a = reshape(arange(6., f64), {2, 3}), v = arange(3., f64);
  using RowMatrix = Eigen::Matrix<double, Dynamic, Dynamic, RowMajor>;
  doubles<const Eigen::MatrixXd&>(a);
  doubles<Eigen::MatrixXd>(a);
  doubles<const Eigen::ArrayXXd&>(a);
  doubles<const Eigen::Matrix<double, 2, 3>&>(a);
  doubles<const Eigen::Ref<const Eigen::MatrixXd>&>(a);
  doubles<Eigen::Ref<const RowMatrix>>(a);
  doubles<Eigen::Ref<const Eigen::Matrix<double, 2, 3>>>(a);
  doubles<Eigen::Ref<Eigen::MatrixXd>>(a);
  doubles<Eigen::Ref<const Eigen::MatrixXd, 0, Eigen::Stride<Dynamic, Dynamic>>>(a);
  doubles<Eigen::Map<const RowMatrix>>(a);
  doubles<const Eigen::VectorXd&>(v);
  doubles<const Eigen::RowVectorXd&>(v);
  doubles<const Eigen::Ref<const Eigen::VectorXd>&>(v);
  doubles<const Eigen::Ref<const Eigen::ArrayXd>&>(v);
  doubles<const Eigen::Ref<const Eigen::RowVector3d>&>(v);
  doubles<Eigen::Map<const Eigen::VectorXd>>(v);
  doubles<const Eigen::Ref<const Eigen::MatrixXd>&>(zeros({0, 3}, f64));
  doubles<const Eigen::Ref<const MatrixXf>&>(a.astype(f32));
}
TEST(EigenForms, HostFunctionsReadMemoryOrTheirOwnCopy) {
  auto a = reshape(arange(6., f64), {2, 3});
  const void* seen = nullptr;
  using RowMatrix = Eigen::Matrix<double, Dynamic, Dynamic, RowMajor>;
  auto look = custom_op("look", {.eval = [&](const Eigen::Ref<const RowMatrix>& m) { seen = m.data(); return m; }});
  EXPECT_TRUE(array_equal(look(a), a));
  EXPECT_EQ(seen, a.bytes());
  auto write = custom_op("write", {.eval = [](Eigen::Ref<Eigen::MatrixXd> m) { m.setOnes(); return m.eval(); }});
  EXPECT_EQ(sum(write(a)).item<double>(), 6);
  EXPECT_EQ(sum(a).item<double>(), 15);
}
TEST(EigenForms, ResultsOfHostFunctionsMayBeLazy) {
  auto a = reshape(arange(4., f64), {2, 2});
  auto gram = custom_op("gram", {.eval = [](const Eigen::Ref<const Eigen::MatrixXd>& m) { return m.transpose() * m; }});
  EXPECT_EQ(gram(a).to_vector<double>(), matmul(transpose(a), a).to_vector<double>());
  auto head = custom_op("head", {.eval = [](const Eigen::VectorXd& v) { return v.head(2); },
                                 .shape = [](const std::vector<Shape>&) { return Shape{2}; }});
  EXPECT_EQ(head(arange(3., f64)).to_vector<double>(), (std::vector<double>{0, 1}));
  auto large = custom_op("large", {.eval = [](const Eigen::ArrayXXd& m) { return m > 1; }});
  EXPECT_EQ(large(a).type(), (Type{{2, 2}, boolean}));
  auto fixed = custom_op("fixed", {.eval = [](const Eigen::Matrix3d& m) { return m.transpose(); }});
  EXPECT_THROW((void)fixed(a), ShapeError);
  auto fresh = custom_op("of_ints", {.eval = [](const Eigen::MatrixXi& m) { return m; }});
  EXPECT_EQ(fresh(a).type(), (Type{{2, 2}, i32}));
}
}  // namespace
}  // namespace eigen_forms_test
