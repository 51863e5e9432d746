// reflections.h -- products of Householder reflections, a panel of columns at a time: I - v t v^H with v [m, k], whose
// columns have a 1 at the diagonal and zeros above it, and an upper triangular t [k, k], as LAPACK's. R. Schreiber, C.
// Van Loan, "A storage-efficient WY representation for products of Householder transformations", 1989. Private.
#pragma once
#include <vector>
#include "ops/linalg/algorithms/blocked.h"

namespace bora::linalg {
/// The reflection h = I - factor v v^H whose h^H takes x [n] to (length, 0 ..), with a real length: x becomes v without
/// its first element, which is 1; x[0] becomes the length, + or -. Returns the factor, 0 where x is that already.
template <class T> T reflect(T* x, Index n);
/// Columns that a reduction to a Hessenberg, tridiagonal or bidiagonal matrix takes before it changes the others.
inline constexpr Index kReductionPanel = 32;
template <class T> struct Panel {
  Block<T> v, t;
  /// c -= v t v^H c; turned: c -= v t^H v^H c. c is [m, any].
  void apply(Block<T> c, bool turned) const;
};
/// t of the reflections with columns v and these factors.
template <class T> void join_reflections(Reads<T> v, const T* factors, Block<T> t);

/// q, a product of reflections: number k has its vector in column k of `columns`, a 1 in row k + shift, and what
/// follows below it.
template <class T> struct ReflectionProduct {
  Owned<T> columns;
  std::vector<T> factors;
  Index shift;
  /// x [n, any] becomes q x.
  void apply(Block<T> x) const;
  /// q itself into x [n, n].
  void matrix(Block<T> x) const;
 private:
  template <class F> void each_panel(F f) const;
};

/// a [m, n] = q r. The r is left in a, on and above the diagonal.
template <class T> class Reflections {
 public:
  explicit Reflections(Block<T> a);
  /// x [m, any] becomes q x.
  void apply(Block<T> x) const;
  /// The first columns of q into q [m, k].
  void columns(Block<T> q) const;
 private:
  Index m_, k_;
  Owned<T> v_, t_;
  Panel<T> panel(Index begin) const;
};
}  // namespace bora::linalg
