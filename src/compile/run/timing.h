// timing.h -- the work of a planned block, and its kernels' times on this machine.
#pragma once
#include "bora/compile/work.h"
#include "compile/run/plan.h"

namespace bora::exec {
Work work_of(const Block&);
/// Bytes of an operation's operands and results.
double bytes_of(const Types& in, const Types& out);
/// On one thread, measured on about `memory` bytes; on more if no smaller part of a kernel can be run.
double seconds_of(const EvalStep&, std::size_t memory);
double seconds_of(const LoopStep&, std::size_t memory);
double copy_seconds(std::size_t bytes, std::size_t memory);
}  // namespace bora::exec
