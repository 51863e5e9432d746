// cumsum.cpp -- running sums over [outer, n, inner].
#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/array/reduce_dtype.h"

namespace bora::kernels {
namespace {
using namespace reductions;
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
            DtypeReductions<T>::sum_of_row(in + u / blocks * n + u % blocks * size, length(u % blocks));
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
}  // namespace

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
