// bf16.h -- bf16 products by oneDNN on CPUs with a bf16 unit (AMX, AVX-512 BF16). Products of up to kSameBitsRows rows
// are our own with AMX, and where the unit is AVX-512 BF16 alone computed in slabs of k, by oneDNN or for few rows by
// our own kernel: an element then has the same bits for every number of rows. (Of a longer k oneDNN chooses the order
// of sums by the shape.)
#pragma once
#include "kernels/api/gemm.h"

namespace bora::kernels {
/// Computes the product and returns true; returns false, with nothing done, if the shape is too small to gain.
bool gemm_bf16_unit(const Gemm&);
/// Makes oneDNN's kernels for the product, as its first run would.
void prepare_bf16_unit(const Gemm&);
inline constexpr std::int64_t kFewRows = 16, kSameBitsRows = 512;
/// A product of at most kFewRows rows, whose b has a stride of 1; on CPUs with has_bf16_dot().
void gemm_bf16_few(const Gemm&);
/// A product of at most kSameBitsRows rows, whose a has rows of contiguous k and whose b has a stride of 1; on CPUs
/// with has_bf16_tiles().
void gemm_bf16_tiles(const Gemm&);
/// Rounds n numbers.
void narrow_bf16(bfloat16* to, const float* from, std::int64_t n);
/// Bytes of scratch memory that a thread keeps for the kernels made so far.
std::int64_t bf16_unit_scratch_bytes();
}  // namespace bora::kernels
