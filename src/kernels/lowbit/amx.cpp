// amx.cpp -- one tile of 16 outputs times blocks of rows on CPUs with AMX. A part's sums of integers are one product of
// tiles, [rows, 32] by [32, 16]; they go through memory to vectors, which scale and add them as those of the other
// instruction sets do: the sums are exact, so the bits are the same.
#include <immintrin.h>
#include <algorithm>
#include "kernels/lowbit/tile.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
#define BORA_AMX __attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512vl,avx512dq")))
constexpr I kParts = 16;    // whose weights are signed bytes at the same time, in the first-level cache: whole groups
constexpr I kAhead = 4096;  // bytes from where weights are fetched while others are multiplied

/// As the processor has it: rows and bytes a row of each tile.
struct alignas(64) Palette {
  unsigned char palette = 1, start = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {};
  unsigned char rows[16] = {};
};
struct Weights {
  alignas(64) std::int8_t q[kParts][kLowbitTile * kLowbitPart];
  alignas(64) float scales[kParts][kLowbitTile];
};
/// Compilers may take instructions with tiles for ones that touch no memory: what stands before is written, what stands
/// behind is read anew.
BORA_AMX inline void settle(const void* what) { asm volatile("" ::"r"(what) : "memory"); }

template <int bits> BORA_AMX void unpack(const Lowbit& f, const unsigned char* p, I parts, Weights& w) {
  const I parts_of_group = f.group / kLowbitPart;
  __m512 scale = _mm512_setzero_ps();
  for (I part = 0; part < parts; ++part, p += f.part_bytes()) {
    if (part % parts_of_group == 0) {
      scale = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
      p += 2 * kLowbitTile;
    }
    _mm512_store_ps(w.scales[part], scale);
    std::int8_t* to = w.q[part];
#pragma GCC unroll 8
    for (int v = 0; v < bits; ++v) {
      _mm_prefetch(reinterpret_cast<const char*>(p + kAhead + 64 * v), _MM_HINT_T0);
      const __m512i x = _mm512_loadu_si512(p + 64 * v);
      if constexpr (bits == 8) {
        _mm512_store_si512(to + 64 * v, _mm512_xor_si512(x, _mm512_set1_epi8(-128)));
      } else {
        const __m512i low = _mm512_set1_epi8(15), zero = _mm512_set1_epi8(8);
        _mm512_store_si512(to + 64 * v, _mm512_sub_epi8(_mm512_and_si512(x, low), zero));
        _mm512_store_si512(to + 64 * (v + 4),
                           _mm512_sub_epi8(_mm512_and_si512(_mm512_srli_epi16(x, 4), low), zero));
      }
    }
  }
}
// Of part `first + i`, into tile i and from there to sums[i]; tiles 4 and 5, 6 and 7 hold inputs and weights in turns.
#define BORA_PART(i, a, b)                               \
  _tile_zero(i);                                         \
  _tile_loadd(a, q + (first + (i)) * kBlock, kLowbitPart); \
  _tile_loadd(b, w.q[first + (i)], 64);                  \
  _tile_dpbssd(i, a, b);                                 \
  _tile_stored(i, sums[i], 64);
/// y[rows][16] of at most 16 rows, which parts are added to; `begin`: to zero. q, scales: of the block's first part.
BORA_AMX void block(const Weights& w, I parts, const std::int8_t* q, const float* scales, float* y, I ldy, I rows,
                    __mmask16 some, bool begin) {
  constexpr int R = kLowbitBlock;
  constexpr I kBlock = kLowbitBlock * kLowbitPart;
  alignas(64) std::int32_t sums[4][R][kLowbitTile];
  __m512 sum[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
    sum[r] = begin || r >= rows ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(some, y + r * ldy);
  auto add = [&](I part, int i) BORA_AMX {
    const __m512 scale = _mm512_load_ps(w.scales[part]);
    const float* of_rows = scales + part * kLowbitBlock;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
      sum[r] = _mm512_fmadd_ps(_mm512_mul_ps(scale, _mm512_set1_ps(of_rows[r])),
                               _mm512_cvtepi32_ps(_mm512_load_si512(sums[i][r])), sum[r]);
  };
  I first = 0;
  for (; first + 4 <= parts; first += 4) {
    settle(sums);
    BORA_PART(0, 4, 6)
    BORA_PART(1, 5, 7)
    BORA_PART(2, 4, 6)
    BORA_PART(3, 5, 7)
    settle(sums);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) add(first + i, i);
  }
  for (; first < parts; ++first) {
    settle(sums);
    BORA_PART(0, 4, 6)
    settle(sums);
    add(first, 0);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
    if (r < rows) _mm512_mask_storeu_ps(y + r * ldy, some, sum[r]);
}
#undef BORA_PART
template <int bits> BORA_AMX void tile(const LowbitTile& t) {
  Palette p;
  for (int i = 0; i < 6; ++i) p.rows[i] = kLowbitBlock, p.bytes[i] = i < 4 ? 64 : kLowbitPart;
  for (int i = 6; i < 8; ++i) p.rows[i] = kLowbitPart / 4, p.bytes[i] = 64;
  settle(&p);
  _tile_loadconfig(&p);
  const auto some = static_cast<__mmask16>((1u << t.outputs) - 1);
  Weights w;
  const unsigned char* packed = t.packed;
  for (I part = 0; part < t.x.parts; part += kParts) {
    const I parts = std::min(kParts, t.x.parts - part), groups = parts * kLowbitPart / t.format.group;
    unpack<bits>(t.format, packed, parts, w);
    packed += groups * t.format.block_bytes();
    for (I r = 0; r < t.rows; r += kLowbitBlock) {
      const I at = (t.first + r) / kLowbitBlock * t.x.parts + part;
      block(w, parts, t.x.q + at * kLowbitBlock * kLowbitPart, t.x.scales + at * kLowbitBlock, t.y + r * t.ldy,
               t.ldy, t.rows - r, some, part == 0);
    }
  }
  if (t.x.parts == 0)
    for (I r = 0; r < t.rows; ++r) _mm512_mask_storeu_ps(t.y + r * t.ldy, some, _mm512_setzero_ps());
  _tile_release();
}
}  // namespace

void lowbit_tile_amx(const LowbitTile& t) {
  if (t.format.bits == 8) tile<8>(t);
  else tile<4>(t);
}
}  // namespace bora::kernels
