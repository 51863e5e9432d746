#include "kernels/gemm/tiles.h"

namespace bora::kernels::BORA_ISA {
void gemm_block_bf16(const GemmBlock& g, const GemmScratch& s) {
  if (g.wide) block<float, bfloat16, float>(g, s);
  else block<float, bfloat16, bfloat16>(g, s);
}
}  // namespace bora::kernels::BORA_ISA
