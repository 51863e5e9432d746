// quantized.h -- operations on weights of 8 and 4 bits (kernels/api/lowbit.h): u8 [B.., tiles, groups, bytes].
#pragma once
#include "bora/array/array.h"
#include "kernels/api/lowbit.h"

namespace bora::ops {
/// A matrix of N outputs and K inputs in a format.
struct LowbitShape {
  kernels::Lowbit format;
  std::int64_t n, k;
  Shape packed() const {
    return {kernels::Lowbit::tiles(n), format.groups(k), format.block_bytes()};
  }
};
/// w f32 or bf16 [B.., N, K], or inputs first [B.., K, N] -> u8 [B.., tiles, groups, bytes]. No derivative. Throws
/// DtypeError, ShapeError.
Array quantize(const Array& w, const kernels::Lowbit&, bool inputs_first);
/// -> f32 [B.., N, K].
Array dequantize(const Array& packed, const LowbitShape&);
/// x f32 [B.., R.., K] -> f32 [B.., R.., N], as kernels::lowbit_product. No derivative.
Array quantized_dot(const Array& x, const Array& packed, const LowbitShape&);
/// The outputs' rows of numbers: indices i32 [R..] -> f32 [R.., K]; NaN for an index that is none of 0 .. N - 1.
Array quantized_take(const Array& packed, const Array& indices, const LowbitShape&);
}  // namespace bora::ops
