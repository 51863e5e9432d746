// arg_reduce.cpp -- positions of extremes over [outer, n, inner].
#include <algorithm>
#include <limits>
#include <string_view>
#include <type_traits>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/array/reduce_dtype.h"

namespace bora::kernels {
namespace {
using namespace reductions;
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
    constexpr auto* extreme_of_row =
        std::is_same_v<Op, Max> ? &DtypeReductions<T>::max_of_row : &DtypeReductions<T>::min_of_row;
    parallel_for(outer, grain_for(kRow + kOrdered * static_cast<double>(n)), [&](I begin, I end) {
      for (I o = begin; o < end; ++o) {
        const T* row = in + o * n;
        auto best = static_cast<S>(extreme_of_row(row, n));
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
}  // namespace

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
}  // namespace bora::kernels
