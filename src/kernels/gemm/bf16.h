// bf16.h -- bf16 products by oneDNN on CPUs with a bf16 unit (AMX, AVX-512 BF16).
#pragma once
#include "kernels/api/gemm.h"

namespace bora::kernels {
/// Computes the product and returns true; returns false, with nothing done, if the shape is too small to gain.
bool gemm_bf16_unit(const Gemm&);
/// Makes oneDNN's kernels for the product, as its first run would.
void prepare_bf16_unit(const Gemm&);
/// Bytes of scratch memory that a thread keeps for the kernels made so far.
std::int64_t bf16_unit_scratch_bytes();
}  // namespace bora::kernels
