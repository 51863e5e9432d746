// fuse.h -- elementwise operations, casts, broadcasts, row reductions and random bits gathered into loops.
#pragma once
#include "compile/passes/graph.h"

namespace bora::exec {
/// The instructions as nodes in an order that can run; `g` says which variables are views and constants.
std::vector<Node> fuse(Graph& g, const std::vector<const Instruction*>& code);
}  // namespace bora::exec
