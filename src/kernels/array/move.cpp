// move.cpp -- strided copies. Dimensions are ordered by the stride of dst and merged where both sides are contiguous;
// the rest is a contiguous run (memcpy), a transpose (tiles) or a strided walk.
#include "kernels/api/move.h"
#include <immintrin.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "bora/base/dtype.h"
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/array/short_copy.h"
#include "kernels/array/stream.h"
#include "kernels/array/transpose.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
struct Axis {
  I n, to, from;  // extent, stride of dst, stride of src
};
constexpr double kElement = 0.5, kByte = 0.03;  // ns per element moved singly; per byte of a contiguous run

/// Offsets in dst and src of position `index` of the outer axes (row-major).
struct Offsets {
  I to = 0, from = 0;
};
Offsets offsets(const std::vector<Axis>& axes, I index) {
  Offsets o;
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
    o.to += index % a->n * a->to;
    o.from += index % a->n * a->from;
    index /= a->n;
  }
  return o;
}

std::vector<Axis> merged(const Dims& dst_strides, const Dims& src_strides, const Dims& shape) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) axes.push_back({shape[i], dst_strides[i], src_strides[i]});
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  std::vector<Axis> out;
  for (const auto& a : axes) {
    if (!out.empty() && out.back().to == a.n * a.to && out.back().from == a.n * a.from)
      out.back() = {out.back().n * a.n, a.to, a.from};
    else out.push_back(a);
  }
  return out;
}

/// dst[j * to + i] = src[j + i * from] for nj x ni elements.
template <class T> void transpose_plain(T* dst, I to, const T* src, I from, I nj, I ni) {
  constexpr I tile = 16;
  for (I j0 = 0; j0 < nj; j0 += tile)
    for (I i0 = 0; i0 < ni; i0 += tile)
      for (I j = j0; j < std::min(nj, j0 + tile); ++j)
        for (I i = i0; i < std::min(ni, i0 + tile); ++i) dst[j * to + i] = src[j + i * from];
}
template <class T> void transpose_block(T* dst, I to, const T* src, I from, I nj, I ni) {
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) turn_dense(src, from, dst, to, ni, nj);
  else transpose_plain(dst, to, src, from, nj, ni);
}

/// A block is transposed in L1 first: rows of src and dst that lie powers of two apart would evict each other from it.
constexpr I kBlock = 64;
template <class T> void transpose_tile(T* dst, I to, const T* src, I from, I nj, I ni, bool far) {
  alignas(64) T tile[kBlock * kBlock];
  transpose_block(tile, kBlock, src, from, nj, ni);
  for (I j = 0; j < nj; ++j) {
    auto bytes = static_cast<std::size_t>(ni) * sizeof(T);
    far ? stream(dst + j * to, tile + j * kBlock, bytes)
        : static_cast<void>(std::memcpy(dst + j * to, tile + j * kBlock, bytes));
  }
}

/// Elements of one vector of 32 bytes in reverse order.
template <class T> __m256i reversed(__m256i x) {
  if constexpr (sizeof(T) == 4) return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
  else if constexpr (sizeof(T) == 8) return _mm256_permute4x64_epi64(x, 0x1b);
  else if constexpr (sizeof(T) == 16) return _mm256_permute2x128_si256(x, x, 1);
  else {
    auto order = sizeof(T) == 1 ? _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
                                : _mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1);
    x = _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(order));
    return _mm256_permute2x128_si256(x, x, 1);
  }
}
/// dst[i] = src[i * from], i < n.
template <class T> void pick(T* dst, const T* src, I from, I n) {
  constexpr I lanes = 32 / sizeof(T);
  I i = 0;
  if (from == -1)
    for (; i + lanes <= n; i += lanes) {
      auto x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src - i - lanes + 1));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), reversed<T>(x));
    }
  for (; i < n; ++i) dst[i] = src[i * from];
}

/// One row: n elements with strides. far: bypass the caches.
template <class T> void copy_row(T* dst, I to, const T* src, I from, I n, bool far) {
  if (to == 1 && from == 1) {
    auto bytes = static_cast<std::size_t>(n) * sizeof(T);
    far && bytes >= 256 ? stream(dst, src, bytes) : static_cast<void>(std::memcpy(dst, src, bytes));
  }
  else if (to == 1 && from == 0) std::fill_n(dst, n, *src);
  else if (to == 1) {
    constexpr I block = 4096 / sizeof(T);
    if (!far || n < 64) return pick(dst, src, from, n);
    alignas(64) T part[block];
    for (I i = 0; i < n; i += block) {
      auto k = std::min(block, n - i);
      pick(part, src + i * from, from, k);
      stream(dst + i, part, static_cast<std::size_t>(k) * sizeof(T));
    }
  } else
    for (I i = 0; i < n; ++i) dst[i * to] = src[i * from];
}

