// schur_pairs.h -- reflections of two or three rows, and the standard form of two rows of a Schur form. Private.
#pragma once
#include "ops/linalg/algorithms/lanes.h"
#include "ops/linalg/algorithms/schur_window.h"

namespace bora::linalg {
/// r = I - factor v v^H with two or three numbers in v, the first of which is 1.
template <class T> struct SmallReflection {
  T v[3];
  T factor;
  Index rows;
  /// a becomes r^H a on the rows from k on, in columns [begin, end).
  void on_rows(Block<T> a, Index k, Index begin, Index end) const {
    const T f = conjugated(factor), w0 = f, w1 = f * conjugated(v[1]), w2 = f * conjugated(v[2]);
    if (rows == 3)
      for (auto j = begin; j < end; ++j) {
        auto x = &a(k, j);
        const T sum = w0 * x[0] + w1 * x[1] + w2 * x[2];
        x[0] -= sum, x[1] -= sum * v[1], x[2] -= sum * v[2];
      }
    else
      for (auto j = begin; j < end; ++j) {
        auto x = &a(k, j);
        const T sum = w0 * x[0] + w1 * x[1];
        x[0] -= sum, x[1] -= sum * v[1];
      }
  }
  /// a becomes a r on the columns from k on, in rows [begin, end).
  void on_columns(Block<T> a, Index k, Index begin, Index end) const {
    if (rows == 3) columns<3>(a, k, begin, end);
    else columns<2>(a, k, begin, end);
  }
 private:
  template <int count> void columns(Block<T> a, Index k, Index begin, Index end) const {
    T* x[count];
    for (int c = 0; c < count; ++c) x[c] = &a(0, k + c);
    auto i = begin;
    if constexpr (!kComplex<T>) {
      using V = typename Lanes<T>::Vector;
      constexpr auto lanes = Lanes<T>::count;
      for (; i + lanes <= end; i += lanes) {
        V y[count], sum{};
        for (int c = 0; c < count; ++c) y[c] = lanes_at<V>(x[c] + i), sum += y[c] * v[c];
        sum *= factor;
        for (int c = 0; c < count; ++c) put(x[c] + i, V(y[c] - sum * v[c]));
      }
    }
    for (; i < end; ++i) {
      T sum = 0;
      for (int c = 0; c < count; ++c) sum += x[c][i] * v[c];
      sum *= factor;
      for (int c = 0; c < count; ++c) x[c][i] -= sum * conjugated(v[c]);
    }
  }
};
/// Makes the rows i and i + 1 of a Schur form triangular, or a real matrix's standard block of conjugate eigenvalues.
void standardize(Block<double> t, Block<double> u, Index i);
void standardize(Block<Complex> t, Block<Complex> u, Index i);
}  // namespace bora::linalg
