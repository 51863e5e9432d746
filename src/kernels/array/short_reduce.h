// short_reduce.h -- reductions of many rows of a few elements, some rows at a time. Private to reduce_loops.h.
#pragma once
#include <algorithm>
#include <bit>
#include "kernels/array/reduction_operators.h"
#include "kernels/array/transpose.h"

namespace bora::kernels::reductions {
inline constexpr std::int64_t kFewElements = 16, kRowsTogether = 32;

/// out[r] = the reduction of in[r * n + i] over i < n, 1 to kFewElements, in the order of a row: element i is partial
/// result i, and these are combined by halving; a partial that no element goes into changes nothing. P: n rounded up to
/// a power of 2. N: n where it is known, else 0. At least kRowsTogether rows.
template <int N, int P, class Op, class T>
void reduce_rows(const T* in, T* out, std::int64_t rows, std::int64_t any) {
  using A = typename AccOf<T>::type;
  using Vec = typename Lanes<A>::Vec;
  using S = typename VecOf<Compare<T, A>>::type;
  constexpr std::int64_t width = Lanes<A>::width;
  const std::int64_t n = N > 0 ? N : any;
  const auto* x = raw(in);
  A part[P][kRowsTogether], none[width];
  std::fill_n(none, width, Op::template identity<T, A>());
  Vec identity;
  std::memcpy(&identity, none, sizeof identity);
  for (std::int64_t r = 0; r < rows; r += kRowsTogether) {
    const auto first = std::min(r, rows - kRowsTogether);  // the last ones again
    const auto* from = x + first * n;
    if constexpr (P > 2 && N != 3 && sizeof(T) >= 4)
      turn_dense(reinterpret_cast<const A*>(from), n, part[0], kRowsTogether, kRowsTogether, n);
    else
      for (std::int64_t w = 0; w < kRowsTogether; ++w)
        for (std::int64_t i = 0; i < n; ++i) part[i][w] = value(from[w * n + i]);
    for (std::int64_t w = 0; w < kRowsTogether; w += width) {
      Vec p[P];
      for (std::int64_t i = 0; i < P; ++i) {
        p[i] = identity;
        if (i >= n) continue;
        Vec v;
        std::memcpy(&v, part[i] + w, sizeof v);
        p[i] = Op::template apply<S>(identity, v);
      }
#pragma GCC unroll 4
      for (int half = P / 2; half >= 1; half /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < half; ++i) p[i] = Op::template apply<S>(p[i], p[i + half]);
      A last[width];
      std::memcpy(last, p, sizeof last);
      for (std::int64_t j = 0; j < width; ++j) out[first + w + j] = static_cast<T>(last[j]);
    }
  }
}
template <class Op, class T> void reduce_rows(const T* in, T* out, std::int64_t rows, std::int64_t n) {
  switch (n) {
    case 2: return reduce_rows<2, 2, Op>(in, out, rows, n);
    case 3: return reduce_rows<3, 4, Op>(in, out, rows, n);
    case 4: return reduce_rows<4, 4, Op>(in, out, rows, n);
    default: break;
  }
  if (n <= 8) reduce_rows<0, 8, Op>(in, out, rows, n);
  else reduce_rows<0, 16, Op>(in, out, rows, n);
}
}  // namespace bora::kernels::reductions
