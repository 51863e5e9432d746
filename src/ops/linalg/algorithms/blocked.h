// blocked.h -- factorisations of large matrices by halves, on our own products. The bits of a result do not depend on
// threads: those of a product do not, and everything else is done element by element in a fixed order. Private.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>
#include "kernels/api/gemm.h"
#include "kernels/api/memory.h"

namespace bora::linalg {
using kernels::Into;
using Index = std::int64_t;
using Complex = std::complex<double>;
inline constexpr double kEps = std::numeric_limits<double>::epsilon(), kLeast = std::numeric_limits<double>::min();
inline std::size_t size(Index n) { return static_cast<std::size_t>(n); }
/// A matrix [rows, columns] whose element (i, j) is data[i * row + j * column]. T may be const.
template <class T> struct Block {
  T* data;
  Index rows, columns, row, column;
  T& operator()(Index i, Index j) const { return data[i * row + j * column]; }
  Block part(Index i, Index j, Index m, Index n) const { return {data + i * row + j * column, m, n, row, column}; }
  Block turned() const { return {data, columns, rows, column, row}; }
  operator Block<const T>() const { return {data, rows, columns, row, column}; }
};
template <class T> Block<T> by_rows(T* data, Index rows, Index columns) { return {data, rows, columns, columns, 1}; }
template <class T> Block<T> by_columns(T* data, Index rows, Index columns) { return {data, rows, columns, 1, rows}; }
template <class T> using Reads = std::type_identity_t<Block<const T>>;

// ---- numbers that may be complex ----
template <class T> struct RealOf {
  using Type = T;
};
template <class T> struct RealOf<std::complex<T>> {
  using Type = T;
};
template <class T> using Real = typename RealOf<T>::Type;
template <class T> inline constexpr bool kComplex = !std::is_same_v<T, Real<T>>;
template <class T> T conjugated(T x) {
  if constexpr (kComplex<T>) return std::conj(x);
  else return x;
}
template <class T> Real<T> real_part(T x) {
  if constexpr (kComplex<T>) return x.real();
  else return x;
}
/// The larger magnitude of its real and imaginary part.
template <class T> Real<T> larger_part(T x) {
  if constexpr (kComplex<T>) return std::max(std::abs(x.real()), std::abs(x.imag()));
  else return std::abs(x);
}
/// |x|, of a complex number |re x| + |im x|: what LAPACK compares numbers by.
template <class T> Real<T> size_of(T x) {
  if constexpr (kComplex<T>) return std::abs(x.real()) + std::abs(x.imag());
  else return std::abs(x);
}
/// x / by for a by > 0, part by part.
template <class T> T scaled(T x, Real<T> by) {
  if constexpr (kComplex<T>) return {x.real() / by, x.imag() / by};
  else return x / by;
}
/// The largest magnitude of a real or imaginary part, 0 of none. Numbers are finite.
template <class T> Real<T> largest_part(std::span<const T> all);
/// Each number as scaled() gives it.
template <class T> void scale(std::span<T> all, Real<T> by);
/// Blocks of columns belong to kParts parts in turn, each with its own sums, which threads do not change. Ranges of
/// this order have parts from everywhere: blocks of a triangle get smaller, few blocks are those of the first parts.
inline constexpr Index kParts = 8, kPartAt[kParts] = {0, 4, 2, 6, 1, 5, 3, 7};
enum class Fill { zeros, none };
/// A matrix of its own, column after column, in memory of the pool.
template <class T> struct Owned {
  std::shared_ptr<void> memory;
  Block<T> block;
  Owned(Index rows, Index columns, Fill fill = Fill::zeros)
      : memory(kernels::allocate(static_cast<std::size_t>(rows * columns) * sizeof(T))),
        block(by_columns(static_cast<T*>(memory.get()), rows, columns)) {
    if (fill == Fill::zeros) std::fill_n(block.data, rows * columns, T(0));
  }
  Owned(Owned&&) = default;  // the numbers stay where they are
  Owned& operator=(Owned&&) = default;
  std::span<T> numbers() const { return {block.data, static_cast<std::size_t>(block.rows * block.columns)}; }
};

/// Sum of the products of n numbers each, those of x conjugated.
template <class T> T dot(const T* x, const T* y, Index n);
/// y += factor x.
template <class T> void add_times(T factor, const T* x, T* y, Index n);
/// c = a b, c + a b or c - a b. Of the strides of each one must be 1.
template <class T> void multiply(Reads<T> a, Reads<T> b, Block<T> c, Into into = Into::set);
/// The same with a^H for a.
template <class T> void multiply_adjoint(Reads<T> a, Reads<T> b, Block<T> c, Into into = Into::set);
/// c -= a b^H on and below the diagonal of c [n, n]; what stands above it is lost.
template <class T> void subtract_lower(Reads<T> a, Reads<T> b, Block<T> c);
template <class T> void copy(Reads<T> from, Block<T> to);
template <class T> void copy_conjugates(Reads<T> from, Block<T> to);

enum class Half { lower, upper };
enum class Diagonal { given, ones };
/// Overwrites x [n, k] by a^-1 x, where a [n, n] is triangular; its other half is not read.
template <class T> void solve_triangular(Reads<T> a, Half half, Diagonal diagonal, Block<T> x);
/// Overwrites the lower half of a [n, n] by its factor; false if a is not positive definite. The upper half is lost.
template <class T> bool factor_cholesky(Block<T> a);
/// Overwrites a [m, n] by its factors; row i was swapped with row pivots[i], for i in 0 .. min(m, n), in this order.
/// Recursion over columns: S. Toledo, "Locality of reference in LU decomposition with partial pivoting", 1997.
template <class T> void factor_lu(Block<T> a, std::int32_t* pivots);
/// Swaps rows of a as factor_lu did those from `begin` to `end`.
template <class T> void swap_rows(Block<T> a, const std::int32_t* pivots, Index begin, Index end);
}  // namespace bora::linalg
