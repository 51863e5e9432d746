// bf16_tiles.cpp -- bf16 products of up to kSameBitsRows rows on CPUs with AMX: b is read once for some rows, in place.
// An element's sum is one chain of tile products over blocks of 32 of k, whatever rows are beside it; where the chain
// is cut, its f32 sum goes through memory unchanged. So an element has the same bits for every number of rows.
#include <immintrin.h>
#include <algorithm>
#include <memory>
#include "bora/base/parallel.h"
#include "kernels/api/memory.h"
#include "kernels/gemm/bf16.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
#define BORA_TILES __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq")))
constexpr I kRows = 16, kK = 32, kTile = kRows * kK;  // of a tile of bf16
constexpr I kGroup = 32, kStrip = 256;                // columns whose pairs are woven together; that are read together
constexpr I kManyRows = 17, kDeep = 8;                // from so many rows on a strip's sums stay in tiles for 8 blocks
constexpr I kTurnedRows = 64;                         // at most, to which a turned b is multiplied as it lies
constexpr double kMultiplyAdd = 0.0015, kRead = 0.06;  // ns; of an element of b

struct alignas(64) Palette {  // as the processor has it
  unsigned char palette = 1, start = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {};
  unsigned char rows[16] = {};
};
/// Compilers may take instructions with tiles for ones that touch no memory.
BORA_TILES inline void settle(const void* what) { asm volatile("" ::"r"(what) : "memory"); }
/// Tiles 0 .. 3: sums; 4, 5: the first factors; 6, 7: the second ones, pairs of k in a row.
BORA_TILES void configure(I first_rows, I second_columns) {
  Palette p;
  for (int i = 0; i < 8; ++i) {
    p.rows[i] = static_cast<unsigned char>(i < 6 ? first_rows : kRows);
    p.bytes[i] = static_cast<std::uint16_t>(i < 4 || i > 5 ? 4 * second_columns : 64);
  }
  settle(&p);
  _tile_loadconfig(&p);
}
/// Rows of a, padded with 0: tiles [blocks of k][blocks of rows]. turned: as second factors, pairs [16 of k][16 rows].
struct Rows {
  std::shared_ptr<void> memory;
  I blocks, deep;
  const bfloat16* tile(I k, I block) const {
    return static_cast<const bfloat16*>(memory.get()) + (k * blocks + block) * kTile;
  }
};
/// Block k of `rows` rows, of which a has the first ones.
BORA_TILES void pack_block(const Gemm& g, const bfloat16* a, I k, I rows, bool turned, bfloat16* to) {
  const I n = std::min(kK, g.k - k * kK);
  const auto some = n == kK ? ~__mmask32{0} : (__mmask32{1} << n) - 1;
  const __m512i apart = _mm512_mullo_epi32(_mm512_set1_epi32(kRows), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                                                                       11, 12, 13, 14, 15));
  for (I row = 0; row < rows; ++row) {
    const __m512i x = row < g.m ? _mm512_maskz_loadu_epi16(some, a + row * g.a_row + k * kK) : _mm512_setzero_si512();
    bfloat16* tile = to + row / kRows * kTile;
    if (!turned) {
      _mm512_store_si512(tile + row % kRows * kK, x);
      continue;
    }
    _mm512_i32scatter_epi32(tile + row % kRows * 2, apart, x, sizeof(std::uint32_t));
  }
}
Rows packed(const Gemm& g, const bfloat16* a, bool turned) {
  Rows r{nullptr, (g.m + kRows - 1) / kRows, (g.k + kK - 1) / kK};
  r.memory = allocate(static_cast<std::size_t>(r.blocks * r.deep * kTile) * sizeof(bfloat16));
  auto* to = static_cast<bfloat16*>(r.memory.get());
  parallel_for(r.deep, grain_for(0.1 * static_cast<double>(r.blocks * kTile)), [&](I begin, I end) {
    for (I k = begin; k < end; ++k) pack_block(g, a, k, r.blocks * kRows, turned, to + k * r.blocks * kTile);
  });
  return r;
}
// The sums of tiles 0 .. 3 += first factors at a0, a1 times second ones at b0, b1; of one block of rows only 0 and 1.
#define BORA_ONE(b0, b1, a0, a_step) \
  _tile_loadd(6, b0, 64);            \
  _tile_loadd(7, b1, 64);            \
  _tile_loadd(4, a0, a_step);        \
  _tile_dpbf16ps(0, 4, 6);           \
  _tile_dpbf16ps(1, 4, 7);
