// codec_block.h -- one block of integers with a scale: [scale, bf16][integers, or codes of them]. Included by codec.cpp
// and codec_avx2.h alone.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include "base/api/int4.h"

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
constexpr std::int64_t kMost = 4096;  // numbers in a block
/// The sum of the blocks at `at` of n parts, in their order.
template <class Block>
void sum_plain(const std::byte* const* parts, std::size_t n, std::int64_t at, std::int64_t block, float* out) {
  decode_plain<Block>(parts[0] + at, block, out);
  float next[kMost];
  for (std::size_t p = 1; p < n; ++p) {
    decode_plain<Block>(parts[p] + at, block, next);
    for (std::int64_t i = 0; i < block; ++i) out[i] += next[i];
  }
}
}  // namespace bora::transport::block_codec
