// bf16_few.cpp -- bf16 products of a few rows on CPUs with AVX512-BF16: b is read once, in place. Within a slab of k
// one chain of vdpbf16ps runs over pairs of k for each element, from zero, as oneDNN computes products of so small a k;
// slabs are added in order. So an element has the same bits for every number of rows up to kSameBitsRows (bf16.h).
#include <immintrin.h>
#include <algorithm>
#include <memory>
#include <type_traits>
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/gemm/bf16.h"
#include "kernels/gemm/block.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
#define BORA_DOT __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
constexpr I kColumns = 32, kWide = 256, kSlab = slab_size(Dtype::f32);
constexpr double kMultiplyAdd = 0.01, kRead = 0.05;  // ns; of an element of b

/// Rows of a as pairs of k, [rows][slabs][kSlab / 2]; each slab is padded with 0 to whole vectors.
struct Pairs {
  const std::uint32_t* at;
  I step;
  Pairs slab(I s) const { return {at + s * (kSlab / 2), step}; }
  std::uint32_t of(I row, I pair) const { return at[row * step + pair]; }
};
std::shared_ptr<void> packed(const Gemm& g, const bfloat16* a, Pairs& to) {
  const I slabs = slab_count(Dtype::f32, g.k);
  to.step = slabs * (kSlab / 2);
  auto memory = allocate(static_cast<std::size_t>(g.m * to.step) * sizeof(std::uint32_t));
  auto* out = static_cast<std::uint32_t*>(memory.get());
  to.at = out;
  for (I r = 0; r < g.m; ++r)
    for (I s = 0; s < slabs; ++s) {
      const I k0 = g.k * s / slabs, k = g.k * (s + 1) / slabs - k0;
      const bfloat16* from = a + r * g.a_row + k0 * g.a_col;
      auto bits = [&](I i) { return i < k ? std::uint32_t{from[i * g.a_col].bits} : 0; };
      for (I p = 0; p < (k + 31) / 32 * 16; ++p)
        out[r * to.step + s * (kSlab / 2) + p] = bits(2 * p) | bits(2 * p + 1) << 16;
    }
  return memory;
}
BORA_DOT inline __m512 dot(__m512 sum, std::uint32_t x, __m512i y) {
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(x))),
                          reinterpret_cast<__m512bh>(y));
}
BORA_DOT inline void add_to(float* to, __m512 x, bool first) {
  _mm512_storeu_ps(to, first ? x : _mm512_add_ps(_mm512_loadu_ps(to), x));
}
/// Chains of one slab, [rows][2 vectors for each 32 columns], in the order in which unpacking leaves columns.
struct Chains {
  alignas(64) float at[kFewRows][kWide];
};
/// Continues the chains of R rows and G * 32 columns over k rows of b, which lie `step` apart; `first`: from zero. The
/// lines that come next, `ahead` rows further, are prefetched, into the second-level cache if `far`: rows may lie so
/// that few fit into the first one.
template <int R, int G, bool far> BORA_DOT void by_rows(I k, const Pairs& a, I row, I pair, const bfloat16* b, I step,
                                                        I ahead, Chains& chains, I column, bool first) {
  __m512 low[R][G], high[R][G];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int g = 0; g < G; ++g) {
      const float* from = &chains.at[row + r][column + g * kColumns];
      low[r][g] = first ? _mm512_setzero_ps() : _mm512_load_ps(from);
      high[r][g] = first ? _mm512_setzero_ps() : _mm512_load_ps(from + 16);
    }
  for (I p = 0; p < k; p += 2, b += 2 * step)
