// Eigenvectors by back substitution, a group of them at a time so that products do most of it.
#include <algorithm>
#include <cmath>
#include "bora/base/parallel.h"
#include "ops/linalg/algorithms/schur_form.h"

namespace bora::linalg {
namespace {
constexpr Index kGroup = 32;                                   // vectors and rows at a time
constexpr double kLargeVector = 1e100, kTinyVector = 1e-100;  // vectors are scaled before they overflow

/// Whether rows i and i + 1 are a block of conjugate eigenvalues.
template <class T> bool is_pair(Reads<T> t, Index i) {
  return !kComplex<T> && i >= 0 && i + 1 < t.rows && t(i + 1, i) != T(0);
}
/// Borders of groups of rows, no pair among two of them.
template <class T> std::vector<Index> groups_of(Reads<T> t) {
  std::vector<Index> r{0};
  while (r.back() < t.rows) {
    auto next = std::min(r.back() + kGroup, t.rows);
    if (is_pair<T>(t, next - 1)) --next;
    r.push_back(next);
  }
  return r;
}
/// The vectors in columns [begin, end) of x, which is zero at first. t has numbers up to 1.
template <class T> struct Group {
  Block<const T> t;
  Block<T> x;
  Index begin, end;

  /// Columns of x for the vector in column j: two of them for a pair.
  Index columns(Index j) const { return is_pair<T>(t, j) ? 2 : 1; }
  Complex get(Index i, Index j) const {
    if constexpr (kComplex<T>) return x(i, j);
    else return {x(i, j), columns(j) == 2 ? x(i, j + 1) : 0};
  }
  void set(Index i, Index j, Complex value) const {
    if constexpr (kComplex<T>) x(i, j) = value;
    else {
      x(i, j) = value.real();
      if (columns(j) == 2) x(i, j + 1) = value.imag();
    }
  }
  /// Sums of later rows' numbers become numbers of rows [first, last).
  void solve_rows(Index j, Complex value, Index first, Index last, std::vector<Complex>& y) const {
    const auto own = columns(j), least_from = std::min(last, j);
    const auto least = std::max(kEps * size_of(value), kTinyVector);
    auto raised = [&](Complex z) { return size_of(z) < least ? Complex(least) : z; };
    const auto stop = std::min(last, j + own);
    for (auto i = first; i < stop; ++i) y[size(i - first)] = get(i, j);
    auto add = [&](Index i) {  // a number that is known goes to the rows above it
      for (auto r = first; r < i; ++r) y[size(r - first)] += t(r, i) * y[size(i - first)];
    };
    if (j < last)
      for (auto i = j; i < stop; ++i)
        for (auto r = first; r < j; ++r) y[size(r - first)] += t(r, i) * y[size(i - first)];
    for (auto i = least_from - 1; i >= first; --i) {
      auto& here = y[size(i - first)];
      auto largest = 0.0;
      if (is_pair<T>(t, i - 1)) {
        auto& above = y[size(i - 1 - first)];
        solve_pair(i - 1, value, above, here, raised);
        largest = std::max(size_of(above), size_of(here));
      } else {
        here /= raised(value - t(i, i));
        largest = size_of(here);
      }
      if (largest > kLargeVector) {
        for (auto& v : y) v /= largest;
        for (auto c = j; c < j + own; ++c)
          for (Index r = 0; r < end; ++r) x(r, c) /= largest;
      }
      if (is_pair<T>(t, i - 1)) {
        for (auto r = first; r < i - 1; ++r)
          y[size(r - first)] += t(r, i - 1) * y[size(i - 1 - first)] + t(r, i) * y[size(i - first)];
        --i;
      } else add(i);
    }
    for (auto i = first; i < stop; ++i) set(i, j, y[size(i - first)]);
  }
  /// (value - [a b; c a]) (one, other) = what they were.
  template <class F> void solve_pair(Index i, Complex value, Complex& one, Complex& other, F raised) const {
    const Complex a = value - t(i, i), d = value - t(i + 1, i + 1), b = -t(i, i + 1), c = -t(i + 1, i);
    if (size_of(a) >= size_of(c)) {
      const auto factor = c / a;
      other = (other - factor * one) / raised(d - factor * b);
      one = (one - b * other) / a;
    } else {
      const auto factor = a / c, bottom = other;
      other = (one - factor * bottom) / raised(b - factor * d);
      one = (bottom - d * other) / c;
    }
  }
  void solve(const std::vector<Index>& borders) const {
    std::vector<Complex> y(size(kGroup)), values(size(end - begin));
    for (auto j = begin; j < end; j += columns(j)) {
      if (columns(j) == 1) {
        values[size(j - begin)] = t(j, j);
        x(j, j) = 1;
        continue;
      }
      const double b = std::abs(t(j, j + 1)), c = std::abs(t(j + 1, j)), side = std::sqrt(b) * std::sqrt(c);
      values[size(j - begin)] = Complex(t(j, j)) + Complex(0, side);
      if (b >= c) {
        set(j, j, 1);
        set(j + 1, j, Complex(0, side) / Complex(t(j, j + 1)));
      } else {
        set(j, j, Complex(0, side) / Complex(t(j + 1, j)));
        set(j + 1, j, 1);
      }
    }
    auto last = std::find(borders.begin(), borders.end(), end);
    for (; last != borders.begin(); --last) {
      const auto first = *(last - 1), stop = *last, n = end - begin;
      for (auto j = begin; j < end; j += columns(j)) solve_rows(j, values[size(j - begin)], first, stop, y);
      multiply<T>(t.part(0, first, first, stop - first), x.part(first, begin, stop - first, n),
                  x.part(0, begin, first, n), Into::add);
    }
  }
};
/// Powers of two by which rows are divided and columns multiplied, after which they have about the same lengths.
template <class T> std::vector<double> balance(Block<T> a) {
  const auto n = a.rows;
  std::vector<double> r(size(n), 1.0), row_sums(size(n));
  for (bool again = true; again;) {
    again = false;
    for (Index i = 0; i < n; ++i) {
      double column = 0, row = 0;
      for (Index k = 0; k < n; ++k) {
        column += std::norm(a(k, i));
        row += std::norm(a(i, k));
      }
      column = std::sqrt(column), row = std::sqrt(row);
      if (column == 0 || row == 0) continue;
      const auto before = column + row;
      double factor = 1;
      for (; column < row / 2 && factor < kLargeVector; factor *= 2) column *= 2, row /= 2;
      for (; column >= row * 2 && factor > kTinyVector; factor /= 2) column /= 2, row *= 2;
      const auto total = r[size(i)] * factor;
      if (factor == 1 || column + row >= 0.95 * before || total > kLargeVector || total < kTinyVector) continue;
      r[size(i)] = total;
      for (Index k = 0; k < n; ++k) a(i, k) /= factor;
      for (Index k = 0; k < n; ++k) a(k, i) *= factor;
      again = true;
    }
  }
  return r;
}
/// Divides by the length, and turns the largest number to be real and positive, as LAPACK does.
void normalize(Complex* x, Index n) {
  double largest = 0, length = 0;
  for (Index i = 0; i < n; ++i) largest = std::max(largest, larger_part(x[i]));
  if (largest == 0) return;
  Index best = 0;
  for (Index i = 0; i < n; ++i) {
    x[i] /= largest;
    length += std::norm(x[i]);
    if (std::norm(x[i]) > std::norm(x[best])) best = i;
  }
  const auto turn = std::conj(x[best]) / (std::abs(x[best]) * std::sqrt(length));
  for (Index i = 0; i < n; ++i) x[i] = {x[i].real() * turn.real() - x[i].imag() * turn.imag(),
                                        x[i].real() * turn.imag() + x[i].imag() * turn.real()};
  x[best] = x[best].real();
}
}  // namespace

template <class T> void vectors_of_triangle(Reads<T> t, Block<T> x) {
  std::fill_n(x.data, x.rows * x.columns, T(0));
  const auto borders = groups_of<T>(t);
  const auto count = static_cast<Index>(borders.size()) - 1;
  parallel_for(count, 1, [&](Index from, Index to) {
    for (auto g = from; g < to; ++g) Group<T>{t, x, borders[size(g)], borders[size(g + 1)]}.solve(borders);
  });
}
template <class T> GeneralEigenpairs eigenpairs(Owned<T> a) {
  const auto n = a.block.rows;
  GeneralEigenpairs r{{}, {n, n, Fill::none}};
  const auto largest = largest_part<T>(a.numbers());
  const auto exponent = largest > 0 ? std::ilogb(largest) : 0;
  for (auto& x : a.numbers())
    if constexpr (kComplex<T>) x = {std::ldexp(x.real(), -exponent), std::ldexp(x.imag(), -exponent)};
    else x = std::ldexp(x, -exponent);
  const auto lengths = balance(a.block);
  auto form = schur_form(std::move(a));
  if (!form.found) return r;
  auto t = form.t.block;
  r.values = eigenvalues_of<T>(t, n);
  if (const auto most = largest_part<T>(form.t.numbers()); most > 0) scale(form.t.numbers(), most);
  Owned<T> own(n, n, Fill::none), vectors(n, n, Fill::none);
  vectors_of_triangle<T>(t, own.block);
  for (Index first = 0; first < n; first += 2 * kGroup) {
    const auto w = std::min(2 * kGroup, n - first), rows = std::min(first + w + 1, n);
    multiply<T>(form.z.block.part(0, 0, n, rows), own.block.part(0, first, rows, w),
                vectors.block.part(0, first, n, w));
  }
  for (auto& v : r.values) v = {std::ldexp(v.real(), exponent), std::ldexp(v.imag(), exponent)};
  parallel_for(n, grain_for(10.0 * static_cast<double>(n)), [&](Index from, Index to) {
    for (auto j = from; j < to; ++j) {
      auto x = &r.vectors.block(0, j);
      const bool second = is_pair<T>(t, j - 1), first = is_pair<T>(t, j);
      for (Index i = 0; i < n; ++i) {
        if constexpr (kComplex<T>) x[i] = vectors.block(i, j);
        else if (first) x[i] = {vectors.block(i, j), vectors.block(i, j + 1)};
        else if (second) x[i] = {vectors.block(i, j - 1), -vectors.block(i, j)};
        else x[i] = vectors.block(i, j);
        x[i] *= lengths[size(i)];
      }
      normalize(x, n);
    }
  });
  return r;
}
template void vectors_of_triangle<double>(Reads<double>, Block<double>);
template void vectors_of_triangle<Complex>(Reads<Complex>, Block<Complex>);
template GeneralEigenpairs eigenpairs(Owned<double>);
template GeneralEigenpairs eigenpairs(Owned<Complex>);
}  // namespace bora::linalg
