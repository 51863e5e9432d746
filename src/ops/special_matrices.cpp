// Matrices that a few numbers describe.
#include "bora/ops/special_matrices.h"
#include "bora/ops/arrange.h"
#include "ops/composed.h"

namespace bora::linalg {
using namespace ops;
namespace {
double binomial(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) return 0;
  double r = 1;
  for (std::int64_t i = 1; i <= std::min(k, n - k); ++i)
    r = r * static_cast<double>(n - i + 1) / static_cast<double>(i);
  return std::round(r);
}
template <class F> Array filled(std::string_view what, std::int64_t n, Dtype dtype, const F& f) {
  check<ValueError>(n >= 0, what, ": n = ", n, " must not be negative");
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) v.push_back(f(i, j));
  return asarray(v, Shape{n, n}).astype(dtype);
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
  auto all = filled("helmert", n, dtype, [n](std::int64_t i, std::int64_t j) {
    auto k = static_cast<double>(i);
    if (i == 0) return 1 / std::sqrt(static_cast<double>(n));
    return (j < i ? 1. : j == i ? -k : 0.) / std::sqrt(k * (k + 1));
  });
  return full ? all : part(all, 0, 1, n);
}
Array invhilbert(std::int64_t n, Dtype dtype) {
  return filled("invhilbert", n, dtype, [n](std::int64_t i, std::int64_t j) {
    auto c = binomial(i + j, i);
    return alternating(i + j) * static_cast<double>(i + j + 1) * binomial(n + i, n - j - 1) *
           binomial(n + j, n - i - 1) * c * c;
  });
}
Array invpascal(std::int64_t n, Triangle half, Dtype dtype) {
  return filled("invpascal", n, dtype, [&](std::int64_t i, std::int64_t j) {
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
