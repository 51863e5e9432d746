// One unit for both: their loops on floats compile to the same code. Where several elements are NaN, the result is one
// of them, and which one depends on what the compiler inlines, that is on what stands in this unit.
#include "kernels/array/reduce_loops.h"

namespace bora::kernels::reductions {
template struct DtypeReductions<float>;
template struct DtypeReductions<bfloat16>;
}  // namespace bora::kernels::reductions
