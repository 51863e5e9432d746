// simd.h -- vectors for the product kernels (isa/*.cpp), once per instruction set: f32 and f64, and bf16 widened to f32
// by loads.
#pragma once
#include <immintrin.h>
#include <cstdint>
#include "bora/base/dtype.h"

namespace bora::kernels::BORA_ISA {
namespace {
using I = std::int64_t;
constexpr I min(I a, I b) { return a < b ? a : b; }
constexpr I max(I a, I b) { return a > b ? a : b; }

/// Vectors of the compute type. Some: a mask of the first 0 .. width lanes; memory behind them is not touched, and the
/// other lanes load as zero.
template <class T> struct Simd;
#ifdef __AVX512F__
template <> struct Simd<float> {
  using V = __m512;
  using Some = __mmask16;
  static constexpr int width = 16;
  static Some some(I n) { return static_cast<Some>((1u << max(0, min(n, width))) - 1); }
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static V load(const float* p, Some s) { return _mm512_maskz_loadu_ps(s, p); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static void store(float* p, V v, Some s) { _mm512_mask_storeu_ps(p, s, v); }
  static V all(float x) { return _mm512_set1_ps(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V sub(V a, V b) { return _mm512_sub_ps(a, b); }
};
template <> struct Simd<double> {
  using V = __m512d;
  using Some = __mmask8;
  static constexpr int width = 8;
  static Some some(I n) { return static_cast<Some>((1u << max(0, min(n, width))) - 1); }
  static V load(const double* p) { return _mm512_loadu_pd(p); }
  static V load(const double* p, Some s) { return _mm512_maskz_loadu_pd(s, p); }
  static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  static void store(double* p, V v, Some s) { _mm512_mask_storeu_pd(p, s, v); }
  static V all(double x) { return _mm512_set1_pd(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V add(V a, V b) { return _mm512_add_pd(a, b); }
  static V sub(V a, V b) { return _mm512_sub_pd(a, b); }
};
#else
template <> struct Simd<float> {
  using V = __m256;
  using Some = __m256i;
  static constexpr int width = 8;
  static Some some(I n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static V load(const float* p, Some s) { return _mm256_maskload_ps(p, s); }
  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static void store(float* p, V v, Some s) { _mm256_maskstore_ps(p, s, v); }
  static V all(float x) { return _mm256_set1_ps(x); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static V sub(V a, V b) { return _mm256_sub_ps(a, b); }
};
template <> struct Simd<double> {
  using V = __m256d;
  using Some = __m256i;
  static constexpr int width = 4;
  static Some some(I n) { return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)); }
  static V load(const double* p) { return _mm256_loadu_pd(p); }
  static V load(const double* p, Some s) { return _mm256_maskload_pd(p, s); }
  static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  static void store(double* p, V v, Some s) { _mm256_maskstore_pd(p, s, v); }
  static V all(double x) { return _mm256_set1_pd(x); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static V add(V a, V b) { return _mm256_add_pd(a, b); }
  static V sub(V a, V b) { return _mm256_sub_pd(a, b); }
};
#endif

inline float wide(float x) { return x; }
inline double wide(double x) { return x; }
inline float wide(bfloat16 x) { return x; }
/// Loads a vector, widened.
inline Simd<float>::V load_wide(const float* p) { return Simd<float>::load(p); }
inline Simd<double>::V load_wide(const double* p) { return Simd<double>::load(p); }
inline Simd<float>::V load_wide(const bfloat16* p) {
#ifdef __AVX512F__
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
#else
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
#endif
}
/// The value that replaces old(), which is called where it is needed.
template <class S, class Old> typename S::V joined(Into into, Old old, typename S::V sum) {
  return into == Into::set ? sum : into == Into::add ? S::add(old(), sum) : S::sub(old(), sum);
}
/// Loads the first n lanes; the others are zero.
template <class T, class In> inline typename Simd<T>::V load_wide(const In* p, I n) {
  if constexpr (sizeof(T) == sizeof(In)) return Simd<T>::load(p, Simd<T>::some(n));
  In some[Simd<T>::width] = {};
  for (I i = 0; i < n; ++i) some[i] = p[i];
  return load_wide(some);
}

/// Rounds n values.
inline void narrow(bfloat16* to, const float* from, I n) {
  for (I i = 0; i < n; ++i) {  // bfloat16(float), without its branch
    auto x = __builtin_bit_cast(std::uint32_t, from[i]), nan = (x >> 16) | 0x40u,
         rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    to[i].bits = static_cast<std::uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
}

// Transposes in registers: out[p] holds element p of `width` rows. Each 128-bit lane of a register is loaded from a
// different row, so that only shuffles within lanes remain.
inline __m128 chunk(const float* p) { return _mm_loadu_ps(p); }
inline __m128 chunk(const bfloat16* p) {
  return _mm_castsi128_ps(
      _mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))), 16));
}
inline __m128 chunk(const double* p) { return _mm_castpd_ps(_mm_loadu_pd(p)); }
#ifdef __AVX512F__
template <class In> inline __m512 chunks(const In* p, I lane) {
  auto v = _mm512_castps128_ps512(chunk(p));
  v = _mm512_mask_broadcast_f32x4(v, 0x00f0, chunk(p + lane));
  v = _mm512_mask_broadcast_f32x4(v, 0x0f00, chunk(p + 2 * lane));
  return _mm512_mask_broadcast_f32x4(v, 0xf000, chunk(p + 3 * lane));
}
/// A line of 16 rows each: out[i] holds element i of all rows. Whole lines are read at once: rows that lie a multiple
/// of 4 KiB apart would drive each other out of the cache.
inline void lines(const float* p, I row, __m512 (&out)[16]) {
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_si512(p + i * row);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2)
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]), b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]), a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]), a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // a[4 q + i]: elements i, i + 4, i + 8, i + 12 of rows 4 q .. 4 q + 3
    __m512i x = _mm512_shuffle_i32x4(a[i], a[4 + i], 0x88), y = _mm512_shuffle_i32x4(a[i], a[4 + i], 0xdd),
            z = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0x88), w = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0xdd);
    out[i] = _mm512_castsi512_ps(_mm512_shuffle_i32x4(x, z, 0x88));
    out[8 + i] = _mm512_castsi512_ps(_mm512_shuffle_i32x4(x, z, 0xdd));
    out[4 + i] = _mm512_castsi512_ps(_mm512_shuffle_i32x4(y, w, 0x88));
    out[12 + i] = _mm512_castsi512_ps(_mm512_shuffle_i32x4(y, w, 0xdd));
  }
}
inline __m512d low(__m512d a, __m512d b) { return _mm512_unpacklo_pd(a, b); }
inline __m512d high(__m512d a, __m512d b) { return _mm512_unpackhi_pd(a, b); }
inline __m512d as_f64(__m512 a) { return _mm512_castps_pd(a); }
inline __m512 as_f32(__m512d a) { return _mm512_castpd_ps(a); }
inline __m512 low(__m512 a, __m512 b) { return _mm512_unpacklo_ps(a, b); }
inline __m512 high(__m512 a, __m512 b) { return _mm512_unpackhi_ps(a, b); }
#else
template <class In> inline __m256 chunks(const In* p, I lane) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(chunk(p)), chunk(p + lane), 1);
}
inline __m256d low(__m256d a, __m256d b) { return _mm256_unpacklo_pd(a, b); }
inline __m256d high(__m256d a, __m256d b) { return _mm256_unpackhi_pd(a, b); }
inline __m256d as_f64(__m256 a) { return _mm256_castps_pd(a); }
inline __m256 as_f32(__m256d a) { return _mm256_castpd_ps(a); }
inline __m256 low(__m256 a, __m256 b) { return _mm256_unpacklo_ps(a, b); }
inline __m256 high(__m256 a, __m256 b) { return _mm256_unpackhi_ps(a, b); }
#endif
template <class In> inline void columns(const In* p, I row, Simd<float>::V (&out)[4]) {
  auto a = chunks(p, 4 * row), b = chunks(p + row, 4 * row), c = chunks(p + 2 * row, 4 * row),
       d = chunks(p + 3 * row, 4 * row);
  auto ab = as_f64(low(a, b)), cd = as_f64(low(c, d)), ab2 = as_f64(high(a, b)), cd2 = as_f64(high(c, d));
  out[0] = as_f32(low(ab, cd)), out[1] = as_f32(high(ab, cd));
  out[2] = as_f32(low(ab2, cd2)), out[3] = as_f32(high(ab2, cd2));
}
inline void columns(const double* p, I row, Simd<double>::V (&out)[2]) {
  auto a = as_f64(chunks(p, 2 * row)), b = as_f64(chunks(p + row, 2 * row));
  out[0] = low(a, b), out[1] = high(a, b);
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
