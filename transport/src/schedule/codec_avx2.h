// codec_avx2.h -- blocks of integers with a scale each (codec_block.h) by AVX2: the bits of its plain functions.
// Included by codec.cpp alone.
#pragma once
#ifdef __AVX2__
#include <immintrin.h>
#include "schedule/codec_block.h"

namespace bora::transport::block_codec {
constexpr std::int64_t kTogether = 8;  // blocks whose scales are computed in one vector

// ---- encode ----
/// The largest magnitude in each of 8 lanes: their bits.
inline __m256i largest_of_lanes(const float* in, std::int64_t block) {
  auto mask = _mm256_set1_epi32(static_cast<int>(kMagnitude));
  auto load = [&](std::int64_t i) {
    return _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i)), mask);
  };
  auto a = load(0), b = load(8), c = load(16), d = load(24);
  for (std::int64_t i = 32; i < block; i += 32) {
    a = _mm256_max_epi32(a, load(i)), b = _mm256_max_epi32(b, load(i + 8));
    c = _mm256_max_epi32(c, load(i + 16)), d = _mm256_max_epi32(d, load(i + 24));
  }
  return _mm256_max_epi32(_mm256_max_epi32(a, b), _mm256_max_epi32(c, d));
}
/// Lane k is the largest of v[k].
inline __m256i largest(const __m256i (&v)[kTogether]) {
  auto pairs = [](__m256i x, __m256i y) {
    return _mm256_max_epi32(_mm256_unpacklo_epi32(x, y), _mm256_unpackhi_epi32(x, y));
  };
  auto fours = [&](int k) {
    auto x = pairs(v[k], v[k + 1]), y = pairs(v[k + 2], v[k + 3]);
    return _mm256_max_epi32(_mm256_unpacklo_epi64(x, y), _mm256_unpackhi_epi64(x, y));
  };
  auto x = fours(0), y = fours(4);
  return _mm256_max_epi32(_mm256_permute2x128_si256(x, y, 0x20), _mm256_permute2x128_si256(x, y, 0x31));
}
/// 32 numbers as integers of a byte, in the order 0-3 8-11 16-19 24-27, 4-7 12-15 20-23 28-31.
inline __m256i mixed_integers(const float* in, __m256 inverse) {
  auto q = [&](int i) { return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(in + i), inverse)); };
  return _mm256_packs_epi16(_mm256_packs_epi32(q(0), q(8)), _mm256_packs_epi32(q(16), q(24)));
}
inline __m256i in_order(__m256i mixed) {
  return _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
inline __m256i table(const std::array<std::int8_t, 16>& t) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(t.data())));
}
/// Codes of 32 integers of a byte.
inline __m256i codes(__m256i q) {
  auto low = _mm256_set1_epi8(15);
  auto bucket = _mm256_and_si256(_mm256_srli_epi16(_mm256_xor_si256(q, _mm256_set1_epi8(-128)), 4), low);
  auto passed = [&](const std::array<std::int8_t, 16>& t) {  // -1 where it is
    return _mm256_cmpgt_epi8(q, _mm256_shuffle_epi8(table(t), bucket));
  };
  auto c = _mm256_sub_epi8(_mm256_shuffle_epi8(table(kInt4Buckets.below), bucket), passed(kInt4Buckets.first));
  return _mm256_sub_epi8(c, passed(kInt4Buckets.second));
}
inline void store(std::byte* to, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }
template <class Block> void put_integers(const float* in, std::int64_t block, __m256 inverse, std::byte* to) {
  if constexpr (std::is_same_v<Block, Int8>) {
    for (std::int64_t i = 0; i < block; i += 32) store(to + i, in_order(mixed_integers(in + i, inverse)));
  } else {
    auto half = block / 2;
    for (std::int64_t i = 0; i < half; i += 32) {
      auto a = codes(mixed_integers(in + i, inverse)), b = codes(mixed_integers(in + half + i, inverse));
      // Codes are below 16: nothing leaves its byte.
      store(to + i, in_order(_mm256_or_si256(a, _mm256_slli_epi16(b, 4))));
    }
  }
}
/// The scales of several blocks at once: one after another each would wait for two divisions.
template <class Block> void encode_avx2(const float* in, std::int64_t blocks, std::int64_t block, std::byte* out) {
  auto bytes = Block::bytes(block);
  for (; blocks > 0; blocks -= kTogether, in += kTogether * block, out += kTogether * bytes) {
    auto n = std::min(blocks, kTogether);
    __m256i lanes[kTogether] = {};
    for (std::int64_t k = 0; k < n; ++k) lanes[k] = largest_of_lanes(in + k * block, block);
    auto most = largest(lanes);
    // scale_of()
    auto least = _mm256_castps_si256(
        _mm256_div_ps(_mm256_castsi256_ps(most), _mm256_set1_ps(static_cast<float>(kLargest))));
    least = _mm256_max_epi32(least, _mm256_set1_epi32(static_cast<int>(kNormal)));
    least = _mm256_and_si256(_mm256_add_epi32(least, _mm256_set1_epi32(0xffff)),
                             _mm256_set1_epi32(static_cast<int>(0xffff0000)));
    alignas(32) std::uint32_t mosts[kTogether], scales[kTogether];
    alignas(32) float inverses[kTogether];
    _mm256_store_si256(reinterpret_cast<__m256i*>(mosts), most);
    _mm256_store_si256(reinterpret_cast<__m256i*>(scales), least);
    _mm256_store_ps(inverses, _mm256_div_ps(_mm256_set1_ps(1), _mm256_castsi256_ps(least)));
    for (std::int64_t k = 0; k < n; ++k) {
      auto* from = in + k * block;
      auto* to = out + k * bytes;
      if (mosts[k] >= kInfinity || mosts[k] < kTiny) {
        encode_plain<Block>(from, block, to);
        continue;
      }
      put_scale(to, scales[k]);
      put_integers<Block>(from, block, _mm256_set1_ps(inverses[k]), to + 2);
    }
  }
}

