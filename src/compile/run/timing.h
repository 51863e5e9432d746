// timing.h -- the work of a planned block, and its kernels' times on this machine.
#pragma once
#include "bora/compile/work.h"
#include "compile/run/plan.h"

namespace bora::exec {
Work work_of(const Block&);
/// On one thread.
double seconds_of(const EvalStep&);
double seconds_of(const LoopStep&);
double copy_seconds(std::size_t bytes);
}  // namespace bora::exec
