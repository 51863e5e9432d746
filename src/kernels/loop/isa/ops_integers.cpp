#include "kernels/loop/row_kernels.h"

namespace bora::kernels::BORA_ISA {
void add_integers(KernelTable& t) {
  add_operations<S, Format::i32>(t);
  add_operations<U, Format::u32>(t);
  add_operations<B, Format::u8>(t);
}
}  // namespace bora::kernels::BORA_ISA
