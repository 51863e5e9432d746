// Products of blocks and triangular systems.
#include "ops/linalg/algorithms/blocked.h"
#include <algorithm>
#include <cmath>
#include "bora/base/parallel.h"
#include "ops/linalg/algorithms/lanes.h"

namespace bora::linalg {
namespace {
constexpr Index kTriangleLeaf = 16, kTaskColumns = 64, kTriangleStrip = 128;

/// A triangle of at most kTriangleLeaf rows with the columns of x in lanes.
template <class T, class V> void solve_leaf(Block<const T> a, Half half, Diagonal diagonal, Block<T> x, Index first) {
  const auto n = a.rows;
  V v[kTriangleLeaf];
  for (Index i = 0; i < n; ++i)
    for (Index l = 0; l < kLanes<V, T>; ++l) set(v[i], l, x(i, first + l));
  for (Index step = 0; step < n; ++step) {
    auto i = half == Half::lower ? step : n - 1 - step;
    if (diagonal == Diagonal::given) v[i] /= a(i, i);
    if (half == Half::lower)
      for (auto r = i + 1; r < n; ++r) v[r] -= a(r, i) * v[i];
    else
      for (Index r = 0; r < i; ++r) v[r] -= a(r, i) * v[i];
  }
  for (Index i = 0; i < n; ++i)
    for (Index l = 0; l < kLanes<V, T>; ++l) x(i, first + l) = get<V, T>(v[i], l);
}
template <class T> void solve_halves(Block<const T> a, Half half, Diagonal diagonal, Block<T> x) {
  auto n = a.rows, k = x.columns;
  if (n <= kTriangleLeaf) {
    constexpr auto lanes = Lanes<T>::count;
    Index c = 0;
    if constexpr (lanes > 1)
      for (; c + lanes <= k; c += lanes) solve_leaf<T, typename Lanes<T>::Vector>(a, half, diagonal, x, c);
    for (; c < k; ++c) solve_leaf<T, T>(a, half, diagonal, x, c);
    return;
  }
  auto h = (n / 2 + kTriangleLeaf - 1) / kTriangleLeaf * kTriangleLeaf;
  auto top = x.part(0, 0, h, k), bottom = x.part(h, 0, n - h, k);
  auto a_top = a.part(0, 0, h, h), a_bottom = a.part(h, h, n - h, n - h);
  if (half == Half::lower) {
    solve_halves(a_top, half, diagonal, top);
    multiply(a.part(h, 0, n - h, h), top, bottom, Into::subtract);
    solve_halves(a_bottom, half, diagonal, bottom);
  } else {
    solve_halves(a_bottom, half, diagonal, bottom);
    multiply(a.part(0, h, h, n - h), bottom, top, Into::subtract);
    solve_halves(a_top, half, diagonal, top);
  }
}
/// Two or four complex numbers in a vector, their parts side by side.
template <class C> C dot_of_complex(const C* x, const C* y, Index n) {
  using T = Real<C>;
  using V = typename Lanes<T>::Vector;
  constexpr auto lanes = Lanes<T>::count, step = lanes / 2;
  V same[2] = {}, crossed[2] = {};
  auto add = [&](Index i, Index s) {
    auto a = lanes_at<V>(reinterpret_cast<const T*>(x + i)), b = lanes_at<V>(reinterpret_cast<const T*>(y + i));
    same[s] = fused(a, b, same[s]);
    crossed[s] = fused(a, parts_swapped(b), crossed[s]);
  };
  Index i = 0;
  for (; i + 2 * step <= n; i += 2 * step) add(i, 0), add(i + step, 1);
  for (; i + step <= n; i += step) add(i, 0);
  T re = 0, im = 0;
  auto one = same[0] + same[1], other = crossed[0] + crossed[1];
  for (Index l = 0; l < lanes; l += 2) re += one[l] + one[l + 1], im += other[l] - other[l + 1];
  for (; i < n; ++i) {
    re += x[i].real() * y[i].real() + x[i].imag() * y[i].imag();
    im += x[i].real() * y[i].imag() - x[i].imag() * y[i].real();
  }
  return {re, im};
}
}  // namespace

template <class T> Real<T> largest_part(std::span<const T> all) {
  using V = typename Lanes<Real<T>>::Vector;
  constexpr auto lanes = Lanes<Real<T>>::count;
  const auto* x = reinterpret_cast<const Real<T>*>(all.data());
  const auto n = static_cast<Index>(all.size_bytes() / sizeof(Real<T>));
  V most[4] = {};
  Index i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
#pragma GCC unroll 4
    for (Index s = 0; s < 4; ++s) {
      const auto v = lanes_at<V>(x + i + s * lanes), magnitude = v < 0 ? -v : v;
      most[s] = magnitude > most[s] ? magnitude : most[s];
    }
  Real<T> r = 0;
  for (auto& v : most)
    for (Index l = 0; l < lanes; ++l) r = std::max(r, v[l]);
  for (; i < n; ++i) r = std::max(r, std::abs(x[i]));
  return r;
}
template <class T> void scale(std::span<T> all, Real<T> by) {
  parallel_for(static_cast<Index>(all.size()), grain_for(1), [&](Index begin, Index end) {
    for (auto i = begin; i < end; ++i) {
      auto& x = all[static_cast<std::size_t>(i)];
      x = scaled(x, by);
    }
  });
}
template <class T> T dot(const T* x, const T* y, Index n) {
  if constexpr (kComplex<T>) return dot_of_complex(x, y, n);
  else {
    using V = typename Lanes<T>::Vector;
    constexpr auto lanes = Lanes<T>::count;
    V sums[4] = {};
    Index i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes)
#pragma GCC unroll 4
      for (Index s = 0; s < 4; ++s)
        sums[s] = fused(lanes_at<V>(x + i + s * lanes), lanes_at<V>(y + i + s * lanes), sums[s]);
    for (; i + lanes <= n; i += lanes) sums[0] = fused(lanes_at<V>(x + i), lanes_at<V>(y + i), sums[0]);
    auto all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    T sum = 0;
    for (Index l = 0; l < lanes; ++l) sum += all[l];
    for (; i < n; ++i) sum += x[i] * y[i];
    return sum;
  }
}
template <class T> void add_times(T factor, const T* x, T* y, Index n) {
  Index i = 0;
  if constexpr (!kComplex<T>) {
    using V = typename Lanes<T>::Vector;
    constexpr auto lanes = Lanes<T>::count;
    const auto factors = V{} + factor;
    for (; i + lanes <= n; i += lanes) put(y + i, fused(factors, lanes_at<V>(x + i), lanes_at<V>(y + i)));
  }
  for (; i < n; ++i) y[i] += factor * x[i];
}
template <class T> void multiply(Reads<T> a, Reads<T> b, Block<T> c, Into into) {
  if (c.column != 1 && c.columns > 1) return multiply<T>(b.turned(), a.turned(), c.turned(), into);
  kernels::gemm({.dtype = dtype_of<T>,
                 .m = c.rows,
                 .n = c.columns,
                 .k = a.columns,
                 .a = a.data,
                 .a_row = a.row,
                 .a_col = a.column,
                 .b = b.data,
                 .b_row = b.row,
                 .b_col = b.column,
                 .c = c.data,
                 .ldc = c.row,
                 .into = into});
}
template <class T> void multiply_adjoint(Reads<T> a, Reads<T> b, Block<T> c, Into into) {
  if constexpr (kComplex<T>) {
    Owned<T> turned(a.rows, a.columns);
    copy_conjugates<T>(a, turned.block);
    multiply<T>(turned.block.turned(), b, c, into);
  } else multiply<T>(a.turned(), b, c, into);
}
template <class T> void subtract_lower(Reads<T> a, Reads<T> given, Block<T> c) {
  auto n = c.rows, k = a.columns;
  Owned<T> conjugates(kComplex<T> ? n : 0, k);
  Block<const T> b = given;
  if constexpr (kComplex<T>) {
    copy_conjugates<T>(given, conjugates.block);
    b = conjugates.block;
  }
  for (Index j = 0; j < n; j += kTriangleStrip) {
    auto w = std::min(kTriangleStrip, n - j);
    multiply<T>(a.part(j, 0, n - j, k), b.part(j, 0, w, k).turned(), c.part(j, j, n - j, w), Into::subtract);
  }
}
template <class T> void copy(Reads<T> from, Block<T> to) {
  if (to.column != 1 && to.row == 1) return copy<T>(from.turned(), to.turned());
  if (from.column == 1 && to.column == 1) {
    for (Index i = 0; i < to.rows; ++i) std::copy_n(&from(i, 0), to.columns, &to(i, 0));
    return;
  }
  constexpr Index few = 16;  // rows at a time, for the lines of a matrix that is turned
  for (Index i0 = 0; i0 < to.rows; i0 += few)
    for (Index j0 = 0; j0 < to.columns; j0 += few)
      for (auto i = i0; i < std::min(i0 + few, to.rows); ++i)
        for (auto j = j0; j < std::min(j0 + few, to.columns); ++j) to(i, j) = from(i, j);
}
template <class T> void copy_conjugates(Reads<T> from, Block<T> to) {
  copy<T>(from, to);
  for (Index j = 0; j < to.columns; ++j)
    for (Index i = 0; i < to.rows; ++i) to(i, j) = conjugated(to(i, j));
}
template <class T> void solve_triangular(Reads<T> a, Half half, Diagonal diagonal, Block<T> x) {
  auto n = a.rows, k = x.columns, parts = k / kTaskColumns;
  if (parts < 2) return solve_halves<T>(a, half, diagonal, x);
  auto grain = grain_for(0.1 * static_cast<double>(n * n * kTaskColumns));
  parallel_for(parts, grain, [&](Index begin, Index end) {
    auto first = k * begin / parts, last = k * end / parts;
    solve_halves<T>(a, half, diagonal, x.part(0, first, n, last - first));
  });
}

#define BORA_BLOCKED(T)                                               \
  template Real<T> largest_part(std::span<const T>);                  \
  template void scale(std::span<T>, Real<T>);                         \
  template T dot(const T*, const T*, Index);                          \
  template void add_times(T, const T*, T*, Index);                    \
  template void multiply(Reads<T>, Reads<T>, Block<T>, Into);         \
  template void multiply_adjoint(Reads<T>, Reads<T>, Block<T>, Into); \
  template void subtract_lower(Reads<T>, Reads<T>, Block<T>);         \
  template void copy(Reads<T>, Block<T>);                             \
  template void copy_conjugates(Reads<T>, Block<T>);                  \
  template void solve_triangular(Reads<T>, Half, Diagonal, Block<T>);
BORA_BLOCKED(float)
BORA_BLOCKED(double)
BORA_BLOCKED(std::complex<float>)
BORA_BLOCKED(std::complex<double>)
#undef BORA_BLOCKED
}  // namespace bora::linalg
