#include "kernels/array/reduce_loops.h"

namespace bora::kernels::reductions {
template struct DtypeReductions<bool>;
template struct DtypeReductions<std::uint8_t>;
}  // namespace bora::kernels::reductions
