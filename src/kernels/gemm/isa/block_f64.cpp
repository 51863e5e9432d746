#include "kernels/gemm/tiles.h"

namespace bora::kernels::BORA_ISA {
void gemm_block_f64(const GemmBlock& g, const GemmScratch& s) { block<double, double, double>(g, s); }
}  // namespace bora::kernels::BORA_ISA
