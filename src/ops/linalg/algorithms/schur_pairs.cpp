// Two rows of a Schur form, and the exchange of neighbouring blocks.
#include "ops/linalg/algorithms/schur_pairs.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>
#include "ops/linalg/algorithms/reflections.h"

namespace bora::linalg {
namespace {
/// Reflects the rows i and i + 1 so that x becomes a multiple of the first unit vector.
template <class T> void reflect_pair(Block<T> t, Block<T> u, Index i, T x, T y) {
  T v[2] = {x, y};
  const auto factor = reflect(v, 2);
  const SmallReflection<T> r{{1, v[1], 0}, factor, 2};
  r.on_rows(t, i, i, t.columns);
  r.on_columns(t, i, 0, i + 2);
  r.on_columns(u, i, 0, u.rows);
}
struct Rotation {
  double c = 1, s = 0;
};
/// Overwrites [a b; c d] by its standard form, which this rotation takes it to. LAPACK's dlanv2: Z. Bai, J. Demmel,
/// "On swapping diagonal blocks in real Schur form", 1993.
Rotation standard_form(double& a, double& b, double& c, double& d) {
  if (c == 0) return {};
  if (b == 0) {
    std::swap(a, d);
    b = -std::exchange(c, 0);
    return {0, 1};
  }
  const auto difference = a - d;
  if (difference == 0 && std::signbit(b) != std::signbit(c)) return {};
  const auto p = 0.5 * difference, larger = std::max(std::abs(b), std::abs(c));
  const auto smaller = std::min(std::abs(b), std::abs(c)) * std::copysign(1.0, b) * std::copysign(1.0, c);
  const auto scale = std::max(std::abs(p), larger);
  auto z = p / scale * p + larger / scale * smaller;
  if (z >= 4 * kEps) {  // real eigenvalues
    z = p + std::copysign(std::sqrt(scale) * std::sqrt(z), p);
    a = d + z;
    d -= larger / z * smaller;
    const auto length = std::hypot(c, z);
    Rotation r{z / length, c / length};
    b -= c;
    c = 0;
    return r;
  }
  const auto sum = b + c, length = std::hypot(sum, difference);
  Rotation r;
  r.c = std::sqrt(0.5 * (1 + std::abs(sum) / length));
  r.s = -(p / (length * r.c)) * std::copysign(1.0, sum);
  const auto aa = a * r.c + b * r.s, bb = b * r.c - a * r.s, cc = c * r.c + d * r.s, dd = d * r.c - c * r.s;
  a = aa * r.c + cc * r.s;
  b = bb * r.c + dd * r.s;
  c = cc * r.c - aa * r.s;
  d = dd * r.c - bb * r.s;
  const auto middle = 0.5 * (a + d);
  a = d = middle;
  if (c == 0) return r;
  if (b == 0) {
    b = -std::exchange(c, 0);
    return {-r.s, r.c};
  }
  if (std::signbit(b) == std::signbit(c)) {  // real after all
    const auto root_b = std::sqrt(std::abs(b)), root_c = std::sqrt(std::abs(c));
    const auto side = std::copysign(root_b * root_c, c), by = 1 / std::sqrt(std::abs(b + c));
    a = middle + side;
    d = middle - side;
    b -= c;
    c = 0;
    const Rotation other{root_b * by, root_c * by};
    r = {r.c * other.c - r.s * other.s, r.c * other.s + r.s * other.c};
  }
  return r;
}
/// Solves m x = b of n unknowns (at most 4) by elimination with the largest pivots; pivots below `least` are raised.
void solve_few(double (&m)[4][4], double (&b)[4], int n, double least) {
  int order[4] = {0, 1, 2, 3};
  for (int k = 0; k < n; ++k) {
    int row = k, column = k;
    for (int i = k; i < n; ++i)
      for (int j = k; j < n; ++j)
        if (std::abs(m[i][j]) > std::abs(m[row][column])) row = i, column = j;
    std::swap(m[k], m[row]);
    std::swap(b[k], b[row]);
    for (int i = 0; i < n; ++i) std::swap(m[i][k], m[i][column]);
    std::swap(order[k], order[column]);
    if (std::abs(m[k][k]) < least) m[k][k] = least;
    for (int i = k + 1; i < n; ++i) {
      const auto factor = m[i][k] / m[k][k];
      for (int j = k; j < n; ++j) m[i][j] -= factor * m[k][j];
      b[i] -= factor * b[k];
    }
  }
  double x[4] = {};
  for (int k = n; k-- > 0;) {
    auto sum = b[k];
    for (int j = k + 1; j < n; ++j) sum -= m[k][j] * x[j];
    x[k] = sum / m[k][k];
  }
  for (int k = 0; k < n; ++k) b[order[k]] = x[k];
}
/// Exchanges the blocks of p and q rows from row i on.
bool exchange(Block<double> t, Block<double> u, Index i, Index p, Index q) {
  const auto n = p + q;
  double largest = 0;
  for (Index r = 0; r < n; ++r)
    for (Index c = 0; c < n; ++c) largest = std::max(largest, std::abs(t(i + r, i + c)));
  const auto least = std::max(kEps * largest, std::numeric_limits<double>::min() / kEps);
  // a x - x c = -b: the columns of [x; 1] span the vectors of c.
  double m[4][4] = {}, x[4];
  for (Index r = 0; r < p; ++r)
    for (Index c = 0; c < q; ++c) {
      const auto e = r * q + c;
      x[e] = -t(i + r, i + p + c);
      for (Index k = 0; k < p; ++k) m[e][k * q + c] += t(i + r, i + k);
      for (Index k = 0; k < q; ++k) m[e][r * q + k] -= t(i + p + k, i + p + c);
    }
  solve_few(m, x, static_cast<int>(p * q), least);
  Owned<double> basis(n, q), small(n, n, Fill::none), turn(n, n);
  for (Index c = 0; c < q; ++c) {
    for (Index r = 0; r < p; ++r) basis.block(r, c) = x[r * q + c];
    basis.block(p + c, c) = 1;
  }
  copy<double>(t.part(i, i, n, n), small.block);
  for (Index r = 0; r < n; ++r) turn.block(r, r) = 1;
  std::pair<std::vector<double>, double> reflections[2];  // vectors and factors
  for (Index c = 0; c < q; ++c) {
    auto column = &basis.block(c, c);
    const auto factor = reflect(column, n - c);
    column[0] = 1;
    reflections[c] = {std::vector<double>(column, column + (n - c)), factor};
    for (auto other = c + 1; other < q; ++other) {
      auto y = &basis.block(c, other);
      add_times(-factor * dot(column, y, n - c), column, y, n - c);
    }
    reflect_both(small.block, turn.block, column, factor, c, n - c, 0);
  }
  for (auto r = q; r < n; ++r)
    for (Index c = 0; c < q; ++c)
      if (std::abs(small.block(r, c)) > 10 * least) return false;
  for (Index c = 0; c < q; ++c) reflect_both(t, u, reflections[c].first.data(), reflections[c].second, i + c, n - c, i);
  for (auto r = q; r < n; ++r)
    for (Index c = 0; c < q; ++c) t(i + r, i + c) = 0;
  if (q == 2) standardize(t, u, i);
  if (p == 2) standardize(t, u, i + q);
  return true;
}
/// The same of two eigenvalues.
template <class T> void exchange_numbers(Block<T> t, Block<T> u, Index i) {
  const T one = t(i, i), other = t(i + 1, i + 1);
  reflect_pair<T>(t, u, i, t(i, i + 1), other - one);
  t(i, i) = other;
  t(i + 1, i) = 0;
  t(i + 1, i + 1) = one;
}
}  // namespace

void standardize(Block<double> t, Block<double> u, Index i) {
  auto &a = t(i, i), &b = t(i, i + 1), &c = t(i + 1, i), &d = t(i + 1, i + 1);
  const auto r = standard_form(a, b, c, d);
  if (r.s == 0 && r.c == 1) return;
  auto turn = [&](double& x, double& y) {
    const auto both = r.c * x + r.s * y;
    y = r.c * y - r.s * x;
    x = both;
  };
  for (auto j = i + 2; j < t.columns; ++j) turn(t(i, j), t(i + 1, j));
  for (Index k = 0; k < i; ++k) turn(t(k, i), t(k, i + 1));
  for (Index k = 0; k < u.rows; ++k) turn(u(k, i), u(k, i + 1));
}
void standardize(Block<Complex> t, Block<Complex> u, Index i) {
  const auto c = t(i + 1, i);
  if (c == 0.0) return;
  // (value - d, c) is a vector of `value`: of the two the one farther from d.
  const auto p = (t(i, i) - t(i + 1, i + 1)) / 2.0, root = std::sqrt(p * p + t(i, i + 1) * c);
  reflect_pair<Complex>(t, u, i, std::norm(p + root) > std::norm(p - root) ? p + root : p - root, c);
  t(i + 1, i) = 0;
}
template <class T> bool move_up(Block<T> t, Block<T> u, Index from, Index to, Index rows) {
  while (from > to) {
    if constexpr (kComplex<T>) exchange_numbers(t, u, --from);
    else {
      const Index before = from >= 2 && t(from - 1, from - 2) != 0 ? 2 : 1;
      if (before == 1 && rows == 1) exchange_numbers(t, u, from - 1);
      else if (!exchange(t, u, from - before, before, rows)) return false;
      from -= before;
    }
  }
  return true;
}
template bool move_up(Block<double>, Block<double>, Index, Index, Index);
template bool move_up(Block<Complex>, Block<Complex>, Index, Index, Index);
}  // namespace bora::linalg
