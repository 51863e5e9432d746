// What scipy.linalg adds: options of factorisations, functions of matrices, special matrices.
#include "bora/ops/linalg_scipy.h"
#include <bit>
#include <cmath>
#include <complex>
#include "bora/ops/arrange.h"
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "ops/composed.h"
#include "ops/linalg/matrix.h"
#include "ops/linalg/systems.h"

namespace bora::linalg {
using namespace ops;
namespace {
Array on_diagonal(const Array& x) { return x * eye(x.shape(-1), x.dtype()); }
/// The Hermitian (else symmetric) matrix with this half.
Array from_half(const Array& a, bool lower, bool hermitian = true) {
  auto part = lower ? tril(a, -1) : triu(a, 1);
  return part + (hermitian ? adjoint(part) + on_diagonal(real(a)) : matrix_transpose(part) + on_diagonal(a));
}
Array half_read(std::string_view what, const Array& a, const HalfOptions& o) {
  check_square_numbers(what, a.type());
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
  check_square_numbers("cho_factor", a.type());
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
  check_square_numbers("expm_frechet", a.type());
  check<ShapeError>(a.type() == e.type(), "expm_frechet: a ", a.type(), " and e ", e.type(), " differ");
  const auto n = a.shape(-1);
  // e^[a e; 0 a] = [e^a l; 0 e^a] (R. Mathias, 1996).
  auto both = expm(concatenate({concatenate({a, e}, -1), concatenate({zeros_like(a), a}, -1)}, -2));
  auto top = slice_in_dim(both, -2, 0, n);
  return {slice_in_dim(top, -1, 0, n), slice_in_dim(top, -1, n, 2 * n)};
}
Array logm(const Array& a) {
  check_square_numbers("logm", a.type());
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
  check_square_numbers("funm", a.type());
  auto [w, v] = eig(a);
  auto values = f(w);
  check<ShapeError>(values.shape() == w.shape(), "funm: f made ", values.type(), " of eigenvalues ", w.type(),
                    "; it must keep their shape");
  return matrix_transpose(solve(matrix_transpose(v), matrix_transpose(v * expand_dims(values, -2))));
}

Array hankel(const Array& c, const Array& r) {
  check_vector("hankel", "c", c);
  auto row = r.defined() ? r : zeros_like(c);
  check_vector("hankel", "r", row);
  const auto m = c.size(), n = row.size();
  if (m == 0 || n == 0) return zeros({m, n}, c.dtype());
  return take(concatenate({c, slice_in_dim(row, 0, 1, n)}, 0), iota({m, n}, 0) + iota({m, n}, 1));
}
Array circulant(const Array& c) {
  check_vector("circulant", "c", c);
  const auto n = c.size();
  if (n == 0) return zeros({0, 0}, c.dtype());
  auto down = iota({n, n}, 0) - iota({n, n}, 1);
  return take(c, where(down < 0, down + n, down));
}
namespace {
/// A matrix of numbers known here, [n, n].
template <class T, class F> Array made(std::string_view what, Index n, Dtype dtype, const F& f) {
  check<ValueError>(n >= 0, what, ": n = ", n, " must not be negative");
  std::vector<T> v;
  v.reserve(static_cast<std::size_t>(n * n));
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) v.push_back(f(i, j));
  return asarray(v, Shape{n, n}).astype(dtype);
}
double pascal_number(Index n, Index k) {
  double r = 1;
  for (Index i = 1; i <= k; ++i) r = std::round(r * static_cast<double>(n - k + i) / static_cast<double>(i));
  return r;
}
}  // namespace
Array pascal(Index n, Triangle half, Dtype dtype) {
  return made<double>("pascal", n, dtype, [&](Index i, Index j) {
    if (half == Triangle::symmetric) return pascal_number(i + j, std::min(i, j));
    if (half == Triangle::upper) std::swap(i, j);
    return j > i ? 0.0 : pascal_number(i, std::min(j, i - j));
  });
}
Array dft(Index n, DftScale scale, Dtype dtype) {
  check<DtypeError>(is_complex(dtype), "dft: makes complex numbers, not ", dtype);
  const auto size = static_cast<double>(n);
  const auto by = scale == DftScale::none ? 1.0 : scale == DftScale::n ? 1 / size : 1 / std::sqrt(size);
  return made<std::complex<double>>("dft", n, dtype, [&](Index i, Index j) {
    return by * std::polar(1.0, -2 * 3.14159265358979323846 * static_cast<double>(i * j % n) / size);
  });
}
Array companion(const Array& a) {
  check_vector("companion", "a", a);
  const auto n = a.size();
  check<ShapeError>(n >= 2, "companion: needs two coefficients or more, got ", a.type());
  auto first = expand_dims(-slice_in_dim(a, 0, 1, n) / index_in_dim(a, 0, 0), 0);
  return concatenate({first, eye(n - 2, n - 1, first.dtype())}, 0);
}
Array hadamard(Index n, Dtype dtype) {
  check<ValueError>(n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n)), "hadamard: n = ", n,
                    " must be a power of two");
  return made<double>("hadamard", n, dtype,
                      [](Index i, Index j) { return std::popcount(static_cast<std::uint64_t>(i & j)) % 2 ? -1. : 1.; });
}
}  // namespace bora::linalg
