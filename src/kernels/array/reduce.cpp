// reduce.cpp -- reductions, running sums and positions of extremes over [outer, n, inner].
// Order of a reduction, fixed by the shape alone:
//   inner = 1: element i goes into partial i % 32 of its segment; the partials of the segments are combined from the
//   first on, and the 32 that remain are halved (16, 8, 4, 2, 1), as in a fused loop.
//   inner > 1: rows in blocks of kBlockRows, each summed from its first row on; the blocks' results combined from the
//   first on.
#include "bora/kernels/reduce.h"
#include "bora/kernels/complex.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "bora/kernels/memory.h"
#include "kernels/array/reduction_operators.h"
#include "kernels/array/short_reduce.h"

namespace bora::kernels {
namespace {
using namespace reductions;
using I = std::int64_t;
// ns per element; per element of a running sum or a search; per row besides its elements
constexpr double kElement = 0.1, kOrdered = 0.2, kRow = 30;
constexpr I kColumns = 2048;  // columns at a time: pieces of rows long enough to be prefetched, sums that stay in L1

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
template <class T, class Op> void reduce_as(const T* in, T* out, I outer, I n, I inner) {
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

/// x beats y as an extreme; NaN beats everything but NaN.
template <class S> bool beats(bool max, S x, S y) { return (max ? x > y : x < y) || (x != x && y == y); }

/// Short rows: turned in the first-level cache, so that vectors run across rows.
constexpr I kShort = 64;
template <class S, class T> void arg_reduce_short(bool max, const T* in, std::int32_t* out, I n, I begin, I end) {
  constexpr I together = 64;
  S x[together], best[together];
  std::int32_t at[together];
  for (I first = begin; first < end; first += together) {
    const I count = std::min(together, end - first);
    const T* rows = in + first * n;
    for (I r = 0; r < count; ++r) best[r] = static_cast<S>(rows[r * n]), at[r] = 0;
    for (I r = count; r < together; ++r) x[r] = best[r] = S(0), at[r] = 0;
    for (I i = 1; i < n; ++i) {
      for (I r = 0; r < count; ++r) x[r] = static_cast<S>(rows[r * n + i]);
      const auto position = static_cast<std::int32_t>(i);
      auto take = [&](auto better) {
        for (I r = 0; r < together; ++r) {
          const bool is = better(x[r], best[r]);
          best[r] = is ? x[r] : best[r];
          at[r] = is ? position : at[r];
        }
      };
      if (max) take([](S a, S b) { return beats(true, a, b); });
      else take([](S a, S b) { return beats(false, a, b); });
    }
    std::copy_n(at, count, out + first);
  }
}
template <class T, class Op> void arg_reduce_as(bool max, const T* in, std::int32_t* out, I outer, I n, I inner) {
  using A = typename AccOf<T>::type;
  using S = Compare<T, A>;
  if (inner == 1 && n <= kShort) {
    parallel_for(outer, grain_for(4 * kOrdered * static_cast<double>(n)),
                 [&](I begin, I end) { arg_reduce_short<S>(max, in, out, n, begin, end); });
    return;
  }
  if (inner == 1) {
    parallel_for(outer, grain_for(kRow + kOrdered * static_cast<double>(n)), [&](I begin, I end) {
      for (I o = begin; o < end; ++o) {
        const T* row = in + o * n;
        auto best = static_cast<S>(reduce_row<T, Op>(row, n));
        auto first = [&](auto found) {
          constexpr I block = 64;
          I i = 0;
          for (int hit = 0; i + block <= n; i += block) {  // a whole block at a time, without branches
            for (I j = i; j < i + block; ++j) hit |= found(static_cast<S>(row[j]));
            if (hit) break;
          }
          while (!found(static_cast<S>(row[i]))) ++i;
          return static_cast<std::int32_t>(i);
        };
        out[o] = best != best ? first([](S x) { return x != x; }) : first([best](S x) { return x == best; });
      }
    });
    return;
  }
  I chunks = (inner + kColumns - 1) / kColumns;
  parallel_for(outer * chunks, grain_for(kOrdered * static_cast<double>(n * std::min(inner, kColumns))),
               [&](I begin, I end) {
                 for (I u = begin; u < end; ++u) {
                   I o = u / chunks, c0 = u % chunks * kColumns, width = std::min(kColumns, inner - c0);
                   S best[kColumns];
                   std::int32_t at[kColumns] = {};
                   const T* base = in + o * n * inner + c0;
                   for (I j = 0; j < width; ++j) best[j] = static_cast<S>(base[j]);
                   for (I r = 1; r < n; ++r)
                     for (I j = 0; j < width; ++j) {
                       auto x = static_cast<S>(base[r * inner + j]);
                       bool better = beats(max, x, best[j]);
                       best[j] = better ? x : best[j];
                       at[j] = better ? static_cast<std::int32_t>(r) : at[j];
                     }
                   std::copy_n(at, width, out + o * inner + c0);
                 }
               });
}

/// Running sums of `rows` rows of n elements, `stride` apart, each starting from start[row]; interleaved, because an
/// addition waits for the one before it.
template <int rows, class T, class A> void scan_rows(const T* in, T* out, I stride, I n, bool reverse, const A* start) {
  A sum[rows];
  std::copy_n(start, rows, sum);
  for (I k = 0; k < n; ++k) {
    I i = reverse ? n - 1 - k : k;
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      sum[r] = static_cast<A>(sum[r] + static_cast<A>(in[r * stride + i]));
      out[r * stride + i] = static_cast<T>(sum[r]);
    }
  }
}
/// Rows of at least kLongRow elements are cut into blocks, whatever the number of threads: each block starts from the
/// sum of the blocks before it.
constexpr I kLongRow = 1 << 16, kScanBlock = 1 << 14;
template <class T> void cumsum_rows(const T* in, T* out, I outer, I n, bool reverse) {
  using A = typename AccOf<T>::type;
  I size = n >= kLongRow ? kScanBlock : n, blocks = (n + size - 1) / size;
  std::vector<A> start(static_cast<std::size_t>(blocks > 1 ? outer * blocks : 4), A(0));  // one block per row: from 0
  auto length = [&](I b) { return std::min(size, n - b * size); };
  if (blocks > 1) {
    parallel_for(outer * blocks, grain_for(kRow + kOrdered * static_cast<double>(size)), [&](I begin, I end) {
      for (I u = begin; u < end; ++u)
        start[static_cast<std::size_t>(u)] =
            reduce_row<T, Sum>(in + u / blocks * n + u % blocks * size, length(u % blocks));
    });
    for (I o = 0; o < outer; ++o) {
      A sum = 0;
      for (I k = 0; k < blocks; ++k) {
        auto& s = start[static_cast<std::size_t>(o * blocks + (reverse ? blocks - 1 - k : k))];
        sum = static_cast<A>(sum + std::exchange(s, sum));
      }
    }
  }
  parallel_for(outer * blocks, grain_for(kRow + kOrdered * static_cast<double>(size)), [&](I begin, I end) {
    for (I u = begin; u < end;) {
      I b = u % blocks, at = u / blocks * n + b * size;
      I alike = blocks == 1 ? end - u : std::min(end - u, n / size - b);  // neighbours of equal length and spacing
      const A* from = start.data() + (blocks > 1 ? u : 0);
      if (alike >= 4) scan_rows<4>(in + at, out + at, size, size, reverse, from), u += 4;
      else scan_rows<1>(in + at, out + at, size, length(b), reverse, from), ++u;
    }
  });
}

template <class T> void cumsum_as(const T* in, T* out, I outer, I n, I inner, bool reverse) {
  using A = typename AccOf<T>::type;
  if (n == 0) return;
  if (inner == 1) return cumsum_rows(in, out, outer, n, reverse);
  I chunks = (inner + kColumns - 1) / kColumns, width_all = std::min(inner, kColumns);
  parallel_for(outer * chunks, grain_for(kOrdered * static_cast<double>(n * width_all)), [&](I begin, I end) {
    for (I u = begin; u < end; ++u) {
      I o = u / chunks, c0 = u % chunks * kColumns, width = std::min(kColumns, inner - c0);
      A acc[kColumns] = {};
      for (I r = 0; r < n; ++r) {
        I at = (o * n + (reverse ? n - 1 - r : r)) * inner + c0;
        for (I j = 0; j < width; ++j) {
          acc[j] = static_cast<A>(acc[j] + static_cast<A>(in[at + j]));
          out[at + j] = static_cast<T>(acc[j]);
        }
      }
    }
  });
}
/// Calls f(T{}, operator) for this reduction and dtype.
template <class F> void dispatch_reduction(Reduction r, Dtype d, F&& f) {
  bool logical = r == Reduction::all || r == Reduction::any, order = r == Reduction::max || r == Reduction::min;
  check<DtypeError>(!logical || d == boolean, "reduce: all and any take bool, got ", d, "; compare with zero first");
  check<DtypeError>(logical || order || d != boolean,
                    "reduce: sums and products of bool are not defined; cast to i32 first");
  dispatch(d, "reduce", [&](auto t) {
    using T = decltype(t);
    switch (r) {
      case Reduction::max:
      case Reduction::any: return f(t, Max{});
      case Reduction::min:
      case Reduction::all: return f(t, Min{});
      case Reduction::sum:
        if constexpr (!std::is_same_v<T, bool>) f(t, Sum{});
        return;
      case Reduction::prod:
        if constexpr (!std::is_same_v<T, bool>) f(t, Prod{});
        return;
      case Reduction::mean: fail<ValueError>("reduce: a mean is a sum that its caller divides");
    }
  });
}
/// Calls f(first column, number of columns) for chunks of columns whose accumulators fit in the first-level cache.
template <class F> void each_chunk(I columns, F&& f) {
  for (I c0 = 0; c0 < columns; c0 += kColumns) f(c0, std::min(kColumns, columns - c0));
}
}  // namespace

void reduce(Reduction r, Dtype d, const void* in, void* out, std::int64_t outer, std::int64_t n, std::int64_t inner) {
  if (is_complex(d) && r == Reduction::sum) return reduce(r, real_dtype(d), in, out, outer, n, 2 * inner);
  if (is_complex(d) && r == Reduction::prod) return multiply_complex(d, in, out, outer, n, inner);
  dispatch_reduction(r, d, [&](auto t, auto op) {
    using T = decltype(t);
    if (outer > 0 && inner > 0)
      reduce_as<T, decltype(op)>(static_cast<const T*>(in), static_cast<T*>(out), outer, n, inner);
  });
}
std::size_t partial_bytes(Dtype d) { return d == bf16 ? sizeof(float) : dtype_size(d); }
void begin_block(Reduction r, Dtype d, void* partial, std::int64_t columns) {
  dispatch_reduction(r, d, [&](auto t, auto op) {
    using T = decltype(t);
    begin<T, decltype(op)>(static_cast<typename AccOf<T>::type*>(partial), columns);
  });
}
void add_rows(Reduction r, Dtype d, const void* in, void* partial, std::int64_t rows, std::int64_t columns,
              std::int64_t pitch) {
  dispatch_reduction(r, d, [&](auto t, auto op) {
    using T = decltype(t);
    using A = typename AccOf<T>::type;
    each_chunk(columns, [&](I c0, I width) {
      A acc[kColumns];
      std::copy_n(static_cast<A*>(partial) + c0, width, acc);
      take_rows<T, decltype(op)>(static_cast<const T*>(in) + c0, acc, rows, width, pitch);
      std::copy_n(acc, width, static_cast<A*>(partial) + c0);
    });
  });
}
void combine_blocks(Reduction r, Dtype d, const void* partial, void* out, std::int64_t blocks, std::int64_t columns) {
  dispatch_reduction(r, d, [&](auto t, auto op) {
    using T = decltype(t);
    each_chunk(columns, [&](I c0, I width) {
      combine<T, decltype(op)>(static_cast<const typename AccOf<T>::type*>(partial) + c0, static_cast<T*>(out) + c0,
                               blocks, width, columns);
    });
  });
}

void arg_reduce(bool max, Dtype d, const void* in, std::int32_t* out, std::int64_t outer, std::int64_t n,
                std::int64_t inner) {
  if (outer == 0 || inner == 0) return;
  std::string_view what = max ? "argmax" : "argmin";
  check<ShapeError>(n > 0, what, ": the dimension has size 0, so no position exists");
  check<ShapeError>(n <= std::numeric_limits<std::int32_t>::max(), what, ": positions are i32, and the dimension has ",
                    n, " elements");
  dispatch(d, what, [&](auto t) {
    using T = decltype(t);
    if (max) arg_reduce_as<T, Max>(max, static_cast<const T*>(in), out, outer, n, inner);
    else arg_reduce_as<T, Min>(max, static_cast<const T*>(in), out, outer, n, inner);
  });
}

void cumsum(Dtype d, const void* in, void* out, std::int64_t outer, std::int64_t n, std::int64_t inner, bool reverse) {
  check<DtypeError>(d != boolean, "cumsum: not defined on bool; cast to i32 first");
  if (outer == 0 || inner == 0) return;
  if (is_complex(d)) return cumsum(real_dtype(d), in, out, outer, n, 2 * inner, reverse);
  dispatch(d, "cumsum", [&](auto t) {
    using T = decltype(t);
    if constexpr (!std::is_same_v<T, bool>)
      cumsum_as(static_cast<const T*>(in), static_cast<T*>(out), outer, n, inner, reverse);
  });
}
}  // namespace bora::kernels
