// held_body.h -- the Programs that operations hold and run on their operands. Private.
#pragma once
#include <optional>
#include <vector>
#include "compile/api/program.h"
#include "shard/interpreter.h"

namespace bora::fx {
/// What a loop, a branch or a call runs on its operands: from `first` on come constants, then carries, whose results
/// have their types, then rows of stacked operands.
struct Body {
  ProgramPtr program, other = {};  // other: of branches, that of the false predicate
  ProgramPtr condition = {};       // of a while_loop: it runs on the operands before `first` and the carries
  std::size_t first = 0, consts = 0, carries = 0;
  double times = 1;
  bool call = false, stacks = false, lanes = false;  // lanes: of a while_loop under vmap
};
/// None if i holds none that runs on its operands.
std::optional<Body> body_of(const Instruction& i);
/// The body's arguments, as the rules of loops, branches and calls give them to it: in the Specs that the operands
/// have, carries in those that the results have. values: of the Program around it.
std::vector<Sharded> arguments_of(const Instruction& i, const Body& b, const std::vector<Sharded>& values);
/// What the body must give: each carry as it came, and all results of branches as `values` has them.
Forced forced(const Instruction& i, const Body& b, const std::vector<Sharded>& arguments,
              const std::vector<Sharded>& values);
/// The local condition of a loop over lanes as this rank's own lanes have it, if ranks meet nowhere but in its result;
/// else the condition itself.
ProgramPtr of_own_lanes(const ProgramPtr& cond, const Program& body);
}  // namespace bora::fx
