// Hermitian matrices become tridiagonal, others bidiagonal.
#include "ops/linalg/algorithms/complex_reduction.h"
#include <algorithm>
#include "bora/base/parallel.h"
#include "ops/linalg/algorithms/lanes.h"
#include "ops/linalg/algorithms/reflections.h"

namespace bora::linalg {
namespace {
using V = Lanes<double>::Vector;
constexpr Index kStep = Lanes<double>::count / 2;  // complex numbers in a vector
constexpr Index kComplexTile = 64;

const double* parts(const Complex* x) { return reinterpret_cast<const double*>(x); }
double* parts(Complex* x) { return reinterpret_cast<double*>(x); }
/// x as a factor of vectors: its real part everywhere, and what the imaginary part adds to parts that are swapped.
struct Factor {
  V re, im;
  explicit Factor(Complex x) : re(V{} + x.real()), im(V{-x.imag(), x.imag(), -x.imag(), x.imag()}) {}
  V add(V a, V sum) const { return fused(parts_swapped(a), im, fused(a, re, sum)); }
};
/// sum += a x.
void add_product(const Complex* a, Complex x, Complex* sum, Index n) {
  const Factor f(x);
  Index i = 0;
  for (; i + kStep <= n; i += kStep) put(parts(sum + i), f.add(lanes_at<V>(parts(a + i)), lanes_at<V>(parts(sum + i))));
  for (; i < n; ++i) sum[i] += a[i] * x;
}
/// y -= a x, by rows in tiles: where a tile begins does not depend on threads.
void subtract_times(Block<const Complex> a, const Complex* x, Complex* y) {
  auto tiles = (a.rows + kComplexTile - 1) / kComplexTile;
  parallel_for(tiles, grain_for(0.5 * static_cast<double>(kComplexTile * a.columns)), [&](Index begin, Index end) {
    for (auto t = begin; t < end; ++t)
      for (Index j = 0, first = t * kComplexTile; j < a.columns; ++j)
        add_product(&a(first, j), -x[j], y + first, std::min(kComplexTile, a.rows - first));
  });
}
/// y = a^H x.
void adjoint_times(Block<const Complex> a, const Complex* x, Complex* y) {
  parallel_for(a.columns, grain_for(0.5 * static_cast<double>(a.rows)), [&](Index begin, Index end) {
    for (auto j = begin; j < end; ++j) y[j] = dot(&a(0, j), x, a.rows);
  });
}
/// y -= left (right^H x).
void subtract_low_rank(Block<const Complex> left, Block<const Complex> right, const Complex* x, Complex* y) {
  std::vector<Complex> inner(size(left.columns));
  adjoint_times(right, x, inner.data());
  subtract_times(left, inner.data(), y);
}
/// sum += a x of a column a; returns a^H y. The column is read once.
Complex add_and_dot(const Complex* a, Complex x, const Complex* y, Complex* sum, Index n) {
  const Factor f(x);
  V same{}, crossed{};
  Index i = 0;
  for (; i + kStep <= n; i += kStep) {
    const auto numbers = lanes_at<V>(parts(a + i)), other = lanes_at<V>(parts(y + i));
    put(parts(sum + i), f.add(numbers, lanes_at<V>(parts(sum + i))));
    same = fused(numbers, other, same);
    crossed = fused(numbers, parts_swapped(other), crossed);
  }
  Complex r(sum_of(same), (crossed[0] - crossed[1]) + (crossed[2] - crossed[3]));
  for (; i < n; ++i) {
    sum[i] += a[i] * x;
    r += std::conj(a[i]) * y[i];
  }
  return r;
}
/// y = a x by the part of a on and below the diagonal. The parts are fixed, so that no sum depends on threads.
void hermitian_product(Block<const Complex> a, const Complex* x, Complex* y) {
  const auto n = a.rows, blocks = (n + kComplexTile - 1) / kComplexTile, count = n < 4 * kComplexTile ? 1 : kParts;
  Owned<Complex> sums(n, count);
  parallel_for(count, grain_for(0.5 * static_cast<double>(n * n / count)), [&](Index begin, Index end) {
    for (auto i = begin; i < end; ++i)
      for (auto p = kPartAt[i], b = p; b < blocks; b += count)
        for (auto j = b * kComplexTile; j < std::min((b + 1) * kComplexTile, n); ++j) {
          auto sum = &sums.block(0, p);
          auto column = &a(j, j);
          sum[j] += column[0].real() * x[j] + add_and_dot(column + 1, x[j], x + j + 1, sum + j + 1, n - j - 1);
        }
  });
  for (Index i = 0; i < n; ++i) {
    y[i] = 0;
    for (Index p = 0; p < count; ++p) y[i] += sums.block(i, p);
  }
}
/// The numbers of a row of x, conjugated.
std::vector<Complex> conjugates_of(Block<const Complex> x, Index row, Index count) {
  std::vector<Complex> r(size(count));
  for (Index i = 0; i < count; ++i) r[size(i)] = std::conj(x(row, i));
  return r;
}
}  // namespace

RealForm<Complex> tridiagonal_form(Owned<Complex> given) {
  auto a = given.block;
  const auto n = a.rows;
  std::vector<double> diagonal(size(n)), below(size(std::max<Index>(n - 1, 0)));
  std::vector<Complex> factors(below.size());
  for (Index begin = 0; begin < n; begin += kReductionPanel) {
    auto width = std::min(kReductionPanel, n - begin);
    // a -= v z^H + z v^H as one product: columns v0 z0 v1 z1 .., and the same with each pair turned.
    Owned<Complex> pairs(n, 2 * width), turned(n, 2 * width);
    for (Index j = 0; j < width; ++j) {
      auto c = begin + j, m = n - c - 1, done = 2 * j;
      subtract_times(pairs.block.part(c, 0, m + 1, done), conjugates_of(turned.block, c, done).data(), &a(c, c));
      diagonal[size(c)] = a(c, c).real();
      if (m == 0) break;
      auto factor = factors[size(c)] = reflect(&a(c + 1, c), m);
      below[size(c)] = a(c + 1, c).real();
      auto x = &pairs.block(c + 1, done), z = &pairs.block(c + 1, done + 1);
      std::copy_n(&a(c + 1, c), m, x);
      x[0] = 1;
      hermitian_product(a.part(c + 1, c + 1, m, m), x, z);
      subtract_low_rank(pairs.block.part(c + 1, 0, m, done), turned.block.part(c + 1, 0, m, done), x, z);
      const auto half = 0.5 * std::norm(factor) * dot(z, x, m).real();
      for (Index i = 0; i < m; ++i) z[i] = factor * z[i] - half * x[i];
      std::copy_n(z, m, &turned.block(c + 1, done));
      std::copy_n(x, m, &turned.block(c + 1, done + 1));
    }
    auto end = begin + width, rest = n - end;
    subtract_lower<Complex>(pairs.block.part(end, 0, rest, 2 * width), turned.block.part(end, 0, rest, 2 * width),
                            a.part(end, end, rest, rest));
  }
  return {std::move(diagonal), std::move(below), {std::move(given), std::move(factors), 1}, {{0, 0}, {}, 0}};
}
RealForm<Complex> bidiagonal_form(Owned<Complex> given) {
  auto a = given.block;
  const auto n = a.rows;
  std::vector<double> diagonal(size(n)), above(size(std::max<Index>(n - 1, 0)));
  std::vector<Complex> of_columns(size(n)), of_rows(above.size());
  Owned<Complex> rows(n, n);  // the vectors of reflections from the right
  for (Index begin = 0; begin < n; begin += kReductionPanel) {
    auto width = std::min(kReductionPanel, n - begin);
    // a -= v y^H + x u^H as one product: columns v0 x0 v1 x1 .. and y0 u0 y1 u1 ..
    Owned<Complex> lefts(n, 2 * width), rights(n, 2 * width);
    auto left = lefts.block, right = rights.block;
    for (Index j = 0; j < width; ++j) {
      auto c = begin + j, m = n - c - 1, done = 2 * j, next = c + 1;
      subtract_times(left.part(c, 0, m + 1, done), conjugates_of(right, c, done).data(), &a(c, c));
      auto factor = of_columns[size(c)] = reflect(&a(c, c), m + 1);
      diagonal[size(c)] = a(c, c).real();
      if (m == 0) break;
      auto v = &left(c, done), y = &right(next, done);
      std::copy_n(&a(c, c), m + 1, v);
      v[0] = 1;
      adjoint_times(a.part(c, next, m + 1, m), v, y);
      subtract_low_rank(right.part(next, 0, m, done), left.part(c, 0, m + 1, done), v, y);
      for (Index i = 0; i < m; ++i) y[i] *= factor;
      auto row = &rows.block(next, c), u = &right(next, done + 1), x = &left(next, done + 1);
      for (Index i = 0; i < m; ++i) row[i] = std::conj(a(c, next + i));
      subtract_times(right.part(next, 0, m, done + 1), conjugates_of(left, c, done + 1).data(), row);
      factor = of_rows[size(c)] = reflect(row, m);
      above[size(c)] = row[0].real();
      std::copy_n(row, m, u);
      u[0] = 1;
      std::vector<Complex> opposite(size(m));
      for (Index i = 0; i < m; ++i) opposite[size(i)] = -u[i];
      subtract_times(a.part(next, next, m, m), opposite.data(), x);
      subtract_low_rank(left.part(next, 0, m, done + 1), right.part(next, 0, m, done + 1), u, x);
      for (Index i = 0; i < m; ++i) x[i] *= factor;
    }
    auto end = begin + width, rest = n - end;
    Owned<Complex> conjugates(rest, 2 * width);
    copy_conjugates<Complex>(right.part(end, 0, rest, 2 * width), conjugates.block);
    multiply<Complex>(left.part(end, 0, rest, 2 * width), conjugates.block.turned(), a.part(end, end, rest, rest),
                      Into::subtract);
  }
  return {std::move(diagonal),
          std::move(above),
          {std::move(given), std::move(of_columns), 0},
          {std::move(rows), std::move(of_rows), 1}};
}
}  // namespace bora::linalg