/// `rows` rows of n elements that lie `to` and `from` elements apart.
template <class T> void copy_short_rows(T* dst, I to, const T* src, I from, I n, I rows) {
  const I bytes = n * static_cast<I>(sizeof(T));
  with_ends(bytes, [=](auto vector) {
    auto* y = dst;
    auto* x = src;
    for (I r = 0; r < rows; ++r, y += to, x += from) copy_ends<decltype(vector)>(y, x, bytes);
  });
}
/// Each of `rows` elements `n` times, one behind the other.
template <int N, class T> void repeat_elements(T* dst, I to, const T* src, I from, I n, I rows) {
  for (I r = 0; r < rows; ++r, dst += to, src += from) {
    const T x = *src;
    if constexpr (N > 0)
      for (int k = 0; k < N; ++k) dst[k] = x;
    else
      for (I k = 0; k < n; ++k) dst[k] = x;
  }
}
/// `rows` rows of n elements in reverse order, the first one at src.
template <int N, class T> void reverse_short_rows(T* dst, I to, const T* src, I from, I n, I rows) {
  const I width = N > 0 ? N : n;
  for (I r = 0; r < rows; ++r, dst += to, src += from) {
    T row[N > 0 ? N : 1];
    if constexpr (N > 0) {
      std::memcpy(row, src - (N - 1), sizeof row);
      for (int k = 0; k < N; ++k) dst[k] = row[N - 1 - k];
    } else
      for (I k = 0; k < width; ++k) dst[k] = src[-k];
  }
}
template <class T> void reverse_short_rows(T* dst, I to, const T* src, I from, I n, I rows) {
  const auto with = [&]<int N>() { reverse_short_rows<N>(dst, to, src, from, n, rows); };
  switch (n) {
    case 2: return with.template operator()<2>();
    case 3: return with.template operator()<3>();
    case 4: return with.template operator()<4>();
    case 5: return with.template operator()<5>();
    case 6: return with.template operator()<6>();
    case 7: return with.template operator()<7>();
    case 8: return with.template operator()<8>();
    default: return with.template operator()<0>();
  }
}
constexpr I kFewTimes = 16;
template <class T> void copy_as(T* dst, const T* src, std::vector<Axis> axes) {
  if (axes.empty()) {
    *dst = *src;
    return;
  }
  I all = 1;
  for (const auto& a : axes) all *= a.n;
  bool far = static_cast<std::size_t>(all) * sizeof(T) >= streaming_bytes();
  auto row = axes.back();
  axes.pop_back();
  if (axes.empty() && row.to == 1 && row.from == 1)
    return copy_bytes(dst, src, static_cast<std::size_t>(row.n) * sizeof(T));
  if (axes.empty() && row.to == 1 && row.from == 0) return fill(dst, row.n, sizeof(T), src);
  auto column = std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.from == 1; });
  if (row.to == 1 && row.from != 1 && row.from != 0 && row.n >= 4 && column != axes.end() && column->n >= 4) {
    auto col = *column;
    axes.erase(column);
    I outer = 1, bj = (col.n + kBlock - 1) / kBlock, bi = (row.n + kBlock - 1) / kBlock;
    for (const auto& a : axes) outer *= a.n;
    I block = std::min(col.n, kBlock) * std::min(row.n, kBlock);
    parallel_for(outer * bj * bi, grain_for(kElement * static_cast<double>(block)), [&](I begin, I end) {
      for (I u = begin; u < end; ++u) {
        auto o = offsets(axes, u / (bj * bi));
        I j = u / bi % bj * kBlock, i = u % bi * kBlock;
        if (row.n <= kFewTimes) {  // short rows of dst: they lie close together
          transpose_block(dst + o.to + j * col.to + i, col.to, src + o.from + j + i * row.from, row.from,
                          std::min(kBlock, col.n - j), row.n);
          continue;
        }
        transpose_tile(dst + o.to + j * col.to + i, col.to, src + o.from + j + i * row.from, row.from,
                       std::min(kBlock, col.n - j), std::min(kBlock, row.n - i), far);
      }
      if (far) stream_end();
    });
    return;
  }
  const bool dense = row.to == 1 && row.from == 1 && row.n * static_cast<I>(sizeof(T)) <= kShortBytes;
  const bool repeats = row.to == 1 && row.from == 0 && row.n <= kFewTimes;
  const bool reverses = row.to == 1 && row.from == -1 && row.n <= kFewTimes;
  const bool walked = !axes.empty() && axes.back().n >= 4 && (dense || repeats || reverses);  // by a loop of its own
  // Other short rows: the longer one of src is the inner loop.
  if (!walked && row.n < 4 && column != axes.end() && column->n >= 8) {
    auto longer = *column;
    axes.erase(column);
    axes.push_back(row);
    row = longer;
  }
  I outer = 1;
  for (const auto& a : axes) outer *= a.n;
  const I grain = grain_for(kElement);
  if (outer < 16 && row.n >= 2 * grain) {  // few long rows: the row itself is split
    for (I u = 0; u < outer; ++u) {
      auto o = offsets(axes, u);
      parallel_for(row.n, grain, [&](I begin, I end) {
        copy_row(dst + o.to + begin * row.to, row.to, src + o.from + begin * row.from, row.from, end - begin, far);
        if (far) stream_end();
      });
    }
    return;
  }
  I middle = 1;  // rows are walked along the innermost outer axis without decoding their index
  Axis step{1, 0, 0};
  if (!axes.empty()) {
    step = axes.back();
    axes.pop_back();
    middle = step.n;
  }
  parallel_for(outer, grain_for(kElement * static_cast<double>(row.n)), [&](I begin, I end) {
    for (I u = begin; u < end;) {
      auto o = offsets(axes, u / middle);
      if (walked) {
        const I v = u % middle, rows = std::min(middle - v, end - u);
        auto* to = dst + o.to + v * step.to;
        const auto* from = src + o.from + v * step.from;
        u += rows;
        if (dense) copy_short_rows(to, step.to, from, step.from, row.n, rows);
        else if (reverses) reverse_short_rows(to, step.to, from, step.from, row.n, rows);
        else if (row.n == 2) repeat_elements<2>(to, step.to, from, step.from, row.n, rows);
        else if (row.n == 3) repeat_elements<3>(to, step.to, from, step.from, row.n, rows);
        else repeat_elements<0>(to, step.to, from, step.from, row.n, rows);
        continue;
      }
      for (I v = u % middle; v < middle && u < end; ++v, ++u)
        copy_row(dst + o.to + v * step.to, row.to, src + o.from + v * step.from, row.from, row.n, far);
    }
    if (far) stream_end();
  });
}

