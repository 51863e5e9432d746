#include "kernels/loop/row_kernels.h"

namespace bora::kernels::BORA_ISA {
void add_f32(KernelTable& t) { add_operations<F, Format::f32>(t); }
}  // namespace bora::kernels::BORA_ISA
