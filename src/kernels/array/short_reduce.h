// short_reduce.h -- reductions of many rows of a few elements, some rows at a time. Private to reduce.cpp.
#pragma once
#include <algorithm>
#include <bit>
#include "kernels/array/reduction_operators.h"

namespace bora::kernels::reductions {
inline constexpr std::int64_t kFewElements = 16, kRowsTogether = 32;

/// out[r] = the reduction of in[r * n + i] over i < n, 1 to kFewElements, in the order of a row: element i is partial
/// result i, and these are combined by halving. N: n where it is known, else 0. At least kRowsTogether rows.
template <int N, class Op, class T> void reduce_rows(const T* in, T* out, std::int64_t rows, std::int64_t any) {
  using A = typename AccOf<T>::type;
  using L = Lanes<A>;
  const std::int64_t n = N > 0 ? N : any;
  const auto* x = raw(in);
  A part[N > 0 ? N : kFewElements][kRowsTogether];
  const auto apply = [&](A* to, const A* more) {  // to[w] = to[w] with more[w]
    L a, b;
    std::memcpy(a.v, to, sizeof a.v);
    std::memcpy(b.v, more, sizeof b.v);
    for (int j = 0; j < L::count; ++j)
      a.v[j] = Op::template apply<typename VecOf<Compare<T, A>>::type>(a.v[j], b.v[j]);
    std::memcpy(to, a.v, sizeof a.v);
  };
  A none[kRowsTogether];
  std::fill_n(none, kRowsTogether, Op::template identity<T, A>());
  for (std::int64_t r = 0; r < rows; r += kRowsTogether) {
    const auto first = std::min(r, rows - kRowsTogether);  // the last ones again
    const auto* from = x + first * n;
    for (std::int64_t w = 0; w < kRowsTogether; ++w)
      for (std::int64_t i = 0; i < n; ++i) part[i][w] = value(from[w * n + i]);
    for (std::int64_t i = 0; i < n; ++i) {
      A begin[kRowsTogether];
      std::memcpy(begin, none, sizeof begin);
      apply(begin, part[i]);
      std::memcpy(part[i], begin, sizeof begin);
    }
    for (auto half = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n))) / 2; half >= 1; half /= 2)
      for (std::int64_t i = 0; i < half && i + half < n; ++i) apply(part[i], part[i + half]);
    for (std::int64_t w = 0; w < kRowsTogether; ++w) out[first + w] = static_cast<T>(part[0][w]);
  }
}
template <class Op, class T> void reduce_rows(const T* in, T* out, std::int64_t rows, std::int64_t n) {
  switch (n) {
    case 2: return reduce_rows<2, Op>(in, out, rows, n);
    case 3: return reduce_rows<3, Op>(in, out, rows, n);
    case 4: return reduce_rows<4, Op>(in, out, rows, n);
    default: return reduce_rows<0, Op>(in, out, rows, n);
  }
}
}  // namespace bora::kernels::reductions
