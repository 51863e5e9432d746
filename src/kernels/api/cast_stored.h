// cast_stored.h -- changes of dtype from and to the dtypes that are stored only (dtype.h).
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"

namespace bora::kernels {
/// to[i] = from[i] as astype() converts (converted() in dtype.h); one of the two is stored only, none complex.
void cast_stored(Dtype from, Dtype to, const void* in, void* out, std::int64_t n);
}  // namespace bora::kernels