/// Calls f with an unsigned integer of `size` bytes.
template <class F> void by_size(std::string_view what, std::size_t size, F&& f) {
  if (size == 1) f(std::uint8_t{});
  else if (size == 2) f(std::uint16_t{});
  else if (size == 4) f(std::uint32_t{});
  else if (size == 8) f(std::uint64_t{});
  else if (size == 16) f(Bytes16{});
  else fail<ValueError>(what, ": elements have 1, 2, 4, 8 or 16 bytes, got ", size);
}
}  // namespace

void copy(void* dst, const Dims& dst_strides, const void* src, const Dims& src_strides, const Dims& shape,
          std::size_t size) {
  for (auto n : shape)
    if (n == 0) return;
  auto axes = merged(dst_strides, src_strides, shape);
  by_size("copy", size, [&](auto t) {
    using T = decltype(t);
    copy_as(static_cast<T*>(dst), static_cast<const T*>(src), std::move(axes));
  });
}

void copy_bytes(void* dst, const void* src, std::size_t bytes) {
  if (dst == src || bytes == 0) return;
  bool far = bytes >= streaming_bytes();
  constexpr I page = 4096;
  parallel_for((static_cast<I>(bytes) + page - 1) / page, grain_for(kByte * page), [&](I begin, I end) {
    auto from = static_cast<std::size_t>(begin * page),
         n = std::min(bytes, static_cast<std::size_t>(end * page)) - from;
    auto* to = static_cast<char*>(dst) + from;
    const auto* x = static_cast<const char*>(src) + from;
    if (!far) return static_cast<void>(std::memcpy(to, x, n));
    stream(to, x, n);
    stream_end();
  });
}

void fill(void* dst, std::int64_t n, std::size_t size, const void* element) {
  by_size("fill", size, [&](auto t) {
    using T = decltype(t);
    auto* x = static_cast<T*>(dst);
    T value;
    std::memcpy(&value, element, sizeof value);
    bool far = static_cast<std::size_t>(n) * sizeof(T) >= streaming_bytes();
    parallel_for(n, grain_for(kByte * sizeof(T)), [&](I begin, I end) {
      if (!far) return static_cast<void>(std::fill(x + begin, x + end, value));
      constexpr I block = 4096 / sizeof(T);
      alignas(64) T pattern[block];
      std::fill_n(pattern, block, value);
      for (I i = begin; i < end; i += block)
        stream(x + i, pattern, static_cast<std::size_t>(std::min(block, end - i)) * sizeof(T));
      stream_end();
    });
  });
}
}  // namespace bora::kernels
