// loop_sums.h -- a fused loop together with sums over its rows.
#pragma once
#include "compile/passes/graph.h"
#include "kernels/api/loop.h"

namespace bora::exec {
/// Elements of the result of one of its sums.
std::int64_t sum_elements(const Fused&, const kernels::LoopArgs&);
/// Bytes of the partial results of its sums.
std::size_t partial_bytes(const Fused&);
/// Runs the loop a few rows at a time and adds them to the sums while they are in cache: the bits of kernels::reduce.
/// Stored operands that only the sums read exist for those rows only. sums: memory of the results; partials: memory of
/// partial_bytes.
void run_with_sums(const kernels::LoopKernel&, const kernels::LoopArgs&, const Fused&, void* const* sums,
                   void* partials);
}  // namespace bora::exec
