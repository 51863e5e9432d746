// Inverses, systems, ranks and powers, made of factorisations.
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "ops/linalg/algorithms/matrix.h"
#include "ops/numpy/support.h"
#include "ops/linalg/adjoint.h"
#include "bora/ops/reductions.h"
#include "bora/ops/slice.h"

namespace bora::linalg {
using namespace ops;
namespace {
double epsilon(const Array& a) { return real_dtype(a.dtype()) == f64 ? 0x1p-52 : 0x1p-23; }
double longest(const Array& a) { return static_cast<double>(std::max(a.shape(-2), a.shape(-1))); }
Array identity_like(const Array& a) { return broadcast_to(eye(a.shape(-1), a.dtype()), a.shape()); }
/// 1 / s, and 0 for singular values s of at most rcond times the largest one.
Array inverted(const Array& s, double rcond) {
  auto counts = s > rcond * amax(s, -1, {.keepdims = true});
  return where(counts, 1.0 / where(counts, s, 1.0), 0.0);
}
}  // namespace

Array inv(const Array& a) {
  check_square("inv", a.type());
  return solve(a, identity_like(a));
}
Lstsq lstsq(const Array& a, const Array& b, std::optional<double> rcond) {
  check_numbers("lstsq", a.type());
  check<ShapeError>(a.ndim() == 2 && (b.ndim() == 1 || b.ndim() == 2) && a.shape(0) == b.shape(0), "lstsq: a ",
                    a.type(), " does not fit b ", b.type(), "; a is [m, n], b [m] or [m, k]");
  auto n = a.shape(1);
  auto columns = b.ndim() == 1 ? expand_dims(b, -1) : b;
  auto [u, s, vt] = svd(a);
  auto least = !rcond ? epsilon(a) * longest(a) : *rcond < 0 ? epsilon(a) : *rcond;
  auto rank = s.size() > 0 ? sum((s > least * amax(s)).astype(i32)) : zeros({}, i32);
  auto x = s.size() > 0 ? matmul(adjoint(vt), expand_dims(inverted(s, least), -1) * matmul(adjoint(u), columns))
                        : zeros({n, columns.shape(1)}, a.dtype());
  auto rest = matmul(a, x) - columns;
  auto residuals = sum(is_complex(a.dtype()) ? square(real(rest)) + square(imag(rest)) : square(rest), 0);
  return {b.ndim() == 1 ? squeeze(x, -1) : x, residuals, rank, s};
}
Array tensorsolve(const Array& a, const Array& b) {
  auto sizes = a.shape().dims();
  auto rows = b.ndim(), n = b.size();
  auto fits = rows <= a.ndim() && a.size() == n * n;
  for (Index d = 0; fits && d < rows; ++d) fits = a.shape(d) == b.shape(d);
  check<ShapeError>(fits, "tensorsolve: a ", a.type(), " does not fit b ", b.type(),
                    "; a begins with b's dimensions, and the others have as many elements");
  auto x = solve(reshape(a, {n, n}), reshape(b, {n, 1}));
  return reshape(x, Shape(Dims(sizes.begin() + rows, sizes.end())));
}
Array tensorinv(const Array& a, Index dims) {
  check<ValueError>(dims > 0 && dims <= a.ndim(), "tensorinv: dims = ", dims, " does not lie in [1, ", a.ndim(), "]");
  auto sizes = a.shape().dims();
  auto rows = ops::product(a.shape(), 0, dims), columns = ops::product(a.shape(), dims, a.ndim());
  check<ShapeError>(rows == columns, "tensorinv: the first ", dims, " dimensions of ", a.type(), " have ", rows,
                    " elements, and the others ", columns);
  std::rotate(sizes.begin(), sizes.begin() + dims, sizes.end());
  return reshape(inv(reshape(a, {rows, columns})), Shape(sizes));
}

Array svdvals(const Array& a) { return svd(a).s; }
Array eigvalsh(const Array& a) { return eigh(a).values; }
Array matrix_rank(const Array& a, std::optional<double> rtol) {
  check_numbers("matrix_rank", a.type());
  auto s = svdvals(a);
  if (s.shape(-1) == 0) return sum(s.astype(i32), -1);
  auto least = rtol.value_or(longest(a) * epsilon(a)) * amax(s, -1, {.keepdims = true});
  return sum((s > least).astype(i32), -1);
}
Array matrix_power(const Array& a, Index n) {
  check_square("matrix_power", a.type());
  if (n == 0) return identity_like(a);
  auto x = n < 0 ? inv(a) : a;
  auto rest = n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  Array r;
  for (;; x = matmul(x, x)) {
    if (rest & 1) r = r.defined() ? matmul(r, x) : x;
    if ((rest >>= 1) == 0) return r;
  }
}
Array multi_dot(const Arrays& matrices) {
  auto n = matrices.size();
  check<ValueError>(n > 0, "multi_dot: there are no matrices");
  auto all = matrices;
  bool row = all.front().ndim() == 1 && n > 1, column = all.back().ndim() == 1 && n > 1;
  if (row) all.front() = expand_dims(all.front(), 0);
  if (column) all.back() = expand_dims(all.back(), -1);
  for (std::size_t i = 0; i < n; ++i) {
    check<ShapeError>(all[i].ndim() == 2 || n == 1, "multi_dot: operand ", i, " is ", matrices[i].type(),
                      "; it must be a matrix, the first and the last may be vectors");
    if (i == 0) continue;
    check<ShapeError>(all[i - 1].shape(-1) == all[i].shape(0), "multi_dot: operands ", i - 1, " and ", i,
                      " do not fit: ", matrices[i - 1].type(), " and ", matrices[i].type());
  }
  // The cheapest parentheses of all ranges (Cormen et al., Introduction to Algorithms, 15.2).
  auto size = [&](std::size_t i) { return static_cast<double>(i < n ? all[i].shape(-2) : all[n - 1].shape(-1)); };
  std::vector<std::vector<double>> cost(n, std::vector<double>(n));
  std::vector<std::vector<std::size_t>> cut(n, std::vector<std::size_t>(n));
  for (std::size_t length = 1; length < n; ++length)
    for (std::size_t i = 0; i + length < n; ++i) {
      auto j = i + length;
      cost[i][j] = kInf;
      for (auto k = i; k < j; ++k) {
        auto c = cost[i][k] + cost[k + 1][j] + size(i) * size(k + 1) * size(j + 1);
        if (c < cost[i][j]) cost[i][j] = c, cut[i][j] = k;
      }
    }
  std::function<Array(std::size_t, std::size_t)> range = [&](std::size_t i, std::size_t j) {
    return i == j ? all[i] : matmul(range(i, cut[i][j]), range(cut[i][j] + 1, j));
  };
  auto r = range(0, n - 1);
  if (column) r = squeeze(r, -1);
  return row ? squeeze(r, 0) : r;
}
namespace {
/// Orthonormal columns that complete those of q [.., m, k] to m.
Array completed(const Array& q) {
  auto m = q.shape(-2), k = q.shape(-1);
  if (m == k) return q;
  Shape shape = q.shape();
  shape[shape.size() - 1] = m;
  auto all = qr(concatenate({q, broadcast_to(eye(m, q.dtype()), shape)}, -1)).q;
  return concatenate({q, slice_in_dim(all, -1, k, m)}, -1);
}
}  // namespace

Qr full_qr(const Array& a) {
  auto [q, r] = qr(a);
  auto more = a.shape(-2) - r.shape(-2);
  Dims none(static_cast<std::size_t>(r.ndim())), below = none;
  below[below.size() - 2] = more;
  return {completed(q), more > 0 ? pad(r, none, below) : r};
}
Svd full_svd(const Array& a) {
  auto [u, s, vt] = svd(a);
  return {completed(u), s, matrix_transpose(completed(matrix_transpose(vt)))};
}
}  // namespace bora::linalg
