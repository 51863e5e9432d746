// Householder reflections in panels.
#include "ops/linalg/algorithms/reflections.h"
#include <algorithm>
#include <cmath>
#include <utility>
#include "bora/base/parallel.h"
#include "ops/linalg/algorithms/lanes.h"

namespace bora::linalg {
namespace {
constexpr Index kPanelWidth = 64, kReflectionLeaf = 8;

/// Factors p [m, n], whose columns lie one behind the other; v is the panel's, zero at first.
template <class T> void factor_panel(Block<T> p, Block<T> v, T* factors, Block<T> t) {
  auto m = p.rows, n = p.columns;
  if (n > kReflectionLeaf) {
    auto h = n / 2;
    auto left = v.part(0, 0, m, h), right = v.part(h, h, m - h, n - h);
    factor_panel(p.part(0, 0, m, h), left, factors, t.part(0, 0, h, h));
    Panel<T>{left, t.part(0, 0, h, h)}.apply(p.part(0, h, m, n - h), true);
    factor_panel(p.part(h, h, m - h, n - h), right, factors + h, t.part(h, h, n - h, n - h));
    return join_reflections<T>(v, factors, t);
  }
  for (Index j = 0; j < n; ++j) {
    auto x = &p(j, j);
    factors[j] = reflect(x, m - j);
    v(j, j) = 1;
    std::copy(x + 1, x + (m - j), &v(j, j) + 1);
    for (auto c = j + 1; c < n; ++c) {
      auto y = &p(j, c);
      const auto part = conjugated(factors[j]) * (y[0] + dot(x + 1, y + 1, m - j - 1));
      y[0] -= part;
      add_times(-part, x + 1, y + 1, m - j - 1);
    }
  }
  join_reflections<T>(v, factors, t);
}
/// The largest magnitude of a part of a number, and 0, or NaN if a number is not finite.
template <class T> std::pair<Real<T>, Real<T>> largest_of(const T* x, Index n) {
  using R = Real<T>;
  using V = typename Lanes<R>::Vector;
  constexpr auto lanes = Lanes<R>::count;
  auto parts = reinterpret_cast<const R*>(x);
  const auto count = n * static_cast<Index>(sizeof(T) / sizeof(R));
  V sizes{}, nothings{};
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = lanes_at<V>(parts + i), size = v < 0 ? -v : v;
    nothings += v * R(0);
    sizes = size > sizes ? size : sizes;
  }
  R largest = 0, nothing = 0;
  for (Index l = 0; l < lanes; ++l) largest = std::max(largest, sizes[l]), nothing += nothings[l];
  for (; i < count; ++i) largest = std::max(largest, std::abs(parts[i])), nothing += parts[i] * 0;
  return {largest, nothing};
}
}  // namespace

template <class T> T reflect(T* x, Index n) {
  using R = Real<T>;
  const auto [largest_below, rest_is] = largest_of(x + 1, n - 1);
  auto largest = largest_below;
  R nothing = rest_is + real_part(x[0]) * 0;
  if constexpr (kComplex<T>) nothing += x[0].imag() * 0;
  if (nothing != 0) {
    std::fill_n(x, n, T(nothing));
    return nothing;
  }
  if (largest == 0 && conjugated(x[0]) == x[0]) return 0;
  // The largest number becomes 1 where a sum of squares would overflow or vanish.
  largest = std::max(largest, larger_part(x[0]));
  constexpr R least = sizeof(R) == 8 ? R(1e-140) : R(1e-17);
  const bool plain = largest > least && largest < 1 / (least * std::sqrt(static_cast<R>(n)));
  if (!plain)
    for (Index i = 0; i < n; ++i) x[i] /= largest;
  auto length = std::sqrt(real_part(dot(x, x, n))), left = real_part(x[0]) < 0 ? length : -length;
  auto factor = (left - x[0]) / left, rest = x[0] - left;
  if constexpr (kComplex<T>) {
    const auto inverse = std::conj(rest) / std::norm(rest);
    for (Index i = 1; i < n; ++i) x[i] *= inverse;
  } else {
    using V = typename Lanes<T>::Vector;
    constexpr auto lanes = Lanes<T>::count;
    Index i = 1;
    for (; i + lanes <= n; i += lanes) put(x + i, lanes_at<V>(x + i) / rest);
    for (; i < n; ++i) x[i] /= rest;
  }
  x[0] = plain ? left : left * largest;
  return factor;
}
template <class T> void join_reflections(Reads<T> v, const T* factors, Block<T> t) {
  auto n = v.columns;
  std::vector<T> memory(size(n * n));
  auto g = by_rows(memory.data(), n, n);
  multiply_adjoint<T>(v, v, g);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) t(i, j) = 0;
    t(j, j) = factors[j];
    for (Index c = 0; c < j; ++c)
      for (Index i = 0; i <= c; ++i) t(i, j) -= factors[j] * g(c, j) * t(i, c);
  }
}
template <class T> void Panel<T>::apply(Block<T> c, bool turned) const {
  if (c.columns == 0) return;
  auto k = v.columns, n = c.columns;
  Owned<T> both(n, 2 * k, Fill::none);  // rows of two matrices [k, n]
  auto part = by_rows(both.block.data, k, n), joined = by_rows(both.block.data + k * n, k, n);
  multiply_adjoint<T>(v, c, part);
  if (turned) multiply_adjoint<T>(t, part, joined);
  else multiply<T>(t, part, joined);
  multiply<T>(v, joined, c, Into::subtract);
}

