// transform.h -- operations that speak to transformations rather than to numbers.
#pragma once
#include "bora/array/array.h"

namespace bora {
/// x, whose derivative is zero by decree.
Array stop_gradient(const Array& x);
/// xs; what is computed from them is neither merged with the same computation elsewhere nor moved out of a loop.
Arrays optimization_barrier(const Arrays& xs);
/// x under a name that checkpoint(remat::names) may keep.
Array checkpoint_name(const Array& x, const std::string& name);
/// total + term, for accumulators of gradients (JAX's add_any): a pending sum stays pending.
Array accumulate(const Array& total, const Array& term);
}  // namespace bora
