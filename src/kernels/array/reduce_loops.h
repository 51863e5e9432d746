// reduce_loops.h -- the loops of reductions. Private to reduce_*.cpp.
#pragma once
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/array/reduce_dtype.h"
#include "kernels/array/short_reduce.h"

namespace bora::kernels::reductions {
namespace {
template <class A> struct Partials { A v[32]; };
template <class T, class Op> auto reduce_segment(const T* in, I n) {
  using A = typename AccOf<T>::type;
  using L = Lanes<A>;
  using S = Compare<T, A>;
  const auto* x = raw(in);
  L acc;
  for (auto& v : acc.v) v = typename L::Vec{} + Op::template identity<T, A>();
  I i = 0;
  for (; i + 32 <= n; i += 32)
#pragma GCC unroll 8
    for (int j = 0; j < L::count; ++j)
      acc.v[j] = Op::template apply<typename VecOf<S>::type>(acc.v[j], load_vec(x + i + j * L::width));
  int whole = 0;
  for (; i + L::width <= n; i += L::width, ++whole)
    acc.v[whole] = Op::template apply<typename VecOf<S>::type>(acc.v[whole], load_vec(x + i));
  Partials<A> part;
  std::memcpy(part.v, acc.v, sizeof part.v);
  for (int j = whole * L::width; i < n; ++i, ++j) part.v[j] = Op::template apply<S>(part.v[j], value(x[i]));
  return part;
}
/// The result of a row from the partials of its segments.
template <class T, class Op, class A> A folded(Partials<A> part, const Partials<A>* more, I count) {
  using S = Compare<T, A>;
  for (I s = 0; s < count; ++s)
    for (int j = 0; j < 32; ++j) part.v[j] = Op::template apply<S>(part.v[j], more[s].v[j]);
  using L = Lanes<A>;
  L all;
  std::memcpy(all.v, part.v, sizeof part.v);
  for (int half = L::count / 2; half >= 1; half /= 2)
    for (int j = 0; j < half; ++j) all.v[j] = Op::template apply<typename VecOf<S>::type>(all.v[j], all.v[j + half]);
  A last[L::width];
  std::memcpy(last, all.v, sizeof last);
  for (int half = L::width / 2; half >= 1; half /= 2)
    for (int j = 0; j < half; ++j) last[j] = Op::template apply<S>(last[j], last[j + half]);
  return last[0];
}
/// A row of less than 32 elements: partials that no element goes into change nothing.
template <class T, class Op> auto reduce_short_row(const T* in, I n) {
  using A = typename AccOf<T>::type;
  using S = Compare<T, A>;
  const auto* x = raw(in);
  const auto count = static_cast<I>(std::bit_ceil(static_cast<std::size_t>(std::max<I>(n, 1))));
  A part[32];
  for (I j = 0; j < count; ++j) {
    part[j] = Op::template identity<T, A>();
    if (j < n) part[j] = Op::template apply<S>(part[j], value(x[j]));
  }
  for (auto half = count / 2; half >= 1; half /= 2)
    for (I j = 0; j < half; ++j) part[j] = Op::template apply<S>(part[j], part[j + half]);
  return part[0];
}
template <class T, class Op> auto reduce_row(const T* in, I n) {
  if (n <= 16) return reduce_short_row<T, Op>(in, n);
  auto part = reduce_segment<T, Op>(in, n);
  return folded<T, Op>(part, &part, 0);
}

/// One block of rows over at most kColumns columns: begin sets the identity, take_rows adds rows in order.
template <class T, class Op, class A> void begin(A* acc, I width) {
  std::fill_n(acc, width, Op::template identity<T, A>());
}
template <class T, class Op, class A> void take_rows(const T* in, A* acc, I rows, I width, I pitch) {
  using S = Compare<T, A>;
  const auto* x = raw(in);
  for (I r = 0; r < rows; ++r, x += pitch)
    for (I j = 0; j < width; ++j) acc[j] = Op::template apply<S>(acc[j], value(x[j]));
}
template <class T, class Op, class A> void combine(const A* parts, T* out, I blocks, I width, I pitch) {
  using S = Compare<T, A>;
  A acc[kColumns];
  std::copy_n(parts, width, acc);
  for (I b = 1; b < blocks; ++b)
    for (I j = 0; j < width; ++j) acc[j] = Op::template apply<S>(acc[j], parts[b * pitch + j]);
  for (I j = 0; j < width; ++j) out[j] = static_cast<T>(acc[j]);
}
template <class T, class Op> void reduce_by(const T* in, T* out, I outer, I n, I inner) {
  using A = typename AccOf<T>::type;
  if (inner == 1 && n <= kSegment) {
    parallel_for(outer, grain_for(kRow + kElement * static_cast<double>(n)), [&](I begin, I end) {
      if (n > 1 && n * static_cast<I>(sizeof(A)) <= 64 && n <= kFewElements && end - begin >= kRowsTogether)
        return reduce_rows<Op>(in + begin * n, out + begin, end - begin, n);
      for (I o = begin; o < end; ++o) out[o] = static_cast<T>(reduce_row<T, Op>(in + o * n, n));
    });
    return;
  }
  if (inner == 1) {
    I segments = (n + kSegment - 1) / kSegment;
    std::vector<Partials<A>> parts(static_cast<std::size_t>(outer * segments));
    parallel_for(outer * segments, grain_for(kElement * static_cast<double>(n) / static_cast<double>(segments)),
                 [&](I begin, I end) {
                   for (I u = begin; u < end; ++u) {
                     I from = u % segments * kSegment;
                     parts[static_cast<std::size_t>(u)] =
                         reduce_segment<T, Op>(in + u / segments * n + from, std::min(kSegment, n - from));
                   }
                 });
    for (I o = 0; o < outer; ++o) {
      const auto* part = parts.data() + o * segments;
      out[o] = static_cast<T>(folded<T, Op>(*part, part + 1, segments - 1));
    }
    return;
  }
  I blocks = std::max<I>(1, (n + kBlockRows - 1) / kBlockRows), chunks = (inner + kColumns - 1) / kColumns;
  auto scratch = blocks > 1 ? allocate(static_cast<std::size_t>(outer * blocks * inner) * sizeof(A)) : nullptr;
  auto* parts = static_cast<A*>(scratch.get());
  I work = std::min(n, kBlockRows) * std::min(inner, kColumns);
  parallel_for(outer * blocks * chunks, grain_for(kElement * static_cast<double>(work)), [&](I first, I last) {
    for (I u = first; u < last; ++u) {
      I o = u / (blocks * chunks), b = u / chunks % blocks, c0 = u % chunks * kColumns,
        width = std::min(kColumns, inner - c0);
      A acc[kColumns];
      begin<T, Op>(acc, width);
      take_rows<T, Op>(in + (o * n + b * kBlockRows) * inner + c0, acc, std::min(n - b * kBlockRows, kBlockRows), width,
                       inner);
      if (blocks == 1) combine<T, Op>(acc, out + o * inner + c0, 1, width, width);
      else std::copy_n(acc, width, parts + (o * blocks + b) * inner + c0);
    }
  });
  if (blocks == 1) return;
  parallel_for(outer * chunks, grain_for(kElement * static_cast<double>(blocks * std::min(inner, kColumns))),
               [&](I first, I last) {
                 for (I u = first; u < last; ++u) {
                   I o = u / chunks, c0 = u % chunks * kColumns, width = std::min(kColumns, inner - c0);
                   combine<T, Op>(parts + o * blocks * inner + c0, out + o * inner + c0, blocks, width, inner);
                 }
               });
}
/// Calls f(operator) for this reduction of T. Sums and products of bool do nothing.
template <class T, class F> void dispatch_operator(Reduction r, F&& f) {
  switch (r) {
    case Reduction::max:
    case Reduction::any: return f(Max{});
    case Reduction::min:
    case Reduction::all: return f(Min{});
    case Reduction::sum:
      if constexpr (!std::is_same_v<T, bool>) f(Sum{});
      return;
    case Reduction::prod:
      if constexpr (!std::is_same_v<T, bool>) f(Prod{});
      return;
    case Reduction::mean: fail<ValueError>("reduce: a mean is a sum that its caller divides");
  }
}
/// Calls f(first column, number of columns) for chunks of columns whose accumulators fit in the first-level cache.
template <class F> void each_chunk(I columns, F&& f) {
  for (I c0 = 0; c0 < columns; c0 += kColumns) f(c0, std::min(kColumns, columns - c0));
}
}  // namespace

template <class T> void DtypeReductions<T>::reduce(Reduction r, const T* in, T* out, I outer, I n, I inner) {
  dispatch_operator<T>(r, [&](auto op) {
    if (outer > 0 && inner > 0) reduce_by<T, decltype(op)>(in, out, outer, n, inner);
  });
}
template <class T> void DtypeReductions<T>::begin_block(Reduction r, A* partial, I columns) {
  dispatch_operator<T>(r, [&](auto op) { begin<T, decltype(op)>(partial, columns); });
}
template <class T>
void DtypeReductions<T>::add_rows(Reduction r, const T* in, A* partial, I rows, I columns, I pitch) {
  dispatch_operator<T>(r, [&](auto op) {
    each_chunk(columns, [&](I c0, I width) {
      A acc[kColumns];
      std::copy_n(partial + c0, width, acc);
      take_rows<T, decltype(op)>(in + c0, acc, rows, width, pitch);
      std::copy_n(acc, width, partial + c0);
    });
  });
}
template <class T>
void DtypeReductions<T>::combine_blocks(Reduction r, const A* partial, T* out, I blocks, I columns) {
  dispatch_operator<T>(r, [&](auto op) {
    each_chunk(columns, [&](I c0, I width) {
      combine<T, decltype(op)>(partial + c0, out + c0, blocks, width, columns);
    });
  });
}
template <class T> auto DtypeReductions<T>::max_of_row(const T* in, I n) -> A { return reduce_row<T, Max>(in, n); }
template <class T> auto DtypeReductions<T>::min_of_row(const T* in, I n) -> A { return reduce_row<T, Min>(in, n); }
template <class T>
auto DtypeReductions<T>::sum_of_row(const T* in, I n) -> A requires(!std::is_same_v<T, bool>) {
  return reduce_row<T, Sum>(in, n);
}
}  // namespace bora::kernels::reductions
