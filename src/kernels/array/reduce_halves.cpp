#include "kernels/array/reduce_loops.h"

namespace bora::kernels::reductions {
template struct DtypeReductions<bfloat16>;
}  // namespace bora::kernels::reductions
