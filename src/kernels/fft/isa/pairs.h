// pairs.h -- vectors of complex numbers between memory, where the two parts of one lie side by side, and registers,
// where each part has a vector of its own.
#include "kernels/gemm/block.h"
#include "kernels/gemm/simd.h"

namespace bora::kernels::BORA_ISA {
namespace {
#ifdef __AVX512F__
inline void apart_pairs(const float* p, __m512& re, __m512& im) {
  const auto a = _mm512_loadu_ps(p), b = _mm512_loadu_ps(p + 16);
  const auto even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  re = _mm512_permutex2var_ps(a, even, b);
  im = _mm512_permutex2var_ps(a, _mm512_add_epi32(even, _mm512_set1_epi32(1)), b);
}
inline void apart_pairs(const double* p, __m512d& re, __m512d& im) {
  const auto a = _mm512_loadu_pd(p), b = _mm512_loadu_pd(p + 8);
  const auto even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
  re = _mm512_permutex2var_pd(a, even, b);
  im = _mm512_permutex2var_pd(a, _mm512_add_epi64(even, _mm512_set1_epi64(1)), b);
}
inline void together_pairs(float* p, __m512 re, __m512 im) {
  const auto first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  _mm512_storeu_ps(p, _mm512_permutex2var_ps(re, first, im));
  _mm512_storeu_ps(p + 16, _mm512_permutex2var_ps(re, _mm512_add_epi32(first, _mm512_set1_epi32(8)), im));
}
inline void together_pairs(double* p, __m512d re, __m512d im) {
  const auto first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  _mm512_storeu_pd(p, _mm512_permutex2var_pd(re, first, im));
  _mm512_storeu_pd(p + 8, _mm512_permutex2var_pd(re, _mm512_add_epi64(first, _mm512_set1_epi64(4)), im));
}
/// The 128-bit lanes of v to rows `lane` elements apart.
inline void store_chunks(float* p, I lane, __m512 v) {
  _mm_storeu_ps(p, _mm512_castps512_ps128(v));
  _mm_storeu_ps(p + lane, _mm512_extractf32x4_ps(v, 1));
  _mm_storeu_ps(p + 2 * lane, _mm512_extractf32x4_ps(v, 2));
  _mm_storeu_ps(p + 3 * lane, _mm512_extractf32x4_ps(v, 3));
}
inline void store_chunks(double* p, I lane, __m512d v) {
  _mm_storeu_pd(p, _mm512_castpd512_pd128(v));
  _mm_storeu_pd(p + lane, _mm512_extractf64x2_pd(v, 1));
  _mm_storeu_pd(p + 2 * lane, _mm512_extractf64x2_pd(v, 2));
  _mm_storeu_pd(p + 3 * lane, _mm512_extractf64x2_pd(v, 3));
}
#else
inline void apart_pairs(const float* p, __m256& re, __m256& im) {
  const auto a = _mm256_loadu_ps(p), b = _mm256_loadu_ps(p + 8);
  const auto low = _mm256_permute2f128_ps(a, b, 0x20), high = _mm256_permute2f128_ps(a, b, 0x31);
  re = _mm256_shuffle_ps(low, high, 0x88);
  im = _mm256_shuffle_ps(low, high, 0xdd);
}
inline void apart_pairs(const double* p, __m256d& re, __m256d& im) {
  const auto a = _mm256_loadu_pd(p), b = _mm256_loadu_pd(p + 4);
  const auto low = _mm256_permute2f128_pd(a, b, 0x20), high = _mm256_permute2f128_pd(a, b, 0x31);
  re = _mm256_unpacklo_pd(low, high);
  im = _mm256_unpackhi_pd(low, high);
}
inline void together_pairs(float* p, __m256 re, __m256 im) {
  const auto low = _mm256_unpacklo_ps(re, im), high = _mm256_unpackhi_ps(re, im);
  _mm256_storeu_ps(p, _mm256_permute2f128_ps(low, high, 0x20));
  _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(low, high, 0x31));
}
inline void together_pairs(double* p, __m256d re, __m256d im) {
  const auto low = _mm256_unpacklo_pd(re, im), high = _mm256_unpackhi_pd(re, im);
  _mm256_storeu_pd(p, _mm256_permute2f128_pd(low, high, 0x20));
  _mm256_storeu_pd(p + 4, _mm256_permute2f128_pd(low, high, 0x31));
}
inline void store_chunks(float* p, I lane, __m256 v) {
  _mm_storeu_ps(p, _mm256_castps256_ps128(v));
  _mm_storeu_ps(p + lane, _mm256_extractf128_ps(v, 1));
}
inline void store_chunks(double* p, I lane, __m256d v) {
  _mm_storeu_pd(p, _mm256_castpd256_pd128(v));
  _mm_storeu_pd(p + lane, _mm256_extractf128_pd(v, 1));
}
#endif
/// The inverse of columns(): element i of each row from lane `row` of in[i].
inline void to_rows(float* p, I row, const Simd<float>::V (&in)[4]) {
  auto ab = low(in[0], in[1]), ab2 = high(in[0], in[1]), cd = low(in[2], in[3]), cd2 = high(in[2], in[3]);
  store_chunks(p, 4 * row, as_f32(low(as_f64(ab), as_f64(cd))));
  store_chunks(p + row, 4 * row, as_f32(high(as_f64(ab), as_f64(cd))));
  store_chunks(p + 2 * row, 4 * row, as_f32(low(as_f64(ab2), as_f64(cd2))));
  store_chunks(p + 3 * row, 4 * row, as_f32(high(as_f64(ab2), as_f64(cd2))));
}
inline void to_rows(double* p, I row, const Simd<double>::V (&in)[2]) {
  store_chunks(p, 2 * row, low(in[0], in[1]));
  store_chunks(p + row, 2 * row, high(in[0], in[1]));
}
}  // namespace
}  // namespace bora::kernels::BORA_ISA