/// f(panel, first row of it), from the last panel to the first.
template <class T> template <class F> void ReflectionProduct<T>::each_panel(F f) const {
  const auto n = columns.block.rows, count = n - shift;
  for (auto begin = (count - 1) / kPanelWidth * kPanelWidth; count > 0 && begin >= 0; begin -= kPanelWidth) {
    auto width = std::min(kPanelWidth, count - begin), first = begin + shift, m = n - first;
    Owned<T> v(m, width), t(width, width);
    for (Index j = 0; j < width; ++j) {
      v.block(j, j) = 1;
      for (auto i = j + 1; i < m; ++i) v.block(i, j) = columns.block(first + i, begin + j);
    }
    join_reflections<T>(v.block, factors.data() + begin, t.block);
    f(Panel<T>{v.block, t.block}, first);
  }
}
template <class T> void ReflectionProduct<T>::apply(Block<T> x) const {
  each_panel([&](const Panel<T>& p, Index first) { p.apply(x.part(first, 0, p.v.rows, x.columns), false); });
}
template <class T> void ReflectionProduct<T>::matrix(Block<T> x) const {
  for (Index j = 0; j < x.columns; ++j)
    for (Index i = 0; i < x.rows; ++i) x(i, j) = i == j ? 1 : 0;
  // Rows and columns before a panel are still those of the identity.
  each_panel([&](const Panel<T>& p, Index first) { p.apply(x.part(first, first, p.v.rows, p.v.rows), false); });
}

template <class T> Reflections<T>::Reflections(Block<T> a)
    : m_(a.rows), k_(std::min(a.rows, a.columns)), v_(m_, k_), t_(kPanelWidth, k_) {
  Owned<T> memory(m_, kPanelWidth, Fill::none);
  std::vector<T> factors(size(kPanelWidth));
  for (Index begin = 0; begin < k_; begin += kPanelWidth) {
    auto p = panel(begin);
    auto m = p.v.rows, n = p.v.columns, end = begin + n;
    auto own = by_columns(memory.block.data, m, n);
    copy<T>(a.part(begin, begin, m, n), own);
    factor_panel(own, p.v, factors.data(), p.t);
    for (Index i = 0; i < n; ++i)
      for (auto j = i; j < n; ++j) a(begin + i, begin + j) = own(i, j);
    p.apply(a.part(begin, end, m, a.columns - end), true);
  }
}
template <class T> Panel<T> Reflections<T>::panel(Index begin) const {
  auto n = std::min(kPanelWidth, k_ - begin);
  return {v_.block.part(begin, begin, m_ - begin, n), by_rows(t_.block.data + begin * kPanelWidth, n, n)};
}
template <class T> void Reflections<T>::apply(Block<T> x) const {
  for (auto begin = (k_ - 1) / kPanelWidth * kPanelWidth; begin >= 0; begin -= kPanelWidth)
    panel(begin).apply(x.part(begin, 0, m_ - begin, x.columns), false);
}
template <class T> void Reflections<T>::columns(Block<T> q) const {
  for (Index i = 0; i < q.rows; ++i)
    for (Index j = 0; j < q.columns; ++j) q(i, j) = i == j ? 1 : 0;
  // Columns to the left of a panel are still those of the identity, and it leaves them.
  for (auto begin = (k_ - 1) / kPanelWidth * kPanelWidth; begin >= 0; begin -= kPanelWidth)
    panel(begin).apply(q.part(begin, begin, m_ - begin, q.columns - begin), false);
}

#define BORA_REFLECTIONS(T)                                      \
  template T reflect(T*, Index);                                 \
  template void join_reflections(Reads<T>, const T*, Block<T>);  \
  template struct Panel<T>;                                      \
  template struct ReflectionProduct<T>;                          \
  template class Reflections<T>;
BORA_REFLECTIONS(float)
BORA_REFLECTIONS(double)
BORA_REFLECTIONS(std::complex<float>)
BORA_REFLECTIONS(std::complex<double>)
#undef BORA_REFLECTIONS
}  // namespace bora::linalg
