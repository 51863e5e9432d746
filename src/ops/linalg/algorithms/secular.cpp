// Roots of the secular equation, and the vectors that belong to them.
#include "ops/linalg/algorithms/secular.h"
#include <algorithm>
#include <cmath>
#include "bora/base/parallel.h"
#include "ops/linalg/algorithms/lanes.h"

namespace bora::linalg {
namespace {
using V = Lanes<double>::Vector;
constexpr auto kLanesOf = Lanes<double>::count;

/// The difference of poles: of x and y, or of their squares.
template <bool squares, class T> T apart(T x, double y) {
  if constexpr (squares) return (x - y) * (x + y);
  else return x - y;
}
/// Sums over j of w_j / gap_j, w_j / gap_j^2 and the first one's magnitudes; gap_j = (p_j - p(near)) - x, w = rho z^2.
struct Sums {
  double value, slope, size;
};
template <bool squares> struct Finder {
  const Secular& s;
  std::vector<double> weights;
  explicit Finder(const Secular& given) : s(given), weights(given.d.size()) {
    for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = s.rho * s.z[j] * s.z[j];
  }
  Sums sums(Index begin, Index end, double near, double x) const {
    V value{}, slope{}, magnitude{};
    auto j = begin;
    for (; j + kLanesOf <= end; j += kLanesOf) {
      const auto inverse = 1.0 / (apart<squares>(lanes_at<V>(&s.d[size(j)]), near) - x);
      const auto part = lanes_at<V>(&weights[size(j)]) * inverse;
      value += part;
      slope += part * inverse;
      magnitude += part < 0 ? -part : part;
    }
    Sums r{sum_of(value), sum_of(slope), sum_of(magnitude)};
    for (; j < end; ++j) {
      const auto inverse = 1 / (apart<squares>(s.d[size(j)], near) - x), part = weights[size(j)] * inverse;
      r.value += part;
      r.slope += part * inverse;
      r.size += std::abs(part);
    }
    return r;
  }
  /// Root i, between poles i and i + 1, or above the last one. Both sums are replaced by a constant and one pole with
  /// the same value and slope (J. Bunch, C. Nielsen, D. Sorensen, "Rank-one modification of the symmetric
  /// eigenproblem", 1978), inside of a bracket that only shrinks.
  Root root(Index i) const {
    const auto n = s.size();
    const bool last = i + 1 == n;
    double width = 0;
    if (last)
      for (auto w : weights) width += w;
    else width = apart<squares>(s.d[size(i + 1)], s.d[size(i)]);
    // The nearer pole: above the middle the sum is already positive if the root lies below it.
    const bool right = !last && 1 + sums(0, n, s.d[size(i)], width / 2).value < 0;
    Root r{right ? i + 1 : i, 0};
    const auto near = s.d[size(r.pole)];
    double low = right ? -width / 2 : 0, high = right ? 0 : last ? width : width / 2;
    if (last) high *= 1 + 4 * kEps;
    const double at_i = right ? -width : 0, at_next = right ? 0 : width;
    double x = (low + high) / 2;
    for (int step = 0; step < 100; ++step) {
      const auto [left, left_slope, left_size] = sums(0, i + 1, near, x);
      const auto [above, above_slope, above_size] = sums(i + 1, n, near, x);
      const auto magnitude = 1 + left_size + above_size, f = 1 + left + above;
      if (std::abs(f) <= kEps * magnitude || high - low <= kEps * std::max(std::abs(low), std::abs(high))) break;
      (f < 0 ? low : high) = x;
      const auto gap_i = at_i - x, gap_next = at_next - x;
      const auto s_i = gap_i * gap_i * left_slope, s_next = last ? 0 : gap_next * gap_next * above_slope;
      const auto c = 1 + (left - gap_i * left_slope) + (last ? 0 : above - gap_next * above_slope);
      // c + s_i / (gap_i - t) + s_next / (gap_next - t) = 0 for the step t.
      double t;
      if (last) t = gap_i + s_i / c;
      else {
        const auto a = c * (gap_i + gap_next) + s_i + s_next;
        const auto b = c * gap_i * gap_next + s_i * gap_next + s_next * gap_i;
        const auto square = std::sqrt(std::max(0.0, a * a - 4 * b * c));
        t = a <= 0 ? (a - square) / (2 * c) : 2 * b / (a + square);
      }
      const auto next = x + t;
      x = next > low && next < high ? next : (low + high) / 2;
      if (x == low || x == high) break;
    }
    r.offset = x;
    return r;
  }
};
template <bool squares> std::vector<Root> all_roots(const Secular& s) {
  const Finder<squares> finder(s);
  std::vector<Root> roots(s.d.size());
  parallel_for(s.size(), grain_for(20.0 * static_cast<double>(s.size())), [&](Index begin, Index end) {
    for (auto i = begin; i < end; ++i) roots[size(i)] = finder.root(i);
  });
  return roots;
}
template <bool squares> void all_vectors(const Secular& s, const std::vector<Root>& roots, Block<double> gaps,
                                         Block<double> left) {
  const auto k = s.size();
  const auto grain = grain_for(1.5 * static_cast<double>(k));
  const auto lanes_end = k / kLanesOf * kLanesOf;
  parallel_for(k, grain, [&](Index begin, Index end) {
    for (auto i = begin; i < end; ++i) {  // p_j - root i
      const auto near = s.d[size(roots[size(i)].pole)], offset = roots[size(i)].offset;
      auto column = &gaps(0, i);
      for (Index j = 0; j < lanes_end; j += kLanesOf)
        put(column + j, apart<squares>(lanes_at<V>(&s.d[size(j)]), near) - offset);
      for (auto j = lanes_end; j < k; ++j) column[j] = apart<squares>(s.d[size(j)], near) - offset;
    }
  });
  std::vector<double> z(size(k));
  for (Index j = 0; j < k; ++j) z[size(j)] = gaps(j, j);
  parallel_for((k + kLanesOf - 1) / kLanesOf, grain / kLanesOf + 1, [&](Index first, Index last) {
    const auto begin = first * kLanesOf, end = std::min(last * kLanesOf, k);
    for (Index i = 0; i < k; ++i) {
      auto column = &gaps(0, i);
      const auto pole = s.d[size(i)];
      for (auto j = begin; j < end; j += kLanesOf) {
        if (j + kLanesOf <= end && (i < j || i >= j + kLanesOf)) {
          put(&z[size(j)], lanes_at<V>(&z[size(j)]) *
                               (lanes_at<V>(column + j) / apart<squares>(lanes_at<V>(&s.d[size(j)]), pole)));
          continue;
        }
        for (auto l = j; l < std::min(j + kLanesOf, end); ++l)
          if (l != i) z[size(l)] *= column[l] / apart<squares>(s.d[size(l)], pole);
      }
    }
    for (auto j = begin; j < end; ++j) z[size(j)] = std::copysign(std::sqrt(std::abs(z[size(j)])), s.z[size(j)]);
  });
  parallel_for(k, grain, [&](Index begin, Index end) {
    for (auto i = begin; i < end; ++i) {
      auto column = &gaps(0, i);
      for (Index j = 0; j < lanes_end; j += kLanesOf)
        put(column + j, lanes_at<V>(&z[size(j)]) / lanes_at<V>(column + j));
      for (auto j = lanes_end; j < k; ++j) column[j] = z[size(j)] / column[j];
      if constexpr (squares) {
        auto other = &left(0, i);
        for (Index j = 0; j < k; ++j) other[j] = s.d[size(j)] * column[j];
        other[0] = -1;
        const auto by = 1 / std::sqrt(dot(other, other, k));
        for (Index j = 0; j < k; ++j) other[j] *= by;
      }
      const auto by = 1 / std::sqrt(dot(column, column, k));
      for (Index j = 0; j < k; ++j) column[j] *= by;
    }
  });
}
}  // namespace

std::vector<Root> roots_of(const Secular& s) { return s.squares ? all_roots<true>(s) : all_roots<false>(s); }
double value_of(const Secular& s, const Root& root) {
  const auto d = s.d[size(root.pole)];
  if (!s.squares) return d + root.offset;
  // d + (sqrt(d^2 + offset) - d), whose last difference keeps its digits.
  return d + root.offset / (d + std::sqrt(std::max(0.0, d * d + root.offset)));
}
void vectors_of(const Secular& s, const std::vector<Root>& roots, Block<double> right, Block<double> left) {
  if (s.squares) all_vectors<true>(s, roots, right, left);
  else all_vectors<false>(s, roots, right, left);
}
void combine(Block<const double> part, const std::vector<Index>& from, const std::vector<Index>& some,
             Block<const double> vectors, Block<double> made) {
  const auto m = static_cast<Index>(some.size());
  Owned<double> left(part.rows, m, Fill::none), right(m, vectors.columns, Fill::none);
  for (Index i = 0; i < m; ++i) std::copy_n(&part(0, from[size(some[size(i)])]), part.rows, &left.block(0, i));
  for (Index j = 0; j < vectors.columns; ++j)
    for (Index i = 0; i < m; ++i) right.block(i, j) = vectors(some[size(i)], j);
  multiply<double>(left.block, right.block, made);
}
}  // namespace bora::linalg
