#include "kernels/array/reduce_loops.h"

namespace bora::kernels::reductions {
template struct DtypeReductions<double>;
}  // namespace bora::kernels::reductions
