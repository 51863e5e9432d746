// lowbit.h -- weights of 8 and 4 bits: their layout, and products with them.
//
// A matrix of N outputs and K inputs lies in tiles of 16 outputs; a tile is a row of blocks, one for each group of
// inputs, in the order in which a product reads them. A block has 16 scales (f16), then for each 32 inputs of the group
// 8 vectors of 64 bytes: byte 4 o + i of vector v is input 4 v + i of output o. Of 4 bits, vectors v and v + 4 share
// their bytes, v in the low halves. Numbers are stored plus 128 (4 bits: plus 8). Outputs and inputs beyond N and K are
// zero.
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"

namespace bora::kernels {
inline constexpr std::int64_t kLowbitTile = 16;  // outputs
inline constexpr std::int64_t kLowbitPart = 32;  // inputs that are rounded together
struct Lowbit {
  int bits = 8;             // 8 or 4
  std::int64_t group = 32;  // inputs that share a scale; 32, or 128 of 4 bits
  std::int64_t zero() const { return bits == 8 ? 128 : 8; }
  std::int64_t part_bytes() const { return kLowbitTile * kLowbitPart * bits / 8; }
  std::int64_t block_bytes() const { return 2 * kLowbitTile + group / kLowbitPart * part_bytes(); }
  std::int64_t groups(std::int64_t k) const { return (k + group - 1) / group; }
  static std::int64_t tiles(std::int64_t n) { return (n + kLowbitTile - 1) / kLowbitTile; }
  std::int64_t bytes(std::int64_t n, std::int64_t k) const { return tiles(n) * groups(k) * block_bytes(); }
};
/// Numbers w[o * out + i * in], of n outputs and k inputs.
struct LowbitSource {
  const void* w;
  std::int64_t n, k, out, in;
  Dtype dtype = Dtype::f32;  // or bf16
};
/// Integers q[o * k + i] from -128 to 127 (4 bits: from -8 to 7) and scales s[o * groups + g], f16.
struct LowbitGiven {
  const std::int8_t* q;
  const std::uint16_t* scales;
  std::int64_t n, k;
};
/// Rounds: for each group the scale and integers of least squared error, of those tried. A group with a number that is
/// not finite gets the scale NaN. Threaded over tiles.
void lowbit_pack(const Lowbit&, const LowbitSource&, void* packed);
void lowbit_pack(const Lowbit&, const LowbitGiven&, void* packed);
/// The integers and scales of a packed matrix.
void lowbit_unpack(const Lowbit&, const void* packed, std::int64_t n, std::int64_t k, std::int8_t* q,
                   std::uint16_t* scales);
/// y[r * k ..] = the numbers of output rows[r], f32; NaN for a row that is none of 0 .. n - 1.
void lowbit_rows(const Lowbit&, const void* packed, std::int64_t n, std::int64_t k, const std::int32_t* rows,
                 std::int64_t count, float* y);
/// y[m, n] = x[m, k] w^T. Each 32 inputs of a row of x are rounded to integers from -127 to 127 times their largest
/// magnitude / 127; sums of products of integers are exact; the parts are added in f32, in order, by
/// fma(x's scale * w's scale, sum, y). A row with a number that is not finite gives NaN; parts of x below 1e-36 count
/// as zero. The same bits on every CPU, for every number of threads and of rows beside it.
struct LowbitProduct {
  Lowbit format;
  std::int64_t m, n, k;
  const float* x;
  const void* packed;
  float* y;
};
void lowbit_product(const LowbitProduct&);
}  // namespace bora::kernels
