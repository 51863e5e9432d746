#include "kernels/loop/row_kernels.h"

namespace bora::kernels::BORA_ISA {
void add_f64(KernelTable& t) { add_operations<D, Format::f64>(t); }
}  // namespace bora::kernels::BORA_ISA
