// The table of codecs, their plain kernels, and sums of what they encode.
#include "schedule/codec.h"
#include <immintrin.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include "schedule/codec_avx2.h"
#include "schedule/codec_block.h"
#include "schedule/denormals.h"

namespace bora::transport {
namespace {
using block_codec::kMost;

/// T: bfloat16 or float16.
template <class T> void encode_halves(const float* in, std::int64_t n, std::int64_t, std::byte* out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    T x(in[i]);
    std::memcpy(out + 2 * i, &x, sizeof x);
  }
}
template <class T> float half_at(const std::byte* from) {
  T x;
  std::memcpy(&x, from, sizeof x);
  return static_cast<float>(x);
}
template <class T> void decode_halves(const std::byte* in, std::int64_t n, std::int64_t, float* out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = half_at<T>(in + 2 * i);
}
template <class T>
void sum_halves(EncodedParts parts, std::int64_t at, std::int64_t n, std::int64_t block, float* out) {
  decode_halves<T>(parts[0] + at, n, block, out);
  for (auto* part : parts.subspan(1))
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) out[i] += half_at<T>(part + at + 2 * i);
}
#ifdef __F16C__
__m256 eight_halves(const std::byte* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
void encode_f16c(const float* in, std::int64_t n, std::int64_t block, std::byte* out) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  encode_halves<float16>(in + i, n - i, block, out + 2 * i);
}
void decode_f16c(const std::byte* in, std::int64_t n, std::int64_t block, float* out) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, eight_halves(in + 2 * i));
  decode_halves<float16>(in + 2 * i, n - i, block, out + i);
}
void sum_f16c(EncodedParts parts, std::int64_t at, std::int64_t n, std::int64_t block, float* out) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    auto sum = eight_halves(parts[0] + at + 2 * i);
    for (auto* part : parts.subspan(1)) sum = _mm256_add_ps(sum, eight_halves(part + at + 2 * i));
    _mm256_storeu_ps(out + i, sum);
  }
  sum_halves<float16>(parts, at + 2 * i, n - i, block, out + i);
}
#endif
/// Whole blocks by `all`; numbers that do not fill the last one are followed by zeros.
template <auto all, class Block>
void encode_units(const float* in, std::int64_t n, std::int64_t block, std::byte* out) {
  auto blocks = n / block, rest = n % block;
  all(in, blocks, block, out);
  if (rest == 0) return;
  float last[kMost];
  std::copy_n(in + blocks * block, rest, last);
  std::fill_n(last + rest, block - rest, 0.0F);
  all(last, 1, block, out + blocks * Block::bytes(block));
}
template <class Block>
void encode_one_by_one(const float* in, std::int64_t blocks, std::int64_t block, std::byte* out) {
  for (std::int64_t k = 0; k < blocks; ++k)
    block_codec::encode_plain<Block>(in + k * block, block, out + k * Block::bytes(block));
}
/// n numbers by one(bytes in front, block, numbers) of whole blocks.
template <class Block, class F> void each_block(std::int64_t n, std::int64_t block, float* out, const F& one) {
  std::int64_t at = 0;
  for (; n >= block; n -= block, at += Block::bytes(block), out += block) one(at, block, out);
  if (n == 0) return;
  float last[kMost];
  one(at, block, last);
  std::copy_n(last, n, out);
}
template <auto one, class Block>
void decode_units(const std::byte* in, std::int64_t n, std::int64_t block, float* out) {
  each_block<Block>(n, block, out, [in](std::int64_t at, std::int64_t b, float* to) { one(in + at, b, to); });
}
template <auto one, class Block>
void sum_units(EncodedParts parts, std::int64_t at, std::int64_t n, std::int64_t block, float* out) {
  each_block<Block>(n, block, out, [&](std::int64_t more, std::int64_t b, float* to) {
    one(parts.data(), parts.size(), at + more, b, to);
  });
}
template <class T> constexpr CodecKernels kHalves = {"plain", encode_halves<T>, decode_halves<T>, sum_halves<T>};
constexpr CodecKernels kBf16[] = {kHalves<bfloat16>};
constexpr CodecKernels kF16[] = {kHalves<float16>,
#ifdef __F16C__
                                 {"f16c", encode_f16c, decode_f16c, sum_f16c}
#endif
};
template <class Block> constexpr CodecKernels kKernels[] = {
    {"plain", encode_units<encode_one_by_one<Block>, Block>, decode_units<block_codec::decode_plain<Block>, Block>,
     sum_units<block_codec::sum_plain<Block>, Block>},
#ifdef __AVX2__
    {"avx2", encode_units<block_codec::encode_avx2<Block>, Block>, decode_units<block_codec::decode_avx2<Block>, Block>,
     sum_units<block_codec::sum_avx2<Block>, Block>},
#endif
};
using block_codec::Int4, block_codec::Int8;
template <class Block> constexpr CodecRow row_of(Codec codec) {
  return {codec, Block::gap, [](std::int64_t block) { return block; }, Block::bytes, kKernels<Block>};
}
constexpr CodecRow row_of_halves(Codec codec, std::span<const CodecKernels> kernels) {
  return {codec, 0, [](std::int64_t) { return std::int64_t{1}; }, [](std::int64_t) { return std::int64_t{2}; },
          kernels};
}
constexpr CodecRow kRows[] = {row_of_halves(Codec::bf16, kBf16), row_of<Int8>(Codec::int8), row_of<Int4>(Codec::int4),
                              row_of_halves(Codec::f16, kF16)};