#define BORA_TWO(a1, a_step)  \
  _tile_loadd(5, a1, a_step); \
  _tile_dpbf16ps(2, 5, 6);    \
  _tile_dpbf16ps(3, 5, 7);

/// A strip of columns: woven blocks of b, and the sums [blocks of rows][groups][2][16][16].
struct Strip {
  bfloat16* woven;  // [groups][kDeep][2][kTile]
  float* sums;
  I groups;
  bfloat16* at(I group, I k) const { return woven + (group * kDeep + k) * 2 * kTile; }
  float* sum(I block, I group) const { return sums + (block * groups + group) * 2 * kRows * kRows; }
};
/// Rows [0, k) of b, at most 32, and n columns: pairs of rows woven together, as a tile has them. Columns 0 .. 3 of
/// each 8 go to the first tile of a group, 4 .. 7 to the second. ahead: rows from there to those that come next.
BORA_TILES void weave(const Strip& s, I at, const bfloat16* b, I step, I k, I n, I ahead) {
  for (I p = 0; p < kK / 2; ++p) {
    const bfloat16 *even = b + 2 * p * step, *odd = even + step;
    for (I j = 0; j < n; j += kGroup) {
      const auto some = n - j >= kGroup ? ~__mmask32{0} : (__mmask32{1} << (n - j)) - 1;
      _mm_prefetch(reinterpret_cast<const char*>(even + j + ahead * step), _MM_HINT_T1);
      _mm_prefetch(reinterpret_cast<const char*>(odd + j + ahead * step), _MM_HINT_T1);
      const __m512i x = _mm512_maskz_loadu_epi16(2 * p < k ? some : 0, even + j),
                    y = _mm512_maskz_loadu_epi16(2 * p + 1 < k ? some : 0, odd + j);
      bfloat16* to = s.at(j / kGroup, at) + p * kGroup;
      _mm512_store_si512(to, _mm512_unpacklo_epi16(x, y));
      _mm512_store_si512(to + kTile, _mm512_unpackhi_epi16(x, y));
    }
  }
}
/// The same of a b along whose columns k is contiguous, in their order: the first 16 of each 32 go to the first tile.
BORA_TILES void weave_turned(const Strip& s, I at, const bfloat16* b, I step, I k, I n) {
  const auto some = k >= kK ? ~__mmask32{0} : (__mmask32{1} << k) - 1;
  for (I j = 0; j < s.groups * kGroup; j += kRows) {
    __m512i x[16], y[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
      x[i] = _mm512_maskz_loadu_epi16(j + i < n ? some : 0, b + std::min(j + i, n - 1) * step);
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2)
      y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]), y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
      x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]), x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
      x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]), x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
    }
    bfloat16* to = s.at(j / kGroup, at) + j / kRows % 2 * kTile;
    auto put = [&](int pair, __m512i v) BORA_TILES { _mm512_store_si512(to + pair * kGroup, v); };
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {  // x[4 q + i]: pairs i, i + 4, i + 8, i + 12 of columns 4 q .. 4 q + 3
      const __m512i a = _mm512_shuffle_i32x4(x[i], x[4 + i], 0x88), c = _mm512_shuffle_i32x4(x[i], x[4 + i], 0xdd),
                    d = _mm512_shuffle_i32x4(x[8 + i], x[12 + i], 0x88),
                    e = _mm512_shuffle_i32x4(x[8 + i], x[12 + i], 0xdd);
      put(i, _mm512_shuffle_i32x4(a, d, 0x88)), put(8 + i, _mm512_shuffle_i32x4(a, d, 0xdd));
      put(4 + i, _mm512_shuffle_i32x4(c, e, 0x88)), put(12 + i, _mm512_shuffle_i32x4(c, e, 0xdd));
    }
  }
}
/// Adds `deep` blocks of k, which begin at block k, to the sums of a group.
BORA_TILES void multiply(const Strip& s, const Rows& a, I k, I deep, I group) {
  for (I block = 0; block < a.blocks; block += 2) {
    const bool two = block + 1 < a.blocks;
    float *one = s.sum(block, group), *other = two ? s.sum(block + 1, group) : one;
    settle(one);
    if (k == 0) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    } else {
      _tile_loadd(0, one, 64);
      _tile_loadd(1, one + kRows * kRows, 64);
      if (two) {
        _tile_loadd(2, other, 64);
        _tile_loadd(3, other + kRows * kRows, 64);
      }
    }
    for (I i = 0; i < deep; ++i) {
      const bfloat16* b = s.at(group, i);
      BORA_ONE(b, b + kTile, a.tile(k + i, block), 64)
      if (two) {
        BORA_TWO(a.tile(k + i, block + 1), 64)
      }
    }
    _tile_stored(0, one, 64);
    _tile_stored(1, one + kRows * kRows, 64);
    if (two) {
      _tile_stored(2, other, 64);
      _tile_stored(3, other + kRows * kRows, 64);
    }
    settle(one);
  }
}
/// narrow_bf16 of 16 numbers.
BORA_TILES inline void put(bfloat16* to, __m512 x, __mmask16 some) {
  const __m512i bits = _mm512_castps_si512(x), high = _mm512_srli_epi32(bits, 16), one = _mm512_set1_epi32(1),
                half = _mm512_add_epi32(_mm512_and_si512(high, one), _mm512_set1_epi32(0x7fff)),
                rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
  const auto nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i all = _mm512_mask_or_epi32(rounded, nan, high, _mm512_set1_epi32(0x40));
  _mm256_mask_storeu_epi16(to, some, _mm512_cvtepi32_epi16(all));
}
/// Rounds the sums of a strip's n columns.
BORA_TILES void finish(const Gemm& g, const Strip& s, bfloat16* c, I n) {
  const bool turned = g.b_col != 1;
  const __m512i left = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
                right = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  for (I r = 0; r < g.m; ++r)
    for (I group = 0; group < s.groups; ++group) {
      const float* from = s.sum(r / kRows, group) + r % kRows * kRows;
      const __m512 x = _mm512_load_ps(from), y = _mm512_load_ps(from + kRows * kRows);
      const I here = std::min(kGroup, n - group * kGroup);
      const auto some = here == kGroup ? ~__mmask32{0} : (__mmask32{1} << here) - 1;
      bfloat16* to = c + r * g.ldc + group * kGroup;
      put(to, turned ? x : _mm512_permutex2var_ps(x, left, y), static_cast<__mmask16>(some));
      put(to + kRows, turned ? y : _mm512_permutex2var_ps(x, right, y), static_cast<__mmask16>(some >> kRows));
    }
}
/// Columns [j0, j1) of a product, whose b is woven first. For few rows its rows are read from end to end, 32 at a time,
/// as memory likes it; for many, whose sums would not fit into a cache, strip by strip.
BORA_TILES void columns(const Gemm& g, const Rows& a, const bfloat16* b, bfloat16* c, I j0, I j1) {
  configure(std::min(g.m, kRows), kRows);
  constexpr std::size_t woven = kStrip * kK * kDeep * sizeof(bfloat16);
  const bool few = g.m < kManyRows;
  const I deepest = few ? 1 : kDeep, at_once = few ? (j1 - j0 + kGroup - 1) / kGroup * kGroup : kStrip;
  auto memory = allocate(woven + static_cast<std::size_t>(a.blocks * kRows * at_once) * sizeof(float));
  auto* p = static_cast<char*>(memory.get());
  auto strip = [&](I j, I end) {  // its sums lie behind those of the strips before
    auto* sums = reinterpret_cast<float*>(p + woven) + (few ? (j - j0) * kRows : 0);
    return Strip{reinterpret_cast<bfloat16*>(p), sums, (std::min(kStrip, end - j) + kGroup - 1) / kGroup};
  };
  for (I from = j0; from < j1; from += at_once) {
    const I to = std::min(j1, from + at_once);
    for (I k = 0; k < a.deep; k += deepest) {
      const I deep = std::min(deepest, a.deep - k);
      for (I j = from; j < to; j += kStrip) {
        const auto s = strip(j, to);
        for (I i = 0; i < deep; ++i) {
          const I left = g.k - (k + i) * kK, here = std::min(kK, left), n = std::min(kStrip, to - j);
          const bfloat16* at = b + (k + i) * kK * g.b_row + j * g.b_col;
          if (g.b_col != 1) weave_turned(s, i, at, g.b_col, here, n);
          else weave(s, i, at, g.b_row, here, n, left >= 2 * kK ? kK : 0);
        }
        for (I group = 0; group < s.groups; ++group) multiply(s, a, k, deep, group);
      }
    }
    for (I j = from; j < to; j += kStrip) finish(g, strip(j, to), c + j, std::min(kStrip, to - j));
  }
  _tile_release();
}
/// Columns [j, j + 32) of a product along whose b k is contiguous: b's own lines are the first factors. `last`: of the
/// last block of k, [32][32], padded. next: where the columns that come next begin.
BORA_TILES void thirty_two(const Gemm& g, const Rows& a, const bfloat16* b, I step, const bfloat16* last, I last_step,
                           const bfloat16* next, bfloat16* c, I n) {
  alignas(64) float sums[4][kRows][kRows];
  const I bytes = step * static_cast<I>(sizeof(bfloat16)), last_bytes = last_step * static_cast<I>(sizeof(bfloat16));
  for (I block = 0; block < a.blocks; block += 2) {
    const bool two = block + 1 < a.blocks;
    settle(sums);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (I k = 0; k < a.deep; ++k) {
      const bool end = k + 1 == a.deep;
      const bfloat16* from = end ? last : b + k * kK;
      const I to_next = end ? last_bytes : bytes;
      if (block == 0)
        for (I i = 0; i < 2 * kRows; ++i)
          _mm_prefetch(reinterpret_cast<const char*>(next + i * step + k * kK), _MM_HINT_T0);
      // Here the first factors are two blocks of columns, the second ones those of rows.
      BORA_ONE(a.tile(k, block), a.tile(k, two ? block + 1 : block), from, to_next)
      BORA_TWO(from + kRows * (end ? last_step : step), to_next)
    }
    _tile_stored(0, sums[0], 64);
    _tile_stored(1, sums[1], 64);
    _tile_stored(2, sums[2], 64);
    _tile_stored(3, sums[3], 64);
    settle(sums);
    for (I r = block * kRows; r < std::min(g.m, (block + 2) * kRows); ++r) {
      float row[kGroup];
      for (I j = 0; j < n; ++j) row[j] = sums[j / kRows * 2 + r / kRows % 2][j % kRows][r % kRows];
      narrow_bf16(c + r * g.ldc, row, n);
    }
  }
}
/// The same of a b along whose columns k is contiguous, in place.
BORA_TILES void turned_columns(const Gemm& g, const Rows& a, const bfloat16* b, bfloat16* c, I j0, I j1) {
  configure(kRows, kRows);
  const I step = g.b_col, whole = g.k / kK * kK;
  bfloat16 last[kGroup * kK];
  std::shared_ptr<void> memory;
  for (I j = j0; j < j1; j += kGroup) {
    const I n = std::min(kGroup, j1 - j);
    const bfloat16 *from = b + j * step, *next = j + 2 * kGroup <= g.n ? from + kGroup * step : from, *end = last;
    I ld = step, end_ld = kK;
    if (n < kGroup) {  // tiles have 32 columns
      memory = allocate(static_cast<std::size_t>(kGroup * a.deep * kK) * sizeof(bfloat16));
      auto* to = static_cast<bfloat16*>(memory.get());
      ld = a.deep * kK;
      std::fill_n(to, kGroup * ld, bfloat16(0.F));
      for (I i = 0; i < n; ++i) std::copy_n(from + i * step, g.k, to + i * ld);
      from = next = to, end = to + (a.deep - 1) * kK, end_ld = ld;
    } else if (whole == g.k) {
      end = from + (a.deep - 1) * kK, end_ld = step;
    } else {
      std::fill_n(last, kGroup * kK, bfloat16(0.F));
      for (I i = 0; i < n; ++i) std::copy_n(from + i * step + whole, g.k - whole, last + i * kK);
    }
    thirty_two(g, a, from, ld, end, end_ld, next, c + j, n);
  }
  _tile_release();
}
}  // namespace

void gemm_bf16_tiles(const Gemm& g) {
  const bool turned = g.b_col != 1 && g.m <= kTurnedRows;
  const I units = (g.n + kGroup - 1) / kGroup;
  const double work = static_cast<double>(g.k * kGroup) * (kRead + kMultiplyAdd * static_cast<double>(g.m));
  for (I batch = 0; batch < g.batch; ++batch) {
    const auto a = packed(g, static_cast<const bfloat16*>(g.a) + batch * g.a_batch, turned);
    const auto* b = static_cast<const bfloat16*>(g.b) + batch * g.b_batch;
    auto* c = static_cast<bfloat16*>(g.c) + batch * g.c_batch;
    parallel_for(units, grain_for(work), [&](I begin, I end) {
      (turned ? turned_columns : columns)(g, a, b, c, begin * kGroup, std::min(g.n, end * kGroup));
    });
  }
}
}  // namespace bora::kernels
