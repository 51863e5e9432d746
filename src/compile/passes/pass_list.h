// pass_list.h -- the functions of the passes that rewrite whole Programs; compile/api/passes.h has the table.
#pragma once
#include "compile/api/executable.h"
#include "compile/api/passes.h"

namespace bora::exec {
ProgramPtr prune(const ProgramPtr&);
ProgramPtr hoist(const ProgramPtr&);
ProgramPtr push_slices(const ProgramPtr&);
ProgramPtr push_windows(const ProgramPtr&);
ProgramPtr split_reductions(const ProgramPtr&);
ProgramPtr components(const ProgramPtr&);
ProgramPtr narrow_moves(const ProgramPtr&);
ProgramPtr sums_into_scans(const ProgramPtr&);
ProgramPtr elementwise_into_scans(const ProgramPtr&);
}  // namespace bora::exec
