// Options of factorisations, and functions of matrices.
#include <cmath>
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "ops/linalg/algorithms/matrix.h"
#include "ops/linalg/systems.h"
#include "ops/numpy/support.h"
#include "bora/ops/transform.h"
#include "ops/linalg/adjoint.h"
#include "bora/ops/reductions.h"

namespace bora::linalg {
using namespace ops;
Array cho_solve(const Array& l, const Array& b) {
  return triangular_solve(conj(l), triangular_solve(l, b), {.transposed = true});
}
Array solve_triangular(const Array& a, const Array& b, const SolveTriangularOptions& o) {
  check_square("solve_triangular", a.type());
  auto read = a;
  if (o.unit_diagonal) read = (o.lower ? tril(a, -1) : triu(a, 1)) + eye(a.shape(-1), a.dtype());
  return triangular_solve(read, b, {.lower = o.lower, .transposed = o.transposed});
}
Array expm(const Array& a) {
  check_square("expm", a.type());
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
Polar polar(const Array& a, bool left) {
  check_numbers("polar", a.type());
  auto m = a.shape(-2), n = a.shape(-1);
  check<ShapeError>(left ? m <= n : m >= n, "polar: ", a.type(), left ? " has more rows" : " has fewer rows",
                    " than columns; ", left ? "leave out left" : "give left");
  auto [u, s, vt] = svd(a);
  auto q = left ? u : adjoint(vt);
  return {matmul(u, vt), matmul(q * expand_dims(s, -2), adjoint(q))};
}
namespace {
Array on_diagonal(const Array& x) { return x * eye(x.shape(-1), x.dtype()); }
/// The Hermitian (else symmetric) matrix with this half.
Array from_half(const Array& a, bool lower, bool hermitian = true) {
  auto part = lower ? tril(a, -1) : triu(a, 1);
  return part + (hermitian ? adjoint(part) + on_diagonal(real(a)) : matrix_transpose(part) + on_diagonal(a));
}
Array half_read(std::string_view what, const Array& a, const HalfOptions& o) {
  check_square(what, a.type());
  return o.symmetrize ? a : from_half(a, o.lower);
}
}  // namespace

QrMultiply qr_multiply(const Array& a, const Array& c, const QrMultiplyOptions& options) {
  check_numbers("qr_multiply", a.type());
  const auto m = a.shape(-2), k = std::min(m, a.shape(-1));
  const auto needed = options.left ? k : m;
  auto fits = c.ndim() == a.ndim() && c.dtype() == a.dtype() && c.shape(options.left ? -2 : -1) == needed;
  check<ShapeError>(fits, "qr_multiply: a ", a.type(), " does not fit c ", c.type(), "; c is [.., ",
                    options.left ? "k, any] with k = " : "any, m] with m = ", needed, " of a's dtype");
  auto f = qr_raw(a);
  auto r = triu(slice_in_dim(f.packed, -2, 0, k));
  auto one = [&](const Array& x) { return options.conjugate ? conj(x) : x; };
  if (options.left) {
    Dims none(static_cast<std::size_t>(c.ndim())), below = none;
    below[below.size() - 2] = m - k;
    auto longer = m > k ? pad(one(c), none, below) : one(c);
    return {one(reflected(f, longer)), r};
  }
  // c q = (q^H c^H)^H, of which the first k columns belong to the reduced q.
  auto product = adjoint(reflected(f, adjoint(one(c)), {.turned = true}));
  return {one(slice_in_dim(product, -1, 0, k)), r};
}
Array cholesky(const Array& a, const HalfOptions& options) {
  auto l = cholesky(half_read("cholesky", a, options));
  return options.lower ? l : adjoint(l);
}
Eigh eigh(const Array& a, const HalfOptions& options) { return eigh(half_read("eigh", a, options)); }
Array eigvalsh(const Array& a, const HalfOptions& options) { return eigh(a, options).values; }
ChoFactor cho_factor(const Array& a, const ChoFactorOptions& options) {
  check_square("cho_factor", a.type());
  return {cholesky(a, {.lower = options.lower}), options.lower};
}
Array cho_solve(const ChoFactor& f, const Array& b) { return cho_solve(f.lower ? f.c : adjoint(f.c), b); }
Array solve(const Array& a, const Array& b, const SolveOptions& o) {
  if (b.ndim() == 1) return each_system("solve", a, b, [&](const Array& m, const Array& c) { return solve(m, c, o); });
  check_system("solve", {a.type(), b.type()});
  auto turned = [&](const Array& x) { return o.transposed ? matrix_transpose(x) : x; };
  switch (o.assume) {
    case Assume::general: return solve(turned(a), b);
    case Assume::symmetric: return solve(from_half(a, o.lower, false), b);
    case Assume::hermitian: return solve(turned(from_half(a, o.lower)), b);
    case Assume::positive: {
      auto l = cholesky(from_half(a, o.lower));
      return o.transposed ? conj(cho_solve(l, conj(b))) : cho_solve(l, b);
    }
    case Assume::diagonal: return b / expand_dims(diagonal(a, 0, -2, -1), -1);
    case Assume::lower_triangular: return triangular_solve(a, b, {.lower = true, .transposed = o.transposed});
    case Assume::upper_triangular: return triangular_solve(a, b, {.lower = false, .transposed = o.transposed});
  }
  fail<ValueError>("solve: there is no kind ", static_cast<int>(o.assume));
}

ExpmFrechet expm_frechet(const Array& a, const Array& e) {
  check_square("expm_frechet", a.type());
  check<ShapeError>(a.type() == e.type(), "expm_frechet: a ", a.type(), " and e ", e.type(), " differ");
  const auto n = a.shape(-1);
  // e^[a e; 0 a] = [e^a l; 0 e^a] (R. Mathias, 1996).
  auto both = expm(concatenate({concatenate({a, e}, -1), concatenate({zeros_like(a), a}, -1)}, -2));
  auto top = slice_in_dim(both, -2, 0, n);
  return {slice_in_dim(top, -1, 0, n), slice_in_dim(top, -1, n, 2 * n)};
}
Array logm(const Array& a) {
  check_square("logm", a.type());
  const auto n = a.shape(-1);
  auto type = complex_dtype(a.dtype());
  auto x = a.astype(type);
  if (a.size() == 0) return x;
  constexpr double near = 0.264;  // of the 1-norm of x - 1, for seven terms
  constexpr int roots = 16;
  auto one = broadcast_to(eye(n, type), x.shape());
  auto far = [&](const Array& x) {
    auto size = amax(sum(abs(stop_gradient(x - one)), -2), -1);
    return expand_dims(expand_dims(size > near, -1), -1);
  };
  auto scale = full_like(real(slice_in_dim(slice_in_dim(x, -1, 0, 1), -2, 0, 1)), 1.);
  for (int i = 0; i < roots; ++i) {
    auto wanted = far(x);
    x = where(wanted, sqrtm(where(wanted, x, one)), x);
    scale = where(wanted, 2.0 * scale, scale);
  }
  // The integral of y (1 + s y)^-1 over s in [0, 1] by Gauss and Legendre: Pade's approximant of degree 7.
  constexpr double nodes[] = {0, 0.4058451513773972, 0.7415311855993945, 0.9491079123427585};
  constexpr double weights[] = {0.4179591836734694, 0.3818300505051189, 0.2797053914892766, 0.1294849661688697};
  auto y = x - one;
  Array r;
  for (int i = 0; i < 4; ++i)
    for (int side : {-1, 1}) {
      if (i == 0 && side > 0) continue;
      auto part = weights[i] / 2 * solve(one + (1 + side * nodes[i]) / 2 * y, y);
      r = r.defined() ? r + part : part;
    }
  return where(far(x), kNan, r * scale);
}
Array funm(const Array& a, const std::function<Array(const Array&)>& f) {
  check_square("funm", a.type());
  auto [w, v] = eig(a);
  auto values = f(w);
  check<ShapeError>(values.shape() == w.shape(), "funm: f made ", values.type(), " of eigenvalues ", w.type(),
                    "; it must keep their shape");
  return matrix_transpose(solve(matrix_transpose(v), matrix_transpose(v * expand_dims(values, -2))));
}
}  // namespace bora::linalg
