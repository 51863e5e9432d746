// special_matrices.h -- matrices that a few numbers describe, with scipy.linalg's names; others are in linalg_scipy.h.
#pragma once
#include "bora/ops/linalg_scipy.h"
#include "bora/ops/numeric.h"

namespace bora::linalg {
/// The matrix [.., n] that convolves a vector [n] with a: matmul(.., v) = convolve(a, v, mode).
Array convolution_matrix(const Array& a, std::int64_t n, Overlap mode = Overlap::full);
Array fiedler(const Array& a);  // [n, n], |a_i - a_j|
/// Five diagonals with the eigenvalues of companion(a), a [n + 1] with n >= 1 and a_0 other than 0.
Array fiedler_companion(const Array& a);
/// The orthogonal matrix of Helmert without its first, constant row: [n - 1, n]; full: with it.
Array helmert(std::int64_t n, bool full = false, Dtype dtype = f32);
/// The inverses of hilbert(n) and pascal(n, half): whole numbers, exact as long as f64 holds them.
Array invhilbert(std::int64_t n, Dtype dtype = f32);
Array invpascal(std::int64_t n, Triangle half = Triangle::symmetric, Dtype dtype = f32);
/// [n, n] with first row f [n] and s [n - 1] below the diagonal.
Array leslie(const Array& f, const Array& s);
}  // namespace bora::linalg
