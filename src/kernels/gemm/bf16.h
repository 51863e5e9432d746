// bf16.h -- bf16 products by oneDNN on CPUs with a bf16 unit (AMX, AVX-512 BF16).
#pragma once
#include "bora/kernels/gemm.h"

namespace bora::kernels {
/// Computes the product and returns true; returns false, with nothing done, if the shape is too small to gain.
bool gemm_bf16_unit(const Gemm&);
}  // namespace bora::kernels
