// isa/block.cpp -- a product by its types, each of which takes long to compile. Built once per instruction set.
#include "kernels/gemm/block.h"

namespace bora::kernels::BORA_ISA {
void gemm_block_f32(const GemmBlock&, const GemmScratch&);
void gemm_block_f64(const GemmBlock&, const GemmScratch&);
void gemm_block_bf16(const GemmBlock&, const GemmScratch&);

void gemm_block(const GemmBlock& g, const GemmScratch& scratch) {
  if (g.dtype == Dtype::f64) gemm_block_f64(g, scratch);
  else if (g.dtype == Dtype::f32) gemm_block_f32(g, scratch);
  else gemm_block_bf16(g, scratch);
}
}  // namespace bora::kernels::BORA_ISA
