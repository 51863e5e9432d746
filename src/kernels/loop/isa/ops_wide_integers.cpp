#include "kernels/loop/row_kernels.h"

namespace bora::kernels::BORA_ISA {
void add_wide_integers(KernelTable& t) {
  add_operations<L, Format::i64>(t);
  add_operations<M, Format::mask32>(t);
  add_operations<W, Format::mask64>(t);
}
}  // namespace bora::kernels::BORA_ISA
