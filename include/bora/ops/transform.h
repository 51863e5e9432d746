// transform.h -- operations that act on transformations, not on numbers.
#pragma once
#include "bora/array/array.h"

namespace bora {
/// x, with its derivative defined as zero.
Array stop_gradient(const Array& x);
/// xs; computations on them are neither merged with equal ones elsewhere nor moved out of a loop.
Arrays optimization_barrier(const Arrays& xs);
/// x under a name that checkpoint(remat::names) may keep.
Array checkpoint_name(const Array& x, const std::string& name);
/// total + term, for accumulators of gradients (JAX's add_any): a pending sum stays pending.
Array accumulate(const Array& total, const Array& term);
}  // namespace bora
