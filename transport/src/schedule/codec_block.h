// codec_block.h -- one block of integers with a scale: [scale, bf16][integers, or codes of them]. Included by codec.cpp
// alone.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#ifdef __AVX2__
#include <immintrin.h>
#endif
#include "bora/base/int4.h"

namespace bora::transport::block_codec {
constexpr std::uint32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000, kNormal = 0x00800000;
/// Below this the scale may be so small that denormal numbers would count: they are left out one by one, because a
/// thread may or may not take them as zero.
constexpr std::uint32_t kTiny = 0x10000000;  // 2^-95
/// Above this, integers times the scale may overflow: they are cut off.
constexpr float kHuge = std::numeric_limits<float>::max() / 256;

constexpr int kLargest = 127;  // integer of a block
struct Int8 {
  static constexpr int gap = 1;  // between integers that have a code
  static constexpr std::int64_t bytes(std::int64_t block) { return 2 + block; }
  static void put(std::byte* to, std::int64_t, std::int64_t i, int q) { to[i] = static_cast<std::byte>(q); }
  static int get(const std::byte* from, std::int64_t, std::int64_t i) { return static_cast<std::int8_t>(from[i]); }
};
/// The code of q, the place of the nearest of kInt4Levels, without a search: bucket (q + 128) / 16 has at most two
/// thresholds in it; the code is `below`, the number of those under the bucket, and one more for each of both that q
/// has passed. Where there is none it is 127, which nothing passes.
struct Int4Buckets {
  std::array<std::int8_t, 16> below{}, first{}, second{};
  int most = 0;  // thresholds in a bucket
};
constexpr Int4Buckets int4_buckets() {
  Int4Buckets r;
  for (std::size_t b = 0; b < 16; ++b) {
    auto begin = static_cast<int>(b) * 16 - 128;
    r.first[b] = r.second[b] = 127;
    int found = 0;
    for (int k = 1; k < 16; ++k) {
      auto t = int4_threshold(k) - 1;  // passed by what is greater
      if (t + 1 <= begin) ++r.below[b];
      else if (t + 1 < begin + 16) (found++ == 0 ? r.first : r.second)[b] = static_cast<std::int8_t>(t);
    }
    r.most = std::max(r.most, found);
  }
  return r;
}
constexpr auto kInt4Buckets = int4_buckets();
static_assert(kInt4Buckets.most <= 2);
/// Byte k holds the codes of numbers k and block / 2 + k.
struct Int4 {
  static constexpr int gap = 39;  // the first two
  static constexpr std::int64_t bytes(std::int64_t block) { return 2 + block / 2; }
  static int code(int q) {
    auto bucket = static_cast<std::size_t>((q + 128) >> 4);
    auto& b = kInt4Buckets;
    return b.below[bucket] + (q > b.first[bucket]) + (q > b.second[bucket]);
  }
  static void put(std::byte* to, std::int64_t block, std::int64_t i, int q) {
    auto half = block / 2;
    auto bits = static_cast<std::byte>(code(q));
    if (i < half) to[i] = bits;
    else to[i - half] |= bits << 4;
  }
  static int get(const std::byte* from, std::int64_t block, std::int64_t i) {
    auto half = block / 2;
    return kInt4Levels[static_cast<std::size_t>(i < half ? from[i] & std::byte{15} : from[i - half] >> 4)];
  }
};
inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
/// The least bf16 that is at least m / kLargest, and normal. m: finite.
inline float scale_of(std::uint32_t m) {
  auto least = std::max(bits_of(std::bit_cast<float>(m) / static_cast<float>(kLargest)), kNormal);
  return std::bit_cast<float>((least + 0xffff) & 0xffff0000);
}
inline void put_scale(std::byte* to, std::uint32_t bits) {
  auto top = static_cast<std::uint16_t>(bits >> 16);
  std::memcpy(to, &top, sizeof top);
}
inline std::uint32_t scale_bits(const std::byte* from) {
  std::uint16_t top;
  std::memcpy(&top, from, sizeof top);
  return static_cast<std::uint32_t>(top) << 16;
}
template <class Block> void encode_plain(const float* in, std::int64_t block, std::byte* out) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < block; ++i) most = std::max(most, bits_of(in[i]) & kMagnitude);
  auto* q = out + 2;
  if (most >= kInfinity) {  // the largest integers stand for infinities, 0 for the others: NaN
    put_scale(out, most > kInfinity ? 0x7fc00000 : kInfinity);
    for (std::int64_t i = 0; i < block; ++i) {
      bool finite = (bits_of(in[i]) & kMagnitude) < kInfinity;
      Block::put(q, block, i, finite ? 0 : std::signbit(in[i]) ? -kLargest : kLargest);
    }
    return;
  }
  auto scale = scale_of(most), inverse = 1 / scale;
  put_scale(out, bits_of(scale));
  for (std::int64_t i = 0; i < block; ++i) {
    auto x = (bits_of(in[i]) & kMagnitude) < kNormal ? 0.0F : in[i];
    Block::put(q, block, i, static_cast<int>(std::lrint(x * inverse)));
  }
}
template <class Block> void decode_plain(const std::byte* in, std::int64_t block, float* out) {
  using Limits = std::numeric_limits<float>;
  constexpr auto most = Limits::max(), nan = Limits::quiet_NaN(), infinity = Limits::infinity();
  auto bits = scale_bits(in) & kMagnitude;
  auto scale = std::bit_cast<float>(bits);
  for (std::int64_t i = 0; i < block; ++i) {
    auto q = Block::get(in + 2, block, i);
    if (bits >= kInfinity)
      out[i] = bits > kInfinity || q == 0 ? nan : q < 0 ? -infinity : infinity;
    else if (scale > kHuge) out[i] = std::clamp(static_cast<float>(q) * scale, -most, most);
    else out[i] = static_cast<float>(q) * scale;
  }
}
#ifdef __AVX2__
inline std::uint32_t largest_magnitude(const float* in, std::int64_t block) {
  auto mask = _mm256_set1_epi32(static_cast<int>(kMagnitude));
  auto load = [&](std::int64_t i) {
    return _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i)), mask);
  };
  auto a = load(0), b = load(8);
  for (std::int64_t i = 16; i < block; i += 16) a = _mm256_max_epi32(a, load(i)), b = _mm256_max_epi32(b, load(i + 8));
  a = _mm256_max_epi32(a, b);
  auto m = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(m));
}
/// 32 numbers as integers of a byte.
inline __m256i integers(const float* in, __m256 inverse) {
  auto q = [&](int i) { return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(in + i), inverse)); };
  auto low = _mm256_packs_epi32(q(0), q(8)), high = _mm256_packs_epi32(q(16), q(24));
  return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
