#include "kernels/gemm/tiles.h"

namespace bora::kernels::BORA_ISA {
void gemm_block_f32(const GemmBlock& g, const GemmScratch& s) { block<float, float, float>(g, s); }
}  // namespace bora::kernels::BORA_ISA
