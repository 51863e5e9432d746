// transpose.h -- transposes a block of a matrix in registers, for kernels that pack.
#pragma once
#include <immintrin.h>
#include <cstdint>
#include <type_traits>
#include "bora/base/dtype.h"

namespace bora::kernels {
namespace {  // each unit has its own, for its instruction set
inline __m256 load8(const float* p) { return _mm256_loadu_ps(p); }
inline __m256 load8(const bfloat16* p) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
}
/// to[j * step + i] = from[j + i * row] for an 8 x 8 block.
template <class In> inline void transpose8(float* to, std::int64_t step, const In* from, std::int64_t row) {
  __m256 r[8], t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i] = load8(from + i * row);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * step, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * step, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
/// The same for a block of 4 x 4.
inline void transpose4(float* to, std::int64_t step, const float* from, std::int64_t row) {
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + row), c = _mm_loadu_ps(from + 2 * row),
         d = _mm_loadu_ps(from + 3 * row);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a), _mm_storeu_ps(to + step, b);
  _mm_storeu_ps(to + 2 * step, c), _mm_storeu_ps(to + 3 * step, d);
}
inline void transpose4(double* to, std::int64_t step, const double* from, std::int64_t row) {
  __m256d r[4], t[4];
  for (int i = 0; i < 4; ++i) r[i] = _mm256_loadu_pd(from + i * row);
  t[0] = _mm256_unpacklo_pd(r[0], r[1]), t[1] = _mm256_unpackhi_pd(r[0], r[1]);
  t[2] = _mm256_unpacklo_pd(r[2], r[3]), t[3] = _mm256_unpackhi_pd(r[2], r[3]);
  for (int i = 0; i < 2; ++i) {
    _mm256_storeu_pd(to + i * step, _mm256_permute2f128_pd(t[i], t[i + 2], 0x20));
    _mm256_storeu_pd(to + (i + 2) * step, _mm256_permute2f128_pd(t[i], t[i + 2], 0x31));
  }
}
/// The same for 8 rows of 4.
inline void transpose8x4(float* to, std::int64_t step, const float* from, std::int64_t row) {
  __m256 r[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + i * row)),
                                _mm_loadu_ps(from + (i + 4) * row), 1);
  const __m256 a = _mm256_unpacklo_ps(r[0], r[1]), b = _mm256_unpackhi_ps(r[0], r[1]),
               c = _mm256_unpacklo_ps(r[2], r[3]), d = _mm256_unpackhi_ps(r[2], r[3]);
  _mm256_storeu_ps(to, _mm256_shuffle_ps(a, c, 0x44)), _mm256_storeu_ps(to + step, _mm256_shuffle_ps(a, c, 0xee));
  _mm256_storeu_ps(to + 2 * step, _mm256_shuffle_ps(b, d, 0x44));
  _mm256_storeu_ps(to + 3 * step, _mm256_shuffle_ps(b, d, 0xee));
}
/// to[j * step + i] = from[i * row + j], i < rows, j < columns; `to` and `from` lie apart. Blocks lap over each other
/// where the last one would go beyond the end.
template <class T>
void turn_dense(const T* from, std::int64_t row, T* to, std::int64_t step, std::int64_t rows, std::int64_t columns) {
  using I = std::int64_t;
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    using Real = std::conditional_t<sizeof(T) == 4, float, double>;  // bits are moved, nothing is computed
    const auto* in = reinterpret_cast<const Real*>(from);
    auto* out = reinterpret_cast<Real*>(to);
    if constexpr (sizeof(T) == 4)
      if (rows >= 8 && columns >= 4) {
        for (I i = 0; i < rows; i += 8) {
          const I a = i < rows - 8 ? i : rows - 8;
          I j = 0;
          for (; j + 8 <= columns; j += 8) transpose8(out + j * step + a, step, in + a * row + j, row);
          for (; j < columns; j += 4) {
            const I b = j < columns - 4 ? j : columns - 4;
            transpose8x4(out + b * step + a, step, in + a * row + b, row);
          }
        }
        return;
      }
    if (rows >= 4 && columns >= 4) {
      for (I i = 0; i < rows; i += 4)
        for (I j = 0; j < columns; j += 4) {
          const I a = i < rows - 4 ? i : rows - 4, b = j < columns - 4 ? j : columns - 4;
          transpose4(out + b * step + a, step, in + a * row + b, row);
        }
      return;
    }
  }
  for (I i = 0; i < rows; ++i)
    for (I j = 0; j < columns; ++j) to[j * step + i] = from[i * row + j];
}
}  // namespace
}  // namespace bora::kernels
