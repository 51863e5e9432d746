// isa/tile.cpp -- one tile of 16 outputs times a few rows: lanes are outputs, so that a part's sum needs no horizontal
// addition, and 4 inputs of a row are broadcast to all of them. Built once per instruction set: AVX-512 with VNNI, and
// AVX2, on which bytes times bytes are added in 16 bits, where they fit: 4-bit weights are at most 15, so that 8
// products of them fit; of 8-bit weights the magnitude is taken, and its sign goes to the input.
#include "kernels/lowbit/tile.h"
#include <immintrin.h>
#include <cstring>
#include "kernels/gemm/block.h"
#include "kernels/gemm/simd.h"

namespace bora::kernels::BORA_ISA {
namespace {
constexpr int kVectors = 8;  // of a part of 8 bits
constexpr int kAhead = 2048;  // bytes from where weights are fetched while others are multiplied
#ifdef __AVX512F__
#define BORA_VNNI __attribute__((target("avx512vnni,prefer-vector-width=512")))
/// A part's weights as unsigned bytes.
template <int bits> BORA_VNNI inline void load_part(const unsigned char* p, __m512i (&w)[kVectors]) {
  if constexpr (bits == 8) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) w[v] = _mm512_loadu_si512(p + 64 * v);
  } else {
    const __m512i low = _mm512_set1_epi8(15);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors / 2; ++v) {
      const __m512i both = _mm512_loadu_si512(p + 64 * v);
      w[v] = _mm512_and_si512(both, low);
      w[v + kVectors / 2] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
    }
  }
}
template <int bits, int R> BORA_VNNI void rows(const LowbitTile& t, I first) {
  const I parts_of_group = t.format.group / kLowbitPart, bytes = t.format.part_bytes();
  const auto *q = t.x.q + first * t.x.parts * kLowbitPart;
  const float* scales = t.x.scales + first * t.x.parts;
  const std::int32_t* corrections = t.x.corrections + first * t.x.parts;
  const unsigned char* p = t.packed;
  __m512 sum[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) sum[r] = _mm512_setzero_ps();
  for (I part = 0; part < t.x.parts;) {
    const __m512 scale = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    p += 2 * kLowbitTile;
    for (I end = part + parts_of_group; part < end; ++part, p += bytes) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors * bits / 8; ++v)
        _mm_prefetch(reinterpret_cast<const char*>(p + kAhead + 64 * v), _MM_HINT_T0);
      __m512i w[kVectors];
      load_part<bits>(p, w);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const std::int8_t* xs = q + (r * t.x.parts + part) * kLowbitPart;
        __m512i n = _mm512_set1_epi32(corrections[r * t.x.parts + part]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          std::int32_t four;
          std::memcpy(&four, xs + 4 * v, sizeof four);
          n = _mm512_dpbusd_epi32(n, w[v], _mm512_set1_epi32(four));
        }
        const __m512 both = _mm512_mul_ps(scale, _mm512_set1_ps(scales[r * t.x.parts + part]));
        sum[r] = _mm512_fmadd_ps(both, _mm512_cvtepi32_ps(n), sum[r]);
      }
    }
  }
  const auto some = static_cast<__mmask16>((1u << t.outputs) - 1);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) _mm512_mask_storeu_ps(t.y + (first - t.first + r) * t.ldy, some, sum[r]);
}
constexpr int kMostRows = 8;
#else
/// Four inputs times the weights of 8 outputs, added to n.
inline __m256i add_pairs(__m256i n, __m256i pairs) {
  return _mm256_add_epi32(n, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
/// H halves of the tile at a time, of 8 outputs: as many as registers allow.
template <int bits, int R, int H> void half_rows(const LowbitTile& t, I first, int half) {
  const I parts_of_group = t.format.group / kLowbitPart, bytes = t.format.part_bytes();
  const auto* q = t.x.q + first * t.x.parts * kLowbitPart;
  const float* scales = t.x.scales + first * t.x.parts;
  const std::int32_t* corrections = t.x.corrections + first * t.x.parts;
  const I ld = t.x.parts;
  auto input = [&](int r, I part, int v) {
    std::int32_t four;
    std::memcpy(&four, q + (r * ld + part) * kLowbitPart + 4 * v, sizeof four);
    return _mm256_set1_epi32(four);
  };
  auto load = [](const unsigned char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); };
  const unsigned char* p = t.packed;
  __m256 sum[R][H];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < H; ++h) sum[r][h] = _mm256_setzero_ps();
  for (I part = 0; part < ld;) {
    __m256 scale[H];
#pragma GCC unroll 2
    for (int h = 0; h < H; ++h)
      scale[h] = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * (half + h))));
    p += 2 * kLowbitTile;
    for (I end = part + parts_of_group; part < end; ++part, p += bytes) {
      const unsigned char* mine = p + 32 * half;
      __m256i n[R][H];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int h = 0; h < H; ++h) n[r][h] = _mm256_setzero_si256();
      if (half == 0)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors * bits / 8; ++v)
          _mm_prefetch(reinterpret_cast<const char*>(p + kAhead + 64 * v), _MM_HINT_T0);
      if constexpr (bits == 8) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
