// fuse.h -- gathers elementwise operations, casts, broadcasts, slices, pads, concatenations, row reductions and random
// bits into loops.
#pragma once
#include "compile/passes/graph.h"

namespace bora::exec {
/// The instructions as nodes in a valid order; `g` knows which variables are views and constants.
std::vector<Node> fuse(Graph& g, const std::vector<const Instruction*>& code);
}  // namespace bora::exec
