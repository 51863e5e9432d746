// gemm_bf16.h -- bf16 products on CPUs that have a unit for them (AMX, AVX-512 BF16), by oneDNN.
#pragma once
#include "bora/kernels/gemm.h"

namespace bora::kernels {
/// Computes the product and gives true; gives false, with nothing done, where the shape is too small to gain.
bool gemm_bf16_unit(const Gemm&);
}  // namespace bora::kernels
