// tile.h -- products of one tile of outputs on one instruction set.
#pragma once
#include <cstdint>
#include "kernels/api/lowbit.h"

namespace bora::kernels {
inline constexpr std::int64_t kLowbitBlock = 16;  // rows that a tile of AMX has
/// Rows of inputs as products read them: integers, a scale and a correction for each part of 32. The correction is
/// minus the sum of the part's integers times Lowbit::zero(). They lie in blocks of rows, [blocks, parts, rows of a
/// block]: of one row, or, for AMX, of kLowbitBlock, the last of which is whole in memory.
struct LowbitRows {
  std::int8_t* q;
  float* scales;
  std::int32_t* corrections;
  std::int64_t parts, block = 1;
  /// The place of a row's first part; the next one is `block` further.
  std::int64_t place(std::int64_t row) const { return row / block * block * parts + row % block; }
};
/// y[r * ldy + o] for `rows` rows from `first` on, and the outputs of one tile, `outputs` of them.
struct LowbitTile {
  Lowbit format;
  LowbitRows x;
  std::int64_t first, rows, outputs;
  const unsigned char* packed;
  float* y;
  std::int64_t ldy;
};
namespace v3 {
/// Rounds row `row` of x[k] into `to`.
void lowbit_round(const float* x, std::int64_t k, std::int64_t zero, const LowbitRows& to, std::int64_t row);
void lowbit_tile(const LowbitTile&);
void lowbit_pack_tile(const Lowbit&, const LowbitSource&, std::int64_t tile, unsigned char* packed);
}  // namespace v3
namespace v4 {
void lowbit_round(const float* x, std::int64_t k, std::int64_t zero, const LowbitRows& to, std::int64_t row);
void lowbit_tile(const LowbitTile&);  // AVX512-VNNI: has_vnni()
void lowbit_pack_tile(const Lowbit&, const LowbitSource&, std::int64_t tile, unsigned char* packed);
}  // namespace v4
/// The same as the others', of rows in blocks; `first` is a multiple of kLowbitBlock. On CPUs with has_byte_tiles().
void lowbit_tile_amx(const LowbitTile&);
}  // namespace bora::kernels
