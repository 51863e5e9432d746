// Matrices that a few numbers describe.
#include <bit>
#include <cmath>
#include <complex>
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "ops/linalg/algorithms/matrix.h"
#include "ops/numpy/support.h"
#include "bora/ops/indexing.h"
#include "bora/ops/ufuncs.h"

namespace bora::linalg {
using namespace ops;
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
    return by * std::polar(1.0, -2 * kPi * static_cast<double>(i * j % n) / size);
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
namespace {
double binomial(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) return 0;
  double r = 1;
  for (std::int64_t i = 1; i <= std::min(k, n - k); ++i)
    r = r * static_cast<double>(n - i + 1) / static_cast<double>(i);
  return std::round(r);
}
double alternating(std::int64_t i) { return i % 2 == 0 ? 1 : -1; }
}  // namespace

Array convolution_matrix(const Array& a, std::int64_t n, Overlap mode) {
  check_vector("convolution_matrix", "a", a);
  auto m = a.size();
  check<ShapeError>(m > 0 && n > 0, "convolution_matrix: vectors must not be empty, got ", a.shape(), " and n = ", n);
  auto all = m + n - 1, less = std::min(m, n) - 1;
  auto before = mode == Overlap::full ? 0 : mode == Overlap::same ? less / 2 : less;
  auto behind = mode == Overlap::full ? 0 : mode == Overlap::same ? less - before : less;
  auto rows = all - before - behind;
  auto k = iota({rows, n}, 0) - iota({rows, n}, 1) + before;
  return where(k >= 0 && k < m, take(a, clip(k, 0, m - 1), 0, IndexMode::clamp), 0);
}
Array fiedler(const Array& a) {
  check_vector("fiedler", "a", a);
  return abs(expand_dims(a, 1) - expand_dims(a, 0));
}
Array fiedler_companion(const Array& a) {
  check_vector("fiedler_companion", "a", a);
  check<ShapeError>(a.size() >= 2, "fiedler_companion: needs two coefficients or more, got ", a.shape());
  auto c = inexact(a), scaled = -(c / index_in_dim(c, 0, 0));
  auto n = a.size() - 1;
  // Which coefficient stands at each place: -1 for 1, -2 for 0.
  std::vector<std::int32_t> which(at(n * n), -2);
  auto set = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    which[at(i * n + j)] = static_cast<std::int32_t>(k);
  };
  for (std::int64_t i = 3; i < n; i += 2) set(i, i - 2, -1);
  for (std::int64_t i = 2; i < n; i += 2) set(i, i - 1, i + 1);
  for (std::int64_t i = 0; i + 2 < n; i += 2) set(i, i + 2, -1);
  for (std::int64_t i = 0; i + 1 < n; i += 2) set(i, i + 1, i + 2);
  set(0, 0, 1);
  if (n > 1) set(1, 0, -1);
  auto k = asarray(which, Shape{n, n});
  auto number = take(scaled, maximum(k, 0), 0, IndexMode::clamp);
  return where(k >= 0, number, (k == -1).astype(c.dtype()));
}
Array helmert(std::int64_t n, bool full, Dtype dtype) {
  check<ValueError>(n >= 1, "helmert: n = ", n, " must be positive");
  auto all = made<double>("helmert", n, dtype, [n](std::int64_t i, std::int64_t j) {
    auto k = static_cast<double>(i);
    if (i == 0) return 1 / std::sqrt(static_cast<double>(n));
    return (j < i ? 1. : j == i ? -k : 0.) / std::sqrt(k * (k + 1));
  });
  return full ? all : part(all, 0, 1, n);
}
Array invhilbert(std::int64_t n, Dtype dtype) {
  return made<double>("invhilbert", n, dtype, [n](std::int64_t i, std::int64_t j) {
    auto c = binomial(i + j, i);
    return alternating(i + j) * static_cast<double>(i + j + 1) * binomial(n + i, n - j - 1) *
           binomial(n + j, n - i - 1) * c * c;
  });
}
Array invpascal(std::int64_t n, Triangle half, Dtype dtype) {
  return made<double>("invpascal", n, dtype, [&](std::int64_t i, std::int64_t j) {
    if (half == Triangle::lower) return j <= i ? alternating(i - j) * binomial(i, j) : 0;
    if (half == Triangle::upper) return i <= j ? alternating(j - i) * binomial(j, i) : 0;
    double sum = 0;  // upper times lower
    for (auto k = std::max(i, j); k < n; ++k) sum += alternating(i + j) * binomial(k, i) * binomial(k, j);
    return sum;
  });
}
Array leslie(const Array& f, const Array& s) {
  check_vector("leslie", "f", f);
  check_vector("leslie", "s", s);
  check<ShapeError>(f.size() == s.size() + 1 && f.size() >= 2, "leslie: f of ", f.size(), " and s of ", s.size(),
                    " numbers; s has one less, and at least one");
  auto [a, b] = std::pair{f.astype(promote(f.dtype(), s.dtype())), s.astype(promote(f.dtype(), s.dtype()))};
  return concatenate({expand_dims(a, 0), pad(diag(b), {0, 0}, {0, 1})}, 0);
}
}  // namespace bora::linalg