static_assert(std::size(kRows) + 1 == kCodecs, "codec_table has all of them, and f32");
}  // namespace

std::span<const CodecRow> codecs() { return kRows; }
const CodecRow& codec(Codec c) {
  for (auto& row : kRows)
    if (row.codec == c) return row;
  fail<ValueError>(word(c), " has no codec: its numbers travel as they are");
}
void check_block(const Wire& w, std::string_view what) {
  check<ValueError>(static_cast<std::size_t>(w.codec) < kCodecs, what, ": there is no codec ",
                    static_cast<int>(w.codec));
  check<ValueError>(!w.blocks() || valid_block(w.block), what, ": blocks of ", word(w.codec),
                    " have a multiple of 64 numbers up to ", kMost, ", got ", w.block);
}
std::int64_t encoded_units(const Wire& w, std::int64_t n) {
  auto unit = codec(w.codec).unit(w.block);
  return (n + unit - 1) / unit;
}
std::int64_t encoded_bytes(const Wire& w, std::int64_t n) {
  return encoded_units(w, n) * codec(w.codec).unit_bytes(w.block);
}
void encode(const Wire& w, const float* in, std::int64_t n, std::byte* out) {
  KeepDenormals kept;
  codec(w.codec).kernels.back().encode(in, n, w.block, out);
}
void decode(const Wire& w, const std::byte* in, std::int64_t n, float* out) {
  KeepDenormals kept;
  codec(w.codec).kernels.back().decode(in, n, w.block, out);
}
void sum_encoded(const Wire& w, Reduction r, const std::vector<const std::byte*>& parts, std::int64_t n, float* sums,
                 std::byte* encoded) {
  KeepDenormals kept;
  auto& row = codec(w.codec);
  auto unit = row.unit(w.block), bytes = row.unit_bytes(w.block);
  auto step = std::max<std::int64_t>(1, 512 / unit) * unit;  // numbers that stay in the first-level cache
  float own[kMost];
  for (std::int64_t i = 0; i < n; i += step) {
    auto m = std::min(step, n - i), at = i / unit * bytes;
    auto* sum = sums ? sums + i : own;
    row.kernels.back().sum(parts, at, m, w.block, sum);
    if (r == Reduction::mean)
#pragma omp simd
      for (std::int64_t k = 0; k < m; ++k) sum[k] /= static_cast<float>(parts.size());
    if (encoded) encode(w, sum, m, encoded + at);
  }
}
}  // namespace bora::transport
