#include "kernels/array/reduce_loops.h"

namespace bora::kernels::reductions {
template struct DtypeReductions<std::int32_t>;
template struct DtypeReductions<std::uint32_t>;
}  // namespace bora::kernels::reductions