// ---- decode, and sums of what is decoded ----
/// 16 integers of a byte, times the scale.
struct Sixteen {
  __m256 low, high;
};
inline Sixteen times(__m128i q, __m256 scale) {
  return {_mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)), scale),
          _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(q, q))), scale)};
}
inline __m128i load(const std::byte* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
/// Bytes as the integers of f(place in the block, 16 integers): of Int4 at two places.
template <class Block, class F> void each_sixteen(std::int64_t block, std::int64_t i, __m128i bytes, const F& f) {
  if constexpr (std::is_same_v<Block, Int8>) {
    f(i, bytes);
  } else {
    auto levels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kInt4Levels.data())), low = _mm_set1_epi8(15);
    f(i, _mm_shuffle_epi8(levels, _mm_and_si128(bytes, low)));
    f(block / 2 + i, _mm_shuffle_epi8(levels, _mm_and_si128(_mm_srli_epi16(bytes, 4), low)));
  }
}
/// The scale, if no number of the block is infinite or cut off.
inline bool usual(const std::byte* in, float& scale) {
  scale = std::bit_cast<float>(scale_bits(in) & kMagnitude);
  return scale <= kHuge;
}
inline void store(float* out, const Sixteen& x) {
  _mm256_storeu_ps(out, x.low);
  _mm256_storeu_ps(out + 8, x.high);
}
template <class Block> void decode_avx2(const std::byte* in, std::int64_t block, float* out) {
  float s = 0;
  if (!usual(in, s)) return decode_plain<Block>(in, block, out);
  auto scale = _mm256_set1_ps(s);
  auto n = Block::bytes(block) - 2;
  for (std::int64_t i = 0; i < n; i += 16)
    each_sixteen<Block>(block, i, load(in + 2 + i), [&](std::int64_t at, __m128i q) {
      store(out + at, times(q, scale));
    });
}
/// As sum_plain(): the parts at `at`, in their order, without a pass over memory for each.
template <class Block>
void sum_avx2(const std::byte* const* parts, std::size_t n, std::int64_t at, std::int64_t block, float* out) {
  constexpr std::size_t kParts = 64;
  float scales[kParts] = {};
  bool all = n <= kParts;
  for (std::size_t p = 0; p < n && all; ++p) all = usual(parts[p] + at, scales[p]);
  if (!all) return sum_plain<Block>(parts, n, at, block, out);
  auto* first = parts[0] + at + 2;
  auto bytes = Block::bytes(block) - 2;
  for (std::int64_t i = 0; i < bytes; i += 16) {
    Sixteen sums[2];
    int k = 0;
    auto begin = _mm256_broadcast_ss(scales);
    each_sixteen<Block>(block, i, load(first + i), [&](std::int64_t, __m128i q) { sums[k++] = times(q, begin); });
    for (std::size_t p = 1; p < n; ++p) {
      auto scale = _mm256_broadcast_ss(scales + p);
      k = 0;
      each_sixteen<Block>(block, i, load(parts[p] + at + 2 + i), [&](std::int64_t, __m128i q) {
        auto x = times(q, scale);
        sums[k].low = _mm256_add_ps(sums[k].low, x.low);
        sums[k].high = _mm256_add_ps(sums[k].high, x.high);
        ++k;
      });
    }
    k = 0;
    each_sixteen<Block>(block, i, _mm_setzero_si128(), [&](std::int64_t place, __m128i) {
      store(out + place, sums[k++]);
    });
  }
}
}  // namespace bora::transport::block_codec
#endif
