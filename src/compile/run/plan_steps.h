// plan_steps.h -- needs of each kind of node from the plan: held blocks, workspaces, operands that may be overwritten.
#pragma once
#include "compile/run/plan.h"

namespace bora::exec {
/// The planned blocks of a node that holds Programs, and the bytes they need beside operands and results.
struct Held {
  BlockPtr first, second;  // body | on_true, on_false | cond, body
  std::vector<std::size_t> workspaces;
};
/// may_take: of each operand of a scan, kNever or the results that may take its memory; empty for other nodes.
Held hold(const Node&, const std::vector<int>& may_take, Table&);
/// The kind of a node's results in an Arena: the primitive's name, "loops", "products", "collectives", "stacked" (by
/// scans).
std::string kind_of(const Node&);
/// Pairs (input, output): the output may be written to the input's memory if the input has no later reader.
std::vector<std::pair<std::size_t, std::size_t>> in_place(const Node&, const Held&, const Graph&);
Step make_step(const Node&, Held, const Graph&, const std::vector<Place>& places, const std::vector<Place>& workspaces,
               Table&);
}  // namespace bora::exec