#pragma GCC unroll 2
          for (int h = 0; h < H; ++h) {
            const __m256i w = _mm256_xor_si256(load(mine + 64 * v + 32 * h), _mm256_set1_epi8(-128));
            const __m256i magnitude = _mm256_abs_epi8(w);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r)
              n[r][h] = add_pairs(n[r][h], _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(input(r, part, v), w)));
          }
      } else {
        const __m256i low = _mm256_set1_epi8(15);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors / 2; ++v)  // sums of 16 bits: at most 8 * 2 * 15 * 127
#pragma GCC unroll 2
          for (int h = 0; h < H; ++h) {
            const __m256i both = load(mine + 64 * v + 32 * h);
            const __m256i a = _mm256_and_si256(both, low), b = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
              n[r][h] = _mm256_add_epi16(n[r][h], _mm256_maddubs_epi16(a, input(r, part, v)));
              n[r][h] = _mm256_add_epi16(n[r][h], _mm256_maddubs_epi16(b, input(r, part, v + kVectors / 2)));
            }
          }
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
          for (int h = 0; h < H; ++h) n[r][h] = add_pairs(_mm256_set1_epi32(corrections[r * ld + part]), n[r][h]);
      }
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int h = 0; h < H; ++h) {
          const __m256 both = _mm256_mul_ps(scale[h], _mm256_set1_ps(scales[r * ld + part]));
          sum[r][h] = _mm256_fmadd_ps(both, _mm256_cvtepi32_ps(n[r][h]), sum[r][h]);
        }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < H; ++h)
      Simd<float>::store(t.y + (first - t.first + r) * t.ldy + 8 * (half + h), sum[r][h],
                         Simd<float>::some(min(8, t.outputs - 8 * (half + h))));
}
template <int bits, int R> void rows(const LowbitTile& t, I first) {
  if constexpr (R <= 2) return half_rows<bits, R, 2>(t, first, 0);
  half_rows<bits, R, 1>(t, first, 0);
  half_rows<bits, R, 1>(t, first, 1);
}
constexpr int kMostRows = 4;
#endif
template <int bits> void tile(const LowbitTile& t) {
  I r = t.first;
  const I end = t.first + t.rows;
  if constexpr (kMostRows == 8)
    for (; end - r >= 8; r += 8) rows<bits, 8>(t, r);
  for (; end - r >= 4; r += 4) rows<bits, 4>(t, r);
  if (end - r >= 2) rows<bits, 2>(t, r), r += 2;
  if (end > r) rows<bits, 1>(t, r);
}
}  // namespace

void lowbit_tile(const LowbitTile& t) {
  if (t.format.bits == 8) tile<8>(t);
  else tile<4>(t);
}
void lowbit_round(const float* x, I k, I zero, const LowbitRows& to, I row) {
  I place = to.place(row);
  for (I part = 0; part < to.parts; ++part, place += to.block) {
    alignas(32) float v[kLowbitPart] = {};
    const I n = max(0, min(kLowbitPart, k - part * kLowbitPart));
    std::memcpy(v, x + part * kLowbitPart, static_cast<std::size_t>(n) * sizeof(float));
    // Magnitudes as integers: their order is that of the numbers, and NaN is above all.
    __m256i most = _mm256_setzero_si256(), quad[4];
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    for (int i = 0; i < 4; ++i)
      most = _mm256_max_epu32(most, _mm256_and_si256(magnitude, _mm256_castps_si256(_mm256_load_ps(v + 8 * i))));
    alignas(32) std::uint32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), most);
    std::uint32_t bits = 0;
    for (auto lane : lanes) bits = bits > lane ? bits : lane;
    float largest, inverse = 0, scale = 0;
    std::memcpy(&largest, &bits, sizeof bits);
    if (bits >= 0x7f800000) scale = __builtin_nanf("");
    else if (largest >= 1e-36f) inverse = 127 / largest, scale = largest / 127;
    if (inverse == 0)
      for (auto& f : v) f = 0;
    for (int i = 0; i < 4; ++i)
      quad[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_load_ps(v + 8 * i), _mm256_set1_ps(inverse)));
    const __m256i all = _mm256_add_epi32(_mm256_add_epi32(quad[0], quad[1]), _mm256_add_epi32(quad[2], quad[3]));
    alignas(32) std::int32_t sums[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums), all);
    std::int32_t sum = 0;
    for (auto lane : sums) sum += lane;
    const __m256i left = _mm256_packs_epi32(quad[0], quad[1]), right = _mm256_packs_epi32(quad[2], quad[3]);
    const __m256i bytes = _mm256_packs_epi16(left, right);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.q + place * kLowbitPart),
                        _mm256_permutevar8x32_epi32(bytes, order));
    to.scales[place] = scale;
    to.corrections[place] = -static_cast<std::int32_t>(zero) * sum;
  }
}
}  // namespace bora::kernels::BORA_ISA
