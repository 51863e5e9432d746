// isa/pack.cpp -- a tile of numbers rounded to integers: lanes are outputs, sums run over a group's inputs in order, so
// that the integers are the same on every instruction set. Built once per instruction set.
#include <immintrin.h>
#include <cstring>
#include "kernels/lowbit/tile.h"

namespace bora::kernels::BORA_ISA {
namespace {
using I = std::int64_t;
#ifdef __AVX512F__
constexpr int T = 16;  // outputs in lanes
#else
constexpr int T = 8;
#endif
constexpr I kMost = 128;  // inputs of a group
constexpr I min(I a, I b) { return a < b ? a : b; }
/// One number of each output.
typedef float V __attribute__((vector_size(4 * T)));
typedef std::int32_t W __attribute__((vector_size(4 * T)));

/// A scale to try is the number of largest magnitude over one of these; then it becomes that of least squared error for
/// the integers that it gives. 4 bits reach one number further below zero than above it.
constexpr float kTries4[] = {-8, -7.6f, -7.2f, -6.8f, -6.3f, -8.5f, 7, 7.5f, 6.5f, 6};
constexpr float kTries8[] = {127};

V all(float x) { return x - V{}; }
/// The nearest half-precision numbers, as bits.
void to_half(const V& x, std::uint16_t* bits) {
  float lanes[T];
  std::memcpy(lanes, &x, sizeof lanes);
  for (int o = 0; o < T; o += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bits + o), _mm256_cvtps_ph(_mm256_loadu_ps(lanes + o), 0));
}
V rounded_half(const V& x) {
  std::uint16_t bits[T];
  float lanes[T];
  to_half(x, bits);
  for (int o = 0; o < T; o += 8)
    _mm256_storeu_ps(lanes + o, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bits + o))));
  V r;
  std::memcpy(&r, lanes, sizeof r);
  return r;
}
/// The nearest integers within the range, halves to even: adding 1.5 * 2^23 leaves no bits for a fraction.
V nearest(const V& x, const V& low, const V& high) {
  const V shift = all(12582912.f);
  V y = x < low ? low : x;
  y = y > high ? high : y;
  return (y + shift) - shift;
}
struct Scales {
  V scale, inverse, error;  // of least error; inverse: what the integers were made with
};
Scales best_scales(const V* w, I n, int bits) {
  V most = {}, squares_of_w = {};  // the numbers of largest magnitude
  for (I i = 0; i < n; ++i) {
    const V magnitude = w[i] < 0 ? -w[i] : w[i], before = most < 0 ? -most : most;
    most = magnitude > before ? w[i] : most;
    squares_of_w = squares_of_w + w[i] * w[i];
  }
  const V low = all(bits == 8 ? -127 : -8), high = all(bits == 8 ? 127 : 7);
  const float* tries = bits == 8 ? kTries8 : kTries4;
  const int count = bits == 8 ? 1 : static_cast<int>(sizeof kTries4 / sizeof kTries4[0]);
  Scales best{V{}, V{}, all(__builtin_inff())};
  for (int c = 0; c < count; ++c) {
    const V tried = most / all(tries[c]), magnitude = tried < 0 ? -tried : tried;
    const V inverse = magnitude < 1e-30f ? V{} : 1 / tried;
    V product = {}, squares = {};
    for (I i = 0; i < n; ++i) {
      const V q = nearest(w[i] * inverse, low, high);
      product = product + q * w[i];
      squares = squares + q * q;
    }
    const V s = rounded_half(squares > 0 ? product / squares : V{});
    const V error = squares_of_w - 2 * s * product + s * s * squares;
    const W better = error < best.error;
    best.error = better ? error : best.error;
    best.scale = better ? s : best.scale;
    best.inverse = better ? inverse : best.inverse;
  }
  return best;
}
/// 32 inputs in the order of a block.
void put_part(const W* q, int bits, unsigned char* to) {
  auto word = [&](int v) { return q[4 * v] | q[4 * v + 1] << 8 | q[4 * v + 2] << 16 | q[4 * v + 3] << 24; };
  for (int v = 0; v < bits; ++v) {
    const W bytes = bits == 8 ? word(v) : word(v) | word(v + 4) << 4;
    std::memcpy(to + 4 * kLowbitTile * v, &bytes, sizeof bytes);
  }
}
/// Numbers [n inputs, outputs] of the source, zero beyond it.
template <class In> void load(const LowbitSource& from, I first, I outputs, I k0, I n, V* w) {
  float lanes[kMost][T];
  const In* at = static_cast<const In*>(from.w) + first * from.out + k0 * from.in;
  if (outputs < T) std::memset(lanes, 0, sizeof lanes);
  if (from.in == 1)
    for (I o = 0; o < outputs; ++o)
      for (I i = 0; i < n; ++i) lanes[i][o] = at[o * from.out + i];
  else
    for (I i = 0; i < n; ++i)
      for (I o = 0; o < outputs; ++o) lanes[i][o] = at[o * from.out + i * from.in];
  std::memcpy(w, lanes, static_cast<std::size_t>(n) * sizeof *lanes);
}
}  // namespace

void lowbit_pack_tile(const Lowbit& f, const LowbitSource& from, I tile, unsigned char* packed) {
  const V low = all(f.bits == 8 ? -127 : -8), high = all(f.bits == 8 ? 127 : 7);
  V w[kMost];
  W q[kMost];
  for (I k0 = 0; k0 < from.k; k0 += f.group, packed += f.block_bytes())
    for (I lane = 0; lane < kLowbitTile; lane += T) {
      const I n = min(from.k - k0, f.group), first = tile * kLowbitTile + lane;
      (from.dtype == Dtype::bf16 ? load<bfloat16> : load<float>)(from, first, min(from.n - first, T), k0, n, w);
      V zero = {};  // NaN where a number is not finite
      for (I i = 0; i < n; ++i) zero = zero + w[i] * 0;
      const W finite = zero == 0;
      for (I i = 0; i < n; ++i) w[i] = finite ? w[i] : V{};
      auto best = best_scales(w, n, f.bits);
      const W good = finite & (best.error < 3e38f);  // a scale above 65504 is infinite
      best.scale = good ? best.scale : all(__builtin_nanf(""));
      std::uint16_t half[T];
      to_half(best.scale, half);
      std::memcpy(packed + 2 * lane, half, sizeof half);
      for (I i = 0; i < f.group; ++i) {
        const V x = i < n ? nearest(w[i] * best.inverse, low, high) : V{};
        q[i] = __builtin_convertvector(x, W) + static_cast<std::int32_t>(f.zero());
      }
      auto* to = packed + 2 * kLowbitTile + 4 * lane;
      for (I i = 0; i < f.group; i += kLowbitPart, to += f.part_bytes()) put_part(q + i, f.bits, to);
    }
}
}  // namespace bora::kernels::BORA_ISA
