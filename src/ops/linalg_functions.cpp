// Inverses, systems and decompositions that are made of factorisations.
#include "bora/ops/linalg_functions.h"
#include "bora/ops/arrange.h"
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "ops/composed.h"
#include "ops/linalg/matrix.h"

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
  check_square_numbers("inv", a.type());
  return solve(a, identity_like(a));
}
Array cho_solve(const Array& l, const Array& b) {
  return triangular_solve(conj(l), triangular_solve(l, b), {.transposed = true});
}
Array solve_triangular(const Array& a, const Array& b, const SolveTriangularOptions& o) {
  check_square_numbers("solve_triangular", a.type());
  auto read = a;
  if (o.unit_diagonal) read = (o.lower ? tril(a, -1) : triu(a, 1)) + eye(a.shape(-1), a.dtype());
  return triangular_solve(read, b, {.lower = o.lower, .transposed = o.transposed});
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
  check_square_numbers("matrix_power", a.type());
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
Array expm(const Array& a) {
  check_square_numbers("expm", a.type());
  if (a.size() == 0) return a;
  constexpr double b[] = {64764752532480000,
                          32382376266240000,
                          7771770303897600,
                          1187353796428800,
                          129060195264000,
                          10559470521600,
                          670442572800,
                          33522128640,
                          1323241920,
                          40840800,
                          960960,
                          16380,
                          182,
                          1};
  constexpr double most = 5.371920351148152;  // of the 1-norm, for a degree of 13
  constexpr int squarings = 16;
  auto size = amax(sum(abs(stop_gradient(a)), -2), -1);
  auto s = maximum(0.0, ceil(log2(size / most)));  // squarings; of a zero matrix log2 is -inf
  auto each = [](const Array& x) { return expand_dims(expand_dims(x, -1), -1); };
  auto x = a * each(exp2(-minimum(s, static_cast<double>(squarings))));
  auto one = eye(a.shape(-1), a.dtype());
  auto x2 = matmul(x, x), x4 = matmul(x2, x2), x6 = matmul(x4, x2);
  auto u = matmul(x, matmul(x6, b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one);
  auto v = matmul(x6, b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one;
  auto r = solve(v - u, v + u);
  for (int i = 0; i < squarings; ++i) {
    // A square that is not wanted could overflow, and its derivative with it.
    auto wanted = each(s > static_cast<double>(i));
    auto from = where(wanted, r, 0.0);
    r = where(wanted, matmul(from, from), r);
  }
  return where(each(s > static_cast<double>(squarings)), kNan, r);
}
Eigh eigh(const Array& a, const Array& b) {
  check_system("eigh", {a.type(), b.type()});
  auto l = cholesky(b);
  auto half = triangular_solve(l, (a + adjoint(a)) * 0.5);  // l^-1 a l^-H is Hermitian
  auto [w, y] = eigh(triangular_solve(l, adjoint(half)));
  return {w, triangular_solve(conj(l), y, {.transposed = true})};
}
Array eigh_tridiagonal(const Array& d, const Array& e) {
  check<ShapeError>(d.ndim() >= 1 && e.ndim() == d.ndim() && e.shape(-1) == std::max<Index>(d.shape(-1) - 1, 0),
                    "eigh_tridiagonal: d ", d.type(), " does not fit e ", e.type(), "; e has one number less");
  auto n = d.shape(-1);
  auto rows = expand_dims(d, -1) * eye(n, d.dtype());
  if (n < 2) return eigvalsh(rows);
  auto below = expand_dims(e, -1) * eye(n - 1, d.dtype());
  Dims one(static_cast<std::size_t>(d.ndim()) + 1), none(one.size());
  one[one.size() - 2] = 1;
  none.back() = 1;
  auto lower = pad(below, one, none);
  return eigvalsh(rows + lower + matrix_transpose(lower));
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
Polar polar(const Array& a, bool left) {
  check_numbers("polar", a.type());
  auto m = a.shape(-2), n = a.shape(-1);
  check<ShapeError>(left ? m <= n : m >= n, "polar: ", a.type(), left ? " has more rows" : " has fewer rows",
                    " than columns; ", left ? "leave out left" : "give left");
  auto [u, s, vt] = svd(a);
  auto q = left ? u : adjoint(vt);
  return {matmul(u, vt), matmul(q * expand_dims(s, -2), adjoint(q))};
}
Array block_diag(const Arrays& matrices) {
  check<ValueError>(!matrices.empty(), "block_diag: there are no matrices");
  Index rows = 0, columns = 0;
  Arrays all;
  for (auto& m : matrices) {
    check<ShapeError>(m.ndim() <= 2, "block_diag: takes matrices, got ", m.type());
    all.push_back(m.ndim() == 2 ? m : reshape(m, {1, m.size()}));
    rows += all.back().shape(0), columns += all.back().shape(1);
  }
  Arrays lines;
  Index row = 0, column = 0;
  for (auto& m : all) {
    lines.push_back(pad(m, {0, column}, {0, columns - column - m.shape(1)}));
    row += m.shape(0), column += m.shape(1);
  }
  return concatenate(lines, 0);
}
Array toeplitz(const Array& c, const Array& r) {
  auto row = r.defined() ? r : conj(c);
  check_vector("toeplitz", "c", c);
  check_vector("toeplitz", "r", row);
  auto m = c.size(), n = row.size();
  if (m == 0 || n == 0) return zeros({m, n}, c.dtype());
  auto values = concatenate({flip(c), slice_in_dim(row, 0, 1, n)}, 0);  // by column - row + m - 1
  return take(values, iota({m, n}, 1) - iota({m, n}, 0) + (m - 1));
}
Array hilbert(Index n, Dtype dtype) {
  check<ValueError>(n >= 0, "hilbert: n = ", n, " must not be negative");
  return 1.0 / (iota({n, n}, 0) + iota({n, n}, 1) + 1).astype(dtype);
}
}  // namespace bora::linalg
