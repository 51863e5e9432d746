// contractions.h -- sums of products: matrices, vectors, any axes.
#pragma once
#include <string_view>
#include <utility>
#include "bora/ops/arguments.h"

namespace bora {
struct DotDims {  // of a and b: those that go together, and those that are summed over
  Dims batch_a = {}, batch_b = {}, contract_a = {}, contract_b = {};
};
/// Output: batch dimensions, free dimensions of a, free dimensions of b. Operands are promoted. Throws ShapeError.
Array dot_general(const Array& a, const Array& b, const DotDims& dims);
/// NumPy's matmul: vectors, matrices, broadcast batches.
Array matmul(const Array& a, const Array& b);
Array dot(const Array& a, const Array& b);    // a [A.., n], b [B.., n, m]: [A.., B.., m]; of vectors a scalar
Array outer(const Array& a, const Array& b);  // ravel(a) [m], ravel(b) [n]: all products, [m, n]
Array tensordot(const Array& a, const Array& b, std::int64_t axes = 2);
/// The axes that tensordot sums over: {1, 0}, or {{1, 2}, {0, 1}}, those of a and, in the same order, those of b.
struct TensordotAxes {
  TensordotAxes(std::int64_t of_a, std::int64_t of_b) : a{of_a}, b{of_b} {}
  TensordotAxes(Dims of_a, Dims of_b) : a(std::move(of_a)), b(std::move(of_b)) {}
  Dims a, b;
};
/// The other dimensions of a, then those of b: tensordot(a, b, {{1, 2}, {0, 1}}). Negative axes count from the end.
/// Throws ShapeError for sizes that differ, ValueError for lists of different lengths or an axis given twice,
/// IndexError.
Array tensordot(const Array& a, const Array& b, const TensordotAxes& axes);
/// "b i d, b j d -> b i j" (words, blanks between axes) or "bid,bjd->bij" (the operands' ranks decide which it is).
Array einsum_flat(std::string_view equation, const Arrays& operands);
/// Sums of products as the equation says, einsum("i j, j k -> i k", a, b): see einsum_flat.
template <ArrayLike... A> Array einsum(std::string_view equation, const Array& first, const A&... more) {
  return einsum_flat(equation, {first, more...});
}

// ---- vectors --------------------------------------------------------------------------------------------------------
/// The vector product of a and b, vectors of three numbers along axis. One of two numbers has 0 for its third; of two
/// such vectors the result is the third number of their product alone, without the axis. Throws ShapeError.
Array cross(const Array& a, const Array& b, std::int64_t axis = -1);
struct CrossAxes {                           // where the vectors lie
  std::int64_t a = -1, b = -1, result = -1;  // of the vectors in a, b and the result
};
Array cross(const Array& a, const Array& b, const CrossAxes& axes);
/// The Kronecker product: [m.., ] and [n..] give [m n..]; missing leading dimensions have size 1.
Array kron(const Array& a, const Array& b);
/// Sums over the last dimensions: a [A.., n], b [B.., n] give [A.., B..]. With a scalar the product.
Array inner(const Array& a, const Array& b);
/// The sum of all products of equally placed elements.
Array vdot(const Array& a, const Array& b);
/// Sums of products along axis, broadcast.
Array vecdot(const Array& a, const Array& b, std::int64_t axis = -1);
/// a [.., m, n] times x [.., n]; x [.., m] times a [.., m, n]. Leading dimensions are broadcast.
Array matvec(const Array& a, const Array& x);
Array vecmat(const Array& x, const Array& a);  // x [.., m] times a [.., m, n]

// ---- groups of rows -------------------------------------------------------------------------------------------------
struct RaggedDotOptions {  // of ragged_dot
  Array first_group = {};  // i32 [B..]: w[0] is the matrix of this group; default 0
};
/// Each row of x times the matrix of its group, JAX's ragged_dot.
///   x [B.., R.., M, K], w [B.., E, K, N], sizes integer [B.., R.., G] -> [B.., R.., M, N] in the common dtype of x and
///   w. The first sizes[0] of M rows are group 0, the next sizes[1] group 1, ..; negative sizes count as 0, and groups
///   end where the rows do. R: batches of rows that share the matrices. A row of a group without a matrix, or of no
///   group, gives 0.
///   Accumulates in f32 (f64, integers: their own dtype) and rounds once; the same bits for any number of threads.
///   Memory and work grow with M, not with M E. Derivatives by x and w.
///   Throws ShapeError naming the sizes that differ, DtypeError.
Array ragged_dot(const Array& x, const Array& w, const Array& sizes, const RaggedDotOptions& options = {});
}  // namespace bora
