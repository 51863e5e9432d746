// propagate.h -- Specs that flow back: values that every reader wants split further than they come are computed so.
// Private.
#pragma once
#include "shard/interpreter.h"

namespace bora::fx {
/// The global Program p with reshards in front of operations whose results are wanted split further than their operands
/// are: by constraints, by results that are `forced`, by operands beside them. Such an operation then works on a rank's
/// block. A value keeps the axes that it has, and gets further ones where all its readers agree on them, so that what
/// is added slices and sends nothing. p itself where that saves next to nothing. values: what Shard gave p's variables.
/// Every choice reads global shapes and Specs alone.
ProgramPtr propagate(const ProgramPtr& p, const std::vector<Sharded>& values, const Shard& s, const Forced& force);
}  // namespace bora::fx