/// The 16 integers of a byte times the scale.
inline void numbers(__m128i q, __m256 scale, float* out) {
  _mm256_storeu_ps(out, _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)), scale));
  _mm256_storeu_ps(out + 8, _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(q, 8))), scale));
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
template <class Block> void encode_avx2(const float* in, std::int64_t block, std::byte* out) {
  auto most = largest_magnitude(in, block);
  if (most >= kInfinity || most < kTiny) return encode_plain<Block>(in, block, out);
  auto scale = scale_of(most);
  put_scale(out, bits_of(scale));
  auto inverse = _mm256_set1_ps(1 / scale);
  auto* to = out + 2;
  auto store = [&](std::int64_t i, __m256i q) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), q); };
  if constexpr (std::is_same_v<Block, Int8>)
    for (std::int64_t i = 0; i < block; i += 32) store(i, integers(in + i, inverse));
  else {
    auto half = block / 2;
    for (std::int64_t i = 0; i < half; i += 32) {
      auto a = codes(integers(in + i, inverse)), b = codes(integers(in + half + i, inverse));
      store(i, _mm256_or_si256(a, _mm256_slli_epi16(b, 4)));  // codes are below 16: nothing leaves its byte
    }
  }
}
template <class Block> void decode_avx2(const std::byte* in, std::int64_t block, float* out) {
  auto s = std::bit_cast<float>(scale_bits(in) & kMagnitude);
  if (!(s <= kHuge)) return decode_plain<Block>(in, block, out);
  auto scale = _mm256_set1_ps(s);
  auto load = [&](std::int64_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 2 + i)); };
  if constexpr (std::is_same_v<Block, Int8>)
    for (std::int64_t i = 0; i < block; i += 16) numbers(load(i), scale, out + i);
  else {
    auto half = block / 2;
    auto levels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kInt4Levels.data())), low = _mm_set1_epi8(15);
    for (std::int64_t i = 0; i < half; i += 16) {
      auto both = load(i);
      numbers(_mm_shuffle_epi8(levels, _mm_and_si128(both, low)), scale, out + i);
      numbers(_mm_shuffle_epi8(levels, _mm_and_si128(_mm_srli_epi16(both, 4), low)), scale, out + half + i);
    }
  }
}
#endif
}  // namespace bora::transport::block_codec
