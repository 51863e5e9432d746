// tiny.h -- many products of a few numbers each, where a call for each of them would take longer than its work.
#pragma once
#include "kernels/api/gemm.h"

namespace bora::kernels {
/// Computes g like any other kernel, bit for bit. False, with nothing done, for other products than f32 and f64 ones of
/// at most 216 multiply-adds (512 where one operand is a vector, or rows of b and c are contiguous) and at most 8 rows
/// or columns, eight of them at least.
bool gemm_tiny(const Gemm& g);
}  // namespace bora::kernels
