// unfolded.h -- products with a matrix of patches that is made first: of dtypes that have no kernel for patches.
#pragma once
#include "kernels/api/patches.h"

namespace bora::kernels {
/// Does this product read patches from the image?
bool patches_in_place(const Gemm&, const Patches&);
/// gemm_patches() of any dtype, by a matrix of patches in memory.
void gemm_unfolded(const Gemm&, const Patches&, const std::int64_t* b_parts, std::int64_t part);
}  // namespace bora::kernels