#pragma GCC unroll 8
    for (int g = 0; g < G; ++g) {
      const bfloat16* at = b + g * kColumns;
      _mm_prefetch(reinterpret_cast<const char*>(at + ahead * step), far ? _MM_HINT_T1 : _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(at + (ahead + 1) * step), far ? _MM_HINT_T1 : _MM_HINT_T0);
      __m512i x = _mm512_loadu_si512(at), y = p + 1 < k ? _mm512_loadu_si512(at + step) : _mm512_setzero_si512();
      __m512i l = _mm512_unpacklo_epi16(x, y), h = _mm512_unpackhi_epi16(x, y);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        low[r][g] = dot(low[r][g], a.of(row + r, pair + p / 2), l);
        high[r][g] = dot(high[r][g], a.of(row + r, pair + p / 2), h);
      }
    }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int g = 0; g < G; ++g) {
      float* to = &chains.at[row + r][column + g * kColumns];
      _mm512_store_ps(to, low[r][g]), _mm512_store_ps(to + 16, high[r][g]);
    }
}
/// Adds the chains of 32 columns to their sums, in order.
BORA_DOT void add_chains(const float* chain, float* sums, bool first) {
  // Each quarter of the first vector has columns 0 .. 3 of eight, of the second 4 .. 7.
  const __m512i one = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
                two = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  __m512 low = _mm512_load_ps(chain), high = _mm512_load_ps(chain + 16);
  add_to(sums, _mm512_permutex2var_ps(low, one, high), first);
  add_to(sums + 16, _mm512_permutex2var_ps(low, two, high), first);
}
/// The dwords [16 rows][16] at `from`, `step` apart, turned: out[i] has dword i of all rows. The last dwords of a short
/// row are masked.
BORA_DOT inline void turn(const bfloat16* from, I step, __mmask32 some, __m512i (&out)[16]) {
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) a[i] = _mm512_maskz_loadu_epi16(some, from + i * step);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2)
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]), b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]), a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]), a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // a[4 q + i]: dwords i, i + 4, i + 8, i + 12 of rows 4 q .. 4 q + 3
    __m512i x = _mm512_shuffle_i32x4(a[i], a[4 + i], 0x88), y = _mm512_shuffle_i32x4(a[i], a[4 + i], 0xdd),
            z = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0x88), w = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0xdd);
    out[i] = _mm512_shuffle_i32x4(x, z, 0x88), out[8 + i] = _mm512_shuffle_i32x4(x, z, 0xdd);
    out[4 + i] = _mm512_shuffle_i32x4(y, w, 0x88), out[12 + i] = _mm512_shuffle_i32x4(y, w, 0xdd);
  }
}
/// sums[R rows][16 columns] of b [16 columns][k]. next: where the columns that come next begin.
template <int R> BORA_DOT void by_columns(I k, const Pairs& a, I row, const bfloat16* b, const bfloat16* next, I step,
                                          float* sums, I ld, bool first) {
  __m512 sum[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) sum[r] = _mm512_setzero_ps();
  for (I p = 0; p < k; p += 32) {
    __m512i y[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) _mm_prefetch(reinterpret_cast<const char*>(next + i * step + p), _MM_HINT_T0);
    turn(b + p, step, p + 32 <= k ? ~__mmask32{0} : (__mmask32{1} << (k - p)) - 1, y);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sum[r] = dot(sum[r], a.of(row + r, p / 2 + i), y[i]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) add_to(sums + (row + r) * ld, sum[r], first);
}
/// f(R, row) for all rows, up to eight together.
template <class F> void by_eight(I rows, const F& f) {
  for (I row = 0; row < rows;) {
    auto run = [&](auto n) {
      f(n, row);
      row += decltype(n)::value;
    };
    I left = rows - row;
    if (left >= 8) run(std::integral_constant<int, 8>());
    else if (left >= 4) run(std::integral_constant<int, 4>());
    else if (left >= 2) run(std::integral_constant<int, 2>());
    else run(std::integral_constant<int, 1>());
  }
}
/// The sums of one slab over n columns, whole vectors of them, for all rows.
void slab(const Gemm& g, I k, const Pairs& a, const bfloat16* b, const bfloat16* next, I n, float* sums, bool first) {
  if (g.b_col != 1)
    return by_eight(g.m, [&](auto rows, I row) {
      by_columns<decltype(rows)::value>(k, a, row, b, next, g.b_col, sums, kWide, first);
    });
  Chains chains;
  if (g.m <= 3) {  // as many columns as registers allow, from end to end
    by_eight(g.m, [&](auto rows, I row) {
      constexpr int R = decltype(rows)::value, G = R == 1 ? 8 : R == 2 ? 4 : 1;
      for (I j = 0; j < n;) {
        bool wide = n - j >= G * kColumns;
        if (wide) by_rows<R, G, false>(k, a, row, 0, b + j, g.b_row, 12, chains, j, true);
        else by_rows<R, 1, false>(k, a, row, 0, b + j, g.b_row, 12, chains, j, true);
        j += wide ? G * kColumns : kColumns;
      }
    });
  } else {  // some rows of b at a time, while they are in a cache
    constexpr I kAtOnce = 16;
    for (I p = 0; p < k; p += kAtOnce)
      for (I j = 0; j < n; j += kColumns)
        by_eight(g.m, [&](auto rows, I row) {
          by_rows<decltype(rows)::value, 1, true>(std::min(kAtOnce, k - p), a, row, p / 2, b + p * g.b_row + j, g.b_row,
                                                  row == 0 ? kAtOnce : 0, chains, j, p == 0);
        });
  }
  for (I r = 0; r < g.m; ++r)
    for (I j = 0; j < n; j += kColumns) add_chains(&chains.at[r][j], sums + r * kWide + j, first);
}
/// Columns [j0, j1) of one product.
void columns(const Gemm& g, const bfloat16* a, const bfloat16* b, bfloat16* c, I j0, I j1) {
  // Columns whose sums are kept. Where k is contiguous few columns are read from end to end, which the prefetcher can
  // follow.
  const I wide = g.b_col == 1 ? kWide : kColumns / 2;
  Pairs pairs{};
  auto memory = packed(g, a, pairs);
  alignas(64) float sums[kFewRows * kWide];
  const I slabs = slab_count(Dtype::f32, g.k);
  for (I j = j0; j < j1; j += wide) {
    const I n = std::min(wide, j1 - j), vector = g.b_col == 1 ? kColumns : kColumns / 2, whole = n / vector * vector,
            rest = n - whole;
    for (I s = 0; s < slabs; ++s) {
      const I k0 = g.k * s / slabs, k = g.k * (s + 1) / slabs - k0;
      const bfloat16* from = b + k0 * g.b_row + j * g.b_col;
      const bfloat16* next = s + 1 < slabs ? from + k * g.b_row : b + (j + wide) * g.b_col;
      if (whole > 0) slab(g, k, pairs.slab(s), from, next, whole, sums, s == 0);
      if (rest == 0) continue;
      bfloat16 copy[kSlab * kColumns];
      std::fill_n(copy, kSlab * kColumns, bfloat16(0.F));
      auto padded = g;
      padded.b_row = g.b_col == 1 ? kColumns : 1, padded.b_col = g.b_col == 1 ? 1 : kSlab;
      for (I p = 0; p < k; ++p)
        for (I i = 0; i < rest; ++i)
          copy[p * padded.b_row + i * padded.b_col] = from[p * g.b_row + (whole + i) * g.b_col];
      slab(padded, k, pairs.slab(s), copy, copy, vector, sums + whole, s == 0);
    }
    for (I r = 0; r < g.m; ++r) narrow_bf16(c + r * g.ldc + j, sums + r * kWide, n);
  }
}
}  // namespace

void narrow_bf16(bfloat16* to, const float* from, I n) {
  for (I i = 0; i < n; ++i) {  // bfloat16(float), without its branch
    auto x = __builtin_bit_cast(std::uint32_t, from[i]), nan = (x >> 16) | 0x40u,
         rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    to[i].bits = static_cast<std::uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
}
void gemm_bf16_few(const Gemm& g) {
  const I units = (g.n + kColumns - 1) / kColumns;
  const double work = static_cast<double>(g.k * kColumns) * (kRead + kMultiplyAdd * static_cast<double>(g.m));
  parallel_for(g.batch * units, grain_for(work), [&](I begin, I end) {
    while (begin < end) {
      I batch = begin / units, u0 = begin % units, u1 = std::min(units, u0 + end - begin);
      columns(g, static_cast<const bfloat16*>(g.a) + batch * g.a_batch,
              static_cast<const bfloat16*>(g.b) + batch * g.b_batch, static_cast<bfloat16*>(g.c) + batch * g.c_batch,
              u0 * kColumns, std::min(g.n, u1 * kColumns));
      begin += u1 - u0;
    }
  });
}
}  // namespace bora::kernels
