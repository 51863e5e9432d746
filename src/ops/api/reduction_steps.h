// reduction_steps.h -- the order in which a reduction takes several dimensions.
#pragma once
#include <vector>
#include "bora/array/array.h"

namespace bora::ops {
/// The reductions over neighbouring dimensions that stand for one over `dims`, in order: runs of dimensions from the
/// last on, so that each reads elements that lie next to each other. One step alone for halves, which round once.
std::vector<Dims> reduction_steps(const Type&, const Dims& dims);
}  // namespace bora::ops
