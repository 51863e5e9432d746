// linalg.h -- factorisations of matrices that one host cannot hold, over the axes of a mesh. A matrix is split by its
// columns, Spec{none, axes}, and so are its factors; a rank holds its columns of a and of the result, and at a time one
// panel of some columns [m, panel]. Panels are summed over the ranks, of which one has each column, factored by every
// rank alike, and taken from the columns that follow. Of Cholesky's factor each rank keeps a share of every panel while
// it is made, and takes the products of these columns from the panels that follow: as much work on each rank. Written
// with shard_map and public operations, so that jit and derivatives follow. f32, f64, complex64 and complex128. The
// same bits on every run; another number of ranks rounds otherwise.
#pragma once
#include "bora/ops/linalg.h"
#include "bora/shard/shard.h"

namespace bora::linalg::sharded {
struct Options {             // of these factorisations
  std::int64_t panel = 128;  // columns of a panel
};
/// The lower triangular L with L L^H = (a + a^H) / 2, of a [n, n], of which the lower half is read; NaN where that is
/// not positive definite. Throws ShapeError, DtypeError, ShardError.
Array cholesky(const Array& a, const Mesh& mesh, const MeshAxes& axes, const Options& options = {});
// a[permutation] = l u by Gaussian elimination with partial pivoting, a [m, n]. lu [m, n] is split as a; permutation
// (i32 [m]) is on every rank.
struct LuFactor {
  Array lu, permutation;
};
LuFactor lu_factor(const Array& a, const Mesh& mesh, const MeshAxes& axes, const Options& options = {});
/// a [m, n] = q r by Householder reflections, m >= n: q [m, n] with orthonormal columns, r [n, n] upper triangular with
/// a real diagonal, both split as a. No derivative.
Qr qr(const Array& a, const Mesh& mesh, const MeshAxes& axes, const Options& options = {});
/// x [n, k] with a x = b for b [n, k] on every rank, as x is: from L as cholesky gives it, from lu_factor's result.
Array cho_solve(const Array& l, const Array& b, const Mesh& mesh, const MeshAxes& axes, const Options& options = {});
/// From lu_factor's result; b [n, k] on every rank, as x is.
Array lu_solve(const LuFactor& f, const Array& b, const Mesh& mesh, const MeshAxes& axes,
               const Options& options = {});
/// x with a x = b (by lu_factor); the x of least squares |a x - b| of a [m, n] with independent columns, m >= n.
Array solve(const Array& a, const Array& b, const Mesh& mesh, const MeshAxes& axes, const Options& options = {});
/// The x [n, k] of least squares |a x - b|, a [m, n] with independent columns, m >= n.
Array lstsq(const Array& a, const Array& b, const Mesh& mesh, const MeshAxes& axes, const Options& options = {});
}  // namespace bora::linalg::sharded
