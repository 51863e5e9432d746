#include "kernels/array/reduce_loops.h"

namespace bora::kernels::reductions {
template struct DtypeReductions<std::int64_t>;
}  // namespace bora::kernels::reductions
